"""What one axis of a grid runs over: a size, `ak.each(...)` or `ak.parts(...)`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import Extent, Function, Module, Nothing, Number, Tile, describe
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim

EACH_FORM = "ak.each(lo, hi)"
PARTS_FORM = "ak.parts(N, count)` or `ak.parts(N, block=1024)"


@dataclass(frozen=True, slots=True)
class AxisRange:
    """The indices `first` to `extent - 1`, or `extent` pieces of `whole` indices.

    `block`: the size of the axis' blocks where its form says it. `each`: one index at a time, a scalar.
    """

    extent: int | Dim
    first: int | Dim = 0
    block: int | None = None
    each: bool = False
    whole: int | Dim | None = None


def axis_range(lw: Lowering, node: ast.expr) -> AxisRange:
    """One argument of `ak.grid`. Errors: AK121, AK122, AK215, AK218, AK604, AK803."""
    if isinstance(node, ast.Call) and callee_is(lw, node.func, "each"):
        return _each(lw, node)
    if isinstance(node, ast.Call) and callee_is(lw, node.func, "parts"):
        return _parts(lw, node)
    return AxisRange(_size(lw, node))


def _each(lw: Lowering, node: ast.Call) -> AxisRange:
    if node.keywords or not 1 <= len(node.args) <= 2:
        lw.fail("AK122", node, name="ak.each", reason="it takes one size or two bounds", form=EACH_FORM)
    bounds = [_size(lw, item) for item in node.args]
    low = bounds[0] if len(bounds) == 2 else 0
    return AxisRange(bounds[-1], low, 1, each=True)


def _parts(lw: Lowering, node: ast.Call) -> AxisRange:
    words = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(node.args) == 1 and set(words) == {"block"}:
        block = block_size(lw, lw.need_one(words["block"]), words["block"])
        if block is None:
            lw.fail("AK122", node, name="ak.parts", reason="a piece has a size", form=PARTS_FORM)
        return AxisRange(_size(lw, node.args[0]), block=block)
    if len(node.args) != 2 or words:
        lw.fail("AK122", node, name="ak.parts", reason="it takes a size and a number of pieces", form=PARTS_FORM)
    whole, count = (_size(lw, item) for item in node.args)
    if count == 0:
        lw.fail("AK121", node.args[1], reason="a range in 0 pieces", hint="cut it into one piece at least")
    return AxisRange(count, block=1, whole=whole)


def piece_span(symbol: str, whole: int | Dim, count: int | Dim) -> tuple[int | Dim, int | Dim]:
    """The first index of a piece of `count`, and the one after its last."""
    number = dims.symbol(f"{symbol}.ordinal")
    following = dims.mul(dims.add(number, 1), whole)
    return dims.floordiv(dims.mul(number, whole), count), dims.floordiv(following, count)


def _size(lw: Lowering, node: ast.expr) -> int | Dim:
    match lw.need_one(node):
        case Number(int() as number) if not isinstance(number, bool) and number >= 0:
            return number
        case Extent(extent):
            lw.use_sizes(extent)
            return extent
        case Tile(_, weak=True):
            lw.fail("AK215", node, reason=f"`{lw.source.text_of(node)}`")
        case Tile():
            lw.fail("AK604", node, what="a grid over a run-time value", instead="use a size of a tensor")
        case other:
            lw.fail("AK215", node, reason=describe(other))


def callee_is(lw: Lowering, node: ast.expr, name: str) -> bool:
    """Whether an expression is `ak.name`."""
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(lw.evaluate(node.value), Module)
    return isinstance(node, ast.Name) and lw.lookup(node.id) == Function(name)


def block_size(lw: Lowering, value: object, node: ast.expr) -> int | None:
    """A written block's size; None leaves it to the compiler. Errors: AK121, AK218, AK803."""
    match value:
        case Nothing():
            return None
        case Number(int() as number) if not isinstance(number, bool) and 0 < number < 1 << 31:
            return number
        case Extent(_, static=True):
            lw.fail("AK803", node, name=next(iter(lw.open_sizes(node)), lw.source.text_of(node)))
        case Number(number):
            lw.fail("AK121", node, reason=f"a block of {number}", hint="blocks are positive integers, or `None`")
        case _:
            lw.fail("AK218", node, what="a block's size")
