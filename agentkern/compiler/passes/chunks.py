"""Indices per step of a streamed axis, as the orders of its sums and scans allow. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir.core import Op, Region, Value, walk
from agentkern.compiler.ir.order import LONG_ROW, ROW_SCAN, ScanOrder, SumOrder, scan_order
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.grid_axes import wide_classes

CHUNK_ROWS = 2
COLUMN_CHUNK = 128


def _rank(tile: Value) -> int:
    assert isinstance(tile.type, TileType)
    return tile.type.rank


def chunk_wanted(classes: AxisClasses, orders: Mapping[int, SumOrder], fast: int | None, panel: int) -> int:
    """Indices per step of a streamed axis: two rows of partials, so that a panel is whole steps; 0 if none streams.

    `panel`: elements of a scan's, of which a step has whole ones; 0 without a scan.
    """
    wide = wide_classes(classes)
    if not wide:
        return 0
    found = [orders[number] for number in wide if number in orders]
    partials = max((order.partials for order in found), default=LONG_ROW.partials)
    chunk = CHUNK_ROWS * partials if fast in wide or (found and COLUMN_CHUNK % partials) else COLUMN_CHUNK
    return -(-chunk // panel) * panel if panel else chunk


def order_of_scan(scan: Op) -> ScanOrder:
    """The order of a scan."""
    axis = scan.attrs["axis"]
    assert isinstance(axis, int)
    return scan_order(axis_is_last=axis == _rank(scan.result) - 1)


def scans_along(region: Region, classes: AxisClasses, fast: int | None) -> bool:
    """Whether a scan runs along the fast axis and last axis of a value."""
    scans = (op for op in walk(region.ops) if op.name in SCANS and order_of_scan(op) is ROW_SCAN)
    return any(classes.of[op.result, _rank(op.result) - 1] == fast for op in scans)


def scan_panel(region: Region, classes: AxisClasses) -> int:
    """Elements of the largest panel of the scans along streamed axes; 0 if there are none."""
    wide = wide_classes(classes)
    scans = [op for op in walk(region.ops) if op.name in SCANS]
    along = [op for op in scans if classes.of[op.result, op.attrs["axis"]] in wide]  # pyright: ignore[reportArgumentType]: verified int
    return max((order_of_scan(op).panel_elems for op in along), default=0)


def least_chunk(classes: AxisClasses, orders: Mapping[int, SumOrder]) -> int:
    """The fewest indices per step of the streamed axes: their sums' partials."""
    return max((orders[number].partials if number in orders else 1 for number in wide_classes(classes)), default=0)
