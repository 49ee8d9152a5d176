"""Decide a violation with Z3: the last step, for what affine reasoning leaves open.

Z3 is imported on the first use only. A violation is brought to canonical names and order first, each is solved in a
context of its own under a resource limit that does not depend on the machine, and a verdict is kept for the process.
Divisions by constants enter as quotient and remainder; addresses are never flattened.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Atom, FloorDiv, Symbol
from agentkern.compiler.proofs.violation import Form, Unknown, Violation

RESOURCE_LIMIT = 300_000
SMALL_BOUNDS = (3, 16, 256)
"""Bounds tried in order on sizes and blocks, so that a counterexample is small."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a violation exists: `values` then shows it. `effort` is in Z3's resource units."""

    outcome: Literal["impossible", "possible", "unknown"]
    values: tuple[tuple[str, int], ...] = ()
    effort: int = 0


def solve(violation: Violation) -> Verdict:
    """Decide whether a violation exists; a found one has been evaluated."""
    names = canonical_names(violation)
    verdict = _solve_canonical(rename(violation, names))
    back = {new: old for old, new in names.items()}
    values = tuple((back[name], value) for name, value in verdict.values)
    if verdict.outcome == "possible" and not violation.holds(dict(values)):
        return Verdict("unknown", (), verdict.effort)
    return Verdict(verdict.outcome, values, verdict.effort)


def canonical_names(violation: Violation) -> dict[str, str]:
    """Names by first appearance: in the clauses, then in the bounds."""
    order: dict[str, None] = {}
    for clause in violation.clauses:
        for member in clause:
            order.update(dict.fromkeys(_names_in_order(member)))
    order.update(dict.fromkeys(u.name for u in violation.unknowns))
    return {name: f"v{k}" for k, name in enumerate(order)}


def _names_in_order(form: Form) -> list[str]:
    if isinstance(form, int):
        return []
    shape = sorted(form.terms, key=lambda t: (len(t[0]), t[1]))
    found: list[str] = []
    for monomial, _ in shape:
        for atom in monomial:
            if isinstance(atom, Symbol):
                found.append(atom.name)
            else:
                found += _names_in_order(atom.numerator) + _names_in_order(atom.denominator)
    return found


def rename(violation: Violation, names: Mapping[str, str]) -> Violation:
    """The same violation in other names, its unknowns in the order of those."""
    symbols = {old: dims.symbol(new) for old, new in names.items()}

    def forms(members: tuple[Form, ...]) -> tuple[Form, ...]:
        return tuple(dims.substitute(m, symbols) for m in members)

    unknowns = [
        Unknown(names[u.name], u.kind, forms(u.lows), forms(u.highs), u.multiple_of) for u in violation.unknowns
    ]
    unknowns.sort(key=lambda u: int(u.name[1:]))
    return Violation(tuple(unknowns), tuple(forms(c) for c in violation.clauses))


@lru_cache(maxsize=4096)
def _solve_canonical(violation: Violation) -> Verdict:
    z3: Any = importlib.import_module("z3")
    query = _Query(z3, violation)
    verdict = query.check(None)
    if verdict.outcome != "possible":
        return verdict
    effort = verdict.effort
    for bound in SMALL_BOUNDS:
        smaller = _Query(z3, violation).check(bound)
        effort += smaller.effort
        if smaller.outcome == "possible":
            return Verdict("possible", smaller.values, effort)
    return Verdict("possible", verdict.values, effort)


class _Query:
    """One solver with its own context."""

    def __init__(self, z3: Any, violation: Violation) -> None:
        self.z3 = z3
        self.context = z3.Context()
        # The plain SMT core: on 15 obligations of index arithmetic it needs 0.2 to 2.7 thousand resource units,
        # the QF_NIA strategy 6 to 300 thousand and gives up on some (Z3 5.4.1).
        self.solver = z3.SimpleSolver(ctx=self.context)
        self.solver.set("rlimit", RESOURCE_LIMIT)
        self.solver.set("random_seed", 0)
        self.violation = violation
        self.variables = {u.name: z3.Int(u.name, self.context) for u in violation.unknowns}
        self.quotients: dict[FloorDiv, Any] = {}
        for unknown in violation.unknowns:
            self._bound(unknown)
        for clause in violation.clauses:
            self.solver.add(z3.Or([self._form(m) >= 0 for m in clause] + [z3.BoolVal(val=False, ctx=self.context)]))

    def _bound(self, unknown: Unknown) -> None:
        variable = self.variables[unknown.name]
        for low in unknown.lows:
            self.solver.add(variable >= self._form(low))
        for high in unknown.highs:
            self.solver.add(variable <= self._form(high))
        if unknown.multiple_of > 1:
            step = self.z3.Int(f"m{unknown.name}", self.context)
            self.solver.add(variable == step * unknown.multiple_of)

    def _form(self, form: Form) -> Any:
        if isinstance(form, int):
            return self.z3.IntVal(form, self.context)
        total: Any = self.z3.IntVal(0, self.context)
        for monomial, coefficient in form.terms:
            term: Any = self.z3.IntVal(coefficient, self.context)
            for atom in monomial:
                term = term * self._atom(atom)
            total = total + term
        return total

    def _atom(self, atom: Atom) -> Any:
        if isinstance(atom, Symbol):
            return self.variables[atom.name]
        if atom not in self.quotients:
            # operands first: quotients inside them take the names before this one
            n, d = self._form(atom.numerator), self._form(atom.denominator)
            quotient = self.z3.Int(f"q{len(self.quotients)}", self.context)
            rest = n - d * quotient
            self.solver.add(
                self.z3.Or(
                    self.z3.And(d > 0, rest >= 0, rest < d),
                    self.z3.And(d < 0, rest <= 0, rest > d),
                )
                if not isinstance(atom.denominator, int)
                else self.z3.And(rest >= 0, rest < d)
            )
            self.quotients[atom] = quotient
        return self.quotients[atom]

    def check(self, bound: int | None) -> Verdict:
        """Solve, with sizes and blocks at most `bound` if given."""
        if bound is not None:
            for unknown in self.violation.unknowns:
                if unknown.kind != "element":
                    self.solver.add(self.variables[unknown.name] <= bound)
        answer = self.solver.check()
        effort = self._effort()
        if answer == self.z3.unsat:
            return Verdict("impossible", (), effort)
        if answer != self.z3.sat:
            return Verdict("unknown", (), effort)
        model = self.solver.model()
        values = tuple(
            (name, model.eval(variable, model_completion=True).as_long()) for name, variable in self.variables.items()
        )
        return Verdict("possible", values, effort)

    def _effort(self) -> int:
        statistics = self.solver.statistics()
        return int(statistics.get_key_value("rlimit count")) if "rlimit count" in statistics.keys() else 0
