"""Which part of each operand a part of a result needs, for operations that work on parts as on wholes. Facts only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.spill.extents import Extents


@dataclass(frozen=True, slots=True)
class Place:
    """A part of an axis: the chunk `block` of a walk, or (None) `extent` indices; both from `offset` on."""

    block: Value | None
    offset: int | Dim
    extent: int | Dim

    def moved(self, offset: int | Dim) -> Place:
        """The part that lies so much further."""
        return replace(self, offset=dims.add(self.offset, offset))


Places = tuple[Place | None, ...]
"""A part of a tile: one entry an axis, None where the axis is whole."""


def chunk(block: Value) -> Place:
    """The part of an axis that a walk is at."""
    assert isinstance(block.type, BlockType)
    return Place(block, 0, block.type.current)


def tile(value: Value) -> TileType:
    """The type of a tile."""
    assert isinstance(value.type, TileType)
    return value.type


def part_type(type_: TileType, places: Places) -> TileType:
    """The type of a part."""
    pairs = zip(places, type_.shape, strict=True)
    return type_.with_shape(tuple(extent if place is None else place.extent for place, extent in pairs))


def is_whole(places: Places) -> bool:
    """Whether a part is the whole."""
    return all(place is None for place in places)


def operand_places(op: Op, places: Places) -> tuple[Places, ...]:
    """The part of every operand of an operation that `works_on_parts`."""
    if op.name == "broadcast":
        return (_spread(op, places),)
    if op.name == "transpose":
        permutation = op.attrs["permutation"]
        assert isinstance(permutation, tuple)
        return (tuple(places[permutation.index(axis)] for axis in range(len(permutation))),)
    if op.name == "reshape":
        return (_regrouped(op, places),)
    if op.name in REDUCTIONS:
        return (before_reduction(op, places),)
    if op.name == "take":
        return (_taken(op, places), places)
    if op.name == "extend":
        shapes = zip(places, tile(op.operands[0]).shape, tile(op.result).shape, strict=True)
        return (tuple(place if old == new else None for place, old, new in shapes),)
    return tuple(places for _ in op.operands)


def _spread(op: Op, places: Places) -> Places:
    source, result = tile(op.operands[0]), tile(op.result)
    skipped = result.rank - source.rank
    return tuple(
        place if old == new else None
        for place, old, new in zip(places[skipped:], source.shape, result.shape[skipped:], strict=True)
    )


def _taken(op: Op, places: Places) -> Places:
    """The part of what is taken from: its axis whole, those of one index as they are."""
    pairs = zip(places, tile(op.operands[0]).shape, tile(op.result).shape, strict=True)
    axis = axis_of(op)
    return tuple(place if k != axis and old == new else None for k, (place, old, new) in enumerate(pairs))


def _regrouped(op: Op, places: Places) -> Places:
    found: list[Place | None] = [None] * tile(op.operands[0]).rank
    for old, new in reshape_groups(tile(op.operands[0]).shape, tile(op.result).shape):
        if len(old) == len(new) == 1:
            found[old[0]] = places[new[0]]
    return tuple(found)


def axis_of(op: Op) -> int:
    """The one axis that an operation works along."""
    axis = op.attrs["axis"] if op.name not in REDUCTIONS else None
    axes = op.attrs["axes"] if axis is None else (axis,)
    assert isinstance(axes, tuple)
    (found,) = axes
    assert isinstance(found, int)
    return found


def before_reduction(op: Op, places: Places) -> Places:
    """The part of a reduction's operand, its axis whole."""
    axis, keepdims = axis_of(op), bool(op.attrs["keepdims"])
    return (*places[:axis], None, *places[axis + keepdims :])


def after_reduction(op: Op, places: Places) -> Places:
    """The part of a reduction's result, from its operand's."""
    axis, keepdims = axis_of(op), bool(op.attrs["keepdims"])
    return (*places[:axis], *((None,) if keepdims else ()), *places[axis + 1 :])


_WHOLE_AXIS = frozenset({*REDUCTIONS, *SCANS, "concat", "order"})
"""Operations that need one axis whole and take the others as they come."""


def works_on_parts(op: Op, extents: Extents) -> bool:
    """Whether a part of the result can be computed from parts of the operands, no long axis needed whole."""
    if op.name in ("load", "index", "arange", "broadcast", "transpose", "slice", "take"):
        return True  # a take of a long axis reads the memory that keeps it
    if op.name in _WHOLE_AXIS:
        axis, long = axis_of(op), (op.result if op.name == "concat" else op.operands[0])
        return not extents.is_long(tile(long).shape[axis])
    source, result = tile(op.operands[0]), tile(op.result)
    if op.name == "reshape":
        groups = reshape_groups(source.shape, result.shape)
        joined = [(old, new) for old, new in groups if len(old) > 1 or len(new) > 1]
        inside = [e for old, new in joined for e in (*(source.shape[a] for a in old), *(result.shape[b] for b in new))]
        return not any(map(extents.is_long, inside))
    if op.name == "extend":
        pairs = zip(source.shape, result.shape, strict=True)
        return not any(old != new and extents.is_long(new) for old, new in pairs)
    return "elementwise" in op.spec.traits
