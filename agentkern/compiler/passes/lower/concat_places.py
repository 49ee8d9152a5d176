"""Where registers of concatenated tiles stand among the result's, if no element changes its thread. Facts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import Digit, Layout


@dataclass(frozen=True, slots=True)
class Placed:
    """Register i of a tile is register start + sum((i / d) % e * m) of the result; `terms` are (d, e, m)."""

    terms: tuple[tuple[int, int, int], ...]
    count: int
    start: int


def concat_places(op: Op, parts: Sequence[Layout], whole: Layout) -> tuple[Placed, ...] | None:
    """The place of each operand; None unless every thread holds the whole axis of what it holds of the others."""
    axis, target = op.attrs["axis"], op.result.type
    assert isinstance(axis, int) and isinstance(target, TileType)
    types = [value.type for value in (*op.operands, op.result)]
    extents = [type_.shape[axis] for type_ in types if isinstance(type_, TileType)]
    if not all(isinstance(extent, int) and extent > 0 for extent in extents):
        return None  # of a tile without elements nothing lies anywhere
    along = [digit for digit in whole.all_digits() if digit.axis == axis]
    if along != [Digit(axis, extent, 1) for extent in extents[-1:] if isinstance(extent, int)]:
        return None
    found: list[Placed] = []
    start = 0
    for value, layout in zip(op.operands, parts, strict=True):
        assert isinstance(value.type, TileType)
        extent = value.type.shape[axis]
        if not isinstance(extent, int) or (layout.lanes, layout.warps) != (whole.lanes, whole.warps):
            return None
        placed = _placed(layout, whole, (axis, extent, start))
        if placed is None:
            return None
        found.append(placed)
        start += extent
    return tuple(found)


def _placed(layout: Layout, whole: Layout, part: tuple[int, int, int]) -> Placed | None:
    """The place of a tile that is `part` of the result: (axis, extent, first index)."""
    axis, extent, first = part
    remaining = list(layout.registers)
    terms: list[tuple[int, int, int]] = []
    divisor, factor, start = 1, 1, 0
    for digit in whole.registers:
        wanted = Digit(axis, extent, 1) if digit.axis == axis else digit
        if digit.axis == axis:
            start = first * factor
        if wanted.extent > 1:
            if not remaining or remaining.pop(0) != wanted:
                return None
            terms.append((divisor, wanted.extent, factor))
            divisor *= wanted.extent
        factor *= digit.extent
    return None if remaining else Placed(tuple(terms), divisor, start)
