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
from agentkern.compiler.passes.grid_axes import RESIDENT_ELEMS
from agentkern.compiler.passes.lower_to_threads import lower_to_threads
from agentkern.compiler.passes.parallel_axes import parallel_axes
from agentkern.compiler.passes.place_layouts import place_layouts
from agentkern.compiler.passes.plan import default_schedule
from agentkern.compiler.passes.spill.extents import Extents, extents_of
from agentkern.compiler.passes.spill.regions import Regions
from agentkern.compiler.passes.stream_rows import stream_rows
from agentkern.compiler.passes.unsupported import UnsupportedError

LIMITS = (RESIDENT_ELEMS, 1024, 256, 64, 16, 4, 1)
"""Elements of the longest axis that counts as short, tried in order."""

RESIDENT_VOLUME = 16384
"""Elements of a value that 16 warps keep in 32 registers each: a grid of smaller ones needs no trial."""


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


def _may_fail(grid: Op) -> bool:
    extents = extents_of(grid, RESIDENT_ELEMS)
    return any(_volume(type_, extents) > RESIDENT_VOLUME for type_ in set(_tiles(grid)))


def _failure(kernel: Kernel) -> UnsupportedError | None:
    """Why the later passes do not take a kernel; None where they do."""
    schedule = default_schedule(kernel, Variant())
    try:
        lower_to_threads(place_layouts(stream_rows(kernel, schedule), schedule), Variant())
    except UnsupportedError as failure:
        return failure
    return None


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
    if not _may_fail(grid) or _failure(alone) is None:
        return alone
    grid = parallel_axes(grid)
    parted = replace(kernel, body=(grid,))
    if _failure(parted) is None:
        return parted
    for limit in LIMITS:
        try:
            spilled = _spilled(kernel, grid, limit, number)
        except UnsupportedError:
            continue
        if _failure(spilled) is None:
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
