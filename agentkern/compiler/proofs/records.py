"""What a proof leaves behind: one record per obligation. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.ir.core import Location

Kind = Literal[
    "bounds",
    "disjoint",
    "scatter",
    "reads",
    "own_reads",
    "coverage",
    "filled",
    "division",
    "extent",
    "overflow",
    "alignment",
]
Outcome = Literal["proved", "assumed", "refuted", "unknown"]
Method = Literal["presolver", "search", "z3", "none"]

OUTCOMES: tuple[Outcome, ...] = ("proved", "assumed", "refuted", "unknown")
SAFETY: frozenset[Kind] = frozenset(
    {"bounds", "disjoint", "scatter", "reads", "own_reads", "coverage", "filled", "division", "extent"}
)
"""Kinds that must hold for a kernel to have a meaning; the others only permit faster code."""


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """One obligation and how it ended.

    `obligation` is its kind, `statement` says what is to hold, `location` where it came from. `effort` counts solver
    resource units (0 without a solver). `counterexample` has `text`, `sizes`, `blocks` and what else the kind shows.
    `assumptions` names the promises and build-time sizes that an `assumed` outcome rests on. `tensor` and `access` are
    what it is about, as the kernel spells them; `hint` is what to write instead, if not what its kind always says.
    """

    obligation: Kind
    statement: str
    location: Location | None
    outcome: Outcome
    method: Method
    effort: int = 0
    counterexample: Mapping[str, object] | None = None
    assumptions: tuple[str, ...] = ()
    tensor: str = ""
    access: str = ""
    hint: str = ""

    @property
    def is_safety(self) -> bool:
        """Whether the kernel is rejected unless this holds."""
        return self.obligation in SAFETY

    def to_json(self) -> dict[str, object]:
        """The record as plain data."""
        return {
            "obligation": self.obligation,
            "statement": self.statement,
            "location": list(self.location) if self.location is not None else None,
            "outcome": self.outcome,
            "method": self.method,
            "effort": self.effort,
            "counterexample": dict(self.counterexample) if self.counterexample is not None else None,
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, slots=True)
class ProofReport:
    """All records of a kernel, in the order of its text."""

    records: tuple[ProofRecord, ...]

    def counts(self) -> dict[str, int]:
        """How many records ended in each way."""
        return {outcome: sum(r.outcome == outcome for r in self.records) for outcome in OUTCOMES}

    def unsafe(self) -> tuple[ProofRecord, ...]:
        """Safety obligations that were refuted or could not be shown."""
        return tuple(r for r in self.records if r.is_safety and r.outcome in ("refuted", "unknown"))
