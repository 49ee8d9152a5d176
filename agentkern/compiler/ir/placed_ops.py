"""Operations that passes introduce: streaming, layout conversion, memory of a block's own, division by a reciprocal.

`stream` walks one axis of the grid's values in chunks: its region computes tiles over the chunk's block and ends in
`yield`; result k is the reduction `kinds[k]` over axis `axes[k]` of yielded tile k, over the whole axis, in the fixed
order. `whole` is the static extent that fixes the order, where the block of an axis is clipped.
"""

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, OpSpec, Stage
from agentkern.compiler.ir.subscripts import entries_of, selected
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.dsl.dtypes import DTYPES

TILE: frozenset[Stage] = frozenset({"tile", "placed"})
PLACED: frozenset[Stage] = frozenset({"placed"})


def _stream(op: Op) -> str | None:
    region = op.regions[0]
    if len(region.args) != 1 or not isinstance(region.args[0].type, BlockType):
        return "the region's argument is one block"
    last = region.ops[-1] if region.ops else None
    if last is None or last.name != "yield":
        return "the region ends in `yield`"
    kinds, axes = op.attrs["kinds"], op.attrs["axes"]
    assert isinstance(kinds, tuple) and isinstance(axes, tuple)
    if not len(kinds) == len(axes) == len(last.operands) == len(op.results):
        return "one kind, axis and result per yielded tile"
    return None


def _convert(op: Op) -> str | None:
    source, result = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    if dims.product(source.shape) != dims.product(result.shape) or source.dtype is not result.dtype:
        return "a conversion keeps the elements in row-major order"
    return None


def _extend(op: Op) -> str | None:
    source, result = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    if source.dtype is not result.dtype or source.rank != result.rank:
        return f"{source} extended is not {result}"
    pairs = zip(source.shape, result.shape, strict=True)
    kept = all(new == old or not isinstance(old, int) for old, new in pairs)
    return None if kept else "an axis that is not a block's is extended"


def _slot(op: Op) -> str | None:
    type_ = op.result.type
    if not isinstance(op.operands[0].type, BlockType):
        return "the operand is not a block"
    return None if type_ == TileType(DTYPES["i64"]) else f"the result is {type_}"


def _divide(op: Op) -> str | None:
    types = {v.type for v in (*op.operands, op.result)}
    return None if len(types) == 1 else "operands and result differ in type"


def _order(op: Op) -> str | None:
    axis, types = op.attrs["axis"], [value.type for value in (*op.operands, op.result)]
    if not all(isinstance(type_, TileType) and type_.dtype.name == "i64" for type_ in types):
        return "orders what are no i64 tiles"
    shapes = {type_.shape for type_ in types if isinstance(type_, TileType)}
    shape = next(iter(shapes))
    inside = isinstance(axis, int) and 0 <= axis < len(shape)
    return None if len(shapes) == 1 and 1 <= len(op.operands) <= 2 and inside else f"axis {axis} of {len(types)} tiles"


def _sort_kept(op: Op) -> str | None:
    tensor, axis, arrays = op.operands[0].type, op.attrs["axis"], op.attrs["arrays"]
    if not isinstance(tensor, TensorType) or tensor.access != "scratch" or tensor.dtype.name != "i64":
        return f"sorts {tensor}, which is no memory of a block's own that holds i64"
    tile = selected(op)
    if isinstance(tile, str):
        return tile
    if any(entry.axis is None or entry.is_window or entry.is_gather for entry in entries_of(op)):
        return "the subscript is of other than blocks, ranges and numbers"
    first = int(arrays == 2)
    if arrays not in (1, 2) or (first and tile.shape[:1] != (2,)):
        return f"{arrays} arrays in {tile}"
    return None if isinstance(axis, int) and first <= axis < tile.rank else f"axis {axis} of {tile}"


_ELEMENT = frozenset({"elementwise", "arithmetic"})
_ALL: frozenset[Stage] = frozenset({"tile", "placed", "gpu"})
_ROWS = (
    OpSpec(
        "stream",
        TILE,
        0,
        -1,
        {"kinds": True, "axes": True, "reverse": False, "whole": False},
        1,
        frozenset({"region"}),
        _stream,
        "chunks of an axis, from the last on where it is `reverse`",
    ),
    OpSpec(
        "convert",
        PLACED,
        1,
        1,
        {},
        0,
        frozenset({"move"}),
        _convert,
        "the same elements in another layout",
    ),
    OpSpec(
        "extend",
        TILE,
        1,
        1,
        {"value": True},
        0,
        frozenset({"elementwise"}),
        _extend,
        "a block's tile at its whole extent; positions that the tile lacks hold `value`",
    ),
    OpSpec("slot", TILE, 1, 1, {}, 0, frozenset(), _slot, "the block's first index, as the number of its own memory"),
    OpSpec(
        "order",
        TILE,
        None,
        1,
        {"axis": True},
        0,
        frozenset({"move"}),
        _order,
        "the last operand in the ascending order of all along an axis, the first one deciding first; no two are equal",
    ),
    OpSpec(
        "sort_kept",
        TILE,
        None,
        0,
        {"index": True, "axis": True, "arrays": True},
        0,
        frozenset({"reads", "writes"}),
        _sort_kept,
        "memory in place, as `order` does along an axis of what is subscripted; of two arrays axis 0 tells them apart",
    ),
    OpSpec("reciprocal", _ALL, 1, 1, {}, 0, _ELEMENT, _divide, "1 / x correctly rounded, for `divide_by`"),
    OpSpec("divide_by", _ALL, 3, 1, {}, 0, _ELEMENT, _divide, "a / b given b's reciprocal: the bits of the division"),
)

PLACED_OPS: dict[str, OpSpec] = {row.name: row for row in _ROWS}
