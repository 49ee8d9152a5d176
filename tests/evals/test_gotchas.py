"""The record of habits is true, and the skills say what the diagnostics do not."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import asdict

import pytest

from agentkern.tools.skills import default_skills
from evals.gotchas.__main__ import RECORD
from evals.gotchas.habits import FOLDER, Habit, checked, habits, kernel_text, outcome

HABITS = habits()
KEPT = json.loads(RECORD.read_text(encoding="utf-8"))
TAUGHT = tomllib.loads((FOLDER / "taught.toml").read_text(encoding="utf-8"))
SAMPLE = HABITS[::4]
SKILL = default_skills() / "agentkern-kernels" / "SKILL.md"


def test_there_are_many_habits_of_each_origin():
    origins = Counter(habit.origin for habit in HABITS)
    assert len(HABITS) >= 200
    assert min(origins[name] for name in ("numpy", "torch", "triton", "cuda", "mutation")) >= 10


@pytest.mark.parametrize("base", sorted({habit.base for habit in HABITS}))
def test_a_right_kernel_is_in_order(base: str):
    assert checked(kernel_text(base)) == ()


def test_the_record_has_every_habit_and_counts_them():
    assert list(KEPT["habits"]) == [habit.key for habit in HABITS]
    assert KEPT["counts"] == dict(sorted(Counter(row["found"] for row in KEPT["habits"].values()).items()))


@pytest.mark.parametrize("habit", SAMPLE, ids=lambda habit: habit.key)
def test_the_record_is_not_stale(habit: Habit):
    found = json.loads(json.dumps(asdict(outcome(habit))))
    assert found == KEPT["habits"][habit.key], "python -m evals.gotchas"


def test_the_skill_teaches_exactly_what_diagnostics_do_not():
    untaught = {
        habit.key
        for habit in HABITS
        if habit.origin != "mutation" and KEPT["habits"][habit.key]["found"] in ("differs", "fix_differs", "unhelpful")
    }
    assert set(TAUGHT) == untaught


@pytest.mark.parametrize("key", TAUGHT)
def test_the_words_stand_in_the_skill(key: str):
    assert TAUGHT[key] in " ".join(SKILL.read_text(encoding="utf-8").split())
