"""Lists of tensors: `pre[n]` is one tensor, picked at compile time or by a run-time number of the whole block."""

from __future__ import annotations

import ast
from dataclasses import replace

from agentkern.compiler.frontend.conversion import cast, constant, size_tile
from agentkern.compiler.frontend.lowering import I64, Lowering, Poisoned
from agentkern.compiler.frontend.tuples import tuple_item
from agentkern.compiler.frontend.values import (
    BlockVar,
    Extent,
    FrontValue,
    Number,
    Records,
    Tensor,
    TensorList,
    Tile,
    Tuple,
    describe,
)
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value


def list_items(lw: Lowering, tensors: TensorList, node: ast.expr) -> tuple[Tensor | Records, ...]:
    """The tensors of a list. Errors: AK803 while their number is open."""
    return tuple(_numbered(lw, tensors, k, node) for k in range(_length(lw, tensors, node)))


def _length(lw: Lowering, tensors: TensorList, node: ast.expr) -> int:
    if not isinstance(tensors.extent, int):
        lw.fail("AK803", node, name=dims.symbols(tensors.extent)[0])
    return tensors.extent


def _numbered(lw: Lowering, tensors: TensorList, number: int, node: ast.expr) -> Tensor | Records:
    """The tensor of a compile-time number."""
    if tensors.table is None:
        return tensors.items[number]
    return _entry(tensors.table, constant(lw, I64, number, node).value)


def _entry(table: Tensor | Records, number: Value) -> Tensor | Records:
    if isinstance(table, Records):
        return Records(replace(table.tensor, entry=number), table.record)
    return replace(table, entry=number)


def list_item(lw: Lowering, tensors: TensorList, node: ast.Subscript) -> FrontValue:
    """`pre[n]`, or `pre[a:b]` as a tuple. Errors: AK208, AK218, AK221, AK222, AK604, AK803."""
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
            case Tile() | BlockVar() | Extent() as number:
                return _picked(lw, tensors, number, node)
            case _:
                pass
    numbers = tuple(Number(k) for k in range(_length(lw, tensors, node)))
    match tuple_item(lw, numbers, node):
        case Number(int() as number):
            return _numbered(lw, tensors, number, node)
        case Tuple(found):
            kept = [item.value for item in found if isinstance(item, Number)]
            return Tuple(tuple(_numbered(lw, tensors, k, node) for k in kept if isinstance(k, int)))
        case other:
            raise AssertionError(other)


def _picked(lw: Lowering, tensors: TensorList, number: FrontValue, node: ast.Subscript) -> FrontValue:
    """The tensor of a run-time number. Errors: AK221, AK604, AK803."""
    _length(lw, tensors, node)
    match number:
        case Extent():
            scalar = size_tile(lw, number, node.slice)
        case BlockVar(scalar=Tile() as scalar) | (Tile(_) as scalar) if not scalar.shape and scalar.dtype.is_integer:
            scalar = cast(lw, scalar, I64, node.slice)
        case Tile() as tile if not tile.dtype.is_integer:
            lw.fail("AK221", node.slice, what=describe(tile))
        case _:
            what = f"a tensor of `{tensors.name}` for each row"
            one = f"pick one for the block: `for {lw.source.text_of(node.slice)} in ak.each(...)`"
            instead = one if isinstance(number, BlockVar) else "pick one with a scalar, or take one stacked tensor"
            lw.fail("AK604", node.slice, what=what, instead=instead)
    lw.picked.add(tensors.name)
    if tensors.table is None:
        raise Poisoned  # what is lowered again knows that this list is picked from
    return _entry(tensors.table, scalar.value)
