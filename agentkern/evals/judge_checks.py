"""The judge's checks by name, each over one trial of a candidate. None decides the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from agentkern.evals.candidates.protocol import Candidate
from agentkern.evals.judge_cases import Bench, same_bits
from agentkern.evals.task_reference import wrong_elements
from agentkern.tools.results import Mismatch
from agentkern.tools.verify_agreement import Answer, violation
from agentkern.tools.verify_compare import describe, first_difference
from agentkern.tools.verify_model import (
    Arrays,
    BuildError,
    BuildsAhead,
    Case,
    ExecutionError,
    Run,
    RunOptions,
    TimeLimitError,
)
from agentkern.tools.verify_subject import Outcome, difference_text, failed, not_applicable, passed

ORDERS = {"quick": 4, "full": 20}
MEMORY_ORDERS = {"quick": 2, "full": 4}
MEMORY_CASES = 3
MEMORY_ELEMENTS = 1 << 14
"""Tracked runs keep a shadow of memory: the smallest cases only."""
WRITES_CASES = 3
_INPUT_CHANGED = "input `"


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate on a task's calls. `runs`: what plain runs left; `stages`: share of right cases."""

    bench: Bench
    candidate: Candidate
    runs: dict[int, tuple[str, Run]] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)

    def run(self, case: Case) -> Run:
        """Run once, with the first poison and order, and remember it. Errors: as `run_with`."""
        if id(case) not in self.runs:
            self.runs[id(case)] = (case.name, self.run_with(case, RunOptions()))
        return self.runs[id(case)][1]

    def run_with(self, case: Case, options: RunOptions) -> Run:
        """Run once. Errors: as `Candidate.run`; ExecutionError too where a run takes more time or memory than it may.

        A task's sizes are small: what takes so much of either is the text's doing.
        """
        try:
            return self.candidate.run(case.call, options)
        except TimeLimitError as e:
            raise ExecutionError(str(e)) from e
        except MemoryError as e:
            raise ExecutionError(f"a run takes more memory than it may: {e or 'no more is there'}") from e


def check_shown(trial: Trial) -> Outcome:
    """Compare with the reference at the sizes that the writer knows."""
    return _stage(trial, "shown", trial.bench.cases.shown)


def check_hidden(trial: Trial) -> Outcome:
    """Compare with the reference at sizes and values that the writer does not know."""
    return _stage(trial, "hidden", trial.bench.cases.hidden)


def _stage(trial: Trial, name: str, cases: Sequence[Case]) -> Outcome:
    """Run every case, so that the share of right ones is known; the first wrong one is the outcome."""
    got: dict[int, Arrays] = {}
    problems: dict[int, tuple[str, Mismatch | None]] = {}
    if isinstance(trial.candidate, BuildsAhead):
        trial.candidate.build_ahead([(case.call.sizes, RunOptions()) for case in cases])
    for number, case in enumerate(cases):
        try:
            got[number] = trial.run(case).outputs
        except (ExecutionError, BuildError) as e:
            problems[number] = (f"{case.name}: {e}", None)
            break  # what does not end or build once is not tried at every size
    wrong = wrong_answers(trial.bench, [cases[number] for number in got], list(got.values()))
    for number, mismatch in zip(got, wrong, strict=True):
        if mismatch is not None:
            problems[number] = (difference_text(mismatch, cases[number].name), mismatch)
    right = len(got) - len(problems.keys() & got.keys())
    trial.stages[name] = right / max(len(cases), 1)
    if problems:
        detail, mismatch = problems[min(problems)]
        return failed(name, f"{detail}; {right} of {len(cases)} cases are right", mismatch)
    return passed(name, f"{trial.bench.task.criterion.text()} holds in {len(cases)} cases")


def wrong_answers(bench: Bench, cases: Sequence[Case], got: Sequence[Arrays]) -> list[Mismatch | None]:
    """Return one wrong element of each case, None where it is right. Errors: ReferenceFailure."""
    marks = wrong_elements(bench.task, [case.call for case in cases], got)
    return [
        _mismatch(bench, outputs, bench.answer(case), marked)
        for case, outputs, marked in zip(cases, got, marks, strict=True)
    ]


def _mismatch(bench: Bench, got: Arrays, answer: Answer, marked: Mapping[str, np.ndarray]) -> Mismatch | None:
    criterion = bench.task.criterion
    for param in bench.task.signature.outputs:
        if param.name in criterion.free:
            wrong = marked[param.name]
            found = describe(param, got, answer.outputs, int(np.argmax(wrong))) if wrong.any() else None
        else:
            found = violation((param,), got, answer, criterion.outputs[param.name])
        if found is not None:
            return found
    return None


def check_inputs(trial: Trial) -> Outcome:
    """Look whether any run changed an input."""
    damage = _damage(trial.runs.values(), is_input=True)
    return passed("inputs", f"none changed in {len(trial.runs)} runs") if damage is None else failed("inputs", damage)


def _damage(runs: Iterable[tuple[str, Run]], *, is_input: bool) -> str | None:
    """Return the first change of an input, or of memory around the buffers."""
    damages = ((where, message) for where, run in runs for message in run.damage)
    return next((f"{where}: {text}" for where, text in damages if text.startswith(_INPUT_CHANGED) == is_input), None)


def check_writes(trial: Trial) -> Outcome:
    """Poison the outputs in another way: an element that was not written differs; guard bands must be whole."""
    cases, outputs = trial.bench.cases, trial.bench.task.signature.filled
    some = (cases.base, *cases.hidden[:WRITES_CASES])
    others: list[tuple[str, Run]] = []
    for case in some:
        again = trial.run_with(case, RunOptions(poison=1))
        kept = first_difference(outputs, trial.run(case).outputs, again.outputs)
        if kept is not None:
            where = ", ".join(map(str, kept.index))
            return failed("writes", f"{case.name}: {kept.output}[{where}] is not written, or not always to one value")
        others.append((case.name, again))
    damage = _damage([*trial.runs.values(), *others], is_input=False)
    if damage is not None:
        return failed("writes", damage)
    detail = f"every element written in {len(some)} cases, guard bands whole in {len(trial.runs) + len(some)} runs"
    return passed("writes", detail)


def check_depends(trial: Trial) -> Outcome:
    """Change one argument at a time: where the right answer changes, the output must, and to the right answer."""
    bench = trial.bench
    base, want = trial.run(bench.cases.base).outputs, bench.answer(bench.cases.base).outputs
    changing = [(name, case) for name, case in bench.cases.depends if not same_bits(bench.answer(case).outputs, want)]
    got = [trial.run(case).outputs for _, case in changing]
    for (name, _), outputs in zip(changing, got, strict=True):
        if same_bits(outputs, base):
            return failed("depends", f"the output does not change with `{name}`")
    cases = [bench.cases.base, *(case for _, case in changing)]
    for case, mismatch in zip(cases, wrong_answers(bench, cases, [base, *got]), strict=True):
        if mismatch is not None:
            return failed("depends", difference_text(mismatch, case.name), mismatch)
    names = ", ".join(f"`{name}`" for name, _ in changing)
    return passed("depends", f"the output follows {names}") if changing else not_applicable("depends", "no argument")


def check_memory(trial: Trial) -> Outcome:
    """Look for races, uninitialised reads and accesses out of bounds, in several orders of threads and blocks."""
    if not trial.candidate.finds_races:
        return not_applicable("memory", "races are found by the CPU simulator, which does not run this")
    bench = trial.bench
    listed = sorted((bench.cases.base, *bench.cases.hidden), key=lambda case: bench.task.elements(case.call.sizes))
    small = [case for case in listed if bench.task.elements(case.call.sizes) <= MEMORY_ELEMENTS]
    some = list({id(case): case for case in (bench.cases.base, *small[-MEMORY_CASES:])}.values())
    runs = [(case, order) for case in some for order in range(MEMORY_ORDERS[bench.level])]
    for case, order in runs:
        run = trial.run_with(case, RunOptions(order=order, tracked=True))
        defect = next(iter((*run.damage, *run.findings)), None)
        if defect is not None:
            return failed("memory", f"{case.name}, order {order}: {defect}")
    return passed("memory", f"no race, uninitialised read or access out of bounds in {len(runs)} runs")


def check_deterministic(trial: Trial) -> Outcome:
    """Run again and again, in permuted orders where there are any, and compare the bits.

    Random inputs are multiples of one number, so that short sums of them are exact in any order; another call's round.
    """
    count = ORDERS[trial.bench.level]
    for case in (trial.bench.cases.base, trial.bench.cases.rounding):
        first = trial.run(case)
        for order in range(1, count):
            again = trial.run_with(case, RunOptions(order=order))
            mismatch = first_difference(trial.bench.task.signature.outputs, again.outputs, first.outputs)
            if mismatch is not None:
                where = f"{case.name}, order {order}"
                return failed("deterministic", difference_text(mismatch, where), mismatch)
    orders = " in permuted orders of threads and blocks" if trial.candidate.permutes else ""
    return passed("deterministic", f"{count} runs each of 2 calls gave the same bits{orders}")


CHECKS: Mapping[str, Callable[[Trial], Outcome]] = {
    "shown": check_shown,
    "hidden": check_hidden,
    "inputs": check_inputs,
    "writes": check_writes,
    "depends": check_depends,
    "memory": check_memory,
    "deterministic": check_deterministic,
}
"""In the order they run."""
