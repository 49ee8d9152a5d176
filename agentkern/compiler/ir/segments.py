"""A grid over the segments of a ragged tensor: its operands, and the symbols that its blocks bring along.

Each operand of a grid is a tensor of offsets; attribute `segments` has for each the place of the axis that numbers its
segments, and where the offsets end. The block of that axis is one segment `%s`: `%s.start` is its first index,
`%s.length` how many it has. Another axis may run over the rows of each segment, `%s.start` to their end: the two then
are one axis of the launch, which has the blocks of all segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import BlockType, TensorType


def start_name(segment: str) -> str:
    """The symbol of a segment's first index."""
    return f"{segment}.start"


def length_name(segment: str) -> str:
    """The symbol of how many indices a segment has."""
    return f"{segment}.length"


def segment_bounds(segment: str) -> tuple[Dim, int | Dim]:
    """The first index of a segment, and one past its last."""
    first = dims.symbol(start_name(segment))
    return first, dims.add(first, dims.symbol(length_name(segment)))


@dataclass(frozen=True, slots=True)
class SegmentAxis:
    """One ragged axis of a grid: the block that numbers its segments, and the one of their rows where there is one.

    `end` is where the offsets end.
    """

    block: Value
    rows: Value | None
    offsets: Value
    end: int | Dim

    @property
    def type(self) -> BlockType:
        """The type of the block that numbers the segments."""
        return _block(self.block)


def _block(value: Value) -> BlockType:
    assert isinstance(value.type, BlockType)
    return value.type


def _entries(op: Op) -> Iterator[tuple[int, int | Dim]]:
    listed = op.attrs.get("segments", ())
    assert isinstance(listed, tuple)
    for entry in listed:
        assert isinstance(entry, tuple)
        place, end = entry
        assert isinstance(place, int) and isinstance(end, int | Dim)
        yield place, end


def segment_axes(op: Op) -> tuple[SegmentAxis, ...]:
    """The ragged axes of a grid, in the order of its operands."""
    args = op.regions[0].args
    found: list[SegmentAxis] = []
    for (place, end), offsets in zip(_entries(op), op.operands, strict=True):
        rows = [arg for arg in args if _bounds(arg) == segment_bounds(_block(args[place]).name)]
        found.append(SegmentAxis(args[place], rows[0] if rows else None, offsets, end))
    return tuple(found)


def _bounds(value: Value) -> tuple[int | Dim, int | Dim]:
    return _block(value).first, _block(value).extent


def wrong_segments(op: Op) -> str | None:
    """What is wrong with a grid's segments, or None."""
    args = op.regions[0].args
    places = [place for place, _ in _entries(op)]
    if len(places) != len(op.operands) or len({*places}) != len(places):
        return f"{len(op.operands)} tensors of offsets for segments at {places}"
    if any(not 0 <= place < len(args) for place in places):
        return f"segments at {places} of {len(args)} blocks"
    for place, offsets in zip(places, op.operands, strict=True):
        tensor, block = offsets.type, _block(args[place])
        if not isinstance(tensor, TensorType) or tensor.table or tensor.rank != 1 or not tensor.dtype.is_integer:
            return f"offsets are {tensor}"
        if (block.extent, block.first, block.block) != (dims.add(tensor.shape[0], -1), 0, 1):
            return f"{block} does not number the segments of {tensor}"
    spans = [segment_bounds(_block(args[place]).name) for place in places]
    for arg in args:
        if _block(arg).is_whole:
            continue
        moving = any(name.startswith("%") for side in _bounds(arg) for name in dims.symbols(side))
        if moving and _bounds(arg) not in spans:
            return f"{arg.type} does not run over a segment's rows"
        if moving and sum(_bounds(other) == _bounds(arg) for other in args) > 1:
            return f"several blocks run over the rows of {arg.type}"
    return None
