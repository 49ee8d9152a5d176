"""The layouts that the fixed order of scans asks for. Facts only."""

from __future__ import annotations

from collections.abc import Sequence

from agentkern.compiler.ir.order import ScanOrder, scan_order
from agentkern.compiler.layout.layout import WARP_LANES, Digit, Layout, replicated


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def run_lanes(order: ScanOrder, extent: int) -> int:
    """Neighbouring lanes over which the runs of one panel are spread; 1 where a thread has whole panels."""
    return min(order.runs, _power_of_two(-(-extent // order.run_elems)))


def follows_scan(layout: Layout, extents: Sequence[int], axis: int) -> bool:
    """Whether a layout is as a scan along the axis needs it.

    The first register digit is a run, the first lane digit the runs of a panel; further digits of the axis are whole
    panels, those in registers right after the run.
    """
    order = scan_order(axis_is_last=axis == len(extents) - 1)
    run, lanes = min(max(extents[axis], 1), order.run_elems), run_lanes(order, extents[axis])
    if not layout.registers or layout.registers[0] != Digit(axis, run, 1):
        return False
    if lanes > 1 and (not layout.lanes or layout.lanes[0] != Digit(axis, lanes, order.run_elems)):
        return False
    rest = layout.registers[1:]
    own = [k for k, digit in enumerate(rest) if digit.axis == axis]
    others = [d for d in (*rest, *layout.lanes[lanes > 1 :], *layout.warps) if d.axis == axis]
    return own in ([], [0]) and all(digit.stride % order.panel_elems == 0 for digit in others)


def scan_layout(extents: Sequence[int], axis: int, warps: int) -> Layout:
    """A layout with one run of the axis in a thread's first registers, further runs over lanes, warps, registers."""
    order = scan_order(axis_is_last=axis == len(extents) - 1)
    run = min(max(extents[axis], 1), order.run_elems)
    lanes_left, warps_left = WARP_LANES, warps
    registers = [Digit(axis, run, 1)]
    lanes: list[Digit] = []
    warp_digits: list[Digit] = []
    others = [a for a in reversed(range(len(extents))) if a != axis]
    for place in (axis, *others):
        unit = order.run_elems if place == axis else 1
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
