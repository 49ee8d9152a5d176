"""Comparisons of the indices of an axis with one number: in 32 bits, on positions in the tile.

Masks are made of them (`ak.arange(S) <= i`). An index is the start of its block, which all elements share, and a
position of a few bits: the number is cut to what positions can tell apart, once, in place of 64 bits an element.
"""

from __future__ import annotations

from typing import Protocol

from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.tile_ops import COMPARISONS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.lower.arithmetic import BOOL, I32, I64
from agentkern.compiler.passes.lower.function import FunctionLowering
from agentkern.dsl.dtypes import DTYPES, DType

MOST = DTYPES["i32"].integer_range[1]
"""Positions are below it, and -1 is below all of them."""


class PositionElements(Protocol):
    """What this file needs of `elements.py`'s class."""

    function: FunctionLowering

    def behind(self, value: Value, register: int | Value) -> tuple[Value, int | Value]:
        """The value behind all views, and the number of the register there."""
        ...


def compared_positions(elements: PositionElements, op: Op, register: int | Value) -> Value | None:
    """The comparison of one register; None where it is not one of an index with a number that all registers share."""
    if op.name not in COMPARISONS or any(_dtype(v) is not I64.dtype for v in op.operands):
        return None
    function = elements.function
    behind = [elements.behind(value, register) for value in op.operands]
    places = [_place(function, base, at) for base, at in behind]
    mine = next((k for k, place in enumerate(places) if place is not None), None)
    if mine is None:
        return None
    number = function.held.get(behind[1 - mine][0])
    place = places[mine]
    if place is None or number is None or number.type != I64:
        return None
    position, start = place
    index = function.index
    low, high = index.add(start, -1), index.add(start, MOST)
    cut = index.subtract(index.minimum(index.maximum(number, low), high), start)
    sides = [position, index.value(cut, I32)] if mine == 0 else [index.value(cut, I32), position]
    operands = tuple(index.value(side, I32) for side in sides)
    return function.builder.value(op.name, operands, BOOL, op.attrs, op.result.name)


def _dtype(value: Value) -> DType:
    assert isinstance(value.type, TileType)
    return value.type.dtype


def _place(function: FunctionLowering, value: Value, register: int | Value) -> tuple[int | Value, int | Value] | None:
    """A register's position in its tile, where its elements are indices, and the index of the first."""
    maker = function.makers.get(value)
    if maker is None or maker.name not in ("index", "arange"):
        return None
    start = function.blocks[maker.operands[0]].start if maker.name == "index" else 0
    return function.coordinate(function.layout(value), 0, register), start
