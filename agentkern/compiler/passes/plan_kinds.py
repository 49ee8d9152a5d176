"""Schedules of grids of a kind that has rules of its own: walks along columns, and recurrences."""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir.core import Op, Region, walk
from agentkern.compiler.ir.order import SumOrder
from agentkern.compiler.ir.types import BlockType
from agentkern.compiler.layout.layout import WARP_LANES
from agentkern.compiler.passes.column_walks import ColumnWalk, plan_column_walk
from agentkern.compiler.passes.grid_axes import free_steps, wide_classes
from agentkern.compiler.passes.recurrences import is_recurrence, recurring_neighbours
from agentkern.compiler.schedule import GridSchedule


def sorts_memory(region: Region) -> bool:
    """Whether rows are sorted in memory: each takes all threads of a block for long, so a block has one of them."""
    return any(op.name == "sort_kept" for op in walk(region.ops))


def plan_by_kind(
    op: Op, classes: AxisClasses, orders: Mapping[int, SumOrder], fast: int | None, vector: int
) -> GridSchedule | None:
    """The schedule of a grid that walks columns or runs recurrences; None for others."""
    region = op.regions[0]
    if free_steps(region) or sorts_memory(region):
        return None
    plan = plan_column_walk(region, classes, orders, fast, vector)
    if plan is None and is_recurrence(region) and not wide_classes(classes):
        plan = ColumnWalk(recurring_neighbours(region, classes, fast, vector), warps=1, fast_warps=1, chunk=0)
    return None if plan is None else _walked(op, classes, fast, plan)


def _walked(op: Op, classes: AxisClasses, fast: int | None, plan: ColumnWalk) -> GridSchedule:
    """The schedule of a plan: one index of every axis but the fast one."""
    extent = plan.vector * WARP_LANES * plan.fast_warps
    tile: list[int] = []
    for arg in op.regions[0].args:
        assert isinstance(arg.type, BlockType)
        tile.append(arg.type.block or (extent if classes.of[arg, 0] == fast else 1))
    return GridSchedule(tuple(tile), plan.warps, plan.fast_warps, plan.vector, plan.chunk)
