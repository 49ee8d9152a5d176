"""Agents with tools, over real MCP on stdio: the conversation that succeeds, and those that misbehave."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentkern.evals.arms import ARMS
from agentkern.evals.mock import fixed
from agentkern.evals.run_model import Job, RunRequest, server_options
from agentkern.evals.task import default_tasks, read_task
from tests.evals.run_command import run, run_here, samples, transcript

pytestmark = [pytest.mark.slow, pytest.mark.toolchain, pytest.mark.filterwarnings("ignore")]

LIMIT = 6
BAD = ("prose", "silent", "endless", "malformed", "misuse", "late", "crash", "megabyte")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that corrects itself, with all tools and with each thing left out that changes what it hears."""
    folder = tmp_path_factory.mktemp("good")
    arms = "agentkern/mcp,agentkern/mcp-plain-errors,agentkern/mcp-no-search,agentkern/mcp-no-skill,cuda/mcp"
    result = run_here(folder, ("fixes",), arms)
    assert (result.status, result.samples) == ("ok", 5)
    return folder


def sample_of(folder: Path, arm: str, model: str = "fixes"):
    return samples(folder)[f"vector_add:{arm}:mock/{model}:1"]


def tools_called(folder: Path, arm: str, model: str = "fixes") -> list[str]:
    return [call.tool for call in sample_of(folder, arm, model).calls if call.tool != "ak_job"]


def test_a_conversation_fails_reads_the_diagnostic_fixes_verifies_and_submits(good: Path):
    sample = sample_of(good, "agentkern/mcp")
    assert (sample.state, sample.is_correct) == ("done", True)
    wanted = ["ak_search_kernels", "read_skill", "ak_check", "ak_check", "ak_verify", "ak_submit"]
    assert tools_called(good, "agentkern/mcp") == wanted
    checks = [call for call in sample.calls if call.tool == "ak_check"]
    assert [(call.status, call.codes) for call in checks] == [("rejected", ("AK202",)), ("ok", ())]
    (handed_in,) = sample.submissions
    at = next(call for call in sample.calls if call.tool == "ak_submit")
    assert (handed_in.at_call, handed_in.tokens) == (at.number, at.tokens)
    tokens = [call.tokens for call in sample.calls]
    assert tokens == sorted(tokens)
    assert tokens[-1] < sample.usage.total


def test_the_text_that_is_right_came_from_the_diagnostics_fix(good: Path):
    said = transcript(good, sample_of(good, "agentkern/mcp"))
    answer = json.loads(next(m["text"] for m in said if m.get("tool") == "ak_check"))
    broken, corrected = (
        call["arguments"]["source"] for m in said for call in m.get("calls", ()) if call["tool"] == "ak_check"
    )
    assert fixed(broken, answer) == corrected != broken


def test_the_tasks_own_kernel_is_hidden_from_the_search(good: Path):
    said = transcript(good, sample_of(good, "agentkern/mcp"))
    found = json.loads(next(m["text"] for m in said if m.get("tool") == "ak_search_kernels"))
    names = [kernel["name"] for kernel in found.get("kernels", ())]
    assert names
    assert "vector_add" not in names


def test_bare_messages_have_no_codes_hints_or_fixes_and_the_record_has_the_codes(good: Path):
    sample = sample_of(good, "agentkern/mcp-plain-errors")
    said = transcript(good, sample)
    told = next(m["text"] for m in said if m.get("tool") == "ak_check")
    assert told.startswith("rejected\nkernel.py:")
    assert not any(word in told for word in ("AK202", "hint", "fixes"))
    assert sample.calls[[c.tool for c in sample.calls].index("ak_check")].codes == ("AK202",)
    assert sample.is_correct


def test_what_an_arm_leaves_out_is_not_offered(good: Path):
    assert "ak_search_kernels" not in tools_called(good, "agentkern/mcp-no-search")
    assert "read_skill" not in tools_called(good, "agentkern/mcp-no-skill")
    assert "read_skill" in tools_called(good, "agentkern/mcp-no-search")


def test_cuda_has_the_same_loop_with_tools(good: Path):
    sample = sample_of(good, "cuda/mcp")
    assert (sample.state, sample.is_correct) == ("done", True)
    assert tools_called(good, "cuda/mcp") == ["ak_compile", "ak_compile", "ak_verify", "ak_submit"]
    assert [call.status for call in sample.calls if call.tool == "ak_compile"] == ["rejected", "ok"]


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that misbehave with tools."""
    folder = tmp_path_factory.mktemp("bad")
    result = run_here(folder, BAD, "agentkern/mcp", limits={"tool_calls": LIMIT, "tokens": 600_000})
    assert (result.status, result.samples) == ("ok", len(BAD))
    return folder


@pytest.mark.parametrize(
    ("model", "state", "limit", "verdicts"),
    [
        ("prose", "no_submission", "", []),
        ("silent", "no_submission", "", []),
        ("endless", "limit", "tool_calls", []),
        ("late", "limit", "tool_calls", []),
        ("malformed", "done", "", ["bit_exact"]),
        ("misuse", "done", "", ["rejected"]),
        ("crash", "error", "", []),
    ],
)
def test_misbehaviour_is_a_clear_record(bad: Path, model: str, state: str, limit: str, verdicts: list[str]):
    sample = sample_of(bad, "agentkern/mcp", model)
    found = [one.judgement.verdict for one in sample.submissions if one.judgement]
    assert (sample.state, sample.limit, found) == (state, limit, verdicts)
    assert (sample.error != "") == (state == "error")


def test_a_megabyte_is_refused_by_the_server(bad: Path):
    sample = sample_of(bad, "agentkern/mcp", "megabyte")
    assert sample.submissions == ()
    assert "at most 200000 characters" in sample.calls[0].refused


def test_an_agent_that_hands_nothing_in_is_told_so_twice(bad: Path):
    said = transcript(bad, sample_of(bad, "agentkern/mcp", "prose"))
    assert [m["role"] for m in said] == ["system", "user", "assistant", "user", "assistant", "user", "assistant"]
    assert "hand the whole file in with `ak_submit`" in said[3]["text"]


def test_calls_that_make_no_sense_say_why(bad: Path):
    refused = [call.refused for call in sample_of(bad, "agentkern/mcp", "malformed").calls if call.refused]
    assert len(refused) == 4
    assert "ak_compile_now not found" in refused[0]
    assert "no JSON" in refused[3]
    misused = [call.refused for call in sample_of(bad, "agentkern/mcp", "misuse").calls if call.refused]
    assert "there is no job" in misused[0]


def test_what_is_handed_in_after_the_limit_does_not_count(bad: Path):
    sample = sample_of(bad, "agentkern/mcp", "late")
    assert [call.tool for call in sample.calls if not call.refused][:LIMIT] == ["ak_reference"] * LIMIT
    assert sample.submissions == ()


def test_the_right_arguments_reach_the_server(tmp_path: Path):
    task = read_task(default_tasks() / "vector_add")
    request = RunRequest(tmp_path, "mock", ("mock/fixes",), (), (task,), seed=3)
    options = server_options(Job(task, ARMS["cuda/mcp"], "m", 1), request, tmp_path / "s")
    assert options[options.index("--exclude") + 1] == "elementwise/vector_add"
    assert options[options.index("--language") + 1] == "cuda"
    assert options[options.index("--judge-seed") + 1] == "3"


def test_the_command_answers_with_one_object(tmp_path: Path):
    options: tuple[Any, ...] = ("--model", "mock/prose", "--arms", "agentkern/mcp")
    code, answer = run(tmp_path, *options)
    assert (code, answer["states"]) == (0, {"no_submission": 1})


def test_a_server_that_does_not_start_is_an_error_of_the_sample_and_not_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("agentkern.evals.station.server_options", lambda *_: ["--nonsense"])
    result = run_here(tmp_path, ("fixes",), "agentkern/mcp,agentkern/zero_shot")
    assert (result.status, result.states) == ("ok", {"error": 1, "done": 1})
    assert sample_of(tmp_path, "agentkern/mcp").error


def test_the_adapter_is_thin_and_alone_knows_the_package():
    folder = Path(__file__).parents[2] / "agentkern"
    users = [path for path in folder.rglob("*.py") if "inspect_ai" in path.read_text(encoding="utf-8")]
    importing = [path for path in users if "\nfrom inspect_ai" in path.read_text(encoding="utf-8")]
    assert {path.name.startswith("inspect_") for path in importing} == {True}
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in importing) < 600
