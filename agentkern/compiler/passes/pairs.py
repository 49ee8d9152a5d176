"""Tiles of all pairs along one axis, in parts that a block can hold: for ranks and counts by comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isqrt

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.expand_arguments import tile
from agentkern.compiler.passes.grid_axes import RESIDENT_ELEMS
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.dsl.dtypes import DTYPES

MOST_PAIRS = 1 << 15  # 64 registers of 512 threads
LONGEST = 256
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

    def positions(self, start: int, count: int | Dim) -> Value:
        """Positions `start`, `start + 1`, ... along the axis, as an i32 tile of extent 1 elsewhere."""
        counts = TileType(DTYPES["i64"], (count,))
        index = self.builder.value("arange", (), counts)
        narrow = self.builder.value("cast", (index,), TileType(I32, (count,)))
        if start:
            first = self.builder.value("constant", (), TileType(I32), {"value": start})
            spread = self.builder.value("broadcast", (first,), TileType(I32, (count,)))
            narrow = self.builder.value("add", (narrow, spread), TileType(I32, (count,)))
        shape = tuple(count if a == self.axis else 1 for a in range(len(self.shape)))
        return self.builder.value("reshape", (narrow,), TileType(I32, shape)) if len(shape) > 1 else narrow

    def cut(self, value: Value, start: int, stop: int) -> Value:
        """A part of a tile along the axis; a tile of extent 1 beside it keeps that."""
        shape = tile(value).shape
        if shape[self.axis] == stop - start:
            return value
        starts = tuple(start if a == self.axis else 0 for a in range(len(shape)))
        stops = tuple(stop if a == self.axis else e for a, e in enumerate(shape))
        part = tuple(stop - start if a == self.axis else e for a, e in enumerate(shape))
        attrs = {"starts": starts, "stops": stops}
        return self.builder.value("slice", (value,), tile(value).with_shape(part), attrs, value.name)

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

    def total(self, parts: list[Value]) -> Value:
        """The sum of integer tiles of one shape."""
        whole = parts[0]
        for part in parts[1:]:
            whole = self.builder.value("add", (whole, part), tile(whole), None, whole.name)
        return whole


def parts_of(
    op: Op, extent: int | Dim, blocks: Mapping[str, int], beside: int | None = None
) -> Iterator[tuple[int, int | Dim]]:
    """Starts and extents of the parts of an axis that stand beside `beside` elements (None: the axis itself) at once.

    Errors: UnsupportedError for an axis that is too long.
    """
    whole = dims.substitute(extent, blocks)
    assert isinstance(whole, int), "`whole_axes` bounds every axis"
    beside = whole if beside is None else beside
    if not isinstance(extent, int):
        if whole * beside > MOST_PAIRS:
            raise _too_long(op, f"of a block of {whole}", f"write a block of at most {isqrt(MOST_PAIRS)}")
        yield 0, extent
        return
    if whole > LONGEST or beside > LONGEST:
        raise _too_long(op, f"of an axis of {max(whole, beside)}", f"axes of up to {RESIDENT_ELEMS} work")
    step = max(min(whole, MOST_PAIRS // max(beside, 1)), 1)
    for start in range(0, whole, step):
        yield start, min(step, whole - start)
    if whole == 0:
        yield 0, 0


def _too_long(op: Op, what: str, hint: str) -> UnsupportedError:
    return UnsupportedError(f"`ak.{op.name}` {what}", hint, op.location)
