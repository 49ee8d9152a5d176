"""The blocks of a grid in the interpreter: every combination of what its axes give, the segments of offsets included.

Shares no code with the lowering and must not import it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Region, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.interpreter_frame import Block, Frame, InterpreterError
from agentkern.compiler.ir.interpreter_loops import FREE_STEP
from agentkern.compiler.ir.reference_formats import Raw
from agentkern.compiler.ir.segments import SegmentAxis, length_name, segment_axes, start_name
from agentkern.compiler.ir.types import BlockType, TileType

PIECE_ELEMS = 1 << 19
"""Elements of the largest tile of a piece of a free block: half a million f32 stay in a host's L2 and L3 caches."""


@dataclass(frozen=True, slots=True)
class _Current:
    """What one step along an axis makes current: blocks by their value, and numbers of symbols."""

    blocks: Mapping[Value, Block]
    sizes: Mapping[str, int]


def block_type(value: Value) -> BlockType:
    """Return the type of a block's value."""
    assert isinstance(value.type, BlockType)
    return value.type


def blocks_between(extent: int, piece: int | None, first: int = 0) -> tuple[Block, ...]:
    """Cut `extent` indices from `first` on into blocks."""
    step = piece or max(extent, 1)
    return tuple(Block(first + k, first + min(k + step, extent), k // step) for k in range(0, extent, step))


def grid_frames(op: Op, frame: Frame) -> Iterator[Frame]:
    """Make the frame of each of a grid's blocks."""
    args = op.regions[0].args
    segments = segment_axes(op)
    rows = {axis.rows for axis in segments}
    if any(
        extent <= 0
        for extent in frame.shape(
            [block_type(arg).length for arg in args if not (arg in rows or block_type(arg).is_whole)]
        )
    ):
        return
    static = frame.static | {t.name: t.written for t in map(block_type, args) if t.written is not None}
    pieces = _pieces(op, segments, frame)
    axes: list[list[_Current]] = []
    for arg in args:
        found = next((axis for axis in segments if axis.block is arg), None)
        if found is not None:
            axes.append(_segment_steps(found, pieces, frame))
        elif arg not in rows:
            type_ = block_type(arg)
            if type_.is_whole:
                continue
            first, extent = frame.shape((type_.first, type_.length))
            axes.append([_entered({arg: b}) for b in blocks_between(extent, pieces[arg], first)])
    scattered = dict[int, Raw]()
    for steps in itertools.product(*axes):
        sizes = dict(frame.sizes)
        inner = Frame(dict(frame.values), sizes, static, frame.free_block, scattered, orders=frame.orders)
        for step in steps:
            sizes.update(step.sizes)
            inner.values.update({id(value): block for value, block in step.blocks.items()})
        _enter_whole(args, inner)
        yield inner


def _enter_whole(args: Sequence[Value], frame: Frame) -> None:
    """Make the blocks current that are all of an axis, once their lengths are known. Errors: InterpreterError."""
    for arg in args:
        type_ = block_type(arg)
        if not type_.is_whole:
            continue
        (extent,) = frame.shape((type_.extent,))
        if type_.block is None or extent > type_.block:
            raise InterpreterError(f"an axis of {extent} is longer than {type_.block}")
        entered = _entered({arg: Block(0, extent, 0)})
        frame.sizes.update(entered.sizes)
        frame.values.update({id(value): block for value, block in entered.blocks.items()})


def _entered(blocks: Mapping[Value, Block], sizes: Mapping[str, int] | None = None) -> _Current:
    found: dict[str, int] = dict(sizes or {})
    for value, block in blocks.items():
        name = block_type(value).name
        found |= {name: block.stop - block.start, f"{name}.ordinal": block.ordinal}
    return _Current(blocks, found)


def _segment_steps(axis: SegmentAxis, pieces: Mapping[Value, int | None], frame: Frame) -> list[_Current]:
    """Every segment, empty ones included; or the blocks of rows of each. Errors: InterpreterError."""
    offsets = [int(offset) for offset in frame.array(axis.offsets)]
    (end,) = frame.shape((axis.end,))
    if not offsets or offsets[0] != 0 or offsets[-1] != end or any(b < a for a, b in itertools.pairwise(offsets)):
        raise InterpreterError(f"the offsets `{axis.offsets.name}` do not run from 0 to {end}")
    found: list[_Current] = []
    name = axis.type.name
    for number, (low, high) in enumerate(itertools.pairwise(offsets)):
        sizes = {start_name(name): low, length_name(name): high - low}
        segment = {axis.block: Block(number, number + 1, number)}
        if axis.rows is None:
            found.append(_entered(segment, sizes))
            continue
        for block in blocks_between(high - low, pieces[axis.rows], low):
            found.append(_entered({**segment, axis.rows: block}, sizes))
    return found


def _pieces(op: Op, segments: Sequence[SegmentAxis], frame: Frame) -> dict[Value, int | None]:
    """The length of each axis' blocks; only the first free axis is cut, the others are run whole."""
    region = op.regions[0]
    found = {arg: block_type(arg).block or frame.free_block for arg in region.args}
    free = next((arg for arg, piece in found.items() if piece is None), None)
    if free is not None:
        found[free] = _piece(region, free, _extents(region, segments, frame), frame)
    return found


def _extents(region: Region, segments: Sequence[SegmentAxis], frame: Frame) -> dict[str, int]:
    """The extent of each axis; of segments' rows, of all segments together."""
    found: dict[str, int] = {}
    for arg in region.args:
        type_ = block_type(arg)
        ragged = next((axis for axis in segments if axis.rows is arg), None)
        (found[type_.name],) = frame.shape((type_.length if ragged is None else ragged.end,))
    for axis in segments:
        (longest,) = frame.shape((axis.end,))
        found |= {start_name(axis.type.name): 0, length_name(axis.type.name): longest}
    return found


def _piece(region: Region, cut: Value, extents: Mapping[str, int], frame: Frame) -> int:
    """How many indices of the first free axis keep the largest tile of the body near PIECE_ELEMS."""
    types = [block_type(arg) for arg in region.args]
    whole = {**extents, **{t.name: t.block or extents[t.name] for t in types}}
    inner = [arg.type for op in walk(region.ops) for nested in op.regions for arg in nested.args]
    steps = {t.name: t.block or FREE_STEP for t in inner if isinstance(t, BlockType)}
    numbers = {f"{t.name}.ordinal": 0 for t in types}
    sizes = frame.sizes | steps | whole | {block_type(cut).name: 1} | numbers
    largest = max((math.prod(_numbers(shape, sizes)) for shape in _tile_shapes(region)), default=1)
    return max(PIECE_ELEMS // max(largest, 1), 1)


def _numbers(shape: tuple[int | Dim, ...], sizes: Mapping[str, int]) -> Iterator[int]:
    return (dims.evaluate(extent, sizes) for extent in shape)


def _tile_shapes(region: Region) -> Iterator[tuple[int | Dim, ...]]:
    for op in walk(region.ops):
        for value in op.results:
            if isinstance(value.type, TileType):
                yield value.type.shape
