"""Runs: scripted models in the arms without tools, what they leave, and going on after the end of the world."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentkern.evals import inspect_adapter, inspect_mock
from agentkern.evals.arms import arms_named
from agentkern.evals.ledger import SAMPLES, Ledger, LedgerError
from agentkern.evals.mock import SCRIPTS, Script, Turn
from agentkern.evals.records import Sample
from agentkern.evals.run import run as run_request
from agentkern.evals.run_model import RunRequest
from agentkern.evals.task import default_tasks, read_task
from agentkern.evals.unavailable import unavailable
from agentkern.tools.commands.eval_options import tasks_in
from agentkern.tools.sources import UsageError
from tests.evals.run_command import command, run, run_here, samples, transcript, without_keys

# What inspect and its packages warn of is theirs.
pytestmark = [pytest.mark.slow, pytest.mark.toolchain, pytest.mark.filterwarnings("ignore")]

BAD = ("prose", "megabyte", "silent", "malformed", "misuse", "crash")


@pytest.fixture(scope="module")
def languages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that corrects itself, in every language without tools."""
    folder = tmp_path_factory.mktemp("languages")
    arms = ",".join(f"{name}/{how}" for name in ("agentkern", "cuda", "triton") for how in ("zero_shot", "plain_loop"))
    result = run_here(folder, ("fixes",), arms)
    assert (result.status, result.samples, result.new) == ("ok", 6, 6)
    return folder


@pytest.mark.parametrize("language", ["agentkern", "cuda"])
def test_a_plain_loop_fails_reads_corrects_and_is_right(languages: Path, language: str):
    sample = samples(languages)[f"vector_add:{language}/plain_loop:mock/fixes:1"]
    assert (sample.state, sample.is_correct) == ("done", True)
    assert [one.judgement.verdict for one in sample.submissions if one.judgement] == ["rejected", "bit_exact"]
    assert [one.at_call for one in sample.submissions] == [0, 1]
    first, second = sample.submissions
    assert 0 < first.tokens < second.tokens <= sample.usage.total
    said = transcript(languages, sample)
    assert [message["role"] for message in said] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]
    assert "does not compile" in said[3]["text"]
    assert "right at the shown shapes" in said[5]["text"]


def test_codes_of_what_failed_are_kept(languages: Path):
    sample = samples(languages)["vector_add:agentkern/plain_loop:mock/fixes:1"]
    assert sample.calls[0].codes == ("AK202",)
    assert sample.calls[1].codes == ()


@pytest.mark.parametrize("language", ["agentkern", "cuda"])
def test_zero_shot_is_one_answer(languages: Path, language: str):
    sample = samples(languages)[f"vector_add:{language}/zero_shot:mock/fixes:1"]
    assert (sample.is_correct, len(sample.submissions), sample.calls) == (True, 1, ())


def test_the_cuda_arm_says_that_it_ran_on_the_cpu(languages: Path):
    judgement = samples(languages)["vector_add:cuda/zero_shot:mock/fixes:1"].submissions[0].judgement
    assert judgement is not None
    assert judgement.device == "cpu"
    assert "cpu simulator" in judgement.summary


def test_triton_without_a_gpu_is_not_run_and_says_so(languages: Path):
    sample = samples(languages)["vector_add:triton/zero_shot:mock/fixes:1"]
    assert sample.submissions[0].judgement is not None
    assert sample.submissions[0].judgement.verdict == "not_run"
    assert "needs a GPU" in sample.submissions[0].judgement.summary
    refused = samples(languages)["vector_add:triton/plain_loop:mock/fixes:1"].submissions[0].judgement
    assert refused is not None
    assert refused.verdict == "rejected"


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that behave badly, in arms without tools."""
    folder = tmp_path_factory.mktemp("bad")
    result = run_here(folder, BAD, "agentkern/zero_shot,agentkern/plain_loop")
    assert (result.status, result.samples) == ("ok", 2 * len(BAD))
    assert "ended in an error" in result.summary
    return folder


@pytest.mark.parametrize("how", ["zero_shot", "plain_loop"])
@pytest.mark.parametrize(
    ("model", "state", "verdict"),
    [
        ("prose", "no_submission", None),
        ("silent", "no_submission", None),
        ("misuse", "done", "rejected"),
        ("crash", "error", None),
    ],
)
def test_bad_behaviour_is_a_clear_record(bad: Path, how: str, model: str, state: str, verdict: str | None):
    sample = samples(bad)[f"vector_add:agentkern/{how}:mock/{model}:1"]
    judgements = [one.judgement.verdict for one in sample.submissions if one.judgement]
    assert (sample.state, judgements) == (state, [verdict] if verdict else [])
    if state == "error":
        assert "the provider did not answer" in sample.error


def test_a_megabyte_each_turn_ends_at_the_token_limit(bad: Path):
    sample = samples(bad)["vector_add:agentkern/plain_loop:mock/megabyte:1"]
    assert (sample.state, sample.limit, len(sample.submissions)) == ("limit", "tokens", 1)
    one_shot = samples(bad)["vector_add:agentkern/zero_shot:mock/megabyte:1"]
    assert (one_shot.state, one_shot.is_correct) == ("done", False)


def test_a_model_without_a_block_is_told_so(bad: Path):
    sample = samples(bad)["vector_add:agentkern/plain_loop:mock/malformed:1"]
    assert sample.is_correct
    assert "There is no fenced block" in transcript(bad, sample)[3]["text"]


def test_a_megabyte_is_cut_in_the_transcript_only(bad: Path):
    sample = samples(bad)["vector_add:agentkern/zero_shot:mock/megabyte:1"]
    assert len(sample.submissions[0].source) > 900_000
    assert "`text`" in (sample.submissions[0].judgement.summary if sample.submissions[0].judgement else "")
    said = transcript(bad, sample)[-1]["text"]
    assert len(said) < 70_000
    assert said.endswith("more characters]")


def test_errors_are_run_again_and_nothing_else(bad: Path):
    before = samples(bad)
    result = run_here(bad, BAD, "agentkern/zero_shot,agentkern/plain_loop", resume=True)
    assert (result.samples, result.new) == (2 * len(BAD), 2)
    after = samples(bad)
    assert {name: s for name, s in after.items() if s.state != "error"} == {
        name: s for name, s in before.items() if s.state != "error"
    }


@pytest.mark.parametrize(("model", "limit"), [("endless", "tool_calls"), ("late", "tool_calls")])
def test_a_loop_that_goes_on_is_ended_and_judged(tmp_path: Path, model: str, limit: str):
    run_here(tmp_path, (model,), "agentkern/plain_loop", limits={"tool_calls": 2})
    (sample,) = samples(tmp_path).values()
    assert (sample.state, sample.limit) == ("limit", limit)
    assert [one.judgement is not None for one in sample.submissions] == [True, True]


def test_messages_and_tokens_end_a_sample(tmp_path: Path):
    run_here(tmp_path / "m", ("endless",), "agentkern/plain_loop", limits={"messages": 5})
    run_here(tmp_path / "t", ("endless",), "agentkern/plain_loop", limits={"tokens": 3000})
    limits = [sample.limit for name in ("m", "t") for sample in samples(tmp_path / name).values()]
    assert limits == ["messages", "tokens"]


def test_a_killed_run_goes_on_and_loses_nothing(tmp_path: Path):
    options = ("--model", "mock/prose", "--model", "mock/fixes", "--arms", "agentkern/plain_loop", "--epochs", "2")
    file = tmp_path / SAMPLES
    started = subprocess.Popen(
        command(tmp_path, *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=without_keys(), start_new_session=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not (file.exists() and file.read_bytes().count(b"\n") >= 2):
        assert time.monotonic() < deadline
        assert started.poll() is None
        time.sleep(0.02)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()
    kept = [line for line in file.read_bytes().split(b"\n") if line][:2]
    with file.open("ab") as torn:
        torn.write(b'{"id": "vector_add:agentk')  # a line that was being written
    code, answer = run(tmp_path, *options, "--resume")
    assert (code, answer["samples"]) == (0, 4)
    assert answer["new"] <= 2
    lines = [line for line in file.read_bytes().split(b"\n") if line]
    assert lines[:2] == kept
    assert len(lines) == len({json.loads(line)["id"] for line in lines}) == 4


def test_no_network_is_needed(tmp_path: Path):
    wrapper = ("unshare", "-rn")
    if subprocess.run([*wrapper, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets no one leave the network")
    code, answer = run(tmp_path, "--model", "mock/fixes", "--arms", "agentkern/zero_shot", wrapper=wrapper)
    assert (code, answer["verdicts"]) == (0, {"bit_exact": 1})


def test_a_run_that_lies_there_is_not_overwritten(languages: Path):
    with pytest.raises(UsageError, match="`--resume` goes on with it"):
        run_here(languages, ("fixes",), "agentkern/zero_shot")
    with pytest.raises(LedgerError, match="another run lies there"):
        run_here(languages, ("prose",), "agentkern/zero_shot", resume=True)


def test_unknown_names_are_told_with_the_nearest(tmp_path: Path):
    assert "did you mean `mock/fixes`?" in run_here(tmp_path, ("fixed",), "agentkern/zero_shot").summary
    with pytest.raises(UsageError, match="did you mean `vector_add`"):
        tasks_in(None, ("vector_ad",))


@pytest.mark.parametrize(
    ("options", "lane", "code", "said"),
    [
        (
            ("--model", "openai/gpt-x", "--task", "vector_add"),
            "live",
            "AK821",
            "`openai/gpt-x` needs the package `openai`, which is not installed",
        ),
        ((), "live", "AK805", "which model?"),
        (("--arms", "cuda/mpc"), "mock", "AK805", "did you mean `cuda/mcp`?"),
        (("--task", "matmul"), "mock", "AK805", "there is nothing to run: `matmul` waits for matrix products"),
    ],
)
def test_what_cannot_be_run_is_a_coded_message(
    tmp_path: Path, options: tuple[str, ...], lane: str, code: str, said: str
):
    ended, answer = run(tmp_path, *options, lane=lane)
    assert (ended, answer["diagnostics"][0]["code"]) == (3 if code == "AK821" else 2, code)
    assert said in answer["summary"]


@pytest.mark.parametrize("model", ["nobody/model", "model"])
def test_a_live_model_of_no_provider_is_told(tmp_path: Path, model: str):
    request = RunRequest(
        folder=tmp_path, lane="live", models=(model,), arms=arms_named(("agentkern/zero_shot",)),
        tasks=(read_task(default_tasks() / "vector_add"),),
    )  # fmt: skip
    result = run_request(request)
    assert (result.status, result.diagnostics[0].code) == ("unavailable", "AK821")
    assert model in result.summary


@pytest.mark.parametrize(
    ("cause", "package"),
    [
        (ModuleNotFoundError("No module named 'anthropic'", name="anthropic"), "anthropic"),
        (ValueError("Google API requires:\n\n[bold]pip install --upgrade google-genai[/bold]"), "google-genai"),
        (ValueError("set OPENAI_API_KEY"), None),
    ],
)
def test_a_missing_package_of_a_provider_is_named_with_what_installs_it(cause: Exception, package: str | None):
    found = unavailable("some/model", cause)
    assert found.step == (package and f"`pip install -U {package}`")
    assert (f"needs the package `{package}`" if package else "set OPENAI_API_KEY") in str(found)


def test_a_missing_extra_is_told_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    for name in [name for name in sys.modules if name.startswith("agentkern.evals.inspect_")]:
        monkeypatch.delitem(sys.modules, name)
    result = run_here(tmp_path, ("fixes",), "agentkern/zero_shot")
    assert (result.status, result.diagnostics[0].code) == ("unavailable", "AK820")
    assert "agentkern[evals]" in result.summary


def spoken(monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    monkeypatch.setattr(inspect_mock, "SCRIPTS", {**SCRIPTS, "own": script})


@pytest.mark.parametrize("arm", ["agentkern/zero_shot", "agentkern/plain_loop"])
def test_half_a_character_costs_no_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arm: str):
    spoken(monkeypatch, lambda scene: Turn("so be it \ud800" if scene.turns else "```python\n# \ud83d\n```\n"))
    result = run_here(tmp_path, ("own",), arm)
    assert result.states == {"done": 1}
    (found,) = samples(tmp_path).values()
    assert found.submissions[0].source == "# \ufffd\n"


def test_what_the_hook_could_not_write_is_written_when_the_run_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    kept, failures = Ledger.append, [OSError(28, "No space left on device")]

    def append(ledger: Ledger, sample: Sample) -> None:
        if failures:
            raise failures.pop()
        kept(ledger, sample)

    monkeypatch.setattr(Ledger, "append", append)
    assert run_here(tmp_path, ("prose",), "agentkern/zero_shot").states == {"no_submission": 1}


def test_a_sample_that_cannot_be_recorded_is_told_and_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def broken(_ended: object) -> str:
        raise ValueError("no transcript")

    with monkeypatch.context() as patched:
        patched.setattr(inspect_adapter, "transcript_of", broken)
        result = run_here(tmp_path, ("prose",), "agentkern/zero_shot")
    assert (result.states, result.samples) == ({"error": 1}, 1)
    (found,) = samples(tmp_path).values()
    assert found.error == "an error of ours, ValueError: no transcript"
    again = run_here(tmp_path, ("prose",), "agentkern/zero_shot", resume=True)
    assert (again.new, again.states) == (1, {"no_submission": 1})
