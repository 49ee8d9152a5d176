"""Orders and counts: `ak.topk`, `ak.sort`, `ak.bincount`, `ak.occurrence`."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import as_tile
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.operators import Domain, check_domain
from agentkern.compiler.frontend.shapes import extent_of
from agentkern.compiler.frontend.shaping import one_axis
from agentkern.compiler.frontend.values import Extent, FrontValue, Number, Tile, Tuple
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DTYPES

Arguments = dict[str, Argument]
FORMS = {
    "topk": "ak.topk(x, k, axis=-1)",
    "sort": "ak.sort(x, axis=-1)",
    "occurrence": "ak.occurrence(keys, axis=-1)",
    "bincount": "ak.bincount(x, n)",
}


def _operand(
    lw: Lowering, name: str, argument: Argument, arguments: Arguments, node: ast.Call, domain: Domain = "number"
) -> tuple[Tile, int]:
    """The tile and the axis that an operation works along, which is no block of the compiler's size."""
    tile = as_tile(lw, argument.value, argument.node, f"ak.{name}")
    check_domain(lw, domain, tile, argument.node, f"ak.{name}")
    if not tile.shape:
        lw.fail("AK122", argument.node, name=f"ak.{name}", reason="a scalar has no axis", form=FORMS[name])
    axis = one_axis(lw, name, arguments.get("axis"), tile.shape, -1, FORMS[name])
    block = lw.free_block(tile.shape[axis])
    if block is not None:
        lw.fail("AK403", node, operation=f"ak.{name}", axis=axis, block=block.name)
    return tile, axis


def _count(lw: Lowering, k: Argument) -> int:
    match k.value:
        case Number(int() as count) if not isinstance(count, bool):
            if count < 1:
                lw.fail("AK122", k.node, name="ak.topk", reason=f"k is {count}", form=FORMS["topk"])
            return count
        case Extent(_, static=True):
            lw.fail("AK803", k.node, name=lw.open_sizes(k.node)[0])
        case _:
            lw.fail("AK218", k.node, what="`k`")


def topk(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """(values, indices) of the k largest. Errors: AK122, AK206, AK209, AK218, AK403, AK803."""
    tile, axis = _operand(lw, "topk", arguments["x"], arguments, node)
    k = _count(lw, arguments["k"])
    shape = (*tile.shape[:axis], k, *tile.shape[axis + 1 :])
    lw.count_op()
    lw.builder.location = lw.source.location(node)
    types = (TileType(tile.dtype, shape), TileType(I64, shape))
    values, indices = lw.builder.emit("topk", (tile.value,), types, {"axis": axis, "k": k})
    return Tuple((Tile(values), Tile(indices)))


def sort(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """The elements in ascending order along an axis. Errors: AK122, AK206, AK209, AK403."""
    tile, axis = _operand(lw, "sort", arguments["x"], arguments, node)
    return Tile(lw.emit("sort", (tile.value,), tile.type, node, {"axis": axis}))


def occurrence(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """How many equal elements come earlier along an axis. Errors: AK122, AK209, AK403."""
    tile, axis = _operand(lw, "occurrence", arguments["keys"], arguments, node, "any")
    return Tile(lw.emit("occurrence", (tile.value,), tile.type.with_dtype(DTYPES["i32"]), node, {"axis": axis}))


def bincount(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """How many elements are 0, 1, ... n - 1. Errors: AK206, AK215, AK218, AK403."""
    x, n = arguments["x"], arguments["n"]
    tile = as_tile(lw, x.value, x.node, "ak.bincount")
    check_domain(lw, "integer", tile, x.node, "ak.bincount")
    for axis, extent in enumerate(tile.shape):
        block = lw.free_block(extent)
        if block is not None and block.head is None:  # what a loop does with it is checked at its end
            lw.fail("AK403", node, operation="ak.bincount", axis=axis, block=block.name)
    count = extent_of(lw, n.value, n.node)
    return Tile(lw.emit("bincount", (tile.value,), TileType(DTYPES["i32"], (count,)), node))
