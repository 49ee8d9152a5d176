"""The largest elements of an axis one after another: each round finds one and leaves it out of the next.

A round is a few reductions. Few rounds stand one behind the other; many are a loop, whose code does not grow with their
number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agentkern.compiler.ir.core import Builder, Region, Value
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.expand_arguments import PACKED_BITS, filled, signed_key, tile
from agentkern.compiler.passes.pairs import Pairs
from agentkern.dsl.dtypes import DTYPES

I64, BOOL = DTYPES["i64"], DTYPES["bool"]
MOST_ROUNDS = 64
"""Of the largest elements, found so along an axis of any length."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """What the first round is given, and a round: which element, its index, what the next round is given."""

    start: Value
    round: Callable[[Builder, Value], tuple[Value, Value, Value]]


def reduced(builder: Builder, name: str, value: Value, axis: int, *, keepdims: bool) -> Value:
    """A reduction along one axis."""
    source = tile(value)
    one = (1,) if keepdims else ()
    type_ = source.with_shape((*source.shape[:axis], *one, *source.shape[axis + 1 :]))
    return builder.value(name, (value,), type_, {"axes": (axis,), "keepdims": keepdims}, value.name)


def like(builder: Builder, value: Value, type_: TileType) -> Value:
    """A value repeated to a shape."""
    wanted = type_.with_dtype(tile(value).dtype)
    return value if tile(value).shape == type_.shape else builder.value("broadcast", (value,), wanted)


def packed_rounds(builder: Builder, key: Value, index: Value, axis: int) -> Rounds:
    """Key and index in one integer, which no two elements share."""
    wide = tile(index)
    spare = PACKED_BITS - tile(key).dtype.bits
    mask = (1 << spare) - 1
    high = builder.value("shl", (signed_key(builder, key, wide), filled(builder, wide, spare)), wide)
    low = builder.value("sub", (filled(builder, wide, mask), index), wide)
    both = builder.value("or", (high, low), wide, None, key.name)
    lowest = filled(builder, wide, I64.integer_range[0])

    def step(builder: Builder, left: Value) -> tuple[Value, Value, Value]:
        best = reduced(builder, "max", left, axis, keepdims=True)
        single, spread = tile(best), like(builder, best, wide)
        down = builder.value("and", (best, filled(builder, single, mask)), single)
        place = builder.value("sub", (filled(builder, single, mask), down), single)
        hits = builder.value("eq", (both, spread), wide.with_dtype(BOOL))
        below = builder.value("lt", (both, spread), wide.with_dtype(BOOL))
        return hits, place, builder.value("where", (below, both, lowest), wide, None, key.name)

    return Rounds(both, step)


def paired_rounds(builder: Builder, key: Value, index: Value, axis: int) -> Rounds:
    """The largest key left, then the smallest index that has it."""
    type_, wide = tile(key), tile(index)
    flags = type_.with_dtype(BOOL)
    lowest, last = filled(builder, type_, type_.dtype.integer_range[0]), filled(builder, wide, I64.integer_range[1])

    def step(builder: Builder, left: Value) -> tuple[Value, Value, Value]:
        best = reduced(builder, "max", builder.value("where", (left, key, lowest), type_), axis, keepdims=True)
        equal = builder.value("eq", (key, like(builder, best, type_)), flags)
        among = builder.value("and", (left, equal), flags)
        place = reduced(builder, "min", builder.value("where", (among, index, last), wide), axis, keepdims=True)
        spread = like(builder, place, wide)
        hits = builder.value("eq", (index, spread), flags)
        lower = builder.value("lt", (key, like(builder, best, type_)), flags)
        later = builder.value("and", (equal, builder.value("gt", (index, spread), flags)), flags)
        return hits, place, builder.value("or", (lower, later), flags)

    return Rounds(filled(builder, flags, True), step)


def chosen(builder: Builder, hits: Value, bits: Value, axis: int) -> Value:
    """The bits of the one element that is hit, of extent 1 along the axis."""
    zero = filled(builder, tile(bits), 0)
    found = builder.value("where", (hits, bits, zero), tile(bits), None, bits.name)
    return reduced(builder, "sum", found, axis, keepdims=True)


def in_loop(
    builder: Builder, rounds: Rounds, bits: Value, type_: TileType, axis: int, name: str
) -> tuple[Value, Value]:
    """(bits, indices) of as many elements as `type_` has along the axis; `name` is the loop's own."""
    count = type_.shape[axis]
    kinds = (type_.with_dtype(tile(bits).dtype), type_.with_dtype(I64))
    block = Value(BlockType(name, count, 1), "round")
    left, taken, places = Value(tile(rounds.start), "left"), Value(kinds[0], "taken"), Value(kinds[1], "places")
    inner = builder.nested()
    hits, place, next_left = rounds.round(inner, left)
    numbers = Pairs(inner, type_.shape, axis).positions(count)
    number = inner.value("cast", (inner.value("ordinal", (block,), TileType(I64)),), TileType(DTYPES["i32"]))
    here = inner.value("eq", (numbers, like(inner, number, tile(numbers))), tile(numbers).with_dtype(BOOL))
    spread = like(inner, here, type_)
    yields = [
        inner.value("where", (spread, like(inner, new, kind), old), kind)
        for new, old, kind in zip((chosen(inner, hits, bits, axis), place), (taken, places), kinds, strict=True)
    ]
    inner.emit("yield", (next_left, *yields))
    inits = (rounds.start, *(filled(builder, kind, 0) for kind in kinds))
    region = Region((block, left, taken, places), tuple(inner.ops))
    results = builder.emit("loop", inits, tuple(v.type for v in inits), None, (region,))
    return results[1], results[2]
