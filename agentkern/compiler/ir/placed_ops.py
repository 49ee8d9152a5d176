"""Operations that exist from the PLACED stage on: streaming, layout conversion, reciprocal division.

`stream` walks one axis of the grid's values in chunks: its region computes tiles over the chunk's block and ends in
`yield`; result k is the reduction `kinds[k]` over axis `axes[k]` of yielded tile k, over the whole axis, in the fixed order.
"""

from agentkern.compiler.ir.core import Op, OpSpec
from agentkern.compiler.ir.types import BlockType, TileType

TILE = frozenset({"tile", "placed"})


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
    if source.shape != result.shape or source.dtype is not result.dtype:
        return "a conversion changes the layout only"
    return None


def _divide(op: Op) -> str | None:
    types = {v.type for v in (*op.operands, op.result)}
    return None if len(types) == 1 else "operands and result differ in type"


_ROWS = (
    OpSpec("stream", TILE, 0, -1, {"kinds": True, "axes": True}, 1, frozenset({"region"}), _stream, "chunks of an axis"),
    OpSpec("yield", TILE, None, 0, {}, 0, frozenset(), None, "what a stream's region reduces"),
    OpSpec("convert", frozenset({"placed"}), 1, 1, {}, 0, frozenset({"move"}), _convert, "the same tile in another layout"),
    OpSpec(
        "divide_rows", TILE, 2, 1, {}, 0, frozenset({"elementwise", "arithmetic"}), _divide,
        "a / b where b is constant along registers: divided by its reciprocal, the same bits",
    ),
)

PLACED_OPS: dict[str, OpSpec] = {row.name: row for row in _ROWS}
