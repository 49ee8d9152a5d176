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
class Obligation:
    """`violation` makes the negation; None where only the presolver can show it. `describe` words an assignment."""

    kind: Kind
    statement: str
    location: Location | None
    shown: bool
    violation: Callable[[], Violation] | None = None
    describe: Describe | None = None
    refuted: Mapping[str, object] | None = None
    tensor: str = ""
    access: str = ""

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
        )


def decide(obligation: Obligation) -> ProofRecord:
    """Presolver, then a small counterexample, then Z3."""
    if obligation.shown:
        return obligation.record("proved", "presolver")
    if obligation.refuted is not None:
        return obligation.record("refuted", "presolver", counterexample=obligation.refuted)
    if obligation.violation is None:
        return obligation.record("unknown", "none")
    violation = obligation.violation()
    found = find_small(violation) if not violation.data else None
    if found is not None and violation.holds(found):
        return obligation.record("refuted", "search", counterexample=_described(obligation, found))
    verdict = solve(violation)
    if verdict.outcome == "impossible":
        return obligation.record("proved", "z3", effort=verdict.effort)
    if verdict.outcome == "possible" and not violation.data:
        shown = _described(obligation, dict(verdict.values))
        return obligation.record("refuted", "z3", effort=verdict.effort, counterexample=shown)
    return obligation.record("unknown", "z3", effort=verdict.effort)


def _described(obligation: Obligation, values: Mapping[str, int]) -> Mapping[str, object]:
    return obligation.describe(values) if obligation.describe is not None else {"text": "", "values": dict(values)}
