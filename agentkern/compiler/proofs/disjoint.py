"""Different blocks of a grid never write one element, and no block reads what the grid writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, AxisIndex, KernelFacts, Scope
from agentkern.compiler.analysis.ragged import Ragged
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.types import BlockType
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.bounds import conditions
from agentkern.compiler.proofs.collision import MARK, meeting
from agentkern.compiler.proofs.frames import Framed, frames_of, in_frame
from agentkern.compiler.proofs.obligation import Case, Obligation
from agentkern.compiler.proofs.scatter import HINT, promised_distinct
from agentkern.compiler.proofs.violation import (
    Clause,
    Form,
    Violation,
    at_most,
    equal,
    less,
    make_violation,
    marked_names,
    number,
    place_on,
    scope_unknowns,
    size_unknowns,
)

MIXED = "write in one grid, and combine with atomics of one kind in a later one"


def _mixed(a: Access, b: Access) -> bool:
    """Whether one of two writes is an atomic: then they must not meet in one block either."""
    return a.is_atomic or b.is_atomic


def disjoint_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per store of a grid: it meets neither itself nor an earlier store in another block."""
    for scope in facts.scopes:
        if not scope.blocks:
            continue
        earlier: dict[Value, list[Access]] = {}
        for store in _distinct([a for a in scope.accesses if a.writes]):
            before = earlier.setdefault(store.tensor, [])
            before.append(store)
            if store.is_atomic and all(_combine_alike(other, store) for other in before):
                continue
            yield _writes_apart(facts, scope, store, before)


def _combine_alike(a: Access, b: Access) -> bool:
    """Whether two atomics give the same whichever comes first."""
    return a.is_atomic and b.is_atomic and a.op.attrs["kind"] == b.op.attrs["kind"]


def read_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per load of a tensor that its own grid writes."""
    for scope in facts.scopes:
        stores = _distinct([a for a in scope.accesses if a.writes])
        written = {store.tensor for store in stores}
        for load in _distinct([a for a in scope.accesses if not a.writes and a.tensor in written]):
            yield _reads_apart(facts, scope, load, [s for s in stores if s.tensor is load.tensor])


def _distinct(accesses: list[Access]) -> list[Access]:
    """The first of accesses with one subscript, by the text alone: promises do not change how many there are."""
    return list({_subscript(a): a for a in reversed(accesses)}.values())[::-1]


def _subscript(access: Access) -> tuple[object, ...]:
    what = (access.op.name, access.op.attrs.get("kind"), access.choices)
    return (
        access.tensor,
        what,
        access.view,
        access.op.attrs["index"],
        *access.op.operands[2 if access.writes else 1 :],
    )


def _open(scope: Scope, access: Access, others: Sequence[Access], *, same_block: bool) -> list[Access]:
    """Accesses that may meet `access`; with `same_block` a meeting in one block is no matter, unless one is atomic."""
    return [o for o in others if _may_meet(scope, access, o, same_block=same_block and not _mixed(access, o))]


def _may_meet(scope: Scope, access: Access, other: Access, *, same_block: bool) -> bool:
    if _combine_alike(access, other):
        return False
    around = scope.around(other.op, access.op)
    apart = ("never", "same block") if same_block else ("never",)
    return all(not _are_apart(around, a.access, b.access, apart) for a, b in _framed_pairs(around, access, other))


def _are_apart(scope: Scope, a: Access, b: Access, apart: tuple[str, ...]) -> bool:
    if len(apart) == 2 and _settles(scope, _block_axes(a) & _block_axes(b)):
        return True
    return meeting(scope, b, a) in apart


def meetings(scope: Scope, a: Access, b: Access) -> set[str]:
    """How two accesses of one tensor can meet, as each view that holds both shows it.

    `same block` is within one block of the grid, and one step of the loops around both.
    """
    around = scope.around(b.op, a.op)
    found: set[str] = set()
    for one, other in _framed_pairs(around, a, b):
        met = meeting(around, other.access, one.access)
        settled = _settles(around, _block_axes(one.access) & _block_axes(other.access))
        found.add("same block" if settled and met != "never" else met)
    return found


def _framed_pairs(scope: Scope, a: Access, b: Access) -> Iterator[tuple[Framed, Framed]]:
    """Two accesses in every view that holds both."""
    for frame in frames_of(a, b):
        one, other = in_frame(scope, a, frame), in_frame(scope, b, frame)
        if one is not None and other is not None:
            yield one, other


def _first_open(scope: Scope, access: Access, others: Sequence[Access]) -> list[Access]:
    """The first of `_open`, for what asks only whether there is one."""
    return next((found for other in others if (found := _open(scope, access, [other], same_block=True))), [])


def _block_axes(access: Access) -> frozenset[tuple[int, str]]:
    """The axes that a block variable subscripts."""
    return frozenset((axis, index.block.name) for axis, index in enumerate(access.axes) if index.block is not None)


def _settles(scope: Scope, common: frozenset[tuple[int, str]]) -> bool:
    """Whether axes that two accesses subscript alike name every block of the grid: then they meet in one block only."""
    names = {name for _, name in common}
    return all(block.name in names for block in scope.blocks)


def _writes_apart(facts: KernelFacts, scope: Scope, store: Access, before: Sequence[Access]) -> Obligation:
    name = store.tensor.name or ""
    both = f"`{store.text}`" if len(before) == 1 else f"`{store.text}` and the stores before it"
    meets = _first_open(scope, store, before) if facts.shown_only else _open(scope, store, before, same_block=True)
    promised = promised_distinct(store) if meets == [store] else ()
    scatters = any(index.spread for index in store.axes)
    return Obligation(
        "disjoint",
        f"different blocks of `{_grid_text(scope)}` never write one element of `{name}` ({both})",
        store.op.location,
        shown=not meets,
        cases=_every(_case(facts, scope, other, store, other_block=not _mixed(other, store)) for other in meets),
        tensor=name,
        access=store.text,
        promised=promised,
        hint=MIXED
        if any(_mixed(other, store) for other in meets)
        else HINT
        if scatters
        else wording.by_offsets(scope.around(store.op), store),
    )


def _reads_apart(facts: KernelFacts, scope: Scope, load: Access, stores: Sequence[Access]) -> Obligation:
    own_elements = load.type.access == "inout" and not any(store.is_atomic for store in stores)
    meets = _open(scope, load, stores, same_block=own_elements)
    which = "another block of the same grid" if own_elements else "the same grid"
    return Obligation(
        "own_reads" if own_elements else "reads",
        f"`{load.text}` reads nothing that {which} writes",
        load.op.location,
        shown=not meets,
        cases=_every(_case(facts, scope, load, store, other_block=own_elements) for store in meets),
        tensor=load.tensor.name or "",
        access=load.text,
        hint="read it in a later grid: until then atomics may still come" if any(s.is_atomic for s in stores) else "",
    )


def _every(cases: Iterable[Case | None]) -> tuple[Case, ...]:
    """The cases; none where one of them has no form: then nothing is shown by them."""
    found = list(cases)
    return () if None in found else tuple(case for case in found if case is not None)


def _case(facts: KernelFacts, outer: Scope, first: Access, second: Access, *, other_block: bool) -> Case | None:
    scope = outer.around(first.op, second.op)
    pairs = list(_framed_pairs(scope, first, second))
    if not pairs:
        return None
    one, other = next((pair for pair in pairs if pair[0].exact and pair[1].exact), pairs[0])
    exact = one.exact and other.exact
    return Case(
        lambda: _violation(facts, scope, one.access, other.access, other_block=other_block, exact=exact),
        lambda values: _describe(facts, scope, one.access, other.access, values),
    )


def _grid_text(scope: Scope) -> str:
    return f"grid({', '.join(blocks.label(block) for block in scope.blocks)})"


def _violation(
    facts: KernelFacts, scope: Scope, first: Access, second: Access, *, other_block: bool, exact: bool
) -> Violation:
    """Two runs whose accesses meet; with `other_block` in different blocks. Unless `exact` they only may."""
    places = [place_on(axis, extent) for axis, extent in enumerate(first.type.shape)]
    unknowns = [*size_unknowns(facts), *places, *scope_unknowns(scope), *scope_unknowns(scope, MARK)]
    clauses: list[Clause] = []
    marks = marked_names(scope, MARK)
    data = list(scope.forms.data)
    data += [name + MARK for name in data]
    for axis, (a, b) in enumerate(zip(first.axes, second.axes, strict=True)):
        place = dims.symbol(f"@{axis}")
        if "data" in (a.kind, b.kind):
            data.append(f"@{axis}")
        clauses += _holds(a, place, {}) + _holds(b, place, marks)
    clauses += conditions(first.condition)
    clauses += [tuple(dims.substitute(member, marks) for member in clause) for clause in conditions(second.condition)]
    if other_block:
        clauses.append(_differ(scope, marks))
    used = {name for clause in clauses for member in clause for name in dims.symbols(member)}
    for ragged in scope.forms.ragged:
        if ragged.end is not None and not used.isdisjoint(ragged.names):
            clauses += _in_order(ragged, marks)
    if not exact:
        clauses.append((dims.symbol("#frame"),))
    return make_violation(unknowns, clauses, data)


def _holds(index: AxisIndex, place: Form, marks: Mapping[str, Form]) -> list[Clause]:
    """That an access' index set holds `place`."""
    if index.kind == "data":
        return []
    if index.block is not None and index.block.block is None:
        return list(equal(dims.substitute(dims.symbol(blocks.at_name(index.block)), marks), place))
    if index.block is not None and index.block.block is not None:
        first = dims.substitute(blocks.start(index.block), marks)
        return [
            (at_most(first, place),),
            (less(place, dims.add(first, index.block.block)),),
            (less(place, dims.substitute(index.block.extent, marks)),),
        ]
    low, high = dims.substitute(index.low, marks), dims.substitute(index.high, marks)
    return [(at_most(low, place),), (less(place, high),)]


def _in_order(ragged: Ragged, marks: Mapping[str, Form]) -> list[Clause]:
    """That segments follow one another, and that one segment is the same in both runs."""
    number = blocks.ordinal(ragged.segment)
    other = dims.substitute(number, marks)
    (low, high), (start, length) = ragged.bounds, map(dims.symbol, ragged.names)
    others = [dims.substitute(form, marks) for form in (low, high)]
    found: list[Clause] = [
        (at_most(other, number), at_most(high, others[0])),
        (at_most(number, other), at_most(others[1], low)),
    ]
    for form in (start, length):
        same = equal(form, dims.substitute(form, marks))
        found += [(less(number, other), less(other, number), *clause) for clause in same]
    return found


def _differ(scope: Scope, marks: Mapping[str, Form]) -> Clause:
    """That the two runs differ in a block."""
    found: list[Form] = []
    for block in scope.blocks:
        name = blocks.at_name(block) if block.block is None else blocks.ordinal_name(block)
        found += [less(dims.symbol(name), marks[name]), less(marks[name], dims.symbol(name))]
    return tuple(found)


def _is_one_block(scope: Scope, numbers: Mapping[str, int], others: Mapping[str, int]) -> bool:
    """Whether two runs of a body are of one block of the grid: they differ in a loop's step."""
    args = scope.grid.regions[0].args if scope.grid is not None else ()
    own = [blocks.label(arg.type) for arg in args if isinstance(arg.type, BlockType)]
    return all(numbers.get(name) == others.get(name) for name in own)


def _describe(
    facts: KernelFacts, scope: Scope, first: Access, second: Access, values: Mapping[str, int]
) -> Mapping[str, object]:
    element = tuple(values[f"@{axis}"] for axis in range(len(first.axes)))
    numbers = wording.blocks_of(scope, values)
    others = wording.blocks_of(scope, values, MARK)
    one, two = wording.spelled_blocks(scope, numbers), wording.spelled_blocks(scope, others)
    place = f"`{wording.place_text(facts, first.tensor, first.view, element)}`"
    if first.writes:
        text = f"({one}) and ({two}) both write {place}"
    elif numbers == others:
        text = f"({one}) reads {place}, which it also writes" if one else f"reads {place}, which it also writes"
    else:
        text = f"({one}) reads {place}, which ({two}) writes"
    return {
        "text": wording.with_setting(facts, values, text),
        "sizes": wording.sizes_of(facts, values),
        "scalars": wording.scalars_of(facts, values),
        "blocks": numbers,
        "other_blocks": others,
        "one_block": numbers != others and _is_one_block(scope, numbers, others),
        "element": list(element),
        "extents": [number(extent, values) for extent in first.type.shape],
    }
