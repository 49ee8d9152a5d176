"""Stored submissions judged again: equal bit for bit, or named with the reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from agentkern.evals.judge import judge_digest
from agentkern.evals.ledger import start_run
from agentkern.evals.records import Judgement, Sample
from agentkern.evals.replay import replay
from agentkern.evals.task import read_tasks, suite_digest
from agentkern.tools.commands.eval import command
from tests.evals.judging import RIGHT, VECTOR_ADD, copy_task, judged, kernel, submission
from tests.evals.runs import header, sample

pytestmark = [pytest.mark.toolchain, pytest.mark.slow]
WRONG = kernel("out[i] = x[i] - y[i]")


@pytest.fixture(scope="module")
def stored() -> dict[str, Judgement]:
    return {source: judged(source) for source in (RIGHT, WRONG, "prose")}


def with_submission(source: str, judgement: Judgement | None, epoch: int) -> Sample:
    return sample(epoch=epoch, submissions=(submission(source).model_copy(update={"judgement": judgement}),))


def test_replay_is_bit_equal_and_says_what_is_not(stored: dict[str, Judgement], tmp_path: Path):
    right, wrong, prose = stored.values()
    ledger = start_run(tmp_path / "run", header())
    ledger.append(with_submission(RIGHT, right, 1))
    ledger.append(with_submission(WRONG, wrong, 2))
    ledger.append(with_submission("prose", prose, 3))
    ledger.append(with_submission(WRONG, right, 4))
    ledger.append(with_submission(RIGHT, right.model_copy(update={"judge_digest": "old", "summary": "else"}), 5))
    ledger.append(with_submission(RIGHT, right.model_copy(update={"judge_digest": "old"}), 6))
    ledger.append(with_submission(RIGHT, None, 7))
    ledger.append(sample(task="gone", epoch=8, submissions=(submission(RIGHT),)))
    ledger.append(sample(None, epoch=9))
    found = replay(tmp_path / "run", (VECTOR_ADD,))
    rows = {row.sample.rpartition("/")[2]: row for row in found.submissions}
    assert {number: (row.agreement, row.is_stale) for number, row in rows.items()} == {
        "1": ("equal", False),
        "2": ("equal", False),
        "3": ("equal", False),
        "4": ("different", False),
        "5": ("stale", True),
        "6": ("equal", True),
        "7": ("unjudged", False),
        "8": ("unknown_task", False),
    }
    assert "verdict" in rows["4"].fields
    assert rows["5"].fields == ("summary",)
    assert found.status == "failed"
    assert "4 equal" in found.summary
    assert "under the same digest" in found.summary


def test_replay_of_what_agrees_exits_with_zero_and_a_changed_task_is_stale(
    stored: dict[str, Judgement], tmp_path: Path
):
    right = stored[RIGHT]
    start_run(tmp_path / "run", header()).append(with_submission(RIGHT, right, 1))
    shutil.copytree(VECTOR_ADD.folder, tmp_path / "tasks" / "vector_add")
    asked = ["replay", str(tmp_path / "run"), "--tasks", str(tmp_path / "tasks")]
    found = CliRunner().invoke(command, asked)
    assert found.exit_code == 0, found.output
    assert "1 equal; nothing to do" in found.output
    reference = tmp_path / "tasks" / "vector_add" / "reference.py"
    reference.write_text(reference.read_text().replace("return (", "return 1 + ("))
    assert judge_digest(read_tasks(tmp_path / "tasks")[0]) != right.judge_digest
    found = CliRunner().invoke(command, asked)
    assert found.exit_code == 1
    assert "its task or the judge has changed since" in found.output


def test_a_run_of_own_tasks_is_told_to_be_given_their_folder(stored: dict[str, Judgement], tmp_path: Path):
    folder = tmp_path / "tasks" / "own_add"
    shutil.copytree(VECTOR_ADD.folder, folder)
    text = (folder / "task.toml").read_text().replace('name = "vector_add"', 'name = "own_add"')
    (folder / "task.toml").write_text(text)
    digest = suite_digest(read_tasks(tmp_path / "tasks"))
    ledger = start_run(tmp_path / "run", header(tasks=("own_add",), suite_digest=digest))
    ledger.append(sample(task="own_add", submissions=(submission("prose"),)))
    said = replay(tmp_path / "run", (VECTOR_ADD,)).summary
    assert f"(suite {digest}) are not these" in said
    assert "give it with `--tasks`" in said
    assert replay(tmp_path / "run", read_tasks(tmp_path / "tasks")).status == "ok"


def test_several_tasks_are_judged_in_processes_and_another_level_is_no_difference(
    stored: dict[str, Judgement], tmp_path: Path
):
    other = copy_task(VECTOR_ADD, tmp_path / "tasks")
    shutil.copytree(other, tmp_path / "tasks" / "vector_add_2")
    text = (other / "task.toml").read_text().replace('name = "vector_add"', 'name = "vector_add_2"')
    (tmp_path / "tasks" / "vector_add_2" / "task.toml").write_text(text)
    ledger = start_run(tmp_path / "run", header())
    ledger.append(with_submission(RIGHT, stored[RIGHT], 1))
    ledger.append(sample(task="vector_add_2", epoch=1, submissions=(submission(RIGHT),)))
    found = replay(tmp_path / "run", read_tasks(tmp_path / "tasks"), level="full")
    assert [(row.agreement, row.verdict) for row in found.submissions] == [
        ("other", "bit_exact"),
        ("unjudged", "bit_exact"),
    ]
    assert found.status == "ok"


@pytest.mark.parametrize("change", [{"level": "full"}, {"seed": 7}, {"device": "cuda"}, {"language": "cuda"}])
def test_what_a_judgement_says_of_how_it_was_made_is_held_to_the_run(
    stored: dict[str, Judgement], tmp_path: Path, change: dict[str, object]
):
    claimed = stored[RIGHT].model_copy(update=change)
    made = with_submission(RIGHT, claimed, 1).model_copy(update={"arm": "agentkern/mcp"})
    start_run(tmp_path / "run", header()).append(made)
    found = replay(tmp_path / "run", (VECTOR_ADD,))
    assert [(row.agreement, row.fields[:1]) for row in found.submissions] == [("different", (*change,)[:1])]


@pytest.mark.parametrize(("damage", "said"), [(b'{"id": 1}\n', "line 2"), (b'{"id":', "cut off")])
def test_a_damaged_store_is_no_success(stored: dict[str, Judgement], tmp_path: Path, damage: bytes, said: str):
    start_run(tmp_path / "run", header(epochs=3)).append(with_submission(RIGHT, stored[RIGHT], 1))
    with (tmp_path / "run" / "samples.jsonl").open("ab") as file:
        file.write(damage)
    found = replay(tmp_path / "run", (VECTOR_ADD,))
    assert found.status == "failed"
    assert "1 equal, 2 samples of the run are not there; the store is damaged" in found.summary
    assert said in found.problems[0]


def test_a_folder_that_is_no_run_is_a_wrong_call(tmp_path: Path):
    found = CliRunner().invoke(command, ["replay", str(tmp_path)])
    assert found.exit_code != 0
