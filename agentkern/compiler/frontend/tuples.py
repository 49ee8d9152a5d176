"""Tuples: compile-time structure of any values."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import FrontValue, Nothing, Number, Tuple, describe

MAX_TUPLE = 4096  # values: as many as unrolled loops can use with sense


def handle_tuple(lw: Lowering, node: ast.expr) -> FrontValue:
    """`(a, b, *c)`. Errors: AK106."""
    assert isinstance(node, ast.Tuple)
    values = lw.need(*(item.value if isinstance(item, ast.Starred) else item for item in node.elts))
    items: list[FrontValue] = []
    for item, value in zip(node.elts, values, strict=True):
        if not isinstance(item, ast.Starred):
            items.append(value)
        elif isinstance(value, Tuple):
            items += value.items
        else:
            lw.fail("AK106", item, what=f"`*` of {describe(value)}", instead="only a tuple's items are spread out")
    found = Tuple(tuple(items))
    if found.leaves > MAX_TUPLE:
        lw.fail("AK106", node, what=f"a tuple of {found.leaves} values", instead=f"keep at most {MAX_TUPLE}")
    return found


def tuple_item(lw: Lowering, items: tuple[FrontValue, ...], node: ast.Subscript) -> FrontValue:
    """`values[k]` and `values[a:b]` of a tuple. Errors: AK218, AK222, AK504."""
    if isinstance(node.slice, ast.Slice):
        return _tuple_slice(lw, items, node.slice)
    match lw.need_one(node.slice):
        case Number(int() as number) if -len(items) <= number < len(items):
            return items[number]
        case Number(int() as number):
            lw.fail("AK222", node.slice, position=number, axis=0, shape=f"({len(items)},)")
        case _:
            lw.fail("AK218", node.slice, what="the position in a tuple")


def _tuple_slice(lw: Lowering, items: tuple[FrontValue, ...], node: ast.Slice) -> FrontValue:
    bounds: list[int | None] = []
    for bound in (node.lower, node.upper, node.step):
        match Nothing() if bound is None else lw.need_one(bound):
            case Nothing():
                bounds.append(None)
            case Number(int() as number):
                bounds.append(int(number))
            case _:
                assert bound is not None
                lw.fail("AK218", bound, what="a bound of a tuple's slice")
    if bounds[2] == 0:
        lw.fail("AK504", node, reason="a step of 0")
    return Tuple(items[slice(*bounds)])
