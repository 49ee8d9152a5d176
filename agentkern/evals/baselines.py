"""Hold a task's baselines to the task: what a submission is timed beside does the same work at the same precision.

A baseline answers all calls of the quick level, on the CPU and in a process of its own, and its answers are compared
with the reference's. Integers must be the reference's, and so must what a bound is stated for, by that bound. Of floats
whose bits a task fixes, PyTorch promises neither the order of a sum nor which products are fused with one: they have
the bounds below, which whatever is computed in less than f32 misses.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_formats import Raw, decode
from agentkern.dsl.dtypes import DType
from agentkern.evals.judge_cases import Bench
from agentkern.evals.judge_checks import wrong_answers
from agentkern.evals.task_model import Task, TaskCriterion
from agentkern.evals.task_reference import PendingAnswers, start_baseline
from agentkern.tools.reference_process import ReferenceFailure
from agentkern.tools.verify_agreement import Answer, agreement
from agentkern.tools.verify_buffers import initial
from agentkern.tools.verify_compare import as_bits, ulp_distances
from agentkern.tools.verify_criterion import Criterion
from agentkern.tools.verify_model import Arrays, Call
from agentkern.tools.verify_subject import difference_text

NARROW_BITS = 16
NARROW = Criterion("bound", max_ulp=1, min_equal_share=0.99)
"""Of floats up to 16 bits: a sum of some terms in f32 moves a rounding to 8 significant bits in a share of 1e-3."""
WIDE = Criterion("bound", max_ulp=16)
"""Of wider floats: some sixteen roundings; one to 11 bits, as in half precision, is thousands."""
CANCELLED = 2.0**-20
"""Where terms cancel, an error is small beside them and not beside what is left: this share of a call's largest element
is always allowed, sixteen roundings of it to f32."""


@dataclass(frozen=True, slots=True)
class Held:
    """What became of a task's baselines. `agreed`: how near each that holds is; `problems`: why others do not."""

    agreed: Mapping[str, str]
    problems: tuple[str, ...]


@contextmanager
def started_baselines(bench: Bench) -> Generator[dict[str, PendingAnswers]]:
    """Start every baseline on the bench's calls, so that they are computed while something else is; end them after."""
    calls = [case.call for case in bench.cases.all]
    started = {name: start_baseline(bench.task, name, calls) for name in bench.task.baselines}
    try:
        yield started
    finally:
        for pending in started.values():
            pending.close()


def held_baselines(bench: Bench, started: Mapping[str, PendingAnswers]) -> Held:
    """Wait for the baselines and compare them with the reference. Errors: ReferenceFailure of the reference itself."""
    agreed: dict[str, str] = {}
    problems: list[str] = []
    for name, pending in started.items():
        try:
            answers = pending.answers()
        except ReferenceFailure as e:
            problems.append(f"the baseline `{name}`: {e}")
            continue
        got = _comparable(bench, [answer.outputs for answer in answers])
        problem = _problem(bench, got)
        if problem is None:
            agreed[name] = _nearness(bench, got)
        else:
            problems.append(f"the baseline `{name}`: {problem}")
    return Held(agreed, tuple(problems))


def baseline_criterion(task: Task) -> TaskCriterion:
    """Return what a task's baselines are held to: its own criterion but for floats whose bits it fixes."""
    dtypes = {tensor.name: tensor.dtype for tensor in task.tensors}
    outputs = {name: _of_baselines(c, dtypes[name]) for name, c in task.criterion.outputs.items()}
    return replace(task.criterion, outputs=outputs)


def _of_baselines(criterion: Criterion, dtype: DType) -> Criterion:
    if criterion.kind == "bound" or not dtype.is_float:
        return criterion
    return NARROW if dtype.bits <= NARROW_BITS else WIDE


def _problem(bench: Bench, got: Sequence[Arrays]) -> str | None:
    """Return the first wrong element in words."""
    asked = replace(bench.task, criterion=baseline_criterion(bench.task))
    cases = bench.cases.all
    near = [_without_cancelled(bench, one, bench.answer(case)) for case, one in zip(cases, got, strict=True)]
    for case, mismatch in zip(cases, wrong_answers(replace(bench, task=asked), cases, near), strict=True):
        if mismatch is not None:
            return f"{difference_text(mismatch, case.name)}; it is held to {asked.criterion.text()}"
    return None


def _without_cancelled(bench: Bench, got: Arrays, want: Answer) -> Arrays:
    """Return outputs whose floats with fixed bits are the reference's where they are near enough for what cancels."""
    task = bench.task
    exact = [t for t in task.tensors if t.access != "in" and t.dtype.is_float and t.name not in task.criterion.free]
    names = {t.name: t.dtype for t in exact if task.criterion.outputs[t.name].kind == "bit_exact"}
    return {**got, **{name: _near_ones(dtype, got[name], want.outputs[name]) for name, dtype in names.items()}}


def _near_ones(dtype: DType, got: Raw, want: Raw) -> Raw:
    bound = _of_baselines(Criterion(), dtype)
    assert bound.max_ulp is not None
    one, other = (decode(dtype.name, raw).astype(np.float64) for raw in (got, want))
    largest = np.abs(other, where=np.isfinite(other), out=np.zeros_like(other)).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        is_near = np.abs(one - other) <= CANCELLED * largest
    return np.where(is_near & (ulp_distances(dtype, got, want) > bound.max_ulp), want, got)


def _comparable(bench: Bench, got: Sequence[Arrays]) -> list[Arrays]:
    """Return answers with what the task leaves unwritten taken from the reference, which keeps what was there."""
    partial = bench.task.signature.partial
    if not partial:
        return list(got)
    pairs = zip(bench.cases.all, got, strict=True)
    return [{**one, **_written(partial, case.call, one, bench.answer(case))} for case, one in pairs]


def _written(partial: Sequence[TensorParam], call: Call, got: Arrays, want: Answer) -> Arrays:
    kept = {p.name: as_bits(want.outputs[p.name]) == as_bits(initial(p, call, 0)) for p in partial}
    return {name: np.where(is_kept, want.outputs[name], got[name]) for name, is_kept in kept.items()}


def _nearness(bench: Bench, got: Sequence[Arrays]) -> str:
    """Say in how many calls a baseline is right, and how many bits it shares with the reference."""
    compared = [p for p in bench.task.signature.outputs if p.name not in bench.task.criterion.free]
    count = f"{len(got)} calls"
    if not compared:
        return f"right in {count}"
    cases = zip(bench.cases.all, got, strict=True)
    share = min(agreement(compared, one, bench.answer(case)).equal_share for case, one in cases)
    return f"right in {count}, at least {share:.6f} bit-equal"
