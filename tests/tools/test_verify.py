"""Verify accepts the interpreter and rejects executors that are broken in one way each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from agentkern.compiler.ir.reference_formats import Raw
from agentkern.tools.results import VerifyResult
from agentkern.tools.verify_executors import InterpreterExecutor
from agentkern.tools.verify_model import Call, ExecutionError, Run, RunOptions
from agentkern.tools.verify_run import NAMES, VerifyOptions, make_subject, run_checks
from tests.compiler.ir.tile_kernels import PER_TOKEN_CAST, RMS_NORM, VECTOR_ADD
from tests.tools.verify_programs import Break, BrokenExecutor, TextProgram, flip_last_bit

Outputs = dict[str, Raw]


def verify(text: str, spoil: Break | None = None, **sizes: int) -> VerifyResult:
    program = TextProgram(text)
    right = InterpreterExecutor(program)
    executor = right if spoil is None else BrokenExecutor(program, spoil)
    options = VerifyOptions(sizes)
    return run_checks(make_subject(program, executor, executor, program.sizes, options), options)


def status(result: VerifyResult, name: str) -> str:
    return next(c.status for c in result.checks if c.name == name)


def flipped(outputs: Outputs) -> Outputs:
    return {name: flip_last_bit(raw) for name, raw in outputs.items()}


@pytest.mark.parametrize(("text", "sizes"), [(VECTOR_ADD, {}), (RMS_NORM, {"H": 576}), (PER_TOKEN_CAST, {"H": 200})])
def test_a_right_kernel_is_bit_exact_and_every_check_is_named(text: str, sizes: dict[str, int]) -> None:
    result = verify(text, **sizes)
    assert result.verdict == "bit_exact"
    assert tuple(c.name for c in result.checks) == NAMES
    assert status(result, "reference") == "not_applicable"
    assert result.mismatch is None


def test_every_control_is_rejected_and_swapping_the_terms_of_a_sum_is_none() -> None:
    result = verify(VECTOR_ADD)
    names = {c.name for c in result.controls if c.rejected}
    assert names == {"zeros", "ones", "copy of an input", "stale output", "dropped tail", "off-by-one mask"}
    assert len(result.controls) == len(names)


def test_swapped_inputs_of_a_difference_are_a_control_that_is_rejected() -> None:
    result = verify(VECTOR_ADD.replace("= add(", "= sub("))
    assert {c.name: c.rejected for c in result.controls}["swapped inputs"]


def test_a_check_on_whose_inputs_a_wrong_answer_is_right_says_that_it_is_useless_against_it() -> None:
    # x - x is 0, but for NaN and infinities
    result = verify(VECTOR_ADD.replace("add(%a, %b)", "sub(%a, %a)"))
    details = {c.name: c.detail for c in result.checks}
    assert "useless against `zeros`" in details["integers"]
    assert "useless against `zeros`" not in details["special"]
    assert {c.name: c.rejected for c in result.controls}["zeros"]


@dataclass(frozen=True)
class Fault:
    """A way of being wrong, and a check that must notice it."""

    check: str
    spoil: Callable[[Call, RunOptions, Outputs], Outputs]
    sizes: dict[str, int]


def _only_in(condition: Callable[[Call, RunOptions], bool]) -> Break:
    return lambda call, options, outputs: flipped(outputs) if condition(call, options) else outputs


def _unwritten_tail(call: Call, options: RunOptions, outputs: Outputs) -> Outputs:
    for raw in outputs.values():
        raw.reshape(-1)[-1:] = options.poison + 1
    return outputs


FAULTS = {
    "last bit": Fault("interpreter", _only_in(lambda call, options: True), {"H": 576}),
    "unwritten tail": Fault("writes", _unwritten_tail, {"H": 576}),
    "one schedule": Fault(
        "schedules",
        _only_in(lambda call, options: options.schedule is not None and options.schedule.grids[0].tile == (4,)),
        {"H": 576},
    ),
    "one order": Fault("deterministic", _only_in(lambda call, options: options.order == 13), {"H": 576}),
    "one row": Fault("batch", _only_in(lambda call, options: call.sizes["T"] == 1), {"H": 576}),
    "prime extent": Fault("shapes", _only_in(lambda call, options: call.sizes["T"] == 131), {"H": 576}),
    "other static size": Fault("shapes", _only_in(lambda call, options: call.sizes["H"] == 131), {"H": 576}),
    "nan": Fault("special", _only_in(lambda call, options: bool((call.tensors["x"] == 0x7FFF).any())), {"H": 576}),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_found_by_the_check_that_looks_for_it(fault: Fault) -> None:
    result = verify(RMS_NORM, fault.spoil, **fault.sizes)
    assert result.verdict == "wrong"
    assert result.status == "failed"
    assert status(result, fault.check) == "failed"
    assert result.mismatch is not None


def test_mismatch_names_output_index_both_values_and_their_distance() -> None:
    result = verify(RMS_NORM, _only_in(lambda call, options: True), H=576)
    mismatch = result.mismatch
    assert mismatch is not None
    assert mismatch.output == "out"
    assert mismatch.index[1] == 575
    assert mismatch.ulp == 1
    assert "0x" in mismatch.got


@dataclass(frozen=True)
class Scribbler:
    """Gives right outputs, but reports an overwritten guard band or a race."""

    program: TextProgram
    report: str
    device: str = "cpu"

    def run(self, call: Call, options: RunOptions) -> Run:
        run = InterpreterExecutor(self.program).run(call, RunOptions(poison=options.poison))
        if self.report == "race":
            return Run(run.outputs, findings=("race on `out`",) if options.tracked else ())
        return Run(run.outputs, damage=("byte 0 past the end of `out` was overwritten",))


@pytest.mark.parametrize(("report", "check"), [("guard", "writes"), ("race", "memory")])
def test_defects_beside_the_values_fail_their_check(report: str, check: str) -> None:
    program = TextProgram(VECTOR_ADD)
    executor = Scribbler(program, report)
    options = VerifyOptions({})
    result = run_checks(make_subject(program, executor, executor, program.sizes, options), options)
    assert result.verdict == "wrong"
    assert status(result, check) == "failed"


def test_without_a_tracker_memory_is_not_run_and_nothing_is_called_exact() -> None:
    program = TextProgram(VECTOR_ADD)
    executor = InterpreterExecutor(program)
    options = VerifyOptions({})
    result = run_checks(make_subject(program, executor, None, program.sizes, options), options)
    assert status(result, "memory") == "not_run"
    assert (result.verdict, result.status) == ("not_run", "unavailable")


@dataclass(frozen=True)
class Crasher:
    """Fails to end for more than one row."""

    program: TextProgram
    device: str = "cpu"

    def run(self, call: Call, options: RunOptions) -> Run:
        raise ExecutionError("the launch timed out")


def test_a_run_that_does_not_end_is_a_failure_with_its_reason() -> None:
    program = TextProgram(VECTOR_ADD)
    options = VerifyOptions({})
    executor = Crasher(program)
    result = run_checks(make_subject(program, executor, executor, program.sizes, options), options)
    assert result.verdict == "wrong"
    assert "the launch timed out" in result.summary


def test_static_sizes_that_the_kernel_rejects_are_left_out_and_said() -> None:
    program = TextProgram(RMS_NORM, rejected=(131,))
    executor = InterpreterExecutor(program)
    options = VerifyOptions({"H": 64})
    result = run_checks(make_subject(program, executor, executor, program.sizes, options), options)
    assert status(result, "shapes") == "passed"
    assert "left out: rejected size" in next(c.detail for c in result.checks if c.name == "shapes")


def test_progress_names_each_check_once() -> None:
    program = TextProgram(VECTOR_ADD)
    executor = InterpreterExecutor(program)
    seen: list[str] = []
    options = VerifyOptions({})
    subject = make_subject(program, executor, executor, program.sizes, options)
    run_checks(subject, options, lambda fraction, name: seen.append(name))
    assert sorted(seen) == sorted(NAMES)


def test_inputs_of_every_case_are_left_as_they_were() -> None:
    program = TextProgram(VECTOR_ADD)
    options = VerifyOptions({"N": 33})
    executor = InterpreterExecutor(program)
    subject = make_subject(program, executor, executor, program.sizes, options)
    case = subject.case("random", subject.plan.base)
    before = {name: raw.copy() for name, raw in case.call.tensors.items()}
    assert subject.run(case).damage == ()
    assert all(np.array_equal(raw, case.call.tensors[name]) for name, raw in before.items())


@pytest.mark.parametrize("way", ["strided", "shared"])
def test_a_kernel_that_is_wrong_only_where_tensors_lie_otherwise_is_rejected(way: str) -> None:
    def spoil(call: Call, options: RunOptions, outputs: Outputs) -> Outputs:
        return flipped(outputs) if getattr(options, way) else outputs

    result = verify(VECTOR_ADD, spoil)
    assert (result.verdict, status(result, "shapes")) == ("wrong", "failed")


def test_an_output_that_is_no_input_in_time_is_not_run_in_place() -> None:
    def spoil(call: Call, options: RunOptions, outputs: Outputs) -> Outputs:
        return flipped(outputs) if options.shared else outputs

    assert verify(PER_TOKEN_CAST, spoil, H=200).verdict == "bit_exact"
