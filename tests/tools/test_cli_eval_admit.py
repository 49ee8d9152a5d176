"""`agentkern eval admit`: the gate from the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentkern.evals.task import default_tasks
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
    answer = agentkern("eval", "admit", "--tasks", str(folder.parent))
    assert answer.code == 2
    assert "`famly`: there is no such key; did you mean `family`?" in answer.err


@pytest.mark.slow
def test_what_is_found_is_recorded_and_not_looked_for_again(tmp_path: Path):
    folder = tmp_path / "tasks" / "copy_1d"
    shutil.copytree(default_tasks() / "copy_1d", folder)
    arguments = ("eval", "admit", "--tasks", str(folder.parent), "--jobs", "1", "--record", "--json")
    first = agentkern(*arguments)
    assert first.code == 0
    assert first.json["tasks"][0]["problems"] == []
    rows = json.loads((tmp_path / "results" / "admission.json").read_text())["tasks"]
    assert rows == first.json["tasks"]
    assert agentkern(*arguments, "--stale").json["tasks"] == []
