"""An obligation's negation as data: unknowns with bounds, and clauses over them. An assignment refutes the obligation.

The small search and Z3 both read this one form, and a counterexample is believed only after `holds` evaluates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import KernelFacts, Scope
from agentkern.compiler.analysis.extents import SymbolFact, size_fact
from agentkern.compiler.analysis.index_forms import Required
from agentkern.compiler.analysis.requirements import clauses_of
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim, Symbol
from agentkern.compiler.ir.types import BlockType

Form = int | Dim
Clause = tuple[Form, ...]
UnknownKind = Literal["size", "scalar", "block", "element", "value"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """An integer with inclusive bounds over earlier unknowns, and the clauses that define it.

    A `required` one must exist for the violation, even where no clause mentions it.
    """

    name: str
    kind: UnknownKind
    lows: tuple[Form, ...]
    highs: tuple[Form, ...]
    multiple_of: int = 1
    required: bool = False
    clauses: tuple[Clause, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """Unknowns in order; of each clause at least one member must be nonnegative.

    `data` names unknowns whose value no analysis knows: an assignment of these proves nothing wrong.
    """

    unknowns: tuple[Unknown, ...]
    clauses: tuple[Clause, ...]
    data: frozenset[str] = frozenset()

    def holds(self, values: Mapping[str, int]) -> bool:
        """Whether an assignment meets every bound and clause, no division by zero anywhere.

        Errors: KeyError when a name has no value.
        """
        try:
            met = [max([number(member, values) for member in clause], default=-1) >= 0 for clause in self.clauses]
            return all(met) and all([_within(u, values) for u in self.unknowns])
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


def place_on(axis: int, high: Form, low: Form = 0) -> Unknown:
    """An index of an axis of the tensor in question, `@axis`, from `low` to before `high`."""
    return Unknown(f"@{axis}", "element", (low,), (dims.add(high, -1),), required=True)


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
        found.append(_symbol_unknown(name, "scalar", facts.forms.facts.fact(name), {}))
    return found


def block_unknowns(
    block: BlockType, mark: str = "", shared: Mapping[str, Form] = MappingProxyType({})
) -> list[Unknown]:
    """The numbers of one block of an axis; `mark` tells a second block's names from the first's.

    The block's number is required, its present extent and one of its indices follow from that. `shared`: other names of
    the same run, which a loop's bounds may mention.
    """
    marks = {**shared, **{name: dims.symbol(name + mark) for name in blocks.block_facts(block)}}
    found: list[Unknown] = []
    for name, fact in blocks.block_facts(block).items():
        if name == block.name and (block.block is None or isinstance(block.current, int)):
            continue
        clauses = (_full_length(block, marks),) if name == block.name else ()
        kind: UnknownKind = "element" if name == blocks.at_name(block) else "block"
        required = block.block is None or name == blocks.ordinal_name(block)
        found.append(replace(_symbol_unknown(name, kind, fact, marks), required=required, clauses=clauses))
    return found


def _full_length(block: BlockType, marks: Mapping[str, Form]) -> Clause:
    """That a written block is as long as it can be."""
    assert block.block is not None
    rest = dims.substitute(dims.add(block.extent, dims.mul(blocks.start(block), -1)), marks)
    return (at_most(block.block, marks[block.name]), at_most(rest, marks[block.name]))


def _symbol_unknown(name: str, kind: UnknownKind, fact: SymbolFact, marks: Mapping[str, Form]) -> Unknown:
    lows = (*(() if fact.low is None else (fact.low,)), *_marked(fact.lows, marks))
    highs = (*(() if fact.high is None else (fact.high,)), *_marked(fact.highs, marks))
    named = str(marks.get(name, name))
    return Unknown(named, kind, lows, highs, fact.multiple_of)


def _marked(forms: Iterable[Form], marks: Mapping[str, Form]) -> tuple[Form, ...]:
    return tuple(dims.substitute(form, marks) for form in forms)


def value_unknowns(scope: Scope, mark: str = "") -> list[Unknown]:
    """The values of a scope that have symbols of their own: data, and results of `minimum` and its like."""
    marks = marked_names(scope, mark)
    found: list[Unknown] = []
    for name in (*scope.forms.data, *scope.forms.derived):
        clauses = tuple(_marked(clause, marks) for clause in scope.forms.definitions.get(name, ()))
        found.append(replace(_symbol_unknown(name, "value", scope.forms.facts.fact(name), marks), clauses=clauses))
    return found


def marked_names(scope: Scope, mark: str) -> dict[str, Form]:
    """How the symbols of one run of a scope are called in another: `name` plus the mark."""
    if not mark:
        return {}
    names = [n for block in scope.present for n in blocks.block_facts(block)]
    return {name: dims.symbol(name + mark) for name in (*names, *scope.forms.derived, *scope.forms.data)}


def scope_unknowns(scope: Scope, mark: str = "") -> list[Unknown]:
    """Unknowns of one run of a scope: its blocks and its values."""
    shared = marked_names(scope, mark)
    found = [u for block in scope.present for u in block_unknowns(block, mark, shared)]
    return [*found, *value_unknowns(scope, mark), *required_unknowns(scope.known, mark, shared)]


def required_unknowns(
    known: Sequence[Required], mark: str = "", marks: Mapping[str, Form] = MappingProxyType({})
) -> list[Unknown]:
    """What `ak.require` has checked, as the definition of a number that is 0."""
    clauses = tuple(_marked(clause, marks) for clause in clauses_of(known))
    return [Unknown(f"%required{mark}", "value", (0,), (0,), required=True, clauses=clauses)] if clauses else []


def make_violation(
    unknowns: Iterable[Unknown], clauses: Iterable[Clause], data: Iterable[str], shown: Iterable[Form] = ()
) -> Violation:
    """A violation over the unknowns that are required or mentioned, each as early as its bounds allow.

    `shown`: forms that a description of an assignment evaluates. A name that no unknown has, as text from outside may
    use, counts as data.
    """
    kept = list(clauses)
    needed = {name for clause in kept for member in clause for name in dims.symbols(member)}
    needed.update(name for form in shown for name in dims.symbols(form))
    every = list(unknowns)[::-1]
    chosen: list[Unknown] = []
    while more := [u for u in every if u not in chosen and (u.required or u.name in needed)]:
        for unknown in more:
            chosen.append(unknown)
            kept += unknown.clauses
            mentioned = [*unknown.lows, *unknown.highs, *(m for clause in unknown.clauses for m in clause)]
            needed.update(name for form in mentioned for name in dims.symbols(form))
    chosen.sort(key=every.index)
    undeclared = sorted(needed - {u.name for u in chosen})
    chosen += [Unknown(name, "value", (), ()) for name in undeclared]
    ordered = _as_early_as_possible(chosen[::-1])
    return Violation(ordered, tuple(_folded(kept)), frozenset([*needed.intersection(data), *undeclared]))


def _folded(clauses: Iterable[Clause]) -> Iterator[Clause]:
    """Clauses that are not true of themselves, without the members that never hold."""
    for clause in clauses:
        members = tuple(m for m in clause if not (isinstance(m, int) and m < 0))
        if not any(isinstance(m, int) for m in members):
            yield members


def _as_early_as_possible(unknowns: list[Unknown]) -> tuple[Unknown, ...]:
    """Each size followed by what is bounded by sizes so far, so that a search fails early."""
    placed: dict[str, Unknown] = {}
    waiting = [u for u in unknowns if u.kind != "size"]
    names = {u.name for u in unknowns}

    def place_ready() -> None:
        for unknown in list(waiting):
            bounds = (*unknown.lows, *unknown.highs)
            if all(n in placed or n not in names for form in bounds for n in dims.symbols(form)):
                placed[unknown.name] = unknown
                waiting.remove(unknown)

    for unknown in unknowns:
        if unknown.kind == "size":
            placed[unknown.name] = unknown
            place_ready()
    place_ready()
    return (*placed.values(), *waiting)
