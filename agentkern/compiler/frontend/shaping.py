"""Operations that make and join axes: `ak.arange`, `ak.concat`, `ak.stack`, `ak.repeat`, `ak.last`."""

from __future__ import annotations

import ast
from typing import NoReturn

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import Shape, as_tile, broadcast, common, constant
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.shapes import axes_of, extent_of
from agentkern.compiler.frontend.subscripts import reshaped
from agentkern.compiler.frontend.values import BlockVar, FrontValue, Nothing, Number, Tile, Tuple, describe, shape_text
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.order_ops import joined_extent
from agentkern.compiler.ir.types import TileType

Arguments = dict[str, Argument]
FORMS = {
    "arange": "ak.arange(n)",
    "concat": "ak.concat(tiles, axis=0)",
    "stack": "ak.stack(tiles, axis=0)",
    "repeat": "ak.repeat(x, repeats, axis=None)",
    "last": "ak.last(x, axis=-1)",
}


def _wrong(lw: Lowering, name: str, node: ast.expr, reason: str) -> NoReturn:
    lw.fail("AK122", node, name=f"ak.{name}", reason=reason, form=FORMS[name])


def one_axis(lw: Lowering, name: str, argument: Argument | None, shape: Shape, default: int, text: str) -> int:
    """The one axis that an argument names. Errors: AK122, AK209, AK218."""
    if argument is None:
        return default % max(len(shape), 1)
    axes = axes_of(lw, argument, shape)
    if len(axes) != 1:
        lw.fail("AK122", argument.node, name=f"ak.{name}", reason="it works along one axis", form=text)
    return axes[0]


def _kept_block(lw: Lowering, shape: Shape, axis: int, node: ast.expr) -> None:
    """Reject an axis that is a block of the compiler's size. Errors: AK404."""
    block = lw.free_block(shape[axis])
    if block is not None:
        lw.fail("AK404", node, block=block.name)


def flat_axis(lw: Lowering, name: str, tile: Tile, arguments: Arguments, node: ast.Call, text: str) -> tuple[Tile, int]:
    """The tile and the axis that `axis=` names; without one, all elements in row-major order. Errors: AK122, AK404."""
    given = arguments.get("axis")
    if given is not None and not isinstance(given.value, Nothing):
        return tile, one_axis(lw, name, given, tile.shape, 0, text)
    if len(tile.shape) == 1:
        return tile, 0
    block = next(filter(None, map(lw.free_block, tile.shape)), None)
    if block is not None:
        hint = f"without `axis=` it runs over all elements: name the axis, `axis={len(tile.shape) - 1}`"
        lw.fail("AK404", node, hint=hint, block=block.name)
    return reshaped(lw, tile, (dims.product(tile.shape),), node), 0


def arange(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """The positions 0 to n - 1 as i64. Errors: AK215, AK218, AK405."""
    n = arguments["n"]
    if isinstance(n.value, BlockVar):
        fixes = (lw.source.replace(node, f"{lw.source.exact(n.node)}.index", "use its indices"),)
        lw.fail("AK405", n.node, block=n.value.name, fixes=fixes)
    return Tile(lw.emit("arange", (), TileType(I64, (extent_of(lw, n.value, n.node),)), node))


def _pieces(lw: Lowering, name: str, argument: Argument, node: ast.Call) -> tuple[list[Tile], list[ast.expr]]:
    """The tiles of a tuple in one dtype and of one rank."""
    if not isinstance(argument.value, Tuple) or not argument.value.items:
        _wrong(lw, name, argument.node, f"it takes a tuple of tiles, not {describe(argument.value)}")
    items = list(argument.value.items)
    nodes = argument.node.elts if isinstance(argument.node, ast.Tuple) else [argument.node] * len(items)
    tiles = common(lw, items, nodes, node, f"ak.{name}")
    first = tiles[0].shape
    for tile, at in zip(tiles, nodes, strict=True):
        if len(tile.shape) != len(first):
            _wrong(lw, name, at, f"shapes {shape_text(first)} and {shape_text(tile.shape)} differ in rank")
    return tiles, nodes


def _join(lw: Lowering, name: str, tiles: list[Tile], nodes: list[ast.expr], axis: int, node: ast.Call) -> Tile:
    first = tiles[0].shape
    for tile, at in zip(tiles, nodes, strict=True):
        if any(a != axis and have != want for a, (have, want) in enumerate(zip(tile.shape, first, strict=True))):
            waiting = lw.open_division((*tile.shape, *first))
            if waiting is not None:
                lw.fail("AK803", node, name=waiting)
            _wrong(lw, name, at, f"shapes {shape_text(first)} and {shape_text(tile.shape)} differ beside axis {axis}")
    if len(tiles) == 1:
        return tiles[0]
    shape = (*first[:axis], joined_extent([tile.shape[axis] for tile in tiles]), *first[axis + 1 :])
    operands = tuple(tile.value for tile in tiles)
    return Tile(lw.emit("concat", operands, TileType(tiles[0].dtype, shape), node, {"axis": axis}))


def concat(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """Tiles one after another along an axis. Errors: AK122, AK205, AK209, AK404."""
    tiles, nodes = _pieces(lw, "concat", arguments["tiles"], node)
    if not tiles[0].shape:
        _wrong(lw, "concat", nodes[0], "scalars have no axis: use `ak.stack`")
    axis = one_axis(lw, "concat", arguments.get("axis"), tiles[0].shape, 0, FORMS["concat"])
    for tile, at in zip(tiles, nodes, strict=True):
        _kept_block(lw, tile.shape, axis, at)
    return _join(lw, "concat", tiles, nodes, axis, node)


def stack(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """Tiles along a new axis. Errors: AK122, AK205, AK209."""
    tiles, nodes = _pieces(lw, "stack", arguments["tiles"], node)
    shape = tiles[0].shape
    axis = one_axis(lw, "stack", arguments.get("axis"), (*shape, len(tiles)), 0, FORMS["stack"])
    grown = [reshaped(lw, t, (*t.shape[:axis], 1, *t.shape[axis:]), at) for t, at in zip(tiles, nodes, strict=True)]
    return _join(lw, "stack", grown, nodes, axis, node)


def repeat(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """Every element so many times, one after another along an axis; without one, of all elements in row-major order."""
    x, times = arguments["x"], arguments["repeats"]
    tile = as_tile(lw, x.value, x.node, "ak.repeat")
    if not isinstance(times.value, Number) or type(times.value.value) is not int:
        lw.fail("AK218", times.node, what="`repeats`")
    count = times.value.value
    if count < 0:
        _wrong(lw, "repeat", times.node, f"{count} repeats")
    tile, axis = flat_axis(lw, "repeat", tile, arguments, node, FORMS["repeat"])
    _kept_block(lw, tile.shape, axis, x.node)
    before, extent, after = tile.shape[:axis], tile.shape[axis], tile.shape[axis + 1 :]
    shape = (*before, dims.mul(extent, count), *after)
    if count == 0:
        return broadcast(lw, constant(lw, tile.dtype, False if tile.dtype.kind == "bool" else 0, node), shape, node)
    single = reshaped(lw, tile, (*before, extent, 1, *after), node)
    return reshaped(lw, broadcast(lw, single, (*before, extent, count, *after), node), shape, node)


def last(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    """The last present position of an axis. Errors: AK122, AK209, AK403."""
    x = arguments["x"]
    tile = as_tile(lw, x.value, x.node, "ak.last")
    axis = one_axis(lw, "last", arguments.get("axis"), tile.shape, -1, FORMS["last"])
    block = lw.free_block(tile.shape[axis])
    if block is not None:
        lw.fail("AK403", node, operation="ak.last", axis=axis, block=block.name)
    shape = (*tile.shape[:axis], *tile.shape[axis + 1 :])
    return Tile(lw.emit("last", (tile.value,), tile.type.with_shape(shape), node, {"axis": axis}))
