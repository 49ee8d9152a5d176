"""`agentkern eval admit`: the gate from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentkern.evals.admission import admit_result
from agentkern.evals.results import Admission
from agentkern.evals.task import default_tasks
from agentkern.tools.commands.eval_options import tasks_in
from agentkern.tools.commands.terminal import progress
from tests.tools.command_line import agentkern


def test_a_task_that_is_not_there_is_refused_with_the_nearest_name():
    answer = agentkern("eval", "admit", "softmx")
    assert answer.code == 2
    assert "did you mean `softmax`?" in answer.err


def test_a_blocked_task_is_refused_with_what_blocks_it():
    answer = agentkern("eval", "admit", "matmul")
    assert answer.code == 2
    assert "`matmul` is blocked by matrix products" in answer.err


def test_a_malformed_task_is_refused_with_its_file_and_key(tmp_path: Path):
    folder = tmp_path / "tasks" / "copy_1d"
    shutil.copytree(default_tasks() / "copy_1d", folder)
    (folder / "task.toml").write_text((folder / "task.toml").read_text().replace("family", "famly"))
    for arguments, code in ((("admit",), 1), (("list",), 1), (("admit", "copy_1d"), 2)):
        answer = agentkern("eval", *arguments, "--tasks", str(folder.parent))
        assert answer.code == code
        assert "`famly`: there is no such key; did you mean `family`?" in answer.out + answer.err


def test_a_task_that_is_named_is_read_alone(tmp_path: Path):
    for name in ("copy_1d", "vector_add"):
        shutil.copytree(default_tasks() / name, tmp_path / "tasks" / name)
    (tmp_path / "tasks" / "copy_1d" / "task.toml").write_text("[")
    assert [task.name for task in tasks_in(tmp_path / "tasks", ("vector_add",))] == ["vector_add"]
    answer = agentkern("eval", "list", "--tasks", str(tmp_path / "tasks"), "--json")
    assert (answer.code, [row["name"] for row in answer.json["tasks"]]) == (1, ["vector_add"])
    assert [row["name"] for row in answer.json["unread"]] == ["copy_1d"]


def test_the_list_of_own_tasks_names_their_folder_in_its_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(default_tasks() / "copy_1d", tmp_path / "tasks" / "copy_1d")
    monkeypatch.chdir(tmp_path / "tasks")
    assert f"`agentkern eval admit --tasks {tmp_path}/tasks`" in agentkern("eval", "list", "--tasks", ".").out


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"verdict": "rejected", "problems": ("the solution: x",)}, "does not compile or fit"),
        ({"verdict": "not_run", "problems": ("no judgement: ReferenceFailure: x",)}, "mend what its problem names"),
        ({"verdict": "wrong", "problems": ("the solution: x",)}, "is wrong by the reference"),
        ({"problems": ("the answer does not depend on `x`",)}, "every argument matters"),
        ({"problems": ("zeros, passes: all outputs",)}, "other inputs or a sharper criterion"),
        ({"problems": ("3 wrong kernels are rejected; at least 10 must be",)}, "too few wrong kernels"),
    ],
)
def test_what_to_do_about_a_task_is_told_by_what_failed(row: dict[str, object], said: str):
    fields = {"name": "t", "task": "", "solution": "", "rules": "", "verdict": "bit_exact"}
    assert said in admit_result([Admission.model_validate(fields | row)]).summary


def test_long_work_is_told_line_by_line_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]):
    for as_json in (True, False):
        with progress(as_json=as_json, by_line=True) as report:
            report(0.5, "copy_1d")
            report(None, "more")
    assert capsys.readouterr() == ("", " 50% copy_1d\nmore\n")


@pytest.mark.slow
def test_what_is_found_is_recorded_and_not_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "tasks" / "copy_1d"
    shutil.copytree(default_tasks() / "copy_1d", folder)
    monkeypatch.chdir(folder.parent)
    arguments = ("eval", "admit", "--tasks", ".", "--jobs", "1", "--record", "--json")
    first = agentkern(*arguments)
    assert first.code == 0
    assert first.json["tasks"][0]["problems"] == []
    assert first.json["record"] == str(tmp_path / "results" / "admission.json")
    assert first.json["record"] in first.json["summary"]
    rows = json.loads((tmp_path / "results" / "admission.json").read_text())["tasks"]
    assert rows == first.json["tasks"]
    assert agentkern(*arguments, "--stale").json["tasks"] == []


@pytest.mark.parametrize("damaged", ['{"tasks": [', "[]", '{"tasks": [{"x": 1}]}', "\udcff"])
def test_a_damaged_record_is_a_wrong_call_before_anything_is_run(tmp_path: Path, damaged: str):
    folder = tmp_path / "tasks" / "copy_1d"
    shutil.copytree(default_tasks() / "copy_1d", folder)
    file = tmp_path / "results" / "admission.json"
    file.parent.mkdir()
    file.write_bytes(damaged.encode(errors="surrogateescape"))
    answer = agentkern("eval", "admit", "--tasks", str(folder.parent), "--record")
    assert answer.code == 2
    assert "it is no record of tasks before the gate" in answer.err
    assert file.read_bytes() == damaged.encode(errors="surrogateescape")
