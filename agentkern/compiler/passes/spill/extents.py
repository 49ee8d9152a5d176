"""Which axes of a grid's values are long, and what bounds an extent that only the run knows. Facts only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.dims import Dim, Symbol
from agentkern.compiler.ir.segments import SegmentAxis, length_name, segment_axes, start_name
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, entries_of
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.ir.views import accessed


@dataclass(frozen=True, slots=True)
class Ragged:
    """An axis of the current segment: where it begins in one of all segments, which has `room`."""

    axis: SegmentAxis
    base: int | Dim
    room: int | Dim


@dataclass(frozen=True, slots=True)
class Extents:
    """`written`: the sizes of blocks by the names of their present extents; `free`: grid blocks of no size by theirs.

    `segments`: ragged axes of the grid. `pieces`: the extents of tensors' axes by those of pieces that a block reads
    of them. An axis is long that the run gives any length, a segment too, or of more than `limit` elements; a free
    block's never is.
    """

    written: Mapping[str, int]
    free: Mapping[str, Value]
    limit: int
    segments: tuple[SegmentAxis, ...] = ()
    pieces: Mapping[int | Dim, int | Dim] = field(default_factory=dict[int | Dim, int | Dim])

    def bound(self, extent: int | Dim) -> int | Dim:
        """The extent with every written block whole."""
        return dims.substitute(extent, self.written)

    def grid_block(self, extent: int | Dim) -> Value | None:
        """The free grid block that an axis is."""
        for name, block in self.free.items():
            if extent == dims.symbol(name):
                return block
        return None

    def ragged(self, extent: int | Dim) -> Ragged | None:
        """The segments whose current one's length an extent is a multiple of, if any."""
        bound = self.bound(extent)
        if isinstance(bound, int):
            return None
        for axis in self.segments:
            length = length_name(axis.type.name)
            if all(monomial.count(Symbol(length)) == 1 for monomial, _ in bound.terms):
                start = dims.symbol(start_name(axis.type.name))
                return Ragged(axis, dims.substitute(bound, {length: start}), dims.substitute(bound, {length: axis.end}))
        return None

    def is_long(self, extent: int | Dim) -> bool:
        """Whether an axis is walked in chunks."""
        bound = self.bound(extent)
        if isinstance(bound, int):
            return bound > self.limit
        if self.ragged(bound) is not None:
            return True
        return self.free.keys().isdisjoint(dims.symbols(bound))

    def long_axes(self, value: Value) -> tuple[int, ...]:
        """The long axes of a tile; none of other values."""
        type_ = value.type
        if not isinstance(type_, TileType):
            return ()
        return tuple(axis for axis, extent in enumerate(type_.shape) if self.is_long(extent))

    def is_exact(self, extent: int | Dim) -> bool:
        """Whether no block that may be clipped is part of an extent."""
        return self.bound(extent) == extent


def _names_blocks(extent: Dim) -> bool:
    return any(name.startswith("%") for name in dims.symbols(extent))


def _pieces(grid: Op) -> dict[int | Dim, int | Dim]:
    """Extents of ranges that name a block's number, with those of the axes that they are ranges of."""
    found: dict[int | Dim, int | Dim] = {}
    for op in walk(grid.regions[0].ops):
        for entry in entries_of(op) if op.name in FIXED_OPERANDS else ():
            if entry.operand is None and entry.axis is not None and ":" in entry.text[1:]:
                low, high = (dims.parse(side) for side in entry.text.split(":"))
                extent = dims.add(high, dims.mul(low, -1))
                if isinstance(extent, Dim) and _names_blocks(extent):
                    found[extent] = accessed(op).shape[entry.axis]
    return found


def values_inside(op: Op) -> Iterator[Value]:
    """Every value that an operation or one inside it reads or makes."""
    for inner in walk((op,)):
        yield from inner.operands
        yield from inner.results
        for region in inner.regions:
            yield from region.args


STEP = 8
"""Indices per step of a loop whose block is nobody's, where its values are long."""


def step_size(block: BlockType) -> int:
    """Indices per step of a loop: as written, else a number that keeps the last step a shorter one in its type.

    That number must not divide the loop's length, which would make the step's extent a number in place of a symbol.
    """
    if block.block is not None:
        return block.block
    length = block.length
    return (
        next(n for n in (*range(STEP, 1, -1), *range(STEP, length + STEP)) if length % n or not length)
        if isinstance(length, int)
        else STEP
    )


def extents_of(grid: Op, limit: int) -> Extents:
    """The extents of a grid, its loops in steps of `step_size`."""
    inner = [arg.type for op in walk(grid.regions[0].ops) for region in op.regions for arg in region.args]
    written = {b.name: step_size(b) for b in inner if isinstance(b, BlockType)}
    outer = [arg.type for arg in grid.regions[0].args]
    written |= {b.name: b.block for b in outer if isinstance(b, BlockType) and b.block is not None}
    args = [arg for arg in grid.regions[0].args if isinstance(arg.type, BlockType)]
    free = {arg.type.name: arg for arg in args if isinstance(arg.type, BlockType) and arg.type.block is None}
    return Extents(written, free, limit, segment_axes(grid), _pieces(grid))
