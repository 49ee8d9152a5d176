"""Every element of every output is written: the stores of all grids, as boxes, fill the tensor's box.

A store covers a box when each of its axes is a whole block axis, a range, or a number that runs through a range as the
blocks do. Where a store is no box, small sizes are enumerated, which can refute, and prove when no size is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.analysis.accesses import Access, KernelFacts, Scope
from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.boxes import Box, Interval, box_of, interleaved_boxes
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

MAX_SPLITS = 2000


def coverage_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per output; and one per tensor that is read after the kernel itself filled it."""
    for param in facts.kernel.params:
        partial = facts.forms.promises.get(param.name or "", Promise()).partial
        if isinstance(param.type, TensorType) and param.type.access == "out" and not partial:
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
    found = [box_of(scope, store) for scope, store in goal.stores]
    boxes = [box for box in found if box is not None]
    sides = tuple((0, extent) for extent in goal.extents)
    together = [
        box for scope in goal.scopes for box in interleaved_boxes(scope, [a for s, a in goal.stores if s is scope])
    ]
    shown = _Cover(goal.facts.forms.facts).covered(sides, [*boxes, *together])
    if shown or (len(boxes) == len(found) and all(box.exact for box in boxes)):
        return goal.obligation(shown=shown, boxes=boxes)
    result = first_unwritten(goal.facts, goal.tensor, goal.scopes)
    if isinstance(result, bool):
        return goal.obligation(shown=result)
    values = {**result.sizes, **{f"@{axis}": place for axis, place in enumerate(result.element)}}
    return goal.obligation(shown=False, refuted=_describe(goal.facts, goal.tensor, values))


class _Cover:
    """Do boxes fill a box? Splits one axis after another at the boxes' sides."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.budget = MAX_SPLITS

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
