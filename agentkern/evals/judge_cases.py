"""The calls that a task is judged by, and the reference's answers to them: each computed once, for any submissions.

Seeds and hidden sizes are the judge's own. A candidate is given a call's inputs, never its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from agentkern.evals.task_inputs import other_scalars, task_array, task_case
from agentkern.evals.task_model import Task
from agentkern.evals.task_reference import PendingAnswers, start_answers
from agentkern.tools.reference_process import ReferenceFailure
from agentkern.tools.verify_agreement import Answer
from agentkern.tools.verify_compare import as_bits
from agentkern.tools.verify_model import Arrays, Case, Sizes

Level = Literal["quick", "full"]
_HIDDEN_SEED = 7919
_OTHER_SEED = 104729


@dataclass(frozen=True, slots=True)
class Cases:
    """Calls by what they are for. `depends`: the base call with one argument changed, by its name.

    `rounding`: a call whose sums round, so that their order shows; no reference answers it.
    """

    shown: tuple[Case, ...]
    hidden: tuple[Case, ...]
    base: Case
    depends: tuple[tuple[str, Case], ...]
    rounding: Case

    @property
    def all(self) -> tuple[Case, ...]:
        """Every call that the reference answers, in order."""
        return (*self.shown, *self.hidden, self.base, *(case for _, case in self.depends))


def cases_of(task: Task, level: Level, seed: int) -> Cases:
    """Choose the calls: at the quick level other kinds of inputs than random ones at the smallest sizes only."""
    small = small_sizes(task)
    shown = _stage(task, task.shapes.shown, level, seed)
    shown += [task_case(task, "random", small, seed, scalars=other) for other in other_scalars(task)]
    hidden = _stage(task, task.shapes.hidden, level, seed + _HIDDEN_SEED)
    base = task_case(task, "random", small, seed + 1)
    rounding = task_case(task, "wide", small, seed + 2)
    return Cases(tuple(shown), tuple(hidden), base, tuple(_changed(task, base, seed + _OTHER_SEED)), rounding)


def small_sizes(task: Task) -> Sizes:
    """Return the smallest shown sizes at which no tensor is empty, any where there are none."""
    filled = [sizes for sizes in task.shapes.shown if _is_filled(task, sizes)]
    return min(filled or task.shapes.shown, key=task.elements)


def _is_filled(task: Task, sizes: Sizes) -> bool:
    call = task_case(task, "random", sizes, 0).call
    return all(raw.size for raw in call.tensors.values())


def _stage(task: Task, shapes: tuple[Sizes, ...], level: Level, seed: int) -> list[Case]:
    """Random inputs at all sizes; the task's other kinds at all of them (full), or at the smallest filled one."""
    filled = [sizes for sizes in shapes if _is_filled(task, sizes)] or list(shapes)
    most = list(shapes) if level == "full" else [min(filled, key=task.elements)]
    found = [task_case(task, task.kinds[0], sizes, seed) for sizes in shapes]
    return found + [task_case(task, kind, sizes, seed) for sizes in most for kind in task.kinds[1:]]


def _changed(task: Task, base: Case, seed: int) -> Iterator[tuple[str, Case]]:
    call = base.call
    for tensor in task.tensors:
        if tensor.name in call.tensors:
            other = task_array(tensor, "random", call.sizes, seed)
            changed = replace(call, tensors={**call.tensors, tensor.name: other})
            yield tensor.name, Case(f"{base.name}, another `{tensor.name}`", changed)
    for scalars in other_scalars(task)[:1]:
        for name, value in scalars.items():
            changed = replace(call, scalars={**call.scalars, name: value})
            yield name, Case(f"{base.name}, {name}={value}", changed)


@dataclass(slots=True)
class _Known:
    pending: PendingAnswers | None = None
    answers: dict[int, Answer] | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Bench:
    """A task with its calls; the reference starts when asked, and its answers are remembered."""

    task: Task
    level: Level
    seed: int
    cases: Cases
    _known: _Known = field(default_factory=_Known)

    def start(self) -> None:
        """Start the reference, so that it works while something else does."""
        known = self._known
        if known.pending is None and known.answers is None and not known.failure:
            known.pending = start_answers(self.task, [case.call for case in self.cases.all])

    def answer(self, case: Case) -> Answer:
        """Wait for the reference and return its answer. Errors: ReferenceFailure."""
        self.start()
        known = self._known
        if known.pending is not None:
            pending, known.pending = known.pending, None
            try:
                found = pending.answers()
                known.answers = {id(case): answer for case, answer in zip(self.cases.all, found, strict=True)}
            except ReferenceFailure as e:
                known.failure = str(e)
        if known.answers is None:
            raise ReferenceFailure(known.failure)
        return known.answers[id(case)]

    def close(self) -> None:
        """End the reference if it still works."""
        if self._known.pending is not None:
            self._known.pending.close()
            self._known.pending = None


def make_bench(task: Task, level: Level = "quick", seed: int = 0) -> Bench:
    """Return the calls of a task that is not blocked."""
    return Bench(task, level, seed, cases_of(task, level, seed))


def same_bits(one: Arrays, other: Arrays) -> bool:
    """Whether two answers are bit-equal."""
    return all(np.array_equal(as_bits(raw), as_bits(other[name])) for name, raw in one.items())
