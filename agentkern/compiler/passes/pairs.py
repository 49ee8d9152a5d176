"""Tiles of all pairs along one short axis: for ranks and counts by comparison."""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.ir.core import Builder, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.expand_arguments import tile
from agentkern.dsl.dtypes import DTYPES

I32 = DTYPES["i32"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Axis `axis` of a tile beside itself: elements on that axis, their partners on a new one behind it."""

    builder: Builder
    shape: tuple[int | Dim, ...]
    axis: int

    def type(self, like: Value, mine: int | Dim, theirs: int | Dim) -> TileType:
        """The type of a tile of pairs."""
        return tile(like).with_shape((*self.shape[: self.axis], mine, theirs, *self.shape[self.axis + 1 :]))

    def first(self, value: Value, theirs: int | Dim) -> Value:
        """An element's own value, beside so many partners."""
        mine = tile(value).shape[self.axis]
        return self._spread(value, self.type(value, mine, 1), self.type(value, mine, theirs))

    def second(self, value: Value, mine: int | Dim) -> Value:
        """A partner's value, beside so many elements."""
        theirs = tile(value).shape[self.axis]
        return self._spread(value, self.type(value, 1, theirs), self.type(value, mine, theirs))

    def _spread(self, value: Value, single: TileType, whole: TileType) -> Value:
        placed = self.builder.value("reshape", (value,), single, None, value.name)
        return self.builder.value("broadcast", (placed,), whole, None, value.name) if single != whole else placed

    def positions(self, count: int | Dim) -> Value:
        """Positions 0, 1, ... along the axis, as an i32 tile of extent 1 elsewhere."""
        index = self.builder.value("arange", (), TileType(DTYPES["i64"], (count,)))
        narrow = self.builder.value("cast", (index,), TileType(I32, (count,)))
        shape = tuple(count if a == self.axis else 1 for a in range(len(self.shape)))
        return self.builder.value("reshape", (narrow,), TileType(I32, shape)) if len(shape) > 1 else narrow

    def binary(self, name: str, a: Value, b: Value) -> Value:
        """A comparison or a bitwise operation of two tiles that broadcast."""
        pairs = zip(tile(a).shape, tile(b).shape, strict=True)
        shape = tuple(right if left == 1 else left for left, right in pairs)
        operands = tuple(
            v if tile(v).shape == shape else self.builder.value("broadcast", (v,), tile(v).with_shape(shape))
            for v in (a, b)
        )
        dtype = DTYPES["bool"] if name in ("lt", "gt", "eq", "le", "ge", "ne") else tile(a).dtype
        return self.builder.value(name, operands, TileType(dtype, shape))
