"""Functions called by name, `ak.exp(x)`: computed in f32, whatever the element type; compile-time values too."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import as_tile, fix_cast, is_compile_time, operand, weak_tile
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.operators import check_domain
from agentkern.compiler.frontend.values import FrontValue, Text, Tile
from agentkern.dsl.dtypes import DTYPES

F32 = DTYPES["f32"]


def function(lw: Lowering, op: str, x: Argument, node: ast.Call) -> Tile:
    """One function of one operand. A number or a size is rounded to f32 first. Errors: AK206."""
    name = f"ak.{op.removesuffix('_tanh')}"
    found = operand(lw, x.value, x.node, name)
    if is_compile_time(found):
        tile = weak_tile(lw, found, F32, x.node)
        return Tile(lw.emit(op, (tile.value,), tile.type, node), weak=True)
    tile = as_tile(lw, found, x.node, name)
    check_domain(lw, "float", tile, x.node, name)
    if tile.dtype.bits > F32.bits:
        hint = "functions are computed in f32: `.to(ak.f32)`"
        fixes = fix_cast(lw, x.node, F32)
        lw.fail("AK206", x.node, operation=name, got=tile.dtype.name, hint_text=hint, fixes=fixes)
    return Tile(lw.emit(op, (tile.value,), tile.type, node))


def gelu(lw: Lowering, arguments: dict[str, Argument], node: ast.Call) -> FrontValue:
    """`ak.gelu(x)`, or its form by tanh. Errors: AK122, AK206."""
    form = arguments.get("approximate")
    if form is None or (isinstance(form.node, ast.Constant) and form.node.value is None):
        return function(lw, "gelu", arguments["x"], node)
    if form.value != Text("tanh"):
        reason = '`approximate` is `None` or `"tanh"`'
        lw.fail("AK122", form.node, name="ak.gelu", reason=reason, form="ak.gelu(x, approximate=None)")
    return function(lw, "gelu_tanh", arguments["x"], node)
