"""Choose a grid's default schedule, and list legal others. Reads facts, changes nothing.

The rules of thumb come from measurements on an H200 (evals/probes): 16-byte accesses, 16 to 64 elements in flight per
thread, rows of up to 8192 elements kept by four warps, short rows several to a block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd

from agentkern.compiler.abi import Variant
from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir.core import Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.order import LONG_ROW, SCAN_PANEL, SumOrder
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.grid_axes import (
    MAX_ACCESS_BYTES,
    Access,
    accesses,
    aligned_elems,
    chunk_of,
    contiguous_axis,
    fast_class,
    first_divisor,
    free_steps,
    grid_classes,
    step_blocks,
    sum_caps,
    wide_classes,
)
from agentkern.compiler.schedule import GridSchedule, Schedule, ScheduleError

LANES = 32
ELEMS_PER_THREAD = 32
MAX_FAST_WARPS = 4
WARPS = 4
VECTORS_PER_THREAD = 1  # of element kernels over one axis: a copy's speed; 2 lose 5 %, 4 and 8 more (bf16, 8192x7168)
VECTORS_OF_ROWS = 2  # of element kernels over several axes, so that a tile has rows for transposed accesses
CHUNK_ROWS = 2
COLUMN_CHUNK = 128
STEP = 64  # indices per step of a loop whose block the schedule gives
MAX_ELEMS_PER_THREAD = 64
MAX_WARPS = 16


def _vector(op: Op, kernel: Kernel, variant: Variant, classes: AxisClasses, fast: int | None) -> int:
    """Neighbouring elements per thread: a full access of the narrowest tensor, as far as alignment goes.

    Wider tensors then take two accesses with a gap between lanes. Where those move more than two thirds of the bytes,
    half the elements are better, unless a sum's order wants its neighbours in one thread (of copy, on an H200: adamw
    with bf16 parameters and f32 moments 0.88 -> 0.96 so; a cast of bf16 to 8 bits, two thirds, 0.97 -> 0.93).
    """
    width, widest = 1, 1
    names = {value: value.name or "" for value in kernel.params}
    blocks = (*op.regions[0].args, *step_blocks(op.regions[0]))
    free = {arg: LANES * MAX_ACCESS_BYTES for arg in blocks if _block(arg).block is None}
    tiles = free | {arg: b for arg in blocks if (b := _block(arg).block) is not None}
    tiles = {arg: gcd(tile, first_divisor(_block(arg).first, kernel)) for arg, tile in tiles.items()}
    found = [a for a in accesses(op.regions[0]) if _contiguous_class(a, classes) == fast]
    for access in found:
        width = max(width, aligned_elems(access, names[access.op.operands[0]], kernel, variant, tiles))
        widest = max(widest, access.tensor.dtype.nbytes)
    width = min(width, 2 * MAX_ACCESS_BYTES // widest)
    if fast in sum_caps(op.regions[0], classes):
        return width
    rank = max((_rank(access.tile) for access in found), default=0)
    sizes = [access.tensor.dtype.nbytes for access in found if _rank(access.tile) == rank]
    parted = sum(nbytes for nbytes in sizes if width * nbytes > MAX_ACCESS_BYTES)
    return width // 2 if 3 * parted > 2 * sum(sizes) else width


def _rank(tile: Value) -> int:
    assert isinstance(tile.type, TileType)
    return tile.type.rank


def _block(value: Value) -> BlockType:
    assert isinstance(value.type, BlockType)
    return value.type


def _contiguous_class(access: Access, classes: AxisClasses) -> int | None:
    axis = contiguous_axis(access)
    return None if axis is None else classes.of[access.tile, axis]


def _fast_warps(extent: int, vector: int, cap: int, wanted: int) -> int:
    """Warps along the fast axis so that a thread keeps about `wanted` elements of it."""
    warps = 1
    while warps < MAX_FAST_WARPS and extent > warps * LANES * wanted and 2 * warps * LANES * vector <= cap:
        warps *= 2
    return warps


def plan_grid(op: Op, kernel: Kernel, variant: Variant, elems: int | None = None, warps: int = WARPS) -> GridSchedule:
    """A schedule for one grid: about `elems` elements per thread (None: by kind), about `warps` warps."""
    classes = grid_classes(op)
    region = op.regions[0]
    fast = fast_class(region, classes)
    orders = sum_caps(region, classes)
    vector = _vector(op, kernel, variant, classes, fast)
    if elems is None:
        scans = any(inner.name in SCANS for inner in walk(region.ops))
        reduces = any(inner.name in REDUCTIONS for inner in walk(region.ops))
        tiles = [v.type for inner in walk(region.ops) for v in inner.results if isinstance(v.type, TileType)]
        flat = all(tile.rank <= 1 for tile in tiles)
        elems = (
            SCAN_PANEL
            if scans
            else ELEMS_PER_THREAD
            if reduces
            else (VECTORS_PER_THREAD if flat else VECTORS_OF_ROWS) * vector
        )
    cap = orders[fast].partials if fast in orders else LANES * MAX_FAST_WARPS * vector
    vector = min(vector, cap)
    chunk = _chunk(classes, orders, fast)
    if fast in wide_classes(classes) and _scanned(region, classes):
        chunk = max(chunk, warps * LANES * SCAN_PANEL)
    free = {classes.of[arg, 0] for arg in region.args if _block(arg).block is None}
    if fast in free:
        fast_warps = 1 if len(free) > 1 else warps
        extent = vector * LANES * fast_warps * (1 if len(free) > 1 else max(elems // vector, 1))
    else:
        extent = chunk if fast is not None and fast in wide_classes(classes) else _known_extent(classes, fast)
        fast_warps = _fast_warps(extent, vector, cap, elems)
    warps = max(warps, fast_warps)
    tiles = {number: 1 for number in free} | ({fast: extent} if fast in free else {})
    volume = _largest(region, classes, tiles, chunk)
    tiles = _grown(region, classes, tiles, fast, warps * LANES * elems // max(volume, 1))
    while _largest(region, classes, tiles, chunk) > warps * LANES * MAX_ELEMS_PER_THREAD:
        if fast in free and tiles[fast] > vector * LANES:
            tiles[fast] //= 2
            fast_warps = max(min(fast_warps, tiles[fast] // (vector * LANES)), 1)
        elif warps < MAX_WARPS:
            warps *= 2
        elif fast in free and tiles[fast] > 1:
            tiles[fast] //= 2
        elif chunk > (SCAN_PANEL if _scanned(region, classes) else 0) and chunk > _least_chunk(classes, orders):
            chunk //= 2
        else:
            break
    tile = tuple(_block(arg).block or tiles[classes.of[arg, 0]] for arg in region.args)
    return GridSchedule(tile, warps, fast_warps, vector, chunk, (STEP,) * len(free_steps(region)))


def _known_extent(classes: AxisClasses, number: int | None) -> int:
    """A class's extent where it is written or static; 1 of none."""
    if number is None:
        return 1
    block, extent = classes.blocks.get(number), classes.extents[number]
    return block.block or STEP if block is not None else max(extent, 1) if isinstance(extent, int) else 1


def _largest(region: Region, classes: AxisClasses, tiles: Mapping[int, int], chunk: int) -> int:
    """Elements of a block's largest value."""
    largest = 1
    wide = wide_classes(classes)
    for inner in walk(region.ops):
        for value in (*inner.results, *(arg for nested in inner.regions for arg in nested.args)):
            if not isinstance(value.type, TileType):
                continue
            volume = 1
            for number in classes.axes(value):
                volume *= tiles.get(number) or (chunk if number in wide else _known_extent(classes, number))
            largest = max(largest, volume)
    return largest


def _grown(region: Region, classes: AxisClasses, tiles: dict[int, int], fast: int | None, room: int) -> dict[int, int]:
    """Give the last free axis that is not the fast one as many indices as there is room for."""
    slow = [classes.of[arg, 0] for arg in region.args if classes.of[arg, 0] in tiles and classes.of[arg, 0] != fast]
    if not slow or room < 2:
        return tiles
    return tiles | {slow[-1]: 1 << (room.bit_length() - 1)}


def _chunk(classes: AxisClasses, orders: Mapping[int, SumOrder], fast: int | None) -> int:
    """Indices per step of a streamed axis: two rows of partials, so that a panel is whole steps; 0 if none streams."""
    wide = wide_classes(classes)
    if not wide:
        return 0
    found = [orders[number] for number in wide if number in orders]
    partials = max((order.partials for order in found), default=LONG_ROW.partials)
    return CHUNK_ROWS * partials if fast in wide or (found and COLUMN_CHUNK % partials) else COLUMN_CHUNK


def _scanned(region: Region, classes: AxisClasses) -> bool:
    """Whether a scan runs along a streamed axis."""
    wide = wide_classes(classes)
    return any(op.name in SCANS and classes.of[op.result, op.attrs["axis"]] in wide for op in walk(region.ops))  # pyright: ignore[reportArgumentType]: verified int


def _least_chunk(classes: AxisClasses, orders: Mapping[int, SumOrder]) -> int:
    """The fewest indices per step of the streamed axes: their sums' partials."""
    return max((orders[number].partials if number in orders else 1 for number in wide_classes(classes)), default=0)


def default_schedule(kernel: Kernel, variant: Variant) -> Schedule:
    """The default schedule of every grid in order."""
    return Schedule(tuple(plan_grid(op, kernel, variant) for op in kernel.body if op.name == "grid"))


def candidate_schedules(kernel: Kernel, variant: Variant, count: int) -> tuple[Schedule, ...]:
    """Up to `count` different legal schedules, the default first: other vectors, warps, rows per block and chunks."""
    found: list[Schedule] = [default_schedule(kernel, variant)]
    grids = [op for op in kernel.body if op.name == "grid"]
    options = [_variations(op, plan) for op, plan in zip(grids, found[0].grids, strict=True)]
    for number in range(max(map(len, options), default=0)):
        schedule = Schedule(tuple(plans[number % len(plans)] for plans in options))
        if schedule not in found:
            found.append(schedule)
    return tuple(found[:count])


def _variations(op: Op, plan: GridSchedule) -> list[GridSchedule]:
    """Changes of one grid's schedule that keep its values in registers."""
    classes = grid_classes(op)
    slow = [k for k, arg in enumerate(op.regions[0].args) if _block(arg).block is None]
    found = [plan]
    found += [replace(plan, warps=w, fast_warps=min(f, w)) for w in (1, 2, 8, 16) for f in (1, 4)]
    found += [replace(plan, vector=v) for v in (1, 2, 4, 8, 16)]
    for factor in (2, 3, 5):
        for place in slow:
            tile = tuple(t * factor if k == place else t for k, t in enumerate(plan.tile))
            found.append(replace(plan, tile=tile))
    found += [replace(plan, tile=tuple(1 if k in slow else t for k, t in enumerate(plan.tile)))] if slow else []
    found += [replace(plan, chunk=plan.chunk * factor) for factor in (2, 4) if plan.chunk]
    found += [replace(plan, steps=tuple(n for _ in plan.steps)) for n in (1, 3, 16, 256) if plan.steps]
    return [plan, *(p for p in found[1:] if _keeps(op, classes, p))]


def _keeps(op: Op, classes: AxisClasses, plan: GridSchedule) -> bool:
    """Whether a schedule is legal and leaves a thread few enough elements."""
    try:
        _check_grid(op, plan)
    except ScheduleError:
        return False
    blocks = (*op.regions[0].args, *free_steps(op.regions[0]))
    tiles = {classes.of[arg, 0]: tile for arg, tile in zip(blocks, (*plan.tile, *plan.steps), strict=True)}
    room = plan.warps * LANES * MAX_ELEMS_PER_THREAD * 2
    return _largest(op.regions[0], classes, tiles, plan.chunk) <= room


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
    if len(plan.steps) != len(free_steps(region)):
        raise ScheduleError(f"{len(plan.steps)} steps for {len(free_steps(region))} loops without a written block")
    classes = grid_classes(op)
    wide = wide_classes(classes)
    if not wide:
        return
    caps = sum_caps(region, classes)
    for order in (caps.get(number) for number in wide):
        chunk = chunk_of(plan.chunk, order)
        if chunk < 1 or (order is not None and (chunk % order.partials or order.panel_elems % chunk)):
            raise ScheduleError(f"chunk {plan.chunk} does not divide the panels of a sum")
    if wide and plan.chunk % SCAN_PANEL and _scanned(region, classes):
        raise ScheduleError(f"chunk {plan.chunk} cuts the panels of a scan")
