"""The layout that the fixed order of scans asks for. Facts only."""

from __future__ import annotations

from collections.abc import Sequence

from agentkern.compiler.ir.order import SCAN_PANEL
from agentkern.compiler.layout.layout import WARP_LANES, Digit, Layout, replicated


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def scan_layout(extents: Sequence[int], axis: int, warps: int) -> Layout:
    """A layout with one panel of the axis in a thread's first registers, whole panels over lanes, warps, registers.

    The first register digit is the place inside the panel; the second, where there is one, further panels.
    """
    run = min(max(extents[axis], 1), SCAN_PANEL)
    lanes_left, warps_left = WARP_LANES, warps
    registers = [Digit(axis, run, 1)]
    lanes: list[Digit] = []
    warp_digits: list[Digit] = []
    others = [a for a in reversed(range(len(extents))) if a != axis]
    for place in (axis, *others):
        unit = SCAN_PANEL if place == axis else 1
        count = -(-extents[place] // unit)
        lane_part = min(lanes_left, _power_of_two(count))
        warp_part = min(warps_left, _power_of_two(-(-count // lane_part)))
        rest = -(-count // (lane_part * warp_part))
        lanes += [Digit(place, lane_part, unit)] if lane_part > 1 else []
        warp_digits += [Digit(place, warp_part, unit * lane_part)] if warp_part > 1 else []
        registers += [Digit(place, rest, unit * lane_part * warp_part)] if rest > 1 else []
        lanes_left //= lane_part
        warps_left //= warp_part
    lanes += [replicated(lanes_left)] if lanes_left > 1 else []
    warp_digits += [replicated(warps_left)] if warps_left > 1 else []
    return Layout(len(extents), tuple(registers), tuple(lanes), tuple(warp_digits))
