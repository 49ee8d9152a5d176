"""Plan walks along long columns that are added up: how rows and columns of a turn lie in threads. Changes nothing.

A column's partials are few and its neighbours are many. Threads that hold neighbouring columns need no exchange; warps
that hold rows of the same columns exchange one value a column and panel, because their bits come last in the tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Region, walk
from agentkern.compiler.ir.order import COLUMN, SumOrder
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.segments import length_name
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import WARP_LANES
from agentkern.compiler.passes.grid_axes import accesses, wide_classes

ROW_WARPS = 8
COLUMN_WARPS = 2  # of segments: a block's threads have columns of their own, so that small blocks lose nothing
NEIGHBOURS = 4  # columns of a thread where warps share rows, which then exchange 4 x 8 values
NEIGHBOURS_OF_SEGMENTS = 2  # 64 partials of a thread, which live in registers
WORDS_AHEAD = 32  # 32-bit registers of a thread's loads of one turn


@dataclass(frozen=True, slots=True)
class ColumnWalk:
    """A plan: neighbouring columns per thread, warps of a block, those of them along the columns, rows per turn."""

    vector: int
    warps: int
    fast_warps: int
    chunk: int


def plan_column_walk(
    region: Region, classes: AxisClasses, orders: Mapping[int, SumOrder], fast: int | None, vector: int
) -> ColumnWalk | None:
    """The plan of a grid that walks one long column for each index of a free axis; None for any other grid.

    A segment may be short: all its rows of a turn belong to one thread, and the turn is as short as the order allows.
    """
    wide = wide_classes(classes)
    ops = tuple(walk(region.ops))
    if fast is None or fast in wide or len(wide) != 1 or orders.get(wide[0], COLUMN) != COLUMN:
        return None
    length = classes.blocks[fast].length if fast in classes.blocks else 0
    if (isinstance(length, int) and length < WARP_LANES * vector) or any(op.name in SCANS for op in ops):
        return None
    sums = [op for op in ops if op.name in REDUCTIONS and _runs_along(op, classes, wide[0])]
    if not sums or any(op.name in REDUCTIONS and op not in sums for op in ops):
        return None
    if _is_segment(classes, wide[0]) and len(sums) <= 2:
        vector = min(vector, NEIGHBOURS_OF_SEGMENTS // len(sums), _fitting(region, classes, wide[0], COLUMN.partials))
        return ColumnWalk(vector, COLUMN_WARPS, COLUMN_WARPS, COLUMN.partials)
    vector = min(vector, NEIGHBOURS)
    words = _words(region, classes, wide[0], vector)
    rows = 4
    while 2 * rows * words <= WORDS_AHEAD and 2 * rows * ROW_WARPS <= COLUMN.panel_elems:
        rows *= 2
    return ColumnWalk(vector, ROW_WARPS, 1, rows * ROW_WARPS)


def _runs_along(op: Op, classes: AxisClasses, number: int) -> bool:
    axes = op.attrs["axes"]
    assert isinstance(axes, tuple)
    return any(classes.of[op.operands[0], int(axis)] == number for axis in axes)


def _is_segment(classes: AxisClasses, number: int) -> bool:
    """Whether an axis is as long as offsets say, of which the compiler knows nothing."""
    extent = classes.extents[number]
    return not isinstance(extent, int) and any(name.endswith(length_name("")) for name in dims.symbols(extent))


def _words(region: Region, classes: AxisClasses, wide: int, vector: int) -> int:
    """32-bit registers that a thread's loads of one row fill."""
    total = 0
    for access in accesses(region):
        numbers = classes.axes(access.tile)
        if access.op.name == "load" and wide in numbers and isinstance(access.tile.type, TileType):
            elems = vector if len(numbers) > 1 else 1
            total += -(-elems * access.tile.type.dtype.nbytes // 4)
    return max(total, 1)


def _fitting(region: Region, classes: AxisClasses, wide: int, rows: int) -> int:
    """Columns of a thread whose loads of so many rows fit; one at least."""
    vector = NEIGHBOURS_OF_SEGMENTS
    while vector > 1 and rows * _words(region, classes, wide, vector) > WORDS_AHEAD:
        vector //= 2
    return vector
