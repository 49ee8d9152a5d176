"""Make grids that do not fit the chip fit: long values in chunks, and in memory where a chunk needs all of them.

A grid that the later passes take as it is stays so. Others are given their independent axes (`parallel_axes`); then
ever shorter axes count as long, until the parts of values fit the registers and shared memory of a block. Bits do not
change: every sum keeps its order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agentkern.compiler.abi import Variant
from agentkern.compiler.ir.core import Kernel, Op, Value, walk
from agentkern.compiler.ir.types import TensorType, TileType
from agentkern.compiler.passes.grid_axes import RESIDENT_ELEMS, grid_classes
from agentkern.compiler.passes.lower_to_threads import lower_to_threads
from agentkern.compiler.passes.parallel_axes import parallel_axes
from agentkern.compiler.passes.place_layouts import place_layouts
from agentkern.compiler.passes.plan import default_schedule, keeps
from agentkern.compiler.passes.spill.extents import Extents, extents_of
from agentkern.compiler.passes.spill.regions import Regions
from agentkern.compiler.passes.stream_rows import stream_rows
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.compiler.targets.limits import LIMITS as LIMITS_BY_TARGET

LIMITS = (RESIDENT_ELEMS, 1024, 256, 64, 16, 4, 1)
"""Elements of the longest axis that counts as short, tried in order."""

RESIDENT_VOLUME = 8192
"""Elements of a value that four warps keep in 64 registers each: a grid of smaller ones needs no trial."""

_MOVES = frozenset("order concat take occurrence".split())
"""What goes through shared memory whole, as much as there is of it."""

MOST_SHARED_BYTES = max(limits.shared_bytes_per_block_optin for limits in LIMITS_BY_TARGET.values())


def _volume(type_: TileType, extents: Extents) -> int:
    """Elements of a value, free blocks counted as one index; of a long axis more than any chunk."""
    total = 1
    for extent in type_.shape:
        bound = extents.bound(extent)
        is_block = not isinstance(bound, int) and not extents.is_long(bound)
        total *= 1 if is_block else bound if isinstance(bound, int) else RESIDENT_VOLUME + 1
    return total


def _tiles(grid: Op) -> Iterator[TileType]:
    for op in walk((grid,)):
        for value in (*op.results, *(arg for region in op.regions for arg in region.args)):
            if isinstance(value.type, TileType):
                yield value.type


def _may_fail(alone: Kernel, grid: Op) -> bool:
    """Whether a grid is worth a trial: long values, a schedule that keeps many elements, or many moved at once."""
    extents = extents_of(grid, RESIDENT_ELEMS)
    largest = max((_volume(type_, extents) for type_ in set(_tiles(grid))), default=0)
    moves = any(op.name in _MOVES for op in walk((grid,)))
    if largest > (RESIDENT_VOLUME // 2 if moves else RESIDENT_VOLUME):
        return True
    (plan,) = default_schedule(alone, Variant()).grids
    return not keeps(grid, grid_classes(grid), plan)


def _fits(kernel: Kernel) -> bool:
    """Whether the later passes take a kernel, and a target has the shared memory that it needs."""
    schedule = default_schedule(kernel, Variant())
    try:
        lowered = lower_to_threads(place_layouts(stream_rows(kernel, schedule), schedule), Variant())
    except UnsupportedError:
        return False
    needed = [op.attrs["shared_bytes"] for op in lowered.body]
    return all(isinstance(nbytes, int) and nbytes <= MOST_SHARED_BYTES for nbytes in needed)


def _spilled(kernel: Kernel, grid: Op, limit: int, number: int) -> Kernel:
    """The kernel of this one grid, its values of axes beyond `limit` in chunks and in memory."""
    regions = Regions(grid, extents_of(grid, limit), f"{_free_name(kernel)}{number}_")
    body = Op(grid.spec, grid.operands, grid.attrs, grid.results, (regions.grid(grid.regions[0]),), grid.location)
    return replace(kernel, params=(*kernel.params, *regions.memory.tensors), body=(body,))


def _free_name(kernel: Kernel) -> str:
    """A prefix that no parameter's name begins with."""
    prefix = "kept"
    while any((value.name or "").startswith(prefix) for value in kernel.params):
        prefix += "_"
    return prefix


def _fitted(kernel: Kernel, grid: Op, number: int) -> Kernel:
    """The kernel of this one grid, made to fit; as it is where nothing helps, for the later passes to refuse."""
    alone = replace(kernel, body=(grid,))
    if not _may_fail(alone, grid) or _fits(alone):
        return alone
    grid = parallel_axes(grid)
    parted = replace(kernel, body=(grid,))
    if _fits(parted):
        return parted
    for limit in LIMITS:
        try:
            spilled = _spilled(kernel, grid, limit, number)
        except UnsupportedError:
            continue
        if _fits(spilled):
            return spilled
    return alone


def fit_to_chip(kernel: Kernel) -> Kernel:
    """Every grid in a form that fits the chip, with the memory that it takes as scratch parameters."""
    body: list[Op] = []
    tensors: list[Value] = []
    for number, op in enumerate(kernel.body):
        if op.name != "grid":
            body.append(op)
            continue
        fitted = _fitted(kernel, op, number)
        body += fitted.body
        tensors += fitted.params[len(kernel.params) :]
    if not tensors:
        return replace(kernel, body=tuple(body))
    names = tuple(value.name for value in tensors if isinstance(value.type, TensorType))
    return replace(kernel, params=(*kernel.params, *tensors), body=tuple(body), attrs={**kernel.attrs, "kept": names})
