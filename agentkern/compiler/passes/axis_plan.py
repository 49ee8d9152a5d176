"""Spread a grid's axis classes over registers, lanes and warps; give each value the layout that follows.

One plan serves all values of a grid: a class sits in the same lanes and warps wherever it occurs, so element operations,
broadcasts and reductions move nothing between threads. What cannot follow the plan (a class twice in one value, a regrouping
that straddles digits) has no layout here and is converted by `place_layouts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.analysis.axes import AxisClasses, Split
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import WARP_LANES, Digit, Layout, replicated, split_over
from agentkern.compiler.schedule import GridSchedule


@dataclass(frozen=True, slots=True)
class AxisPlan:
    """Digits over root classes: `axis` of each digit is a class number. `extents` are the classes' tile extents."""

    registers: tuple[Digit, ...]
    lanes: tuple[Digit, ...]
    warps: tuple[Digit, ...]
    extents: Mapping[int, int]
    splits: tuple[Split, ...]


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def _digit(number: int, extent: int, stride: int) -> tuple[Digit, ...]:
    return (Digit(number, extent, stride),) if extent > 1 else ()


def plan_axes(
    roots: Sequence[int],
    fast: int | None,
    extents: Mapping[int, int],
    caps: Mapping[int, int],
    schedule: GridSchedule,
    splits: tuple[Split, ...],
) -> AxisPlan:
    """Give lanes and warps to the fast class first, then to the others by extent; registers take what is left.

    `caps`: indices of a class that vector, lanes and warps together may cover (a sum's number of partials).
    """
    order = ([fast] if fast is not None else []) + sorted(
        (r for r in roots if r != fast), key=lambda r: (-extents[r], r)
    )
    registers: list[Digit] = []
    lanes: list[Digit] = []
    warps: list[Digit] = []
    lanes_left, warps_left = WARP_LANES, schedule.warps
    for number in order:
        extent = extents[number]
        vector = min(schedule.vector, _power_of_two(extent)) if number == fast else 1
        cap = max(caps.get(number, extent * WARP_LANES) // vector, 1)
        reach = min(_power_of_two(-(-extent // vector)), cap)
        lane_part = min(lanes_left, reach)
        warp_limit = schedule.fast_warps if number == fast else warps_left
        warp_part = min(warps_left, warp_limit, max(reach // lane_part, 1))
        rest = -(-extent // (vector * lane_part * warp_part))
        registers += _digit(number, vector, 1)
        registers += _digit(number, rest, vector * lane_part * warp_part)
        lanes += _digit(number, lane_part, vector)
        warps += _digit(number, warp_part, vector * lane_part)
        lanes_left //= lane_part
        warps_left //= warp_part
    if lanes_left > 1:
        lanes.append(replicated(lanes_left))
    if warps_left > 1:
        warps.append(replicated(warps_left))
    return AxisPlan(tuple(registers), tuple(lanes), tuple(warps), dict(extents), splits)


def _split_of(plan: AxisPlan, number: int, present: Mapping[int, int]) -> Split | None:
    """A split of class `number` some of whose parts the value has."""
    for split in plan.splits:
        if split.whole == number and any(part in present for part in split.parts):
            return split
    return None


def _merge_of(plan: AxisPlan, number: int, present: Mapping[int, int]) -> tuple[int, int] | None:
    """(axis, factor) of a whole that the value has and that class `number` is a part of."""
    for split in plan.splits:
        if number in split.parts and split.whole in present:
            factor = 1
            for part in split.parts[split.parts.index(number) + 1 :]:
                factor *= plan.extents[part]
            return (present[split.whole], factor)
    return None


def _value_digits(
    plan: AxisPlan, digits: Sequence[Digit], present: Mapping[int, int], keep_slot: bool
) -> list[Digit] | None:
    """Plan digits as digits of a value whose class k is axis present[k]; None if one straddles."""
    found: list[Digit] = []
    for digit in digits:
        if digit.axis in present:
            found.append(Digit(present[digit.axis], digit.extent, digit.stride))
            continue
        split = _split_of(plan, digit.axis, present)
        merge = _merge_of(plan, digit.axis, present)
        if split is not None:
            pieces = split_over(digit, [plan.extents[p] for p in split.parts], 0)
            if pieces is None:
                return None
            for piece in pieces:
                part = split.parts[piece.axis]
                if part in present:
                    found.append(Digit(present[part], piece.extent, piece.stride))
                elif keep_slot:
                    found.append(replicated(piece.extent))
        elif merge is not None:
            found.append(Digit(merge[0], digit.extent, digit.stride * merge[1]))
        elif keep_slot:
            found.append(replicated(digit.extent))
    return found


def planned_layout(plan: AxisPlan, value: Value, classes: AxisClasses) -> Layout | None:
    """The layout that a value has under the plan; None if it cannot follow it."""
    numbers = classes.axes(value)
    wanted = [n for n in numbers if plan.extents[n] > 1]
    if len(set(wanted)) != len(wanted):
        return None
    type_ = value.type
    assert isinstance(type_, TileType)
    present = {number: axis for axis, number in enumerate(numbers)}
    parts = [
        _value_digits(plan, digits, present, keep)
        for digits, keep in ((plan.registers, False), (plan.lanes, True), (plan.warps, True))
    ]
    if any(part is None for part in parts):
        return None
    registers, lanes, warps = (tuple(part or ()) for part in parts)
    layout = Layout(type_.rank, registers, lanes, warps)
    covers = all(
        have >= plan.extents[number] for have, number in zip(layout.shape, numbers, strict=True)
    )
    return layout if covers and not _overlaps(layout) else None


def _overlaps(layout: Layout) -> bool:
    """Whether digits of a merged axis step over each other: an inner axis covered beyond its extent."""
    for axis in range(layout.rank):
        digits = sorted((d for d in layout.all_digits() if d.axis == axis), key=lambda d: (d.stride, d.extent))
        reach = 1
        for digit in digits:
            if digit.stride < reach:
                return True
            reach = digit.stride * (digit.extent - 1) + reach
    return False
