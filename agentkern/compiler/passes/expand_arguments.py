"""Spell `argmax` and `argmin` as plain reductions of integers.

A value becomes an integer key of the same order: a float's bits, turned so that they grow with the value, -0 made +0,
every NaN the one above infinity. Where key and index fit 64 bits together, one reduction of `key * 2**n + index` finds
both (for `argmax` the index counts down, so that the smallest wins). Where they may not, the extreme key is found first
and then the smallest index that has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Value
from agentkern.compiler.ir.order_ops import ARGUMENTS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.rewrite import rewrite
from agentkern.compiler.passes.split_reductions import written_blocks
from agentkern.dsl.dtypes import DTYPES, DType

I64 = DTYPES["i64"]
PACKED_BITS = 64
WORD_BITS = 32


def tile(value: Value) -> TileType:
    """The type of a tile."""
    assert isinstance(value.type, TileType)
    return value.type


def filled(builder: Builder, like: TileType, number: int | float) -> Value:
    """A tile of one number."""
    scalar = builder.value("constant", (), TileType(like.dtype), {"value": number})
    return builder.value("broadcast", (scalar,), like) if like.shape else scalar


def ordered_key(builder: Builder, value: Value) -> Value:
    """Signed integers of the value's width, in its order; unsigned ones stay as they are."""
    type_ = tile(value)
    if not type_.dtype.is_float:
        return value
    # +0.0 turns -0 into +0 and every NaN into the canonical one, the largest of its sign
    clean = builder.value("add", (value, filled(builder, type_, 0.0)), type_, None, value.name)
    signed = type_.with_dtype(DTYPES[f"i{type_.dtype.bits}"])
    bits = builder.value("bitcast", (clean,), signed, None, value.name)
    sign = builder.value("shr", (bits, filled(builder, signed, signed.dtype.bits - 1)), signed)
    flips = builder.value("and", (sign, filled(builder, signed, signed.dtype.integer_range[1])), signed)
    return builder.value("xor", (bits, flips), signed, None, value.name)


def positions(builder: Builder, type_: TileType, axis: int, whole: int | dims.Dim, location: TileType) -> Value:
    """The index of every element along one axis, times `whole`, as a tile of the shape of `location`."""
    count = builder.value("arange", (), TileType(I64, (type_.shape[axis],)))
    if whole != 1:
        factor = builder.value("size", (), TileType(I64), {"extent": whole})
        scaled = builder.value("broadcast", (factor,), tile(count))
        count = builder.value("mul", (count, scaled), tile(count))
    column = (type_.shape[axis], *(1 for _ in type_.shape[axis + 1 :]))
    if len(column) > 1:
        count = builder.value("reshape", (count,), TileType(I64, column))
    return builder.value("broadcast", (count,), location) if column != location.shape else count


def flat_index(builder: Builder, type_: TileType, axes: tuple[int, ...], blocks: Mapping[str, int]) -> Value:
    """The row-major index of every element over `axes` at their whole extents."""
    result = type_.with_dtype(I64)
    total: Value | None = None
    stride: int | dims.Dim = 1
    for axis in reversed(axes):
        part = positions(builder, type_, axis, stride, result)
        total = part if total is None else builder.value("add", (part, total), result)
        stride = dims.mul(stride, dims.substitute(type_.shape[axis], blocks))
    assert total is not None
    return total


@dataclass(frozen=True, slots=True)
class _Rule:
    """The rewriting of one kernel's operations."""

    blocks: Mapping[str, int]
    facts: Facts

    def __call__(self, op: Op, builder: Builder) -> tuple[Value, ...] | None:
        if op.name not in ARGUMENTS:
            return None
        axes = op.attrs["axes"]
        assert isinstance(axes, tuple)
        key = ordered_key(builder, op.operands[0])
        index = flat_index(builder, tile(key), axes, self.blocks)
        bits = tile(key).dtype.bits
        if bits <= PACKED_BITS - WORD_BITS and self.fits(tile(key), axes, WORD_BITS):
            return (self.packed(op, builder, key, index, WORD_BITS),)
        if bits < PACKED_BITS and self.fits(tile(key), axes, PACKED_BITS - bits):
            return (self.packed(op, builder, key, index, PACKED_BITS - bits),)
        return (self.in_two_steps(op, builder, key, index),)

    def fits(self, type_: TileType, axes: tuple[int, ...], bits: int) -> bool:
        """Whether every index over the axes needs at most so many bits."""
        count = dims.product(tuple(dims.substitute(type_.shape[a], self.blocks) for a in axes))
        high = self.facts.interval(self.facts.simplify(count)).high
        return high is not None and high <= 1 << bits

    def packed(self, op: Op, builder: Builder, key: Value, index: Value, bits: int) -> Value:
        """The key above `bits` of the index; an index of one word is computed as one."""
        wide = tile(index)
        mask = (1 << bits) - 1
        high = signed_key(builder, key, wide)
        high = builder.value("shl", (high, filled(builder, wide, bits)), wide)
        down = op.name == "argmax"
        low = index
        if bits == WORD_BITS:
            low = builder.value("cast", (index,), wide.with_dtype(DTYPES["u32"]), None, index.name)
        low = builder.value("sub", (filled(builder, tile(low), mask), low), tile(low)) if down else low
        low = builder.value("cast", (low,), wide, None, index.name) if bits == WORD_BITS else low
        both = builder.value("or", (high, low), wide, None, op.operands[0].name)
        result = tile(op.result)
        best = builder.value(op.name[3:], (both,), result, op.attrs, op.result.name)
        found = builder.value("and", (best, filled(builder, result, mask)), result)
        if down:
            found = builder.value("sub", (filled(builder, result, mask), found), result)
        return found

    def in_two_steps(self, op: Op, builder: Builder, key: Value, index: Value) -> Value:
        axes = op.attrs["axes"]
        assert isinstance(axes, tuple)
        source, wide = tile(key), tile(index)
        single = source.with_shape(tuple(1 if k in axes else e for k, e in enumerate(source.shape)))
        attrs = {"axes": axes, "keepdims": True}
        best = builder.value(op.name[3:], (key,), single, attrs, op.operands[0].name)
        spread = builder.value("broadcast", (best,), source) if single.shape != source.shape else best
        hits = builder.value("eq", (key, spread), source.with_dtype(DTYPES["bool"]))
        last = filled(builder, wide, I64.integer_range[1])
        chosen = builder.value("where", (hits, index, last), wide, None, op.operands[0].name)
        return builder.value("min", (chosen,), tile(op.result), op.attrs, op.result.name)


def signed_key(builder: Builder, key: Value, wide: TileType) -> Value:
    """The key as i64; of an unsigned type, less half its range, so that the high bits keep the order."""
    dtype: DType = tile(key).dtype
    found = builder.value("cast", (key,), wide, None, key.name)
    if dtype.kind == "unsigned":
        found = builder.value("sub", (found, filled(builder, wide, 1 << (dtype.bits - 1))), wide)
    return found


def expand_arguments(kernel: Kernel) -> Kernel:
    """Plain reductions for every `argmax` and `argmin`."""
    return rewrite(kernel, _Rule(written_blocks(kernel), Facts.of_sizes(kernel.sizes)))
