"""Every load and store stays inside its tensor, axis by axis. Indices are never flattened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, AxisIndex, KernelFacts, Scope
from agentkern.compiler.analysis.element_forms import Condition
from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.analysis.ragged import Ragged
from agentkern.compiler.ir import dims
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.obligation import Case, Obligation
from agentkern.compiler.proofs.view_bounds import view_obligations
from agentkern.compiler.proofs.violation import (
    Clause,
    Form,
    Violation,
    at_most,
    less,
    make_violation,
    number,
    scope_unknowns,
    size_unknowns,
)


def bounds_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per axis of each access; a whole axis (`:`) needs none."""
    for scope in facts.scopes:
        for access in scope.accesses:
            for axis, index in enumerate(access.axes):
                if index.text != ":":
                    yield _obligation(facts, scope.around(access.op), access, axis, index)
    yield from view_obligations(facts)


def _obligation(facts: KernelFacts, scope: Scope, access: Access, axis: int, index: AxisIndex) -> Obligation:
    extent = access.type.shape[axis]
    where = wording.on_axis(access, axis)
    name = access.tensor.name or ""
    statement = f"`{access.text}` {wording.verb(access)} inside the extent {extent}{where} of `{access.tensor.name}`"
    if access.picks(axis):
        statement = f"`{access.text}` picks one of the {extent} tensors of `{access.tensor.name}`"
    if index.kind == "data":
        return Obligation(
            "bounds", statement, access.op.location, shown=False, tensor=name, access=access.text,
            hint=_data_hint(scope, access, axis, index),
        )  # fmt: skip
    return Obligation(
        "bounds",
        statement,
        access.op.location,
        shown=_shown(scope, access, axis, index),
        cases=(
            Case(
                lambda: _violation(facts, scope, access, axis),
                lambda values: _describe(facts, scope, access, axis, values),
            ),
        ),
        tensor=name,
        access=access.text,
        hint=_data_hint(scope, access, axis, index) if _rests_on_data(scope, index) else "",
    )


def _rests_on_data(scope: Scope, index: AxisIndex) -> bool:
    forms = (index.low, index.high) if index.block is None else (index.block.first, index.block.extent)
    names = [name for form in forms for name in dims.symbols(form)]
    return index.kind == "data" or any(name.startswith("#") or name in scope.forms.data for name in names)


def _data_hint(scope: Scope, access: Access, axis: int, index: AxisIndex) -> str:
    """What to write where data names the element: a promise, or the bound that the condition lacks."""
    extent = access.type.shape[axis]
    ragged = _segments_of(scope, index)
    if ragged is not None and ragged.end == extent:
        name = blocks.label(ragged.segment)
        return f"rows of a segment are from `{name}.start` to before `{name}.end`, and an empty one has none"
    if ragged is not None:
        return f"segments of `{ragged.offsets}` end at {ragged.end}: they subscript an axis of that extent"
    origin = scope.forms.origins.get(str(index.low)) if index.kind != "data" else None
    holder = f"`{origin.operands[0].name}`" if origin is not None else "the tensor that holds the indices"
    promise = f"promise `.values(0, {extent})` on {holder}"
    place = "p" if index.text == "..." else index.text
    named = "name the index, `p = ...`, and " if index.text == "..." else ""
    inside = f"({place} >= 0) & ({place} < {extent})"
    known = present_facts(scope, access, axis)
    has_low = index.kind != "data" and _follows(known, access, index.low)
    has_high = index.kind != "data" and _follows(known, access, at_most(dims.add(index.low, 1), extent))
    if access.masked and has_low != has_high:
        lacks = f"is below {extent}" if has_low else "is not negative"
        return f"the condition must also say that the index {lacks}: `{inside}`; or {promise}"
    if origin is None:
        follows = "promise with `.values(...)` what that follows from"
        return f"{named}touch only what is inside: `where={inside}`; or {follows}"
    return f"{promise}, or touch only what is inside: `where={inside}`"


def _segments_of(scope: Scope, index: AxisIndex) -> Ragged | None:
    """The segments whose rows an index counts."""
    forms = (index.low, index.high) if index.block is None else (index.block.first, index.block.extent)
    used = {name for form in forms for name in dims.symbols(form)}
    return next((each for each in scope.forms.ragged if not used.isdisjoint(each.names)), None)


def _shown(scope: Scope, access: Access, axis: int, index: AxisIndex) -> bool:
    extent = access.type.shape[axis]
    if index.block is not None and index.block.extent == extent and index.block.first == 0:
        return True
    known = present_facts(scope, access, axis)
    if index.block is not None and not access.masked:
        return known.nonnegative(index.block.first) and known.at_most(index.block.extent, extent)
    if index.kind == "range" and not known.at_most(index.low, index.high):
        return False
    low, high = (index.low, index.high)
    if index.block is not None:
        low = dims.symbol(blocks.at_name(index.block))
        high = dims.add(low, 1)
    return _follows(known, access, low) and _follows(known, access, at_most(high, extent))


def _follows(known: Facts, access: Access, form: Form) -> bool:
    """Whether a form is nonnegative where the access touches an element."""
    if known.nonnegative(form):
        return True
    return any(known.nonnegative(dims.add(form, dims.mul(given, -1))) for given in access.condition.nonnegative)


def present_facts(scope: Scope, access: Access, axis: int) -> Facts:
    """Facts that hold where the access touches an element: its grid has blocks and no other axis is empty."""
    needed: list[Form] = [block.length for block in scope.blocks]
    for other, index in enumerate(access.axes):
        if other != axis and index.kind == "range":
            needed.append(dims.add(index.high, dims.mul(index.low, -1)))
    return scope.forms.facts.positive(needed).assuming(access.condition.nonnegative)


def _violation(facts: KernelFacts, scope: Scope, access: Access, axis: int) -> Violation:
    clauses: list[Clause] = []
    for other, index in enumerate(access.axes):
        if other != axis and index.kind == "range":
            clauses.append((less(index.low, index.high),))
    clauses += _outside(access.axes[axis], access.type.shape[axis])
    clauses += conditions(access.condition)
    index = access.axes[axis]
    shown = (access.type.shape[axis], index.low, index.high)
    return make_violation([*size_unknowns(facts), *scope_unknowns(scope)], clauses, scope.forms.data, shown)


def conditions(condition: Condition) -> list[Clause]:
    """That a condition holds; a part of it that is not understood counts as data."""
    found: list[Clause] = [(form,) for form in condition.nonnegative]
    found += [(less(form, 0), less(0, form)) for form in condition.nonzero]
    return found if condition.complete else [*found, (dims.symbol("#mask"),)]


def _outside(index: AxisIndex, extent: Form) -> list[Clause]:
    if index.kind == "range":
        backward, past = less(index.high, index.low), less(extent, index.high)
        return [(less(index.low, index.high), backward), (less(index.low, 0), past, backward)]
    place = dims.symbol(blocks.at_name(index.block)) if index.block is not None else index.low
    return [(less(place, 0), at_most(extent, place))]


def _describe(
    facts: KernelFacts, scope: Scope, access: Access, axis: int, values: Mapping[str, int]
) -> Mapping[str, object]:
    index, extent = access.axes[axis], number(access.type.shape[axis], values)
    numbers = {} if index.kind == "block" else wording.blocks_of(scope, values)
    place = _place(index, extent, values)
    where = wording.on_axis(access, axis)
    extent_text = f"extent {extent}" if not where else f"{where[4:]}, extent {extent}"
    within = f" at {wording.spelled_blocks(scope, numbers)}" if numbers and index.kind == "scalar" else ""
    if index.kind == "range" and number(index.high, values) < number(index.low, values):
        text = f"`{access.text}` ends before it starts"
    elif access.picks(axis):
        text = f"`{access.text}` picks tensor {place} of {extent}{within}"
    else:
        text = f"`{access.text}` {wording.verb(access)} index {place} of {extent_text}{within}"
    return {
        "text": wording.with_setting(facts, values, text),
        "sizes": wording.sizes_of(facts, values),
        "scalars": wording.scalars_of(facts, values),
        "blocks": numbers,
        "axis": axis,
        "index": place,
        "extent": extent,
    }


def _place(index: AxisIndex, extent: int, values: Mapping[str, int]) -> int:
    if index.block is not None:
        return values[blocks.at_name(index.block)]
    low = number(index.low, values)
    return low if low < 0 or low >= extent else max(low, extent)
