"""Look for a small counterexample by trying small sizes, first and last blocks, first and last indices.

Decides nothing by finding none. Deterministic: unknowns in order, small values first, a fixed budget.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentkern.compiler.ir.dims import Symbol
from agentkern.compiler.proofs.violation import Form, Unknown, Violation, number

MAX_TRIALS = 4000
SMALL_SIZES = 4
MAX_SPECIAL = 8


def find_small(violation: Violation) -> dict[str, int] | None:
    """A small assignment that meets every bound and clause, or None."""
    return _Search(violation).run()


class _Search:
    def __init__(self, violation: Violation) -> None:
        self.violation = violation
        self.trials = 0
        self.values: dict[str, int] = {}
        self.special = _constants(violation)
        position = {u.name: k for k, u in enumerate(violation.unknowns)}
        self.ready: list[list[tuple[Form, ...]]] = [[] for _ in range(len(position) + 1)]
        for clause in violation.clauses:
            names = {n for member in clause for n in _names(member)}
            self.ready[1 + max((position[n] for n in names), default=-1)].append(clause)

    def run(self) -> dict[str, int] | None:
        """Depth first over the unknowns."""
        if not self._clauses_hold(0):
            return None
        return dict(self.values) if self._assign(0) else None

    def _clauses_hold(self, depth: int) -> bool:
        try:
            return all(any([number(m, self.values) >= 0 for m in clause]) for clause in self.ready[depth])
        except ZeroDivisionError:
            return False

    def _assign(self, depth: int) -> bool:
        if depth == len(self.violation.unknowns):
            return True
        unknown = self.violation.unknowns[depth]
        for value in self._choices(unknown):
            self.trials += 1
            if self.trials > MAX_TRIALS:
                return False
            self.values[unknown.name] = value
            if self._clauses_hold(depth + 1) and self._assign(depth + 1):
                return True
            del self.values[unknown.name]
        return False

    def _choices(self, unknown: Unknown) -> list[int]:
        try:
            low = max((number(b, self.values) for b in unknown.lows), default=-2)
            high = min((number(b, self.values) for b in unknown.highs), default=low + 4)
        except ZeroDivisionError:
            return []
        step = unknown.multiple_of
        low = -(-low // step) * step
        if unknown.kind in ("size", "element"):
            wanted = [*(low + k * step for k in range(SMALL_SIZES)), *self.special, high]
        elif unknown.kind == "block":
            wanted = [low, low + 1, low + 2, high - 1, high]
        else:
            wanted = [0, 1, -1, 2, *self.special, low, high]
        return list(dict.fromkeys(v for v in wanted if low <= v <= high and v % step == 0))


def _names(form: Form) -> Iterable[str]:
    if isinstance(form, int):
        return
    for monomial, _ in form.terms:
        for atom in monomial:
            if isinstance(atom, Symbol):
                yield atom.name
            else:
                yield from _names(atom.numerator)
                yield from _names(atom.denominator)


def _constants(violation: Violation) -> list[int]:
    """Numbers that the clauses and bounds mention, and their neighbours."""
    found: set[int] = set()
    forms = [m for clause in violation.clauses for m in clause]
    forms += [b for u in violation.unknowns for b in (*u.lows, *u.highs)]
    for form in forms:
        found.update(_numbers(form))
    near = {n + d for n in found for d in (-1, 0, 1) if n + d >= SMALL_SIZES and n < 1 << 40}
    return sorted(near)[:MAX_SPECIAL]


def _numbers(form: Form) -> Iterable[int]:
    if isinstance(form, int):
        yield abs(form)
        return
    for monomial, coefficient in form.terms:
        yield abs(coefficient)
        for atom in monomial:
            if not isinstance(atom, Symbol):
                yield from _numbers(atom.numerator)
                yield from _numbers(atom.denominator)
