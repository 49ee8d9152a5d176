"""Spell moves along an axis in simpler ones: its last position, its bits in elements of another width.

The last position is picked by its number and an integer sum of bits, of which all others are zero; bits change width by
shifts along a short axis of their own.
"""

from __future__ import annotations

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.expand_arguments import filled, positions, tile
from agentkern.compiler.passes.rewrite import rewrite
from agentkern.dsl.dtypes import DTYPES, DType

BOOL, I64 = DTYPES["bool"], DTYPES["i64"]


def bits_of(builder: Builder, value: Value) -> Value:
    """The value as unsigned integers of its width."""
    type_ = tile(value)
    unsigned = DTYPES[f"u{type_.dtype.bits}"]
    if type_.dtype is unsigned:
        return value
    return builder.value("bitcast", (value,), type_.with_dtype(unsigned), None, value.name)


def from_bits(builder: Builder, bits: Value, dtype: DType, name: str | None) -> Value:
    """Unsigned integers as another dtype of their width."""
    type_ = tile(bits)
    return bits if type_.dtype is dtype else builder.value("bitcast", (bits,), type_.with_dtype(dtype), None, name)


def _last(op: Op, builder: Builder) -> Value:
    value, axis = op.operands[0], op.attrs["axis"]
    source, result = tile(value), tile(op.result)
    assert isinstance(axis, int)
    extent = source.shape[axis]
    if isinstance(extent, int):
        starts = tuple(extent - 1 if a == axis else 0 for a in range(source.rank))
        stops = source.shape
        one = source.with_shape(tuple(1 if a == axis else e for a, e in enumerate(stops)))
        cut = builder.value("slice", (value,), one, {"starts": starts, "stops": stops}, value.name)
        return builder.value("reshape", (cut,), result, None, op.result.name)
    counts = source.with_dtype(I64)
    index = positions(builder, source, axis, 1, counts)
    end = builder.value("size", (), TileType(I64), {"extent": dims.add(extent, -1)})
    hits = builder.value(
        "eq", (index, builder.value("broadcast", (end,), counts) if counts.shape else end), source.with_dtype(BOOL)
    )
    attrs = {"axes": (axis,), "keepdims": False}
    if source.dtype is BOOL:
        both = builder.value("and", (value, hits), source)
        return builder.value("any", (both,), result, attrs, op.result.name)
    bits = bits_of(builder, value)
    chosen = builder.value("where", (hits, bits, filled(builder, tile(bits), 0)), tile(bits))
    total = builder.value("sum", (chosen,), result.with_dtype(tile(bits).dtype), attrs, op.result.name)
    return from_bits(builder, total, result.dtype, op.result.name)


def _shifts(builder: Builder, type_: TileType, bits: int) -> Value:
    """How far each position of the last axis is shifted."""
    counts = TileType(I64, type_.shape[-1:])
    index = builder.value("arange", (), counts)
    scaled = builder.value("mul", (index, filled(builder, counts, bits)), counts)
    narrow = builder.value("cast", (scaled,), counts.with_dtype(type_.dtype)) if type_.dtype is not I64 else scaled
    return builder.value("broadcast", (narrow,), type_) if type_.rank > 1 else narrow


def _bitcast_axis(op: Op, builder: Builder) -> Value:
    value, result = op.operands[0], tile(op.result)
    bits = bits_of(builder, value)
    source = tile(bits)
    unsigned = DTYPES[f"u{result.dtype.bits}"]
    if source.dtype.bits < unsigned.bits:
        parts = TileType(source.dtype, (*result.shape, unsigned.bits // source.dtype.bits))
        wide = parts.with_dtype(unsigned)
        split = builder.value("reshape", (bits,), parts, None, value.name)
        cast = builder.value("cast", (split,), wide, None, value.name)
        moved = builder.value("shl", (cast, _shifts(builder, wide, source.dtype.bits)), wide)
        attrs = {"axes": (wide.rank - 1,), "keepdims": False}
        whole = builder.value("sum", (moved,), result.with_dtype(unsigned), attrs, op.result.name)
        return from_bits(builder, whole, result.dtype, op.result.name)
    parts = TileType(source.dtype, (*source.shape, source.dtype.bits // unsigned.bits))
    single = builder.value("reshape", (bits,), TileType(source.dtype, (*source.shape, 1)))
    spread = builder.value("broadcast", (single,), parts)
    moved = builder.value("shr", (spread, _shifts(builder, parts, unsigned.bits)), parts)
    cut = builder.value("cast", (moved,), parts.with_dtype(unsigned), None, op.result.name)
    joined = builder.value("reshape", (cut,), result.with_dtype(unsigned), None, op.result.name)
    return from_bits(builder, joined, result.dtype, op.result.name)


def _rule(op: Op, builder: Builder) -> tuple[Value, ...] | None:
    if op.name == "last":
        return (_last(op, builder),)
    return (_bitcast_axis(op, builder),) if op.name == "bitcast_axis" else None


def expand_shapes(kernel: Kernel) -> Kernel:
    """Element operations and reductions for every `last` and every bitcast that changes an axis."""
    return rewrite(kernel, _rule)
