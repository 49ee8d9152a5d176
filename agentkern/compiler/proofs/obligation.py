"""One thing to be shown: its statement, whether the presolver showed it, and how a counterexample would look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentkern.compiler.ir.core import Location
from agentkern.compiler.proofs.records import Kind, Method, Outcome, ProofRecord
from agentkern.compiler.proofs.search import find_small
from agentkern.compiler.proofs.violation import Violation
from agentkern.compiler.proofs.z3_solver import solve

Describe = Callable[[Mapping[str, int]], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Case:
    """One way in which an obligation could fail: the negation, and how an assignment of it is worded."""

    violation: Callable[[], Violation]
    describe: Describe


@dataclass(frozen=True, slots=True)
class Obligation:
    """Holds if it is `shown` or none of its `cases` can happen. Without cases only the presolver can show it.

    `refuted` is a counterexample that the presolver itself found; `promised` are the kernel's own words for it; `hint`
    is what to write where it cannot be shown.
    """

    kind: Kind
    statement: str
    location: Location | None
    shown: bool
    cases: tuple[Case, ...] = ()
    refuted: Mapping[str, object] | None = None
    tensor: str = ""
    access: str = ""
    promised: tuple[str, ...] = ()
    hint: str = ""

    def record(
        self,
        outcome: Outcome,
        method: Method,
        effort: int = 0,
        counterexample: Mapping[str, object] | None = None,
    ) -> ProofRecord:
        """The obligation's record."""
        return ProofRecord(
            self.kind,
            self.statement,
            self.location,
            outcome,
            method,
            effort,
            counterexample,
            tensor=self.tensor,
            access=self.access,
            hint=self.hint,
            assumptions=self.promised if outcome == "assumed" else (),
        )


def decide(obligation: Obligation) -> ProofRecord:
    """Presolver, then a small counterexample, then Z3, case by case."""
    if obligation.shown:
        return obligation.record("proved", "presolver")
    if obligation.refuted is not None:
        return obligation.record("refuted", "presolver", counterexample=obligation.refuted)
    if obligation.promised:
        return obligation.record("assumed", "none")
    if not obligation.cases:
        return obligation.record("unknown", "none")
    violations = [case.violation() for case in obligation.cases]
    for case, violation in zip(obligation.cases, violations, strict=True):
        found = find_small(violation) if not violation.data else None
        if found is not None and violation.holds(found):
            return obligation.record("refuted", "search", counterexample=case.describe(found))
    effort, outcome = 0, "proved"
    for case, violation in zip(obligation.cases, violations, strict=True):
        verdict = solve(violation)
        effort += verdict.effort
        if verdict.outcome == "possible" and not violation.data:
            return obligation.record("refuted", "z3", effort, case.describe(dict(verdict.values)))
        if verdict.outcome != "impossible":
            outcome = "unknown"
    return obligation.record("proved" if outcome == "proved" else "unknown", "z3", effort)
