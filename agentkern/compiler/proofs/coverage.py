"""Every element of every output is written, and what a grid reads back is: the stores so far, as boxes, fill a box.

A store covers a box when each of its axes is a whole block axis, a range, or a number that runs through a range as the
blocks do. Where a store is no box, small sizes are enumerated, which can refute, and prove when no size is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agentkern.compiler.analysis.accesses import Access, KernelFacts, Scope
from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.analysis.requirements import with_required
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.ir.views import View, viewed
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.boxes import Box, Interval, box_of, interleaved_boxes
from agentkern.compiler.proofs.enumeration import first_unwritten
from agentkern.compiler.proofs.frames import frames_of, in_frame, whole_of
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
    required_unknowns,
    size_unknowns,
)

MAX_SPLITS = 2000


def coverage_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per output; and one per load of what the kernel itself fills."""
    for param in facts.kernel.params:
        partial = facts.forms.promises.get(param.name or "", Promise()).partial
        if isinstance(param.type, TensorType) and param.type.access == "out" and not partial:
            yield _coverage(facts, param)
    for position, scope in enumerate(facts.scopes):
        seen: set[object] = set()
        for load in scope.accesses:
            key = (load.tensor, load.view, load.op.attrs["index"], load.op.operands[1:])
            if (load.is_atomic or not load.writes) and load.type.access in ("out", "scratch") and key not in seen:
                seen.add(key)
                yield _filled_before(facts, scope, load, facts.scopes[:position])


@dataclass(frozen=True, slots=True)
class _Goal:
    """That the stores of `scopes` fill a box of `tensor`: what `load` reads, or all of an output for the caller.

    The box is one of the view `frame` of the tensor.
    """

    facts: KernelFacts
    tensor: Value
    scopes: Sequence[Scope]
    target: Box
    load: Access | None = None
    frame: View = ()

    @property
    def stores(self) -> list[tuple[Scope, Access]]:
        """The stores to the tensor, in order."""
        stores = [(scope, a) for scope in self.scopes for a in scope.accesses if a.writes and not a.is_atomic]
        return [(scope, a) for scope, a in stores if a.tensor is self.tensor]

    @property
    def framed(self) -> list[tuple[Scope, Access]]:
        """Those of the stores that the view holds exactly."""
        found = [(scope, in_frame(scope.around(store.op), store, self.frame)) for scope, store in self.stores]
        return [(scope, framed.access) for scope, framed in found if framed is not None and framed.exact]

    @property
    def extents(self) -> tuple[Form, ...]:
        """The extents of the view."""
        assert isinstance(self.tensor.type, TensorType)
        return viewed(self.tensor.type, self.frame).shape

    @property
    def is_whole(self) -> bool:
        """Whether the box is all of the tensor."""
        return self.target == _box(self.extents)

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
            "coverage" if self.load is None else "filled",
            statement,
            location,
            shown=shown,
            cases=() if boxes is None else (self._case(boxes),),
            refuted=refuted,
            tensor=name,
            access=self.load.text if self.load is not None else "",
            hint=next((hint for scope, a in self.stores if (hint := wording.by_offsets(scope.around(a.op), a))), ""),
        )

    def _case(self, boxes: Sequence[Box]) -> Case:
        return Case(
            lambda: _violation(self, boxes),
            lambda values: _describe(self, values),
        )


def _coverage(facts: KernelFacts, tensor: Value) -> Obligation:
    goal = _Goal(facts, tensor, facts.scopes, _box(_extents(tensor)))
    found = [_filled(goal)]
    for frame in _whole_frames(goal.stores) if not found[0].shown else ():
        other = replace(goal, frame=frame)
        found.append(_filled(replace(other, target=_box(other.extents))))
    decided = [one for one in found if one.shown] or [one for one in found if one.cases or one.refuted is not None]
    return [*decided, *found][0]


def _whole_frames(stores: Sequence[tuple[Scope, Access]]) -> list[View]:
    """The views that leave no element out, but for the tensor itself."""
    frames = dict.fromkeys(frame for _, store in stores for frame in frames_of(store))
    return [frame for frame in frames if frame and all(step[0] != "slice" for step in frame)]


def _filled_before(facts: KernelFacts, scope: Scope, load: Access, scopes: Sequence[Scope]) -> Obligation:
    """What all blocks read of a tensor, where that is a box; else the whole tensor."""
    box = box_of(scope, load)
    goal = _Goal(facts, load.tensor, scopes, _box(load.type.shape), load, load.view)
    exact = replace(goal, target=box) if box is not None and box.exact else None
    found = _filled(exact or replace(goal, target=replace(goal.target, exact=False)))
    if found.shown:
        return found
    plain = _Goal(facts, load.tensor, scopes, replace(_box(_extents(load.tensor)), exact=False), load)
    for frame in _whole_frames(plain.stores) if load.view or any(store.view for _, store in plain.stores) else ():
        other = replace(plain, frame=frame)
        if _filled(replace(other, target=replace(_box(other.extents), exact=False))).shown:
            return replace(found, shown=True)
    return replace(found, shown=True) if load.view and _filled(plain).shown else found


def _box(extents: Sequence[Form]) -> Box:
    return Box(tuple((0, extent) for extent in extents), ())


def _extents(tensor: Value) -> tuple[Form, ...]:
    assert isinstance(tensor.type, TensorType)
    return tensor.type.shape


def _filled(goal: _Goal) -> Obligation:
    stores = goal.framed
    found = [box_of(scope, store) for scope, store in stores]
    boxes = [box for box in found if box is not None]
    together = [box for scope in goal.scopes for box in interleaved_boxes(scope, [a for s, a in stores if s is scope])]
    known = with_required(goal.facts.forms.facts, goal.facts.required)
    shown = _Cover(known).covered(goal.target, [*boxes, *together, *_joined(goal)])
    if shown or not goal.target.exact:
        # of a load that reads some part only, an element that is missing refutes nothing
        return goal.obligation(shown=shown)
    if len(boxes) == len(goal.stores) and all(box.exact for box in boxes):
        return goal.obligation(shown=shown, boxes=boxes)
    if not goal.is_whole or any(store.view for _, store in goal.stores):
        return goal.obligation(shown=False)
    result = first_unwritten(goal.facts, goal.tensor, goal.scopes)
    if isinstance(result, bool):
        return goal.obligation(shown=result)
    values = {**result.sizes, **{f"@{axis}": place for axis, place in enumerate(result.element)}}
    return goal.obligation(shown=False, refuted=_describe(goal, values))


def _joined(goal: _Goal) -> Iterator[Box]:
    """Boxes that stores to parts of one view fill together, as to the fields of an array of records."""
    known = with_required(goal.facts.forms.facts, goal.facts.required)
    parted: dict[View, tuple[Scope, Access]] = {}
    for scope, store in goal.stores:
        cuts = [position for position, step in enumerate(store.view) if step[0] == "slice"]
        view = store.view[: cuts[-1]] if cuts else ()
        if len(view) > len(goal.frame) and view[: len(goal.frame)] == goal.frame:
            parted.setdefault(view, (scope, store))
    for view, (scope, store) in parted.items():
        inner = replace(goal, frame=view, load=None)
        inner = replace(inner, target=_box(inner.extents))
        found = [box_of(s, a) for s, a in inner.framed]
        boxes = [box for box in found if box is not None]
        sides = whole_of(scope, store, view, goal.frame)
        if sides is not None and _Cover(known).covered(inner.target, [*boxes, *_joined(inner)]):
            yield Box(sides, ())


class _Cover:
    """Do boxes fill a box? Splits one axis after another at the boxes' sides."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.budget = MAX_SPLITS

    def covered(self, target: Box, boxes: Sequence[Box]) -> bool:
        """Whether the union of `boxes` holds `target`, for all sizes."""
        known = self.facts.positive([*target.needs, *(dims.add(high, dims.mul(low, -1)) for low, high in target.sides)])
        usable = [b for b in boxes if all(known.nonnegative(dims.add(need, -1)) for need in b.needs)]
        return self._axis(known, target.sides, usable, 0)

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


def _violation(goal: _Goal, boxes: Sequence[Box]) -> Violation:
    """An element of the goal's box that none of `boxes` holds."""
    facts, target, extents = goal.facts, goal.target, goal.extents
    unknowns = [*size_unknowns(facts)]
    unknowns += [place_on(axis, high, low) for axis, (low, high) in enumerate(target.sides)]
    clauses: list[Clause] = [(dims.add(need, -1),) for need in target.needs]
    if not goal.is_whole:
        places = [dims.symbol(f"@{axis}") for axis in range(len(extents))]
        clauses += [(clause,) for place, n in zip(places, extents, strict=True) for clause in (place, less(place, n))]
    for box in boxes:
        outside: list[Form] = [dims.mul(need, -1) for need in box.needs]
        for axis, (low, high) in enumerate(box.sides):
            place = dims.symbol(f"@{axis}")
            outside += [less(place, low), at_most(high, place)]
        clauses.append(tuple(outside))
    return make_violation([*unknowns, *required_unknowns(facts.required)], clauses, (), extents)


def _describe(goal: _Goal, values: Mapping[str, int]) -> Mapping[str, object]:
    facts, extents = goal.facts, goal.extents
    element = tuple(values[f"@{axis}"] for axis in range(len(extents)))
    place = wording.place_text(facts, goal.tensor, goal.frame, element)
    return {
        "text": wording.with_setting(facts, values, f"no store writes `{place}`"),
        "sizes": wording.sizes_of(facts, values),
        "scalars": wording.scalars_of(facts, values),
        "element": list(element),
        "extents": [number(extent, values) for extent in extents],
    }
