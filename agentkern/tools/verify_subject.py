"""What every check looks at, the oracle's remembered answers, and the outcome of one check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from agentkern.compiler.ir.interpreter import RequirementError
from agentkern.compiler.ir.interpreter_orders import Orders
from agentkern.diagnostics import Diagnostic
from agentkern.tools.inputs import Kind
from agentkern.tools.results import CheckRecord, Mismatch
from agentkern.tools.verify_cases import Plan, make_case
from agentkern.tools.verify_compare import first_difference
from agentkern.tools.verify_controls import CONTROLS
from agentkern.tools.verify_executors import run_interpreter
from agentkern.tools.verify_model import (
    Arrays,
    BuildsAhead,
    Call,
    Case,
    Executor,
    Program,
    Run,
    RunOptions,
    Scalars,
    Signature,
    Sizes,
    signature_of,
)
from agentkern.tools.verify_orders import settled

Level = Literal["quick", "full"]
Judge = Callable[[Case, Arrays], Mismatch | None]


@dataclass(frozen=True, slots=True)
class Oracle:
    """The interpreter's answers, each computed once. `nondeterministic`: where sums round, others may be right too."""

    program: Program
    nondeterministic: bool = False
    answers: dict[int, tuple[Call, Arrays, Orders]] = field(default_factory=dict)

    def __call__(self, call: Call) -> Arrays:
        """Return the outputs of a call. Errors: BuildError."""
        return self._known(call)[1]

    def orders(self, call: Call) -> Orders:
        """Return how the answer to a call depends on the order of threads. Errors: BuildError."""
        return self._known(call)[2]

    def _known(self, call: Call) -> tuple[Call, Arrays, Orders]:
        known = self.answers.get(id(call))
        if known is None:
            orders = Orders()
            answer = run_interpreter(self.program, call, orders if self.nondeterministic else None)
            # the call is kept too: an id is only unique while its object lives
            known = self.answers[id(call)] = (call, answer, orders)
        return known


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel under verification. `tracker` looks for races and uninitialised reads; None where nothing here can.

    `requires`: the kernel stops for inputs that do not meet its conditions.
    """

    program: Program
    executor: Executor
    tracker: Executor | None
    signature: Signature
    oracle: Oracle
    plan: Plan
    level: Level
    scalars: Scalars
    seed: int
    requires: bool = False

    @property
    def nondeterministic(self) -> bool:
        """Whether the kernel says that its bits may differ from run to run."""
        return self.oracle.nondeterministic

    def difference(self, call: Call, got: Arrays) -> Mismatch | None:
        """Return the first element whose bits are not the oracle's, of those that every order of threads must give."""
        want = self.oracle(call)
        got = settled(got, want, self.oracle.orders(call)) if self.nondeterministic else got
        return first_difference(self.signature_at(call.sizes).outputs, got, want)

    def case(self, kind: Kind, sizes: Sizes) -> Case:
        """Return a seeded case."""
        return make_case(self.signature_at(sizes), kind, sizes, self.scalars, self.seed)

    def signature_at(self, sizes: Sizes) -> Signature:
        """Return the parameters with the extents of a build for the static ones of `sizes`."""
        return signature_of(self.program.tile(sizes))

    def is_admitted(self, case: Case) -> bool:
        """Return whether the inputs meet what the kernel requires of them."""
        if not self.requires:
            return True
        try:
            self.oracle(case.call)
        except RequirementError:
            return False
        return True

    def build_ahead(self, wanted: Sequence[tuple[Sizes, RunOptions]]) -> None:
        """Build what runs to come need, where the executor does that faster for several at once."""
        if isinstance(self.executor, BuildsAhead):
            self.executor.build_ahead(wanted)

    def run(self, case: Case, options: RunOptions | None = None) -> Run:
        """Run a case on the executor under test."""
        return self.executor.run(case.call, options or RunOptions())


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check's record, the first wrong element, and what it said of each control that is wrong on its cases.

    `problem`: why a check was not run, where that is neither the kernel nor the environment.
    """

    record: CheckRecord
    mismatch: Mismatch | None = None
    controls: dict[str, bool] = field(default_factory=dict)
    problem: Diagnostic | None = None


def passed(name: str, detail: str, controls: dict[str, bool] | None = None) -> Outcome:
    """Return a pass, or its withdrawal where the check let a wrong answer through."""
    let_through = [control for control, rejected in (controls or {}).items() if not rejected]
    if let_through:
        useless = f"useless for this kernel: it lets `{'`, `'.join(let_through)}` through"
        return Outcome(CheckRecord(name=name, status="not_applicable", detail=useless), None, controls or {})
    return Outcome(CheckRecord(name=name, status="passed", detail=detail), None, controls or {})


def failed(name: str, detail: str, mismatch: Mismatch | None = None) -> Outcome:
    """Return a failure."""
    return Outcome(CheckRecord(name=name, status="failed", detail=detail), mismatch)


def not_applicable(name: str, why: str) -> Outcome:
    """Return that the check has nothing to look at in this kernel."""
    return Outcome(CheckRecord(name=name, status="not_applicable", detail=why))


def not_run(name: str, why: str) -> Outcome:
    """Return that the check could not be made here."""
    return Outcome(CheckRecord(name=name, status="not_run", detail=why))


def defects(run: Run) -> str | None:
    """Return the first thing that a run did wrong beside its values."""
    return next(iter((*run.damage, *run.findings)), None)


def difference_text(mismatch: Mismatch, where: str) -> str:
    """Return one line about a wrong element."""
    ulp = "" if mismatch.ulp is None else f", {mismatch.ulp} ulp apart"
    index = ", ".join(map(str, mismatch.index))
    return f"{where}: {mismatch.output}[{index}] is {mismatch.got}, not {mismatch.want}{ulp}"


def try_controls(subject: Subject, cases: Sequence[Case], judge: Judge) -> dict[str, bool]:
    """Return for each control that is a wrong answer in one of the cases whether the judge rejects it in any."""
    verdicts: dict[str, bool] = {}
    for name, control in CONTROLS.items():
        for case in cases:
            signature = subject.signature_at(case.call.sizes)
            try:
                wrong = control(signature, case.call, subject.oracle, 0)
            except RequirementError:
                continue  # inputs that it changed are refused by the kernel itself
            if first_difference(signature.outputs, wrong, subject.oracle(case.call)) is None:
                continue
            verdicts[name] = judge(case, wrong) is not None
            if verdicts[name]:
                break
    return verdicts


def has_elements(case: Case) -> bool:
    """Return whether any input of a case has elements."""
    return any(np.size(raw) for raw in case.call.tensors.values())
