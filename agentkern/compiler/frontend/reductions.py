"""Reductions over axes: `ak.sum`, `ak.max` and the rest."""

from __future__ import annotations

import ast
from collections.abc import Callable

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import as_tile, cast, constant, fix_cast
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.operators import Domain, check_domain, unary
from agentkern.compiler.frontend.shapes import axes_of
from agentkern.compiler.frontend.values import Extent, FrontValue, Nothing, Number, Tile
from agentkern.compiler.ir.order_ops import ARGUMENTS
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DTYPES

_DOMAINS: dict[str, Domain] = {"mean": "float"}
_OF_TWO = {"max": "maximum", "min": "minimum"}


def _check_form(lw: Lowering, name: str, arguments: dict[str, Argument], node: ast.Call) -> bool:
    axis, keepdims = arguments.get("axis"), arguments.get("keepdims")
    if axis is not None and name in _OF_TWO and _is_value(axis.value):
        other = _OF_TWO[name]
        fixes = ()
        if isinstance(node.func, ast.Attribute):
            text = f"{lw.source.exact(node.func.value)}.{other}"
            fixes = (lw.source.replace(node.func, text, f"use `ak.{other}`"),)
        reason = "the second argument is an axis, not a value"
        hint = f"the {'larger' if name == 'max' else 'smaller'} of two values is `ak.{other}(a, b)`"
        text = f"ak.{name}(x, axis=None, keepdims=False)"
        lw.fail("AK122", node, name=f"ak.{name}", reason=reason, form=text, hint=hint, fixes=fixes)
    if keepdims is None:
        return False
    if isinstance(keepdims.value, Number) and isinstance(keepdims.value.value, bool):
        return keepdims.value.value
    lw.fail("AK218", keepdims.node, what="`keepdims`")


def _is_value(value: FrontValue) -> bool:
    """Whether what stands for an axis can be none: a tile, a size, a number with a point."""
    return isinstance(value, Tile | Extent) or (isinstance(value, Number) and isinstance(value.value, float))


def reduction(name: str) -> Callable[[Lowering, dict[str, Argument], ast.Call], FrontValue]:
    """The rule of one reduction. Errors: AK122, AK206, AK209, AK403."""

    def rule(lw: Lowering, arguments: dict[str, Argument], node: ast.Call) -> FrontValue:
        keepdims = _check_form(lw, name, arguments, node)
        x = arguments["x"]
        tile = checked(lw, name, as_tile(lw, x.value, x.node, f"ak.{name}"), x.node, f"ak.{name}")
        axis = arguments.get("axis")
        axes = axes_of(lw, axis, tile.shape)
        for k in axes:
            block = lw.free_block(tile.shape[k])
            if block is not None and not (block.head is not None and _is_order_free(name, tile)):
                if axis is None or isinstance(axis.value, Nothing):
                    hint = "without `axis=` all axes are reduced: name those that are meant, `axis=1`"
                    lw.fail("AK403", node, hint=hint, operation=f"ak.{name}", axis=k, block=block.name)
                lw.fail("AK403", axis.node, operation=f"ak.{name}", axis=k, block=block.name)
        argument = name in ARGUMENTS
        if not axes:
            if argument:
                return constant(lw, I64, 0, node)
            return unary(lw, "abs", "number", tile, x.node, node) if name == "absmax" else tile
        shape = tuple(1 if k in axes else e for k, e in enumerate(tile.shape) if keepdims or k not in axes)
        attrs = {"axes": axes, "keepdims": keepdims}
        type_ = TileType(I64 if argument else tile.dtype, shape)
        return Tile(lw.emit(name, (tile.value,), type_, node, attrs))

    return rule


def _is_order_free(name: str, tile: Tile) -> bool:
    """Whether cutting an axis cannot show in the result; what a loop does with it is checked at its end."""
    return name in ("max", "min", "absmax", "any", "all") or (name == "sum" and not tile.dtype.is_float)


def checked(lw: Lowering, name: str, tile: Tile, node: ast.expr, operation: str) -> Tile:
    """The operand of a reduction of this name, in a dtype that it takes. Errors: AK206."""
    if name in ("any", "all"):
        if tile.dtype.kind != "bool":
            hint = "compare it first: `x != 0`"
            fixes = (lw.source.insert_after(node, " != 0", "compare with 0"),)
            lw.fail("AK206", node, operation=operation, got=tile.dtype.name, hint_text=hint, fixes=fixes)
        return tile
    if tile.dtype.kind == "bool":
        if name == "sum" or name in ARGUMENTS:
            return cast(lw, tile, DTYPES["i32"], node)
        hint = f"use `ak.{'all' if name == 'min' else 'any'}`, or convert: `.to(ak.i32)`"
        fixes = fix_cast(lw, node, DTYPES["i32"])
        lw.fail("AK206", node, operation=operation, got="bool", hint_text=hint, fixes=fixes)
    check_domain(lw, _DOMAINS.get(name, "number"), tile, node, operation)
    return tile
