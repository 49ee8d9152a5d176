"""Every tool says that a kernel is nondeterministic, and verify shows what can be shown of it and no more."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest as DriverRequest
from agentkern.tools.arrays import GivenInputs
from agentkern.tools.check import check
from agentkern.tools.compile import compile as compile_kernel
from agentkern.tools.profile import ProfileRequest, profile
from agentkern.tools.requests import CheckRequest, CompileRequest, RunRequest
from agentkern.tools.results import VerifyResult
from agentkern.tools.run import run
from agentkern.tools.server.brief import BUDGET_BYTES, brief, compact
from agentkern.tools.verify import VerifyRequest, verify
from agentkern.tools.verify_executors import InterpreterExecutor
from agentkern.tools.verify_model import Call, Run, RunOptions
from agentkern.tools.verify_program import CompiledProgram, program_of
from agentkern.tools.verify_run import NEEDS_EQUAL_BITS, VerifyOptions, make_subject, run_checks

WORDS = "nondeterministic: bits may differ from run to run"
HISTOGRAM = """\
import agentkern as ak

T, X, Y = ak.dim("T"), ak.dim("X"), ak.dim("Y")


@ak.kernel(nondeterministic=True)
def histogram(ix: ak.In[ak.i32, T].values(0, X), iy: ak.In[ak.i32, T].values(0, Y), w: ak.In[ak.f32, T],
              counts: ak.InOut[ak.f32, X, Y]):
    for t in ak.grid(T):
        ak.atomic_add(counts[ix[t], iy[t]], w[t])
"""
REFERENCE = """\
import torch


def reference(ix, iy, w, counts):
    return counts.clone().index_put((ix.long(), iy.long()), w, accumulate=True)


def reference_f64(ix, iy, w, counts):
    return counts.double().index_put((ix.long(), iy.long()), w.double(), accumulate=True)
"""
# few bins, so that sums have hundreds of terms
FEW_BINS = {"X": 2, "Y": 3}


def statuses(result: VerifyResult) -> dict[str, str]:
    return {check.name: check.status for check in result.checks}


@pytest.fixture(scope="module")
def without_reference() -> VerifyResult:
    return verify(VerifyRequest(source=HISTOGRAM, path="kernel.py", dims=FEW_BINS))


def test_check_compile_run_and_profile_say_it():
    given = {"source": HISTOGRAM, "path": "kernel.py"}
    results = [
        check(CheckRequest(**given)),
        compile_kernel(CompileRequest(**given)).result,
        run(RunRequest(**given, dims={"T": 9, "X": 2, "Y": 2}), GivenInputs({}, {})).result,
        profile(ProfileRequest(**given)),
    ]
    assert [result.nondeterministic for result in results] == [True] * 4
    assert [result.summary for result in results if WORDS not in result.summary] == []


def test_a_kernel_that_is_not_says_nothing_of_it():
    plain = HISTOGRAM.replace("(nondeterministic=True)", "").replace("atomic_add", "atomic_max")
    result = check(CheckRequest(source=plain, path="kernel.py"))
    assert (result.status, result.nondeterministic) == ("ok", False)
    assert "nondeterministic" not in result.summary
    assert "nondeterministic" not in compact(brief("check", result.model_dump(mode="json")))


def test_a_second_compilation_out_of_the_cache_says_it_too():
    for _ in range(2):
        result = compile_kernel(CompileRequest(source=HISTOGRAM, path="cached.py")).result
        assert result.nondeterministic
        assert WORDS in result.summary


def test_the_generated_text_says_it():
    text = compile_kernel(CompileRequest(source=HISTOGRAM, path="kernel.py", emit=("cuda",))).texts["cuda"]
    assert "// nondeterministic: float sums round in the order of threads" in text
    assert re.search(r"red\.relaxed\.gpu\.global\.add\.f32", text)


def test_without_a_reference_there_is_no_verdict_and_what_was_shown_is_said(without_reference: VerifyResult):
    result = without_reference
    assert (result.verdict, result.status) == ("not_run", "unavailable")
    found = statuses(result)
    assert {found[name] for name in NEEDS_EQUAL_BITS} == {"not_applicable"}
    assert {found[name] for name in ("writes", "memory", "integers", "shapes")} == {"passed"}
    assert WORDS in result.summary
    assert "shown: writes, memory, integers" in result.summary
    assert "not applicable" not in result.summary


def test_the_short_answer_keeps_the_word_within_its_budget(without_reference: VerifyResult):
    answer = brief("verify", without_reference.model_dump(mode="json"))
    assert answer["nondeterministic"] is True
    assert WORDS in str(answer["summary"])
    assert len(compact(answer).encode()) <= BUDGET_BYTES["verify"]


def test_a_reference_with_a_bound_gives_within_bound(tmp_path: Path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    request = VerifyRequest(
        source=HISTOGRAM,
        path="kernel.py",
        dims=FEW_BINS,
        reference=f"{tmp_path / 'reference.py'}:reference",
        criterion="bound:max_error_ratio=4",
    )
    result = verify(request)
    assert (result.verdict, result.status, result.nondeterministic) == ("within_bound", "ok", True)
    assert WORDS in result.summary


def test_a_reference_without_a_bound_is_not_run(tmp_path: Path):
    (tmp_path / "reference.py").write_text(REFERENCE)
    reference = f"{tmp_path / 'reference.py'}:reference"
    result = verify(VerifyRequest(source=HISTOGRAM, path="kernel.py", dims=FEW_BINS, reference=reference))
    assert result.verdict == "not_run"
    assert statuses(result)["reference"] == "not_run"
    assert "state a bound" in result.summary


class Spoiled:
    """The interpreter in other orders for other runs, with outputs spoiled."""

    device = "cpu"

    def __init__(self, program: CompiledProgram, spoil) -> None:
        self.right, self.spoil = InterpreterExecutor(program), spoil

    def run(self, call: Call, options: RunOptions) -> Run:
        found = self.right.run(call, options)
        return replace(found, outputs={name: self.spoil(raw.copy()) for name, raw in found.outputs.items()})


def one_ulp_off(raw):
    bits = raw.view(np.uint32)
    if bits.size:
        bits.reshape(-1)[-1] ^= 1
    return raw


def lost_term(raw):
    if raw.size:
        raw.reshape(-1)[0] += 1
    return raw


@pytest.mark.parametrize(("spoil", "verdict"), [(lambda raw: raw, "not_run"), (one_ulp_off, "wrong"), (lost_term, "wrong")])  # fmt: skip
def test_integers_hold_an_executor_to_exact_sums(spoil, verdict: str):
    program = program_of(DriverRequest(HISTOGRAM, "kernel.py"))
    assert isinstance(program, CompiledProgram)
    executor = Spoiled(program, spoil)
    options = VerifyOptions({**FEW_BINS, "T": 300})
    result = run_checks(make_subject(program, executor, executor, program.sizes, options), options)
    assert result.verdict == verdict
    assert result.nondeterministic
    assert statuses(result)["integers"] == ("failed" if verdict == "wrong" else "passed")


def test_sums_that_round_on_integers_too_are_not_compared():
    # a third of an integer rounds: no order is the right one
    text = HISTOGRAM.replace("w[t])", "w[t] / 3.0)")
    program = program_of(DriverRequest(text, "kernel.py"))
    assert isinstance(program, CompiledProgram)
    executor = InterpreterExecutor(program)
    options = VerifyOptions({**FEW_BINS, "T": 3000})
    result = run_checks(make_subject(program, executor, executor, program.sizes, options), options)
    detail = next(check.detail for check in result.checks if check.name == "integers")
    assert "whose sums round, left out" in detail or statuses(result)["integers"] == "not_applicable"
    assert result.verdict == "not_run"


def test_an_unneeded_word_is_noted_and_still_holds():
    text = HISTOGRAM.replace("atomic_add", "atomic_max")
    result = check(CheckRequest(source=text, path="kernel.py"))
    assert (result.status, result.nondeterministic) == ("ok", True)
    assert [(d.code, d.severity) for d in result.diagnostics] == [("AK431", "note")]
    fix = result.diagnostics[0].fixes[0].edits[0]
    assert fix.text == "ak.kernel"
