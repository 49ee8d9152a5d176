"""The arms, and what each is told."""

from __future__ import annotations

import time

import pytest

from agentkern.evals.arms import ARMS, GROUPS, UnknownArm, arms_named
from agentkern.evals.prompts import answer_of, language_text, skill_files, system_text, task_prompt
from agentkern.evals.task import default_tasks, read_task

TASK = read_task(default_tasks() / "vector_add")


def test_there_is_an_arm_for_each_language_and_feedback_and_each_thing_left_out():
    assert len(GROUPS["languages"]) == 9
    assert GROUPS["ablations"][0] == "agentkern/mcp"
    left_out = [(not a.skill, not a.search, not a.structured, not a.levers) for a in ARMS.values() if a.is_ablation]
    assert sorted(map(sum, left_out)) == [1, 1, 1, 1]
    assert len(set(left_out)) == 4


def test_an_unknown_arm_names_the_nearest():
    with pytest.raises(UnknownArm, match="did you mean `cuda/mcp`"):
        arms_named(("cuda/mpc",))


def test_a_group_and_its_member_are_one():
    assert len(arms_named(("all", "cuda/mcp"))) == len(ARMS)


def test_the_pages_of_the_languages_are_of_about_one_length():
    lengths = {name: len(language_text(ARMS[f"{name}/zero_shot"]).encode()) for name in ("agentkern", "cuda", "triton")}
    assert max(lengths.values()) <= 1.3 * min(lengths.values()), lengths


@pytest.mark.parametrize("arm", ARMS.values(), ids=lambda arm: arm.name)
def test_every_arm_has_the_same_words_about_the_task_and_its_own_signature(arm):
    prompt = task_prompt(TASK, arm)
    assert TASK.text in prompt
    assert ("ak.In[" in prompt) == (arm.language == "agentkern")
    assert "agentkern" not in prompt.replace("import agentkern", "")
    assert all(str(dict(sizes)) not in prompt for sizes in TASK.shapes.hidden)


def test_hidden_sizes_are_in_no_prompt():
    hidden = {str(n) for sizes in TASK.shapes.hidden for n in sizes.values() if n > 8}
    shown = {str(n) for sizes in TASK.shapes.shown for n in sizes.values()}
    for arm in ARMS.values():
        assert not (hidden - shown) & set(task_prompt(TASK, arm).replace(",", " ").split())


def test_the_skill_is_what_an_ablation_leaves_out():
    assert "# Writing agentkern kernels" in system_text(ARMS["agentkern/mcp"])
    assert "# Writing agentkern kernels" not in system_text(ARMS["agentkern/mcp-no-skill"])
    assert "references/elementwise.md" in skill_files()


@pytest.mark.parametrize("language", ["cuda", "triton"])
def test_other_languages_hear_nothing_of_agentkern(language: str):
    for feedback in ("zero_shot", "plain_loop", "mcp"):
        text = system_text(ARMS[f"{language}/{feedback}"]) + task_prompt(TASK, ARMS[f"{language}/{feedback}"])
        assert "agentkern" not in text


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("prose only", None),
        ("```cuda\nint a;\n```", "int a;\n"),
        ("```cuda\nint a;\n```\nor\n```cuda\nint b;\n```\ndone", "int b;\n"),
        ("```cuda\nint a;\n```\n```json\n{}\n```", "int a;\n"),
        ("```\nint a;\n```", "int a;\n"),
        ("````cuda\n```\nint a;\n````", "```\nint a;\n"),
        ("```cuda\nint a;", None),
        ("  ```cpp title=x\r\nint a;\r\n  ```", "int a;\r\n"),
        ("", None),
    ],
)
def test_the_answer_is_the_last_closed_block(said: str, answer: str | None):
    assert answer_of(said, "cuda") == answer


@pytest.mark.parametrize("unit", ["x", "```\n", "~~~ a\n```\n", "`" * 50 + "\n", "``` ```\n"])
def test_a_megabyte_is_read_in_time(unit: str):
    started = time.monotonic()
    answer_of(unit * (1_000_000 // len(unit)), "cuda")
    assert time.monotonic() - started < 5
