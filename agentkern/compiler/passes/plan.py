"""Choose a grid's default schedule, and list legal others. Reads facts, changes nothing.

The rules of thumb come from measurements on an H200 (evals/probes): 16-byte accesses, 16 to 64 elements in flight per
thread, rows of up to 8192 elements kept by four warps, short rows several to a block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import gcd, prod

from agentkern.compiler.abi import Variant
from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir.core import Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.order import COLUMN_SCAN, ROW_SCAN
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.chunks import chunk_wanted, least_chunk, order_of_scan, scan_panel, scans_along
from agentkern.compiler.passes.grid_axes import (
    MAX_ACCESS_BYTES,
    SLIDING_VECTOR,
    Access,
    accesses,
    aligned_elems,
    chunk_of,
    contiguous_axis,
    fast_class,
    first_divisor,
    free_steps,
    grid_classes,
    index_bytes,
    inner_classes,
    inner_elems,
    lanes_along,
    memory_run,
    power_below,
    slides,
    step_blocks,
    sum_caps,
    updates_along,
    wide_classes,
)
from agentkern.compiler.passes.plan_kinds import plan_by_kind, sorts_memory
from agentkern.compiler.schedule import GridSchedule, Schedule, ScheduleError

LANES = 32
ELEMS_PER_THREAD = 32
MAX_FAST_WARPS = 4
WARPS = 4
VECTORS_PER_THREAD = 1  # of element kernels over one axis: a copy's speed; 2 lose 5 %, 4 and 8 more (bf16, 8192x7168)
VECTORS_OF_ROWS = 2  # of element kernels over several axes, so that a tile has rows for transposed accesses
SCAN_WARPS = 8  # along a streamed axis that is scanned: its chunks wait for one another (64x32768 bf16 11.2 -> 8.4 us)
UPDATES = 8  # elements of a thread that updates memory, one by one: neighbours go to other lanes, which share sectors
MANY_ROWS = 5  # loads along the fast axis: as many in flight need no second vector each
SQUARE = 64  # indices of each axis where accesses run along different ones: whole sectors both ways
STEP = 64  # indices per step of a loop whose block the schedule gives, along an axis that is not memory's
MAX_ELEMS_PER_THREAD = 64
MAX_WARPS = 16
STEPS_OF_ROW = 8  # at least, of a row that a block with more than the usual warps walks
SLOT_BYTES = 8
MAX_SORTED_BYTES = 128 * 1024  # of shared memory for tiles that are sorted: a row of as many pairs as a block keeps


def _vector(op: Op, kernel: Kernel, variant: Variant, classes: AxisClasses, fast: int | None) -> int:
    """Neighbouring elements per thread: a full access of the narrowest tensor, as far as alignment goes.

    Wider tensors then take two accesses with a gap between lanes. Where those move more than two thirds of the bytes,
    half the elements are better, unless a sum's order wants its neighbours in one thread (of copy, on an H200: adamw
    with bf16 parameters and f32 moments 0.88 -> 0.96 so; a cast of bf16 to 8 bits, two thirds, 0.97 -> 0.93).
    """
    width, widest = 1, 1
    blocks = (*op.regions[0].args, *step_blocks(op.regions[0]))
    free = {arg: LANES * MAX_ACCESS_BYTES for arg in blocks if _block(arg).block is None}
    tiles = free | {arg: b for arg in blocks if (b := _block(arg).block) is not None}
    tiles = {arg: gcd(tile, first_divisor(_block(arg).first, kernel)) for arg, tile in tiles.items()}
    found = [a for a in accesses(op.regions[0]) if _contiguous_class(a, classes) == fast]
    for access in found:
        name, outer = access.op.operands[0].name or "", memory_run(access)[1:]
        elems = aligned_elems(access, name, kernel, variant, tiles, outer)
        width = max(width, power_below(elems // inner_elems(access)))
        widest = max(widest, index_bytes(access))
    width = min(width, power_below(2 * MAX_ACCESS_BYTES // widest))
    if fast in sum_caps(op.regions[0], classes):
        return width
    if updates_along(op.regions[0], classes, fast):
        return 1
    if slides(op.regions[0], classes):
        return min(width, SLIDING_VECTOR)
    if scans_along(op.regions[0], classes, fast) and width * widest >= MAX_ACCESS_BYTES:
        return min(ROW_SCAN.run_elems, 2 * MAX_ACCESS_BYTES // widest)
    ranks = [_rank(access.tile) - len(memory_run(access)[1:]) for access in found]
    sizes = [index_bytes(access) for access, rank in zip(found, ranks, strict=True) if rank == max(ranks)]
    parted = sum(nbytes for nbytes in sizes if width * nbytes > MAX_ACCESS_BYTES)
    return width // 2 if 3 * parted > 2 * sum(sizes) else width


def _filling(vector: int, extent: int, fast_warps: int, widest: int) -> int:
    """Half the neighbours where rows then fill the threads better, and accesses of the widest tensor are still full.

    What a thread holds behind the end of a row is computed too (a cast of 7168 bf16 to i8 by sixteens: an eighth).
    """
    while vector * widest >= 2 * MAX_ACCESS_BYTES and extent > vector * LANES * fast_warps:
        whole, half = (-(-extent // (v * LANES * fast_warps)) * v for v in (vector, vector // 2))
        if half >= whole:
            break
        vector //= 2
    return vector


def _widest(region: Region, classes: AxisClasses, fast: int | None) -> int:
    """Bytes of an index of the widest tensor that memory runs along."""
    return max((index_bytes(a) for a in accesses(region) if _contiguous_class(a, classes) == fast), default=1)


def _rows_read(region: Region, classes: AxisClasses, fast: int | None) -> int:
    """Loads along the fast axis."""
    return sum(a.op.name == "load" and _contiguous_class(a, classes) == fast for a in accesses(region))


def _turned(region: Region, classes: AxisClasses, fast: int | None) -> set[int]:
    """The grid's axes that memory runs along in tiles that have the fast one too; none if that one is all, or short."""
    along = {_contiguous_class(a, classes) for a in accesses(region) if fast in classes.axes(a.tile)}
    lengths = {classes.of[arg, 0]: _block(arg).length for arg in region.args if _block(arg).block is None}
    found = {number for number in (*along, fast) if number in lengths}
    is_short = any(isinstance(n := lengths[number], int) and n < SQUARE // 2 for number in found)
    return set() if is_short or len(found) < 2 else found


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


def _walking_warps(extent: int | Dim, elems: int) -> int:
    """Warps of a block that walks a row in any order: a longer row has more, as there may be few to read at once."""
    warps = WARPS
    while isinstance(extent, int) and warps < MAX_WARPS and extent >= 2 * warps * LANES * elems * STEPS_OF_ROW:
        warps *= 2
    return warps


def plan_grid(op: Op, kernel: Kernel, variant: Variant, elems: int | None = None, warps: int = WARPS) -> GridSchedule:
    """A schedule for one grid: about `elems` elements per thread (None: by kind), about `warps` warps."""
    classes, region = grid_classes(op), op.regions[0]
    fast, orders = fast_class(region, classes), sum_caps(region, classes)
    vector, widest = _vector(op, kernel, variant, classes, fast), _widest(region, classes, fast)
    free = {classes.of[arg, 0] for arg in region.args if _block(arg).block is None}
    if elems is None and fast in free and (own := plan_by_kind(op, classes, orders, fast, vector)) is not None:
        return own
    elems = elems or _elems_wanted(region, classes, fast, vector)
    cap = orders[fast].partials if fast in orders else LANES * MAX_FAST_WARPS * vector
    vector = min(vector, cap)
    panel, sorts = scan_panel(region, classes), sorts_memory(region)
    chunk = chunk_wanted(classes, orders, fast, panel)
    warps = MAX_WARPS if sorts else warps
    walks = fast is not None and fast in wide_classes(classes) and (panel > 0 or not (sorts or fast in orders))
    if walks and fast is not None:
        warps = max(warps, SCAN_WARPS if panel else _walking_warps(classes.extents[fast], elems))
        chunk = max(chunk, warps * LANES * elems)
    steps = {classes.of[arg, 0]: _step(arg, classes, fast, vector) for arg in free_steps(region)}
    if fast in free:
        fast_warps = 1 if len(free) > 1 else warps
        is_long = len(free) == 1 or updates_along(region, classes, fast)  # an updated row's place is found once
        extent = vector * lanes_along(region, classes) * fast_warps * (max(elems // vector, 1) if is_long else 1)
    else:
        is_wide = fast is not None and fast in wide_classes(classes)
        extent = chunk if is_wide else steps.get(-1 if fast is None else fast) or _known_extent(classes, fast)
        elems, wanted = (ELEMS_PER_THREAD, vector) if fast in steps else (elems, elems)
        fast_warps = warps if walks else _fast_warps(extent, vector, cap, wanted)
        is_row = not (is_wide or fast in steps or fast in orders or scans_along(region, classes, fast))
        vector = _filling(vector, extent, fast_warps, widest) if is_row else vector
    warps = max(warps, fast_warps)
    tiles = steps | {number: 1 for number in free} | ({fast: extent} if fast in free else {})
    tiles |= {number: SQUARE for number in _turned(region, classes, fast) if fast in free}
    volume = _largest(region, classes, tiles, chunk)
    tiles = _grown(region, classes, tiles, fast, warps * LANES * elems // max(volume, 1))
    tiles, chunk = _sortable(region, classes, tiles, chunk, max(panel, least_chunk(classes, orders)))
    fast_warps = fast_warps if fast not in free else max(min(fast_warps, tiles[fast] // (vector * LANES)), 1)
    while _largest(region, classes, tiles, chunk) > warps * LANES * MAX_ELEMS_PER_THREAD:
        if fast in free and tiles[fast] > vector * LANES:
            tiles[fast] //= 2
            fast_warps = max(min(fast_warps, tiles[fast] // (vector * LANES)), 1)
        elif warps < MAX_WARPS:
            warps *= 2
        elif fast in free and tiles[fast] > 1:
            tiles[fast] //= 2
        elif chunk > panel and chunk > least_chunk(classes, orders):
            chunk //= 2
        else:
            break
    tile = tuple(_block(arg).block or tiles[classes.of[arg, 0]] for arg in region.args)
    sizes = tuple(steps[classes.of[arg, 0]] for arg in free_steps(region))
    return GridSchedule(tile, warps, fast_warps, vector, chunk, sizes)


def _elems_wanted(region: Region, classes: AxisClasses, fast: int | None, vector: int) -> int:
    """Elements per thread that suit what a grid does."""
    ops = tuple(walk(region.ops))
    if any(op.name in SCANS and order_of_scan(op) is COLUMN_SCAN for op in ops):
        return COLUMN_SCAN.run_elems
    if any(op.name in REDUCTIONS or op.name in SCANS for op in ops):
        return ELEMS_PER_THREAD
    if updates_along(region, classes, fast):
        return UPDATES
    short = {n for n, extent in enumerate(classes.extents) if extent == 1} | set(inner_classes(region, classes, fast))
    tiles = [classes.axes(v) for op in ops for v in op.results if isinstance(v.type, TileType)]
    flat = all(sum(n not in short for n in axes) <= 1 for axes in tiles)
    flat = flat or _rows_read(region, classes, fast) >= MANY_ROWS
    return (VECTORS_PER_THREAD if flat else VECTORS_OF_ROWS) * vector


def _step(block: Value, classes: AxisClasses, fast: int | None, vector: int) -> int:
    """Indices per step of a loop whose block the schedule gives: as many as four warps read at once of neighbours."""
    if classes.of[block, 0] != fast:
        return STEP
    length = _block(block).length
    reach = vector * LANES * MAX_FAST_WARPS
    return max(min(reach, 1 << max(length - 1, 0).bit_length()), 1) if isinstance(length, int) else reach


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


def _sorted_bytes(region: Region, classes: AxisClasses, tiles: Mapping[int, int], chunk: int) -> int:
    """Bytes of the largest tile that is sorted, with the slots that fill its rows up."""
    largest = 0
    tiles = dict.fromkeys(wide_classes(classes), chunk) | dict(tiles)
    for op in walk(region.ops):
        if op.name != "order":
            continue
        extents = [tiles.get(number) or _known_extent(classes, number) for number in classes.axes(op.result)]
        axis = op.attrs["axis"]
        assert isinstance(axis, int)
        extents[axis] = 1 << max(extents[axis] - 1, 0).bit_length()
        largest = max(largest, SLOT_BYTES * len(op.operands) * prod(extents))
    return largest


def _sortable(
    region: Region, classes: AxisClasses, tiles: dict[int, int], chunk: int, least: int
) -> tuple[dict[int, int], int]:
    """Halve the largest free axis, then the indices per turn of streamed ones, until what is sorted fits."""
    while _sorted_bytes(region, classes, tiles, chunk) > MAX_SORTED_BYTES:
        largest = max(tiles, key=lambda number: tiles[number], default=None)
        if largest is not None and tiles[largest] > 1:
            tiles = tiles | {largest: tiles[largest] // 2}
        elif chunk // 2 >= max(least, 1):
            chunk //= 2
        else:
            break
    return tiles, chunk


def _grown(region: Region, classes: AxisClasses, tiles: dict[int, int], fast: int | None, room: int) -> dict[int, int]:
    """Give the last free axis that is not the fast one as many indices as there is room for."""
    if sorts_memory(region):
        return tiles | {classes.of[arg, 0]: 1 for arg in region.args if _block(arg).block is None}
    slow = [classes.of[arg, 0] for arg in region.args if classes.of[arg, 0] in tiles and classes.of[arg, 0] != fast]
    if not slow or room < 2:
        return tiles
    return tiles | {slow[-1]: 1 << (room.bit_length() - 1)}


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
    return [plan, *(p for p in found[1:] if keeps(op, classes, p))]


def keeps(op: Op, classes: AxisClasses, plan: GridSchedule) -> bool:
    """Whether a schedule is legal and leaves a thread few enough elements."""
    try:
        _check_grid(op, plan)
    except ScheduleError:
        return False
    blocks = (*op.regions[0].args, *free_steps(op.regions[0]))
    tiles = {classes.of[arg, 0]: tile for arg, tile in zip(blocks, (*plan.tile, *plan.steps), strict=True)}
    room = plan.warps * LANES * MAX_ELEMS_PER_THREAD * 2
    if _sorted_bytes(op.regions[0], classes, tiles, plan.chunk) > MAX_SORTED_BYTES:
        return False
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
    panel = scan_panel(region, classes)
    if panel and plan.chunk % panel:
        raise ScheduleError(f"chunk {plan.chunk} cuts the panels of a scan")
