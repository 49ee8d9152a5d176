"""The judge: every check, in order, for texts that are right, wrong, and no kernels at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkern.evals.candidates.table import candidate_of
from agentkern.evals.judge import NAMES, judge, judge_digest
from agentkern.evals.judge_cases import Bench, make_bench
from agentkern.evals.records import Judgement
from agentkern.evals.task import read_task
from tests.evals.judging import HEADER, PARAMS, RIGHT, VECTOR_ADD, copy_task, judged, kernel, status, submission

pytestmark = pytest.mark.toolchain


@pytest.fixture(scope="module")
def bench() -> Bench:
    return make_bench(VECTOR_ADD)


def without_times(judgement: Judgement) -> dict[str, object]:
    return judgement.model_dump(exclude={"seconds", "timings"})


@pytest.mark.slow
def test_a_right_kernel_passes_every_check_within_ten_seconds(bench: Bench):
    found = judged(RIGHT)
    assert found.verdict == "bit_exact", found.summary
    assert [check.name for check in found.checks] == list(NAMES)
    assert {check.name: check.status for check in found.checks if check.status != "passed"} == {
        "speed": "not_applicable"
    }
    assert found.stages == {"shown": 1.0, "hidden": 1.0}
    assert found.judge_digest == judge_digest(VECTOR_ADD)
    # ten seconds on two cores of its own; other work on the machine is granted as much again
    assert found.seconds < 20.0
    assert without_times(judged(RIGHT, bench=bench)) == without_times(found)


@pytest.mark.parametrize(
    ("source", "check", "verdict", "said"),
    [
        ("", "text", "rejected", "the text is empty"),
        ("x" * 1_000_000, "text", "rejected", "1000000 bytes; at most 100000"),
        (RIGHT + "# " + "é" * 60_000, "text", "rejected", "bytes; at most 100000"),
        (f"{RIGHT}TABLE = ({', '.join(['0.125'] * 1000)})\n", "text", "rejected", "literal numbers"),
        ("Here is the kernel you asked for. It adds two vectors.", "compile", "rejected", "AK1"),
        ("```python\n" + RIGHT + "```", "compile", "rejected", "AK1"),
        ("\x00\x01", "compile", "rejected", "AK1"),
        ("(" * 5000, "compile", "rejected", "AK1"),
        (HEADER, "compile", "rejected", "AK112"),
        (kernel("out[i] = x[i] + z[i]"), "compile", "rejected", "AK"),
        (kernel("out[i] = x[i] + y[i + 1]"), "compile", "rejected", "AK3"),
        (RIGHT + kernel("out[i] = x[i]", name="other").removeprefix(HEADER), "signature", "rejected", "`add`, `other`"),
        (kernel("c[i] = x[i] + y[i]", PARAMS.replace("out", "c")), "signature", "rejected", "`x`, `y`, `c`, not"),
        (kernel("out[i] = x[i] + y[i]", PARAMS.replace("Out", "InOut")), "signature", "rejected", "InOut, not Out"),
        (
            kernel("out[i] = x[i] + y[i]", PARAMS.replace("f32", "f64")),
            "signature",
            "rejected",
            "`x` is of f64, not f32",
        ),
        (RIGHT.replace("ak.dim", "ak.static"), "signature", "rejected", "run-time size of the task"),
        (RIGHT.replace("N", "M"), "signature", "rejected", "has a size `M`"),
        (RIGHT.replace('"N"', '"N", multiple_of=8'), "promises", "rejected", "assumed to be a multiple of 8"),
        (RIGHT.replace('"N"', '"N", min=1'), "promises", "rejected", "assumed to be at least 1"),
        (RIGHT.replace('"N"', '"N", max=4096'), "promises", "rejected", "assumed to be at most 4096"),
        (
            RIGHT.replace("for i", 'ak.require(N < 100000, "few elements")\n    for i'),
            "promises",
            "rejected",
            "`ak.require` ends a call at N = ",
        ),
        (kernel("out[i] = x[i] - y[i]"), "shown", "wrong", "0 of"),
        (kernel("out[i] = x[i] + x[i] + y[i] - x[i]"), "shown", "wrong", "is "),
        (kernel("out[i] = (x[i].to(ak.bf16) + y[i].to(ak.bf16)).to(ak.f32)"), "shown", "wrong", "ulp apart"),
        (kernel("out[i] = ak.zeros(i, ak.f32)"), "shown", "wrong", "not"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) and len(value) < 40 else None,
)
def test_what_is_not_right_ends_at_its_check(bench: Bench, source: str, check: str, verdict: str, said: str):
    found = judged(source, bench=bench)
    assert (found.verdict, status(found, check)) == (verdict, "failed"), found.summary
    assert said in found.summary
    assert found.summary.startswith(f"{verdict}: `{check}`")
    later = NAMES[NAMES.index(check) + 1 :] if check != "promises" else ("shown", "hidden", "memory")
    assert {status(found, name) for name in later} <= {"not_run", "passed"}
    assert status(found, "deterministic") == "not_run"
    assert bool(found.codes) == (check == "compile")


def test_what_takes_too_much_time_or_memory_is_wrong(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentkern.evals.candidates.agentkern.TIME_LIMIT_S", 0.5)
    scratch = "t = ak.scratch((N * 1000000000000,), ak.f32)\n    for i in ak.grid(N):\n        t[i] = x[i]"
    found = judged(RIGHT.replace("for i in ak.grid(N):", f"{scratch}\n    for i in ak.grid(N):"), bench=bench)
    assert (found.verdict, status(found, "shown")) == ("wrong", "failed"), found.summary
    assert "a run takes more memory than it may" in found.summary
    endless = "ak.sum(ak.full((1000000000,), 1.0, ak.f32))"
    found = judged(kernel(f"out[i] = x[i] + y[i] + {endless}"), bench=bench)
    assert (found.verdict, status(found, "shown")) == ("wrong", "failed"), found.summary
    assert "a run takes more than 0.5 s" in found.summary


def test_a_kernel_of_several_is_judged_where_it_is_named(bench: Bench):
    two = kernel("out[i] = x[i]", name="other") + RIGHT.removeprefix(HEADER)
    assert judged(two, bench=bench, name="other").verdict == "wrong"
    assert judged(two, bench=bench, name="add").verdict == "bit_exact"
    assert judged(two, bench=bench, name="ad").codes != ()


def test_a_kernel_that_is_right_at_shown_sizes_only_is_wrong_and_says_how_often(bench: Bench):
    shown = VECTOR_ADD.shapes.shown[0]["N"]
    tail = kernel(f"out[i] = ak.where(i.index < {shown}, x[i] + y[i], x[i])")
    found = judged(tail, bench=bench)
    if "AK" in found.summary:
        pytest.skip(found.summary)
    assert (found.verdict, status(found, "hidden")) == ("wrong", "failed"), found.summary
    assert found.stages["shown"] == 1.0
    assert 0.0 < found.stages["hidden"] < 1.0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return (", "x.add_(1)\n    return (", "`reference` changes its argument `x` in place"),
        ("return (", "raise ValueError('no answer')\n    return (", "raised ValueError: no answer"),
        ("return (", "import os; os._exit(0)\n    return (", "before it had answered every case"),
        ("return (", "return x[:1]\n    return (", "has shape [1]"),
        ("import torch", "import torch_of_nowhere", "raised ModuleNotFoundError"),
    ],
)
def test_a_reference_that_fails_gives_no_verdict(tmp_path: Path, old: str, new: str, said: str):
    folder = copy_task(VECTOR_ADD, tmp_path)
    file = folder / "reference.py"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    found = judged(RIGHT, read_task(folder))
    assert found.verdict == "not_run"
    assert said in found.summary
    assert str(file) in found.summary
    assert not any(check.status == "passed" and check.name == "shown" for check in found.checks)


def test_another_file_of_the_task_makes_another_digest(tmp_path: Path):
    folder = copy_task(VECTOR_ADD, tmp_path)
    assert judge_digest(read_task(folder)) == judge_digest(VECTOR_ADD)
    (folder / "reference.py").write_text("# other\n" + (folder / "reference.py").read_text())
    assert judge_digest(read_task(folder)) != judge_digest(VECTOR_ADD)


def test_an_error_of_ours_is_no_verdict_and_no_crash(bench: Bench):
    candidate = candidate_of(VECTOR_ADD, submission(RIGHT))
    assert candidate.prepare() is None

    class Broken:
        language, device, source, finds_races, permutes = "agentkern", "cpu", RIGHT, True, True
        prepare, close = candidate.prepare, candidate.close

        def run(self, call: object, options: object) -> object:
            raise AssertionError("of ours")

    found = judge(VECTOR_ADD, Broken(), bench=bench)
    assert found.verdict == "not_run"
    assert "an error of ours, AssertionError" in found.summary
