"""Operations with regions that run inside a grid: loops in order with carried values, and choices between two regions.

`loop`: operands are the bounds that only the run knows (low, then high), the limits of skipping (`until`, `since`),
then the first values of what is carried. Its region takes the step's block and the carried values of the moment, and
ends in `yield` of the next ones (with `breaks`, then of a bool that ends the loop). The results are the last ones.
Steps that start at or after `until`, or end at or before `since`, change nothing, so they need not run.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, OpSpec, Stage, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.dsl.dtypes import DTYPES

TILE: frozenset[Stage] = frozenset({"tile", "placed"})


def low_name(block: str) -> str:
    """The symbol of a loop's first index, where only the run knows it."""
    return f"{block}.lo"


def high_name(block: str) -> str:
    """The symbol of one past a loop's last index, where only the run knows it."""
    return f"{block}.hi"


@dataclass(frozen=True, slots=True)
class LoopParts:
    """A loop's operands, region arguments and yielded values by their meaning."""

    block: Value
    low: Value | None
    high: Value | None
    until: Value | None
    since: Value | None
    inits: tuple[Value, ...]
    args: tuple[Value, ...]
    yields: tuple[Value, ...]
    stop: Value | None

    @property
    def type(self) -> BlockType:
        """The type of the step's block."""
        assert isinstance(self.block.type, BlockType)
        return self.block.type

    @property
    def limits(self) -> tuple[Value, ...]:
        """The operands that are not carried, in order."""
        return tuple(v for v in (self.low, self.high, self.until, self.since) if v is not None)


def loop_parts(op: Op) -> LoopParts:
    """Take a loop apart."""
    region = op.regions[0]
    block, *args = region.args
    assert isinstance(block.type, BlockType)
    given = iter(op.operands)
    name = block.type.name
    low = next(given) if block.type.first == dims.symbol(low_name(name)) else None
    high = next(given) if block.type.extent == dims.symbol(high_name(name)) else None
    until = next(given) if op.attrs.get("until") else None
    since = next(given) if op.attrs.get("since") else None
    yields = region.ops[-1].operands
    stop = yields[-1] if op.attrs.get("breaks") else None
    yields = yields[:-1] if stop is not None else yields
    return LoopParts(block, low, high, until, since, tuple(given), tuple(args), yields, stop)


def _ends_in_yield(op: Op) -> str | None:
    for region in op.regions:
        if not region.ops or region.ops[-1].name != "yield":
            return "a region ends in `yield`"
    return None


def _is_scalar(value: Value, dtype: str) -> bool:
    return isinstance(value.type, TileType) and value.type.dtype is DTYPES[dtype] and not value.type.shape


def _loop(op: Op) -> str | None:
    wrong = _ends_in_yield(op)
    if wrong is not None:
        return wrong
    region = op.regions[0]
    if not region.args or not isinstance(region.args[0].type, BlockType):
        return "the region's first argument is the step's block"
    parts = loop_parts(op)
    if not all(_is_scalar(limit, "i64") for limit in parts.limits):
        return "bounds and limits are i64 scalars"
    if parts.stop is not None and not _is_scalar(parts.stop, "bool"):
        return "what ends the loop is no bool"
    carried = (parts.inits, parts.args, parts.yields, op.results)
    if len({len(values) for values in carried}) != 1:
        return "one first value, argument, yielded value and result for each carried value"
    for values in zip(*carried, strict=True):
        types = {value.type for value in values}
        if len(types) != 1 or not isinstance(values[0].type, TileType):
            return f"a carried value changes its type: {', '.join(str(value.type) for value in values)}"
    if _symbols_of_step(parts):
        return "a carried value depends on the extent of a step"
    return None


def _symbols_of_step(parts: LoopParts) -> bool:
    types = [value.type for value in parts.args]
    return any(
        parts.type.name in dims.symbols(extent)
        for type_ in types
        if isinstance(type_, TileType)
        for extent in type_.shape
        if isinstance(extent, Dim)
    )


def _branch(op: Op) -> str | None:
    wrong = _ends_in_yield(op)
    if wrong is not None:
        return wrong
    if any(region.args for region in op.regions):
        return "the regions have no arguments"
    if not _is_scalar(op.operands[0], "bool"):
        return "the condition is no bool scalar"
    types = tuple(value.type for value in op.results)
    for region in op.regions:
        if tuple(value.type for value in region.ops[-1].operands) != types:
            return "each region yields the results' types"
    return None


_REGION = frozenset({"region"})
LOOP_ROWS = (
    OpSpec("loop", TILE, None, -1, {"until": False, "since": False, "breaks": False}, 1, _REGION, _loop,
           "blocks of an axis in order, with carried values"),
    OpSpec("branch", TILE, 1, -1, {}, 2, _REGION, _branch, "the first region if the condition holds, else the second"),
    OpSpec("yield", TILE, None, 0, {}, 0, frozenset(), None, "what a region gives"),
)  # fmt: skip
