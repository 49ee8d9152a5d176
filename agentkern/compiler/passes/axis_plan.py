"""Spread a grid's axis classes over registers, lanes and warps; give each value the layout that follows.

One plan serves all values of a grid: a class sits in the same lanes and warps wherever it occurs, so element
operations, broadcasts and reductions move nothing between threads. What cannot follow the plan (a class twice in one
value, a regrouping that straddles digits) has no layout here and is converted by `place_layouts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.analysis.axes import Split
from agentkern.compiler.ir.order import COLUMN, LONG_ROW, SumOrder
from agentkern.compiler.layout.layout import (
    REPLICATED,
    WARP_LANES,
    Digit,
    Layout,
    replicated,
    split_over,
)
from agentkern.compiler.schedule import GridSchedule

LONG_ROW_WARP_STRIDE = 256  # bit 8, which a long row's order combines right after a vector's bits 0, 1, 2


@dataclass(frozen=True, slots=True)
class Slot:
    """A digit of the lane or warp number: `bit` is the place of its lowest bit, the digit's axis a class."""

    bit: int
    digit: Digit

    @property
    def bits(self) -> frozenset[int]:
        """Places of all its bits."""
        return frozenset(range(self.bit, self.bit + self.digit.extent.bit_length() - 1))


@dataclass(frozen=True, slots=True)
class FastRoots:
    """Roots that memory runs along: neighbours of each in a thread, and the short ones inside, whole in a thread."""

    vectors: Mapping[int, int]
    inner: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AxisPlan:
    """Digits over root classes: `axis` of each digit is a class number. `extents` are the classes' tile extents.

    Classes that never meet in one value may share lanes and warps.
    """

    registers: tuple[Digit, ...]
    lanes: tuple[Slot, ...]
    warps: tuple[Slot, ...]
    warp_count: int
    extents: Mapping[int, int]
    splits: tuple[Split, ...]


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def _digit(number: int, extent: int, stride: int) -> tuple[Digit, ...]:
    return (Digit(number, extent, stride),) if extent > 1 else ()


def _free_run(slots: Sequence[Slot], number: int, meets: frozenset[int], count: int) -> tuple[int, int]:
    """(lowest bit, how many) of the longest run of bits that no class meeting this one holds."""
    taken = {bit for slot in slots if slot.digit.axis in meets or slot.digit.axis == number for bit in slot.bits}
    best = (0, 0)
    start = 0
    for bit in range(count + 1):
        if bit == count or bit in taken:
            if bit - start > best[1]:
                best = (start, bit - start)
            start = bit + 1
    return best


def _below_warps(order: SumOrder | None, extent: int, lanes: int, reach: int, warps: int) -> int:
    """Registers between the lanes' bits and the warps' bits of a sum: its tree then comes to the warps last.

    `lanes`: indices up to the lanes' last bit; `reach`: indices that lanes and warps may have together; `warps`: how
    many warps there are for them. Warps that come last exchange one value of each column, not one of each partial.
    """
    if order is LONG_ROW and extent > LONG_ROW_WARP_STRIDE:
        return max(LONG_ROW_WARP_STRIDE // lanes, 1)
    if order is COLUMN:
        return max(reach // max(min(warps, reach), 1), 1)
    return 1


def plan_axes(
    roots: Sequence[int],
    fast: FastRoots,
    extents: Mapping[int, int],
    orders: Mapping[int, SumOrder],
    meets: Mapping[int, frozenset[int]],
    schedule: GridSchedule,
    splits: tuple[Split, ...],
) -> AxisPlan:
    """Give lanes and warps to the fast classes first, then to the others by extent; registers take what is left.

    `orders`: the order of each class that is summed; vector, lanes and warps together stay inside its partials, and
    warps begin at the bit that the order combines next to the vector's, so that warps exchange once. `meets`: the
    other roots that occur in one value with a root.
    """
    others = (r for r in roots if r not in fast.vectors and r not in fast.inner)
    sequence = [*fast.vectors, *sorted(others, key=lambda r: (-extents[r], r))]
    registers = [digit for number in fast.inner for digit in _digit(number, extents[number], 1)]
    lanes: list[Slot] = []
    warps: list[Slot] = []
    for number in sequence:
        extent = extents[number]
        vector = min(fast.vectors.get(number, 1), _power_of_two(extent))
        order = orders.get(number)
        reach = _power_of_two(-(-extent // vector))
        if order is not None:
            reach = min(reach, max(order.partials // vector, 1))
        lane_bit, lane_free = _free_run(lanes, number, meets[number], WARP_LANES.bit_length() - 1)
        lane_part = min(1 << lane_free, reach)
        warp_bit, warp_free = _free_run(warps, number, meets[number], schedule.warps.bit_length() - 1)
        warp_limit = schedule.fast_warps if number in fast.vectors else schedule.warps
        warp_room = min(1 << warp_free, warp_limit)
        below = _below_warps(order, extent, vector * lane_part, reach // lane_part, warp_room)
        warp_part = min(warp_room, max(reach // (lane_part * below), 1))
        rest = -(-extent // (vector * lane_part * below * warp_part))
        registers += _digit(number, vector, 1)
        registers += _digit(number, below, vector * lane_part)
        registers += _digit(number, rest, vector * lane_part * below * warp_part)
        lanes += [Slot(lane_bit, d) for d in _digit(number, lane_part, vector)]
        warps += [Slot(warp_bit, d) for d in _digit(number, warp_part, vector * lane_part * below)]
    return AxisPlan(tuple(registers), tuple(lanes), tuple(warps), schedule.warps, dict(extents), splits)


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


def _pieces(plan: AxisPlan, digit: Digit, present: Mapping[int, int]) -> tuple[Digit, ...] | None:
    """A plan's digit as digits of a value whose class k is axis present[k]; None if it straddles two of its axes."""
    if digit.axis in present:
        return (Digit(present[digit.axis], digit.extent, digit.stride),)
    split = _split_of(plan, digit.axis, present)
    if split is not None:
        pieces = split_over(digit, [plan.extents[p] for p in split.parts], 0)
        if pieces is None:
            return None
        return tuple(
            Digit(present[split.parts[p.axis]], p.extent, p.stride)
            if split.parts[p.axis] in present
            else replicated(p.extent)
            for p in pieces
        )
    merge = _merge_of(plan, digit.axis, present)
    if merge is not None:
        return (Digit(merge[0], digit.extent, digit.stride * merge[1]),)
    return (replicated(digit.extent),)


def _register_digits(plan: AxisPlan, present: Mapping[int, int]) -> tuple[Digit, ...] | None:
    found: list[Digit] = []
    for digit in plan.registers:
        pieces = _pieces(plan, digit, present)
        if pieces is None:
            return None
        found += [piece for piece in pieces if piece.axis != REPLICATED]
    return tuple(found)


def _slot_digits(
    plan: AxisPlan, slots: Sequence[Slot], present: Mapping[int, int], count: int
) -> tuple[Digit, ...] | None:
    """Digits of the value's classes at their places, the gaps replicated.

    None if two slots clash: a class that is part of two regrouped axes is carried by both, and only one can place it.
    """
    found: list[Digit] = []
    bit = 0
    for slot in sorted(slots, key=lambda s: s.bit):
        pieces = _pieces(plan, slot.digit, present)
        if pieces is None:
            return None
        if all(piece.axis == REPLICATED for piece in pieces):
            continue
        if slot.bit < bit:
            return None
        found += [replicated(1 << (slot.bit - bit))] if slot.bit > bit else []
        found += pieces
        bit = slot.bit + slot.digit.extent.bit_length() - 1
    rest = count >> bit
    return (*found, replicated(rest)) if rest > 1 else tuple(found)


def planned_layout(plan: AxisPlan, numbers: tuple[int, ...]) -> Layout | None:
    """The layout that a value with these axis classes has under the plan; None if it cannot follow it."""
    wanted = [n for n in numbers if plan.extents[n] > 1]
    if len(set(wanted)) != len(wanted):
        return None
    present = {number: axis for axis, number in enumerate(numbers)}
    registers = _register_digits(plan, present)
    lanes = _slot_digits(plan, plan.lanes, present, WARP_LANES)
    warps = _slot_digits(plan, plan.warps, present, plan.warp_count)
    if registers is None or lanes is None or warps is None:
        return None
    layout = Layout(len(numbers), registers, lanes, warps)
    fits = all(_counts(layout, axis, plan.extents[number]) for axis, number in enumerate(numbers))
    return layout if fits else None


def _counts(layout: Layout, axis: int, extent: int) -> bool:
    """Whether the digits of an axis count its indices, each once.

    Those of a merged axis may step over each other, where an inner axis is covered beyond its extent, or leave gaps,
    where a class that is part of it stands for another axis of the same value.
    """
    reach = 1
    for digit in sorted((d for d in layout.all_digits() if d.axis == axis), key=lambda d: (d.stride, d.extent)):
        if digit.stride < reach or (digit.stride > reach and reach < extent):
            return False
        reach = digit.stride * (digit.extent - 1) + reach
    return reach >= extent
