"""Choose a grid's default schedule, and list legal others. Reads facts, changes nothing.

The rules of thumb come from measurements on an H200 (evals/probes): 16-byte accesses, 16 to 64 elements in flight per
thread, rows of up to 8192 elements kept by four warps, short rows several to a block.
"""

from __future__ import annotations

from agentkern.compiler.abi import Variant
from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.types import BlockType
from agentkern.compiler.passes.grid_axes import (
    MAX_ACCESS_BYTES,
    accesses,
    aligned_elems,
    fast_class,
    grid_classes,
    is_contiguous_axis,
    is_wide,
    sum_caps,
)
from agentkern.compiler.schedule import GridSchedule, Schedule, ScheduleError

LANES = 32
ELEMS_PER_THREAD = 32
MAX_FAST_WARPS = 4
WARPS = 4
CHUNK_ROWS = 2


def _power_of_two(number: int) -> int:
    """The smallest power of two that is at least `number`."""
    return 1 << max(number - 1, 0).bit_length()


def _vector(op: Op, kernel: Kernel, variant: Variant, classes: AxisClasses, fast: int | None) -> int:
    """Neighbouring elements per thread: a full access of the narrowest tensor, as far as alignment goes."""
    width, widest = 1, 1
    names = {value: value.name or "" for value in kernel.params}
    free = {arg: LANES * MAX_ACCESS_BYTES for arg in op.regions[0].args if _block(arg).block is None}
    tiles = free | {arg: b for arg in op.regions[0].args if (b := _block(arg).block) is not None}
    found = [a for a in accesses(op.regions[0]) if is_contiguous_axis(a) and _last_class(a.tile, classes) == fast]
    for access in found:
        width = max(width, aligned_elems(access, names[access.op.operands[0]], kernel, variant, tiles))
        widest = max(widest, access.tensor.dtype.nbytes)
    return min(width, 2 * MAX_ACCESS_BYTES // widest)


def _block(value: Value) -> BlockType:
    assert isinstance(value.type, BlockType)
    return value.type


def _last_class(tile: Value, classes: AxisClasses) -> int | None:
    numbers = classes.axes(tile)
    return numbers[-1] if numbers else None


def _fast_warps(extent: int, vector: int, cap: int, wanted: int) -> int:
    """Warps along the fast axis so that a thread keeps about `wanted` elements of it."""
    warps = 1
    while warps < MAX_FAST_WARPS and extent > warps * LANES * wanted and 2 * warps * LANES * vector <= cap:
        warps *= 2
    return warps


def plan_grid(op: Op, kernel: Kernel, variant: Variant, elems: int = ELEMS_PER_THREAD, warps: int = WARPS) -> GridSchedule:
    """A schedule for one grid: about `elems` elements per thread, about `warps` warps."""
    classes = grid_classes(op)
    region = op.regions[0]
    fast = fast_class(region, classes)
    vector = _vector(op, kernel, variant, classes, fast)
    orders = sum_caps(region, classes)
    cap = orders[fast].partials if fast in orders else LANES * MAX_FAST_WARPS * vector
    vector = min(vector, cap)
    chunk = _chunk(classes, orders, fast, vector)
    if fast is None:
        extent = 1
    elif fast in classes.blocks:
        extent = classes.blocks[fast].block or vector * LANES * warps
    elif is_wide(classes, fast):
        extent = chunk
    else:
        extent = classes.extents[fast]
    assert isinstance(extent, int)
    free_fast = fast is not None and fast in classes.blocks and classes.blocks[fast].block is None
    rows_free = any(classes.of[arg, 0] != fast and _block(arg).block is None for arg in region.args)
    if free_fast:
        fast_warps = 1 if rows_free else warps
        extent = vector * LANES * fast_warps * (1 if rows_free else max(elems // vector, 1))
    else:
        fast_warps = _fast_warps(extent, vector, cap, elems)
    warps = max(warps, fast_warps)
    fast_lanes = min(LANES, _power_of_two(-(-extent // vector)))
    per_thread = -(-extent // (fast_lanes * fast_warps))
    row_units = LANES // fast_lanes * (warps // fast_warps)
    rows = row_units * max(1, elems // max(per_thread, 1))
    tile: list[int] = []
    for arg in reversed(region.args):
        number, written = classes.of[arg, 0], _block(arg).block
        if number == fast:
            tile.append(written or extent)
        elif written is not None:
            tile.append(written)
        else:
            tile.append(rows)
            rows = 1
    return GridSchedule(tuple(reversed(tile)), warps, fast_warps, vector, chunk)


def _chunk(classes: AxisClasses, orders: dict[int, object], fast: int | None, vector: int) -> int:
    """Indices per step of a streamed axis: two rows of partials, so that a panel is whole steps; 0 if none streams."""
    wide = [c for c in range(len(classes.extents)) if is_wide(classes, c)]
    if not wide:
        return 0
    if wide[0] == fast:
        return LANES * MAX_FAST_WARPS * 8 * CHUNK_ROWS
    return LANES * 4


def default_schedule(kernel: Kernel, variant: Variant) -> Schedule:
    """The default schedule of every grid in order."""
    return Schedule(tuple(plan_grid(op, kernel, variant) for op in kernel.body if op.name == "grid"))


def candidate_schedules(kernel: Kernel, variant: Variant, count: int) -> tuple[Schedule, ...]:
    """Up to `count` different legal schedules, the default first."""
    found: list[Schedule] = [default_schedule(kernel, variant)]
    for elems in (32, 64, 16, 8):
        for warps in (4, 8, 2, 1, 16):
            grids = tuple(plan_grid(op, kernel, variant, elems, warps) for op in kernel.body if op.name == "grid")
            if Schedule(grids) not in found:
                found.append(Schedule(grids))
    return tuple(found[:count])


def check_schedule(kernel: Kernel, schedule: Schedule) -> None:
    """Refuse a schedule that does not fit a kernel's grids. Errors: ScheduleError."""
    grids = [op for op in kernel.body if op.name == "grid"]
    if len(grids) != len(schedule.grids):
        raise ScheduleError(f"{len(schedule.grids)} schedules for {len(grids)} grids")
    for op, plan in zip(grids, schedule.grids, strict=True):
        _check_grid(op, plan)


def _check_grid(op: Op, plan: GridSchedule) -> None:
    region = op.regions[0]
    if len(plan.tile) != len(region.args):
        raise ScheduleError(f"a tile of {len(plan.tile)} extents for {len(region.args)} grid axes")
    for arg, tile in zip(region.args, plan.tile, strict=True):
        written = _block(arg).block
        if written is not None and tile != written:
            raise ScheduleError(f"tile {tile} of `{arg.name}`, whose block is written as {written}")
    classes = grid_classes(op)
    wide = [number for number in range(len(classes.extents)) if is_wide(classes, number)]
    if not wide:
        return
    order = sum_caps(region, classes).get(wide[0])
    if plan.chunk < 1 or (order is not None and (plan.chunk % order.partials or order.panel_elems % plan.chunk)):
        raise ScheduleError(f"chunk {plan.chunk} does not divide the panels of a sum")
