"""Every element of every output is written: the stores of all grids, as boxes, fill the tensor's box.

A store covers a box when each of its axes is a whole block axis, a range, or a number that runs through a range as the
blocks do. Where a store is no box, small sizes are enumerated, which can refute, and prove when no size is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import Access, AxisIndex, KernelFacts, Scope
from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.dims import Symbol
from agentkern.compiler.ir.types import BlockType, TensorType
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.enumeration import first_unwritten
from agentkern.compiler.proofs.obligation import Case, Obligation
from agentkern.compiler.proofs.violation import (
    Clause,
    Form,
    Violation,
    at_most,
    less,
    make_violation,
    number,
    place_on,
    size_unknowns,
)

Interval = tuple[Form, Form]


@dataclass(frozen=True, slots=True)
class Box:
    """What one store writes over all blocks, if every extent of `needs` is at least 1."""

    sides: tuple[Interval, ...]
    needs: tuple[Form, ...]


def coverage_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per output; and one per tensor that is read after the kernel itself filled it."""
    for param in facts.kernel.params:
        if isinstance(param.type, TensorType) and param.type.access == "out":
            yield _coverage(facts, param)
    for position, scope in enumerate(facts.scopes):
        seen: set[Value] = set()
        for load in scope.accesses:
            if not load.writes and load.type.access in ("out", "scratch") and load.tensor not in seen:
                seen.add(load.tensor)
                yield _filled_before(facts, load, facts.scopes[:position])


@dataclass(frozen=True, slots=True)
class _Goal:
    """That the stores of `scopes` fill `tensor`; `load` is who needs it, None for an output's caller."""

    facts: KernelFacts
    tensor: Value
    scopes: Sequence[Scope]
    load: Access | None = None

    @property
    def stores(self) -> list[tuple[Scope, Access]]:
        """The stores to the tensor, in order."""
        return [(scope, a) for scope in self.scopes for a in scope.accesses if a.writes and a.tensor is self.tensor]

    @property
    def extents(self) -> tuple[Form, ...]:
        """The tensor's extents."""
        assert isinstance(self.tensor.type, TensorType)
        return self.tensor.type.shape

    def obligation(
        self,
        *,
        shown: bool,
        boxes: Sequence[Box] | None = None,
        refuted: Mapping[str, object] | None = None,
    ) -> Obligation:
        """The obligation; `boxes` are all that the stores fill, where that is known exactly."""
        name = self.tensor.name or ""
        if self.load is not None:
            statement, location = f"`{self.load.text}` reads what earlier grids have written", self.load.op.location
        else:
            stores = self.stores
            statement = f"every element of `{name}` is written"
            location = stores[0][1].op.location if stores else None
        return Obligation(
            "coverage",
            statement,
            location,
            shown=shown,
            cases=() if boxes is None else (self._case(boxes),),
            refuted=refuted,
            tensor=name,
            access=self.load.text if self.load is not None else "",
        )

    def _case(self, boxes: Sequence[Box]) -> Case:
        return Case(
            lambda: _violation(self.facts, self.extents, boxes),
            lambda values: _describe(self.facts, self.tensor, values),
        )


def _coverage(facts: KernelFacts, tensor: Value) -> Obligation:
    return _filled(_Goal(facts, tensor, facts.scopes))


def _filled_before(facts: KernelFacts, load: Access, scopes: Sequence[Scope]) -> Obligation:
    return _filled(_Goal(facts, load.tensor, scopes, load))


def _filled(goal: _Goal) -> Obligation:
    found = [_box(scope, store) for scope, store in goal.stores]
    boxes = [box for box in found if box is not None]
    sides = tuple((0, extent) for extent in goal.extents)
    shown = _Cover(goal.facts.forms.facts).covered(sides, boxes)
    if shown or len(boxes) == len(found):
        return goal.obligation(shown=shown, boxes=boxes)
    result = first_unwritten(goal.facts, goal.tensor, goal.scopes)
    if isinstance(result, bool):
        return goal.obligation(shown=result)
    values = {**result.sizes, **{f"@{axis}": place for axis, place in enumerate(result.element)}}
    return goal.obligation(shown=False, refuted=_describe(goal.facts, goal.tensor, values))


# ---- boxes -----------------------------------------------------------------------------------------------------------


def _box(scope: Scope, store: Access) -> Box | None:
    """The box that a store fills; None where it fills none that is known exactly."""
    if store in scope.conditional:
        return None
    used: list[BlockType] = []
    sides: list[Interval] = []
    for index in store.axes:
        side = _side(scope, index, used)
        if side is None:
            return None
        sides.append(side)
    if len({block.name for block in used}) != len(used):
        return None
    idle = [b for b in scope.blocks if b not in used and not _exists(b)]
    return Box(tuple(sides), tuple(block.extent for block in idle))


def _exists(block: BlockType) -> bool:
    return isinstance(block.extent, int) and block.extent > 0


def _side(scope: Scope, index: AxisIndex, used: list[BlockType]) -> Interval | None:
    if index.kind == "range":
        return (index.low, index.high)
    if index.block is not None:
        used.append(index.block)
        return (0, index.block.extent)
    return _swept(scope, index.low, used) if index.kind == "scalar" else None


def _swept(scope: Scope, form: Form, used: list[BlockType]) -> Interval | None:
    """The range that `base + ordinal0 + count0 * ordinal1 + ...` runs through."""
    if isinstance(form, int):
        return (form, form + 1)
    by_name = {blocks.ordinal_name(block): block for block in scope.blocks}
    known = {*(s.name for s in _sizes(scope)), *scope.forms.scalars}
    base: Form = 0
    factors: dict[str, Form] = {}
    for monomial, coefficient in form.terms:
        moving = [a.name for a in monomial if isinstance(a, Symbol) and a.name in by_name]
        rest = [a for a in monomial if not (isinstance(a, Symbol) and a.name in by_name)]
        if len(moving) > 1 or any(n not in known for a in rest for n in dims.symbols(dims.Dim((((a,), 1),)))):
            return None
        term: Form = dims.Dim(((tuple(rest), coefficient),)) if rest else coefficient
        if moving:
            factors[moving[0]] = dims.add(factors.get(moving[0], 0), term)
        else:
            base = dims.add(base, term)
    width: Form = 1
    while factors:
        name = next((n for n, factor in factors.items() if factor == width), None)
        if name is None:
            return None
        del factors[name]
        used.append(by_name[name])
        width = dims.mul(width, blocks.count(by_name[name]))
    return (base, dims.add(base, width))


def _sizes(scope: Scope) -> list[Symbol]:
    skipped = {*scope.forms.data, *scope.forms.derived}
    for block in scope.blocks:
        skipped.update(blocks.block_facts(block))
    return [Symbol(name) for name in scope.forms.facts.symbols if name not in skipped]


class _Cover:
    """Do boxes fill a box? Splits one axis after another at the boxes' sides."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.budget = 300

    def covered(self, target: tuple[Interval, ...], boxes: Sequence[Box]) -> bool:
        """Whether the union of `boxes` holds `target`, for all sizes."""
        known = self.facts.positive(dims.add(high, dims.mul(low, -1)) for low, high in target)
        usable = [b for b in boxes if all(known.nonnegative(dims.add(need, -1)) for need in b.needs)]
        return self._axis(known, target, usable, 0)

    def _axis(self, known: Facts, target: tuple[Interval, ...], boxes: Sequence[Box], axis: int) -> bool:
        if not boxes:
            return False
        if axis == len(target):
            return True
        low, high = target[axis]
        full = [b for b in boxes if known.at_most(b.sides[axis][0], low) and known.at_most(high, b.sides[axis][1])]
        if full and self._axis(known, target, full, axis + 1):
            return True
        if len(boxes) == 1:
            return False
        return self._split(known, target, boxes, axis)

    def _split(self, known: Facts, target: tuple[Interval, ...], boxes: Sequence[Box], axis: int) -> bool:
        """From the low end up: as far as some group of boxes reaches while it fills the other axes."""
        low, high = target[axis]
        place = low
        while not known.at_most(high, place):
            self.budget -= 1
            if self.budget < 0:
                return False
            begun = [b for b in boxes if known.at_most(b.sides[axis][0], place)]
            ends = dict.fromkeys(b.sides[axis][1] for b in begun)
            ends = [e for e in ends if known.at_most(dims.add(place, 1), e)]
            following = None
            for end in ends:
                group = [b for b in begun if known.at_most(end, b.sides[axis][1])]
                if self._axis(known, target, group, axis + 1) and (following is None or known.at_most(following, end)):
                    following = end
            if following is None:
                return False
            place = following
        return True


def _violation(facts: KernelFacts, extents: tuple[Form, ...], boxes: Sequence[Box]) -> Violation:
    """An element that no box holds."""
    unknowns = size_unknowns(facts)
    unknowns += [place_on(k, e) for k, e in enumerate(extents)]
    clauses: list[Clause] = []
    for box in boxes:
        outside: list[Form] = [dims.mul(need, -1) for need in box.needs]
        for axis, (low, high) in enumerate(box.sides):
            place = dims.symbol(f"@{axis}")
            outside += [less(place, low), at_most(high, place)]
        clauses.append(tuple(outside))
    return make_violation(unknowns, clauses, ())


def _describe(facts: KernelFacts, tensor: Value, values: Mapping[str, int]) -> Mapping[str, object]:
    assert isinstance(tensor.type, TensorType)
    element = tuple(values[f"@{axis}"] for axis in range(tensor.type.rank))
    return {
        "text": wording.with_setting(facts, values, f"no store writes `{tensor.name}[{wording.listed(element)}]`"),
        "sizes": wording.sizes_of(facts, values),
        "scalars": wording.scalars_of(facts, values),
        "element": list(element),
        "extents": [number(extent, values) for extent in tensor.type.shape],
    }
