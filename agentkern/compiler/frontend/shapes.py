"""Shapes, axes and dtypes as arguments; reshape and transpose."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import Shape
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.subscripts import reshaped
from agentkern.compiler.frontend.values import (
    BlockVar,
    Extent,
    FrontValue,
    Nothing,
    Number,
    Tile,
    Tuple,
    TypeName,
    describe,
    extent_text,
    shape_text,
)
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.diagnostics import Fix
from agentkern.dsl.dtypes import DType


def dtype_of(lw: Lowering, argument: Argument) -> DType:
    """The dtype that an argument names. Errors: AK223."""
    if isinstance(argument.value, TypeName):
        return argument.value.dtype
    lw.fail(
        "AK223",
        argument.node,
        what=describe(argument.value),
        operation="a dtype",
        hint_text="write `ak.f32`, `ak.bf16`, ...",
    )


def extent_of(lw: Lowering, value: FrontValue, node: ast.expr, *, signed: bool = False) -> int | Dim:
    """The extent that a value spells; -1 too where it is `signed`. Errors: AK215, AK218."""
    match value:
        case Number(int() as number) if not isinstance(number, bool) and (number >= 0 or (signed and number == -1)):
            return number
        case Extent(extent):
            return extent
        case BlockVar(scalar=None) as block:
            return block.extent
        case BlockVar():
            return 1
        case Tile():
            lw.fail("AK218", node, what="an extent of a shape")
        case _:
            lw.fail("AK215", node, reason=describe(value))


def shape_of(lw: Lowering, argument: Argument) -> Shape:
    """The shape that an argument spells: a tuple of sizes, or one. Errors: AK215, AK218."""
    if isinstance(argument.value, Tuple):
        nodes = argument.node.elts if isinstance(argument.node, ast.Tuple) else [argument.node] * 99
        pairs = zip(argument.value.items, nodes, strict=False)
        return tuple(extent_of(lw, value, node) for value, node in pairs)
    return (extent_of(lw, argument.value, argument.node),)


def axes_of(lw: Lowering, argument: Argument | None, shape: Shape) -> tuple[int, ...]:
    """The axes that an argument names, sorted; all when it is absent. Errors: AK209, AK218."""
    if argument is None or isinstance(argument.value, Nothing):
        return tuple(range(len(shape)))
    given = argument.value.items if isinstance(argument.value, Tuple) else (argument.value,)
    found: set[int] = set()
    for value in given:
        if not isinstance(value, Number) or isinstance(value.value, bool) or not isinstance(value.value, int):
            if isinstance(value, Number | Tile | Extent):
                lw.fail("AK218", argument.node, what="an axis")
            lw.fail("AK223", argument.node, what=describe(value), operation="axis", hint_text="axes are integers")
        axis = value.value
        if not -len(shape) <= axis < len(shape) or axis % len(shape) in found:
            lw.fail("AK209", argument.node, axis=axis, shape=shape_text(shape), last=len(shape) - 1)
        found.add(axis % len(shape))
    return tuple(sorted(found))


def _resolve(lw: Lowering, have: Shape, wanted: list[int | Dim], node: ast.expr) -> Shape:
    """Replace one -1 by what the other extents leave."""
    open_axes = [k for k, extent in enumerate(wanted) if extent == -1]
    if not open_axes:
        return tuple(wanted)
    # Axes that stay cancel out: extents of blocks are symbols, which do not divide.
    left, given = list(have), []
    for extent in wanted:
        if extent in left:
            left.remove(extent)
        elif extent != -1:
            given.append(extent)
    rest, total = dims.product(tuple(given)), dims.product(tuple(left))
    if len(open_axes) > 1 or rest == 0 or dims.mul(dims.floordiv(total, rest), rest) != total:
        reason = "`-1` stands for one extent that divides the rest"
        lw.fail("AK212", node, got=shape_text(have), wanted=shape_text(tuple(wanted)), reason=reason)
    wanted[open_axes[0]] = dims.floordiv(total, rest)
    return tuple(wanted)


def _segments(lw: Lowering, shape: Shape) -> tuple[list[int | Dim], list[int | Dim]]:
    """Extents of free blocks in order, and the products of the axes before, between and after them."""
    free: list[int | Dim] = []
    products: list[int | Dim] = [1]
    for extent in shape:
        if lw.free_block(extent) is not None:
            free.append(extent)
            products.append(1)
        else:
            products[-1] = dims.mul(products[-1], extent)
    return free, products


def reshape_to(lw: Lowering, have: Shape, arguments: list[Argument], node: ast.expr) -> Shape:
    """The shape that `.reshape(...)` asks for, of as many elements. Errors: AK212, AK215, AK218, AK803."""
    if len(arguments) == 1 and isinstance(arguments[0].value, Tuple):
        items = arguments[0].value.items
        arguments = [Argument(item, arguments[0].node) for item in items]
    extents = [extent_of(lw, argument.value, argument.node, signed=True) for argument in arguments]
    shape = _resolve(lw, have, extents, node)
    if dims.product(shape) != dims.product(have):
        waiting = lw.open_division((*shape, *have))
        if waiting is not None:
            lw.fail("AK803", node, name=waiting)
        number, want = extent_text(dims.product(have)), extent_text(dims.product(shape))
        reason = f"`{number}` elements are not `{want}`"
        lw.fail("AK212", node, got=shape_text(have), wanted=shape_text(shape), reason=reason)
    return shape


def reshape(lw: Lowering, tile: Tile, arguments: list[Argument], node: ast.expr) -> Tile:
    """`tile.reshape(...)`. Errors: AK212, AK404."""
    shape = reshape_to(lw, tile.shape, arguments, node)
    if _segments(lw, shape) != _segments(lw, tile.shape):
        block = next(block for extent in tile.shape if (block := lw.free_block(extent)) is not None)
        lw.fail("AK404", node, block=block.name)
    return reshaped(lw, tile, shape, node)


def bitcast_axis(lw: Lowering, tile: Tile, dtype: DType, node: ast.expr) -> Tile:
    """The bits of the last axis in elements of another width. Errors: AK212, AK803."""
    extent = tile.shape[-1]
    count = dims.floordiv(dims.mul(extent, tile.dtype.bits), dtype.bits)
    shape = (*tile.shape[:-1], count)
    if dims.mul(count, dtype.bits) != dims.mul(extent, tile.dtype.bits):
        waiting = lw.open_division(shape)
        if waiting is not None:
            lw.fail("AK803", node, name=waiting)
        reason = f"`{extent_text(extent)}` elements of {tile.dtype} are no whole number of {dtype}"
        lw.fail("AK212", node, got=shape_text(tile.shape), wanted=f"{dtype}", reason=reason)
    return Tile(lw.emit("bitcast_axis", (tile.value,), TileType(dtype, shape), node))


def transpose(lw: Lowering, tile: Tile, permutation: tuple[int, ...], node: ast.expr) -> Tile:
    """The tile with its axes in another order."""
    if permutation == tuple(range(len(tile.shape))):
        return tile
    type_ = tile.type.with_shape(tuple(tile.shape[axis] for axis in permutation))
    return Tile(lw.emit("transpose", (tile.value,), type_, node, {"permutation": permutation}))


def swap_axes(lw: Lowering, tile: Tile, node: ast.Attribute) -> Tile:
    """`tile.T`. Errors: AK219."""
    check_two_axes(lw, len(tile.shape), node)
    return transpose(lw, tile, (1, 0), node)


def check_two_axes(lw: Lowering, rank: int, node: ast.Attribute) -> None:
    """That what `.T` stands behind has two axes. Errors: AK219."""
    if rank == 2:
        return
    fixes: tuple[Fix, ...] = ()
    if rank > 2:
        axes = ", ".join(map(str, [*range(rank - 2), rank - 1, rank - 2]))
        text = f"{lw.source.operand(node.value)}.transpose({axes})"
        fixes = (lw.source.replace(node, text, "swap the last two axes"),)
    lw.fail("AK219", node, rank=rank, fixes=fixes)
