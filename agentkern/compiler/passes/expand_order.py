"""Spell sorts, ranks and counts in comparisons and plain reductions.

The rank of an element is how many go before it; a sort of a short axis puts every element where its rank says, that of
a longer one sorts keys with their positions (`sorted_order.py`). The `k` largest are found one after another, each the
largest of those below the one before, where `k` is small, and first in that order where it is not. Equal elements are
told apart by their positions, so that every rank occurs once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.expand_arguments import (
    PACKED_BITS,
    filled,
    flat_index,
    ordered_key,
    tile,
)
from agentkern.compiler.passes.expand_shapes import bits_of, from_bits
from agentkern.compiler.passes.grid_axes import is_kept
from agentkern.compiler.passes.order_rounds import (
    MOST_ROUNDS,
    Rounds,
    chosen,
    in_loop,
    like,
    packed_rounds,
    paired_rounds,
    reduced,
)
from agentkern.compiler.passes.pairs import I32, Pairs
from agentkern.compiler.passes.rewrite import rewrite
from agentkern.compiler.passes.sorted_order import Sorting, is_sorted
from agentkern.compiler.passes.split_reductions import most_of_blocks
from agentkern.dsl.dtypes import DTYPES

I64, BOOL = DTYPES["i64"], DTYPES["bool"]
FEW_ROUNDS = 8
"""Rounds that stand one behind the other; more are a loop, of a tenth of the text at 64."""


def _axis(op: Op) -> int:
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    return axis


def _earlier(builder: Builder, key: Value, axis: int, *, smaller: bool) -> Value:
    """How many elements go before each: equals by position, and with `smaller` those that are."""
    shape = tile(key).shape
    pairs = Pairs(builder, shape, axis)
    theirs, mine = pairs.second(key, shape[axis]), pairs.first(key, shape[axis])
    place = Pairs(builder, tuple(1 for _ in shape), axis)
    numbers = place.positions(shape[axis])
    before = pairs.binary("lt", place.second(numbers, 1), place.first(numbers, 1))
    goes = pairs.binary("and", pairs.binary("eq", theirs, mine), before)
    if smaller:
        goes = pairs.binary("or", goes, pairs.binary("lt", theirs, mine))
    ones = builder.value("cast", (goes,), tile(goes).with_dtype(I32))
    return reduced(builder, "sum", ones, axis + 1, keepdims=False)


def _placed(builder: Builder, rank: Value, value: Value, axis: int) -> Value:
    """Unsigned integers by their ranks: position r of the result is the element of rank r."""
    shape = tile(value).shape
    pairs, place = Pairs(builder, shape, axis), Pairs(builder, tuple(1 for _ in shape), axis)
    hits = pairs.binary("eq", pairs.first(rank, 1), place.second(place.positions(shape[axis]), 1))
    spread = pairs.first(value, shape[axis])
    found = builder.value("where", (hits, spread, filled(builder, tile(spread), 0)), tile(spread), None, value.name)
    return reduced(builder, "sum", found, axis, keepdims=False)


def _stacked(builder: Builder, values: list[Value], type_: TileType, axis: int) -> Value:
    """Tiles of extent 1 along an axis, one after another."""
    place = Pairs(builder, type_.shape, axis)
    index = place.positions(len(values))
    whole = like(builder, values[0], type_)
    for number, value in enumerate(values[1:], 1):
        here = builder.value("eq", (index, filled(builder, tile(index), number)), tile(index).with_dtype(BOOL))
        chosen = (like(builder, here, type_), like(builder, value, type_), whole)
        whole = builder.value("where", chosen, tile(whole))
    return whole


@dataclass(frozen=True, slots=True)
class _Rule:
    """The rewriting of one kernel's operations."""

    blocks: Mapping[str, int]
    facts: Facts
    numbers: Iterator[int]

    def __call__(self, op: Op, builder: Builder) -> tuple[Value, ...] | None:
        match op.name:
            case "sort":
                return (self.sort(op, builder),)
            case "occurrence":
                return (self.occurrence(op, builder),)
            case "bincount":
                return None if self.is_counted_in_memory(op) else (_bincount(op, builder),)
            case "topk":
                return self.topk(op, builder)
            case _:
                return None

    def is_counted_in_memory(self, op: Op) -> bool:
        """Whether counters of a number known here and a tile that a block keeps can meet in shared memory."""
        source, result = tile(op.operands[0]), tile(op.result)
        kept = all(is_kept(extent, self.blocks) for extent in source.shape)
        return bool(source.shape) and isinstance(result.shape[0], int) and kept

    def is_sorted(self, op: Op) -> bool:
        return is_sorted(tile(op.operands[0]).shape[_axis(op)], self.blocks)

    def sorting(self, op: Op, builder: Builder) -> Sorting:
        """Orders along an operation's axis."""
        return Sorting(builder, _axis(op), self.blocks, self.most(tile(op.operands[0]).shape[_axis(op)]))

    def most(self, extent: int | Dim) -> int | None:
        """The elements that an axis has at most; None where nothing bounds them."""
        return self.facts.interval(self.facts.simplify(dims.substitute(extent, self.blocks))).high

    def occurrence(self, op: Op, builder: Builder) -> Value:
        if self.is_sorted(op):
            return self.sorting(op, builder).occurrences(op.operands[0], op.result.name)
        return _earlier(builder, op.operands[0], _axis(op), smaller=False)

    def sort(self, op: Op, builder: Builder) -> Value:
        value = op.operands[0]
        if self.is_sorted(op):
            sorting = self.sorting(op, builder)
            return sorting.taken(value, sorting.places(value), op.result.name)
        rank = _earlier(builder, ordered_key(builder, value), _axis(op), smaller=True)
        bits = _placed(builder, rank, bits_of(builder, value), _axis(op))
        return from_bits(builder, bits, tile(value).dtype, op.result.name)

    def topk(self, op: Op, builder: Builder) -> tuple[Value, Value]:
        value, axis, k = op.operands[0], _axis(op), op.attrs["k"]
        assert isinstance(k, int)
        if k > MOST_ROUNDS:  # of an axis that is sorted: it has as many elements
            return self.first_of_sorted(op, builder)
        key, bits = ordered_key(builder, value), bits_of(builder, value)
        index = flat_index(builder, tile(key), (axis,), self.blocks)
        type_ = tile(op.results[0])
        if k > FEW_ROUNDS and is_kept(tile(value).shape[axis], self.blocks):
            rounds = self.rounds(builder, key, index, axis)
            taken, places = in_loop(builder, rounds, bits, type_, axis, f"%topk.{next(self.numbers)}")
        else:
            found = self.in_rounds(builder, key, bits, index, axis, k)
            places = _stacked(builder, [i for _, i in found], type_.with_dtype(I64), axis)
            taken = _stacked(builder, [b for b, _ in found], type_.with_dtype(tile(bits).dtype), axis)
        return from_bits(builder, taken, type_.dtype, op.results[0].name), places

    def first_of_sorted(self, op: Op, builder: Builder) -> tuple[Value, Value]:
        """The first `k` of the descending order."""
        sorting = self.sorting(op, builder)
        places = sorting.places(op.operands[0], descending=True)
        type_ = tile(places)
        starts = tuple(0 for _ in type_.shape)
        stops = tuple(op.attrs["k"] if a == sorting.axis else extent for a, extent in enumerate(type_.shape))
        attrs = {"starts": starts, "stops": stops}
        first = builder.value("slice", (places,), tile(op.results[1]), attrs, op.results[1].name)
        return sorting.taken(op.operands[0], first, op.results[0].name), first

    def in_rounds(
        self, builder: Builder, key: Value, bits: Value, index: Value, axis: int, k: int
    ) -> list[tuple[Value, Value]]:
        """(bits, index) of the largest, the second largest, and so on, of extent 1 along the axis."""
        rounds = self.rounds(builder, key, index, axis)
        left, found = rounds.start, list[tuple[Value, Value]]()
        for _ in range(k):
            hits, place, left = rounds.round(builder, left)
            found.append((chosen(builder, hits, bits, axis), place))
        return found

    def rounds(self, builder: Builder, key: Value, index: Value, axis: int) -> Rounds:
        """Rounds over keys with their indices in one integer each, where those fit."""
        spare = PACKED_BITS - tile(key).dtype.bits
        most = self.most(tile(key).shape[axis])
        packs = spare > 0 and most is not None and most <= 1 << spare
        return (packed_rounds if packs else paired_rounds)(builder, key, index, axis)


def _bincount(op: Op, builder: Builder) -> Value:
    value, result = op.operands[0], tile(op.result)
    source = tile(value)
    shape = (*source.shape, result.shape[0])
    single = builder.value("reshape", (value,), source.with_shape((*source.shape, 1)), None, value.name)
    wide = single if source.dtype is I64 else builder.value("cast", (single,), tile(single).with_dtype(I64))
    numbers = builder.value("arange", (), TileType(I64, result.shape))
    spread = builder.value("broadcast", (numbers,), TileType(I64, shape)) if source.shape else numbers
    hits = builder.value("eq", (like(builder, wide, TileType(I64, shape)), spread), TileType(BOOL, shape))
    ones = builder.value("cast", (hits,), TileType(I32, shape))
    attrs = {"axes": tuple(range(source.rank)), "keepdims": False}
    return builder.value("sum", (ones,), result, attrs, op.result.name) if source.shape else ones


def expand_order(kernel: Kernel) -> Kernel:
    """Comparisons and reductions for every `topk`, `sort`, `bincount` and `occurrence`."""
    return rewrite(kernel, _Rule(most_of_blocks(kernel), Facts.of_sizes(kernel.sizes), itertools.count()))
