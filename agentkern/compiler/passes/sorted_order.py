"""Orders and counts along an axis through one sort of keys with their positions, in element operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Value
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
from agentkern.dsl.dtypes import DTYPES

I32, I64, U8, BOOL = DTYPES["i32"], DTYPES["i64"], DTYPES["u8"], DTYPES["bool"]
POSITION_BITS = 32
UNREACHED_BITS = 48
"""No memory holds 2**48 keys with their positions, of 8 bytes each."""
LONGEST_PAIRED = 64  # elements of an axis that are compared with one another in registers


def is_sorted(extent: int | Dim, blocks: Mapping[str, int]) -> bool:
    """Whether an axis may be too long for comparing all pairs."""
    whole = dims.substitute(extent, blocks)
    return not isinstance(whole, int) or whole > LONGEST_PAIRED


@dataclass(frozen=True, slots=True)
class Sorting:
    """Orders along one axis; `blocks` are the written ones, `most` the elements that the axis has at most, if known."""

    builder: Builder
    axis: int
    blocks: Mapping[str, int]
    most: int | None

    def places(self, value: Value, *, descending: bool = False) -> Value:
        """For each position, where its element in sorted order is: equals as they stand, NaN largest."""
        key = ordered_key(self.builder, self._comparable(value))
        wide = tile(key).with_dtype(I64)
        bits = self._position_bits(tile(key).dtype.bits)
        high = _signed(self.builder, key, wide) if bits is None else signed_key(self.builder, key, wide)
        if descending:
            high = self.builder.value("not", (high,), wide, None, key.name)
        return self._ordered(high, bits, value.name)

    def inverse(self, places: Value) -> Value:
        """Where each position stands among places, of which every one occurs once."""
        fits = self.most is not None and self.most < 1 << POSITION_BITS - 1
        return self._ordered(places, POSITION_BITS if fits else None, places.name)

    def _ordered(self, high: Value, bits: int | None, name: str | None) -> Value:
        """Positions in the order of signed keys; packed with the keys where they have `bits` bits."""
        wide, attrs = tile(high), {"axis": self.axis}
        index = flat_index(self.builder, wide, (self.axis,), self.blocks)
        if bits is None:
            return self.builder.value("order", (high, index), wide, attrs, name)
        shifted = self.builder.value("shl", (high, filled(self.builder, wide, bits)), wide)
        packed = self.builder.value("or", (shifted, index), wide, None, high.name)
        ordered = self.builder.value("order", (packed,), wide, attrs, name)
        return self.builder.value("and", (ordered, filled(self.builder, wide, (1 << bits) - 1)), wide)

    def _position_bits(self, key_bits: int) -> int | None:
        """Bits beside a key that every position fits into; None where there are none."""
        spare = PACKED_BITS - key_bits
        if spare >= POSITION_BITS and self.most is not None and self.most <= 1 << POSITION_BITS:
            return POSITION_BITS
        return spare if spare >= UNREACHED_BITS else None

    def _comparable(self, value: Value) -> Value:
        """The value, or numbers for bools."""
        if tile(value).dtype is not BOOL:
            return value
        return self.builder.value("cast", (value,), tile(value).with_dtype(U8), None, value.name)

    def taken(self, value: Value, places: Value, name: str | None) -> Value:
        """The elements at places along the axis."""
        type_ = tile(places).with_dtype(tile(value).dtype)
        return self.builder.value("take", (value, places), type_, {"axis": self.axis}, name)

    def occurrences(self, value: Value, name: str | None) -> Value:
        """How many equal elements come earlier: in sorted order, how far the first of its equals is."""
        builder, value = self.builder, self._comparable(value)
        places = self.places(value)
        wide = tile(places)
        key = ordered_key(builder, value)
        sorted_keys = self.taken(key, places, key.name)
        here = positions(builder, wide, self.axis, 1, wide)
        zero, one = filled(builder, wide, 0), filled(builder, wide, 1)
        back = builder.value("maximum", (builder.value("sub", (here, one), wide), zero), wide)
        before = self.taken(sorted_keys, back, key.name)
        begins = builder.value("ne", (sorted_keys, before), wide.with_dtype(BOOL))
        first = builder.value("where", (begins, here, zero), wide)
        attrs = {"axis": self.axis, "reverse": False, "exclusive": False}
        start = builder.value("cummax", (first,), wide, attrs)
        counts = builder.value("cast", (builder.value("sub", (here, start), wide),), wide.with_dtype(I32))
        found = self.taken(counts, self.inverse(places), name)
        if not tile(value).dtype.is_float:
            return found
        unequal = builder.value("isnan", (value,), tile(value).with_dtype(BOOL))
        return builder.value("where", (unequal, filled(builder, tile(found), 0), found), tile(found), None, name)


def _signed(builder: Builder, key: Value, wide: TileType) -> Value:
    """Keys as i64: unsigned ones of 64 bits with the sign bit turned."""
    dtype = tile(key).dtype
    if dtype.bits < PACKED_BITS:
        return signed_key(builder, key, wide)
    if dtype is I64:
        return key
    same = builder.value("bitcast", (key,), wide, None, key.name)
    return builder.value("xor", (same, filled(builder, wide, I64.integer_range[0])), wide, None, key.name)
