"""Orders and counts along an axis through one sort of keys with their positions, in element operations."""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.expand_arguments import (
    PACKED_BITS,
    filled,
    flat_index,
    ordered_key,
    positions,
    signed_key,
    tile,
)
from agentkern.compiler.passes.grid_axes import RESIDENT_ELEMS
from agentkern.dsl.dtypes import DTYPES

I32, I64, BOOL = DTYPES["i32"], DTYPES["i64"], DTYPES["bool"]
POSITION_BITS = 32
LONGEST_PAIRED = 64  # elements of an axis that are compared with one another in registers


def is_sorted(extent: int | Dim, blocks: Mapping[str, int]) -> bool:
    """Whether an axis is too long for comparing all pairs, and short enough to be kept."""
    whole = dims.substitute(extent, blocks)
    return isinstance(whole, int) and LONGEST_PAIRED < whole <= RESIDENT_ELEMS


def sorted_places(
    builder: Builder, value: Value, axis: int, blocks: Mapping[str, int], *, descending: bool = False
) -> Value:
    """For each position along an axis, where its element in sorted order is: equals as they stand, NaN largest."""
    if tile(value).dtype is BOOL:
        value = builder.value("cast", (value,), tile(value).with_dtype(I32), None, value.name)
    key = ordered_key(builder, value)
    bits = tile(key).dtype.bits
    index = flat_index(builder, tile(key), (axis,), blocks)
    wide = tile(index)
    high = signed_key(builder, key, wide) if bits < PACKED_BITS else _signed(builder, key, wide)
    if descending:
        high = builder.value("not", (high,), wide, None, key.name)
    attrs = {"axis": axis}
    if bits == PACKED_BITS:
        return builder.value("order", (high, index), wide, attrs, value.name)
    shifted = builder.value("shl", (high, filled(builder, wide, POSITION_BITS)), wide)
    packed = builder.value("or", (shifted, index), wide, None, key.name)
    ordered = builder.value("order", (packed,), wide, attrs, value.name)
    return builder.value("and", (ordered, filled(builder, wide, (1 << POSITION_BITS) - 1)), wide)


def _signed(builder: Builder, key: Value, wide: TileType) -> Value:
    """64-bit keys as i64: unsigned ones with the sign bit turned."""
    if tile(key).dtype is I64:
        return key
    same = builder.value("bitcast", (key,), wide, None, key.name)
    return builder.value("xor", (same, filled(builder, wide, I64.integer_range[0])), wide, None, key.name)


def taken(builder: Builder, value: Value, places: Value, axis: int, name: str | None) -> Value:
    """The elements at places along an axis."""
    type_ = tile(places).with_dtype(tile(value).dtype)
    return builder.value("take", (value, places), type_, {"axis": axis}, name)


def occurrences(op: Op, builder: Builder, axis: int, blocks: Mapping[str, int]) -> Value:
    """How many equal elements come earlier: in sorted order, how far the first of its equals is."""
    value = op.operands[0]
    if tile(value).dtype is BOOL:
        value = builder.value("cast", (value,), tile(value).with_dtype(I32), None, value.name)
    places = sorted_places(builder, value, axis, blocks)
    wide = tile(places)
    key = ordered_key(builder, value)
    sorted_keys = taken(builder, key, places, axis, key.name)
    here = positions(builder, wide, axis, 1, wide)
    zero, one = filled(builder, wide, 0), filled(builder, wide, 1)
    back = builder.value("maximum", (builder.value("sub", (here, one), wide), zero), wide)
    before = taken(builder, sorted_keys, back, axis, key.name)
    begins = builder.value("ne", (sorted_keys, before), wide.with_dtype(BOOL))
    first = builder.value("where", (begins, here, zero), wide)
    attrs = {"axis": axis, "reverse": False, "exclusive": False}
    start = builder.value("cummax", (first,), wide, attrs)
    counts = builder.value("cast", (builder.value("sub", (here, start), wide),), wide.with_dtype(I32))
    found = taken(builder, counts, sorted_places(builder, places, axis, blocks), axis, op.result.name)
    if not tile(value).dtype.is_float:
        return found
    unequal = builder.value("isnan", (value,), tile(value).with_dtype(BOOL))
    return builder.value("where", (unequal, filled(builder, tile(found), 0), found), tile(found), None, op.result.name)
