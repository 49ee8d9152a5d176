"""An obligation's negation as data: unknowns with bounds, and clauses over them. An assignment refutes the obligation.

The small search and Z3 both read this one form, and a counterexample is believed only after `holds` evaluates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import KernelFacts, Scope
from agentkern.compiler.analysis.extents import SymbolFact, size_fact
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim, Symbol
from agentkern.compiler.ir.types import BlockType

Form = int | Dim
Clause = tuple[Form, ...]
UnknownKind = Literal["size", "scalar", "block", "element", "value"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """An integer with inclusive bounds over earlier unknowns."""

    name: str
    kind: UnknownKind
    lows: tuple[Form, ...]
    highs: tuple[Form, ...]
    multiple_of: int = 1


@dataclass(frozen=True, slots=True)
class Violation:
    """Unknowns in order; of each clause at least one member must be nonnegative.

    `data` names unknowns whose value no analysis knows: an assignment of these proves nothing wrong.
    """

    unknowns: tuple[Unknown, ...]
    clauses: tuple[Clause, ...]
    data: frozenset[str] = frozenset()

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether an assignment meets every bound and clause. Errors: KeyError when a name has no value."""
        try:
            return all(_within(u, values) for u in self.unknowns) and all(
                any(number(member, values) >= 0 for member in clause) for clause in self.clauses
            )
        except ZeroDivisionError:
            return False


def _within(unknown: Unknown, values: Mapping[str, int]) -> bool:
    value = values[unknown.name]
    return (
        value % unknown.multiple_of == 0
        and all(number(bound, values) <= value for bound in unknown.lows)
        and all(value <= number(bound, values) for bound in unknown.highs)
    )


def number(form: Form, values: Mapping[str, int]) -> int:
    """The number that a form has. Errors: KeyError when a name has no value; ZeroDivisionError."""
    if isinstance(form, int):
        return form
    total = 0
    for monomial, coefficient in form.terms:
        for atom in monomial:
            if isinstance(atom, Symbol):
                coefficient *= values[atom.name]
            else:
                coefficient *= number(atom.numerator, values) // number(atom.denominator, values)
        total += coefficient
    return total


def less(a: Form, b: Form) -> Form:
    """The form that is nonnegative where `a < b`."""
    return dims.add(dims.add(b, dims.mul(a, -1)), -1)


def at_most(a: Form, b: Form) -> Form:
    """The form that is nonnegative where `a <= b`."""
    return dims.add(b, dims.mul(a, -1))


def equal(a: Form, b: Form) -> tuple[Clause, Clause]:
    """The two clauses of `a == b`."""
    return ((at_most(a, b),), (at_most(b, a),))


def element(name: str, low: Form, high: Form) -> Unknown:
    """An index with `low <= index < high`."""
    return Unknown(name, "element", (low,), (dims.add(high, -1),))


def size_unknowns(facts: KernelFacts) -> list[Unknown]:
    """Every size and run-time scalar of a kernel, sizes first, by name."""
    found: list[Unknown] = []
    for size in sorted(facts.kernel.sizes, key=lambda s: s.name):
        known = facts.forms.facts.meanings.get(size.name)
        if isinstance(known, int):
            found.append(Unknown(size.name, "size", (known,), (known,)))
            continue
        fact = size_fact(size)
        found.append(Unknown(size.name, "size", (fact.low or 0,), (fact.high or 0,), fact.multiple_of))
    for name in facts.forms.scalars:
        found.append(_symbol_unknown(name, "scalar", facts.forms.facts.fact(name)))
    return found


def block_unknowns(block: BlockType, mark: str = "") -> list[Unknown]:
    """The numbers of one block of an axis; `mark` tells a second block's names from the first's."""
    found: list[Unknown] = []
    for name, fact in blocks.block_facts(block).items():
        if name == block.name and (block.block is None or isinstance(block.current, int)):
            continue
        renamed = _renamed(fact, block, mark)
        found.append(_symbol_unknown(name + mark, "element" if name.endswith(".at") else "block", renamed))
    return found


def block_clauses(block: BlockType, mark: str = "") -> list[Clause]:
    """That a written block is as long as it can be."""
    if block.block is None or isinstance(block.current, int):
        return []
    marks = {name: dims.symbol(name + mark) for name in blocks.block_facts(block)}
    rest = dims.substitute(dims.add(block.extent, dims.mul(blocks.start(block), -1)), marks)
    now = marks[block.name]
    return [(at_most(block.block, now), at_most(rest, now))]


def _renamed(fact: SymbolFact, block: BlockType, mark: str) -> SymbolFact:
    if not mark:
        return fact
    marks = {name: dims.symbol(name + mark) for name in blocks.block_facts(block)}
    lows = tuple(dims.substitute(b, marks) for b in fact.lows)
    return SymbolFact(fact.low, fact.high, 1, lows, tuple(dims.substitute(b, marks) for b in fact.highs))


def _symbol_unknown(name: str, kind: UnknownKind, fact: SymbolFact) -> Unknown:
    lows = (*(() if fact.low is None else (fact.low,)), *fact.lows)
    highs = (*(() if fact.high is None else (fact.high,)), *fact.highs)
    return Unknown(name, kind, lows, highs, fact.multiple_of)


def value_unknowns(scope: Scope, mark: str = "") -> list[Unknown]:
    """The values of a scope that have symbols of their own: data, and results of `minimum` and its like."""
    marks = marked_names(scope, mark)
    found: list[Unknown] = []
    for name in (*scope.forms.data, *scope.forms.derived):
        fact = scope.forms.facts.fact(name)
        lows = tuple(dims.substitute(b, marks) for b in fact.lows)
        highs = tuple(dims.substitute(b, marks) for b in fact.highs)
        found.append(_symbol_unknown(name + mark, "value", SymbolFact(fact.low, fact.high, 1, lows, highs)))
    return found


def marked_names(scope: Scope, mark: str) -> dict[str, Form]:
    """How the symbols of one run of a scope are called in another: `name` plus the mark."""
    if not mark:
        return {}
    names = [n for block in scope.blocks for n in blocks.block_facts(block)]
    return {name: dims.symbol(name + mark) for name in (*names, *scope.forms.derived, *scope.forms.data)}


def scope_parts(scope: Scope, mark: str = "") -> tuple[list[Unknown], list[Clause]]:
    """Unknowns and clauses of one run of a scope: its blocks and its values."""
    unknowns = [u for block in scope.blocks for u in block_unknowns(block, mark)]
    unknowns += value_unknowns(scope, mark)
    marks = marked_names(scope, mark)
    clauses = [c for block in scope.blocks for c in block_clauses(block, mark)]
    clauses += [tuple(dims.substitute(member, marks) for member in clause) for clause in scope.forms.clauses]
    return unknowns, clauses


def make_violation(
    unknowns: Iterable[Unknown], clauses: Iterable[Clause], data: Iterable[str], shown: Iterable[Form] = ()
) -> Violation:
    """A violation with constant members folded away and without the sizes and values that nothing mentions.

    `shown`: forms that a description of an assignment evaluates.
    """
    kept: list[Clause] = []
    for clause in clauses:
        members = tuple(m for m in clause if not (isinstance(m, int) and m < 0))
        if not any(isinstance(m, int) for m in members):
            kept.append(members)
    needed: set[str] = {name for clause in kept for member in clause for name in dims.symbols(member)}
    needed.update(name for form in shown for name in dims.symbols(form))
    ordered: list[Unknown] = []
    for unknown in reversed(list(unknowns)):
        if unknown.name in needed or unknown.kind in ("block", "element"):
            ordered.append(unknown)
            needed.update(name for bound in (*unknown.lows, *unknown.highs) for name in dims.symbols(bound))
    return Violation(tuple(reversed(ordered)), tuple(kept), frozenset(needed.intersection(data)))
