"""Lists of tensors: `pre[n]` is one tensor, picked at compile time."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.tuples import tuple_item
from agentkern.compiler.frontend.values import BlockVar, Extent, FrontValue, Records, Tensor, TensorList, Tile
from agentkern.compiler.ir import dims


def list_items(lw: Lowering, tensors: TensorList, node: ast.expr) -> tuple[Tensor | Records, ...]:
    """The tensors of a list. Errors: AK803 while their number is open."""
    if not isinstance(tensors.extent, int):
        lw.fail("AK803", node, name=dims.symbols(tensors.extent)[0])
    return tensors.items


def list_item(lw: Lowering, tensors: TensorList, node: ast.Subscript) -> FrontValue:
    """`pre[n]`, or `pre[a:b]` as a tuple. Errors: AK208, AK218, AK222, AK604, AK803."""
    if isinstance(node.slice, ast.Tuple):
        first = node.slice.elts[0] if node.slice.elts else None
        fixes = ()
        if first is not None and len(node.slice.elts) > 1:
            rest = ", ".join(map(lw.source.exact, node.slice.elts[1:]))
            text = f"{lw.source.exact(node.value)}[{lw.source.exact(first)}][{rest}]"
            fixes = (lw.source.replace(node, text, "pick the tensor first"),)
        hint = f"pick a tensor, then subscript it: `{tensors.name}[n][...]`"
        lw.fail("AK208", node, got=len(node.slice.elts), name=tensors.name, expected=1,
                shape=f"({tensors.extent},)", hint=hint, fixes=fixes)  # fmt: skip
    if not isinstance(node.slice, ast.Slice):
        match lw.need_one(node.slice):
            case Extent(_, static=True) | Tile(_, weak=True):
                lw.fail("AK803", node.slice, name=next(iter(lw.open_sizes(node.slice)), tensors.name))
            case Tile() | BlockVar() | Extent():
                what = f"a run-time position in `{tensors.name}`, a list of tensors,"
                instead = f"unroll: `for n in range({tensors.extent}):`, or take one tensor with a leading axis"
                lw.fail("AK604", node.slice, what=what, instead=instead)
            case _:
                pass
    return tuple_item(lw, list_items(lw, tensors, node), node)
