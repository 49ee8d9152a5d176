"""Loops by what they run over: a grid, or compile-time values, for which the body is unrolled."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NoReturn

from agentkern.compiler.frontend.elements import lower_elements
from agentkern.compiler.frontend.expressions import public_value
from agentkern.compiler.frontend.grids import lower_grid
from agentkern.compiler.frontend.later import LATER
from agentkern.compiler.frontend.lists import list_items
from agentkern.compiler.frontend.lowering import Lowering, Poisoned, Rejected
from agentkern.compiler.frontend.ranges import callee_is
from agentkern.compiler.frontend.recovery import forget
from agentkern.compiler.frontend.steps import lower_steps
from agentkern.compiler.frontend.values import (
    POISON,
    Extent,
    FrontValue,
    Function,
    Module,
    Number,
    Poison,
    PythonName,
    TensorList,
    Tile,
    Tuple,
    describe,
)

MAX_UNROLLED = 1024
AXES = ("each", "parts", "segments")
"""Forms of a grid's axes that are no loops by themselves."""


def handle_for(lw: Lowering, node: ast.stmt) -> None:
    """A loop. Errors: AK105, AK120, AK121, AK408, AK409, AK601."""
    assert isinstance(node, ast.For)
    if node.orelse:
        forget(lw, node)
        lw.fail("AK105", node.orelse[0], what="`else` of a loop", instead="write its statements behind the loop")
    call = node.iter
    if not isinstance(call, ast.Call):
        _over_tuple(lw, node)
        return
    match _callee(lw, call.func):
        case Function("grid"):
            lower_grid(lw, node, call)
        case Function("steps"):
            lower_steps(lw, node, call)
        case Function("elements"):
            lower_elements(lw, node, call)
        case PythonName("range"):
            _range(lw, node, call)
        case Poison():
            forget(lw, node)
        case _:
            _not_a_loop(lw, node)


def _callee(lw: Lowering, node: ast.expr) -> object:
    if isinstance(node, ast.Attribute) and isinstance(lw.evaluate(node.value), Module):
        if node.attr in LATER:
            lw.diagnostics.append(lw.diagnostic("AK601", node, what=f"`ak.{node.attr}`", instead=LATER[node.attr]))
            return POISON
        return public_value(lw, node.attr, node)
    return lw.evaluate(node)


def _over_tuple(lw: Lowering, node: ast.For) -> None:
    match lw.evaluate(node.iter):
        case Tuple(items):
            _unroll(lw, node, items)
        case TensorList() as tensors:
            _over_list(lw, node, tensors)
        case Poison():
            forget(lw, node)
        case _:
            _not_a_loop(lw, node)


def _over_list(lw: Lowering, node: ast.For, tensors: TensorList) -> None:
    try:
        items = list_items(lw, tensors, node.iter)
    except Rejected:
        forget(lw, node)
        raise
    _unroll(lw, node, items)


def _unroll(lw: Lowering, node: ast.For, items: Sequence[FrontValue]) -> None:
    """The body once per value."""
    if len(items) > MAX_UNROLLED:
        forget(lw, node)
        lw.fail("AK409", node.iter, count=len(items), limit=MAX_UNROLLED)
    for item in items:
        lw.count_op()
        _bind(lw, node, node.target, item)
        lw.run(node.body)


def _bind(lw: Lowering, node: ast.For, target: ast.expr, value: FrontValue) -> None:
    """Bind a loop's variables to one of its values; a tuple of names unpacks."""
    match target, value:
        case ast.Name(), _:
            lw.bind(target.id, value)
        case ast.Tuple() | ast.List(), Tuple(items) if len(items) == len(target.elts):
            for name, item in zip(target.elts, items, strict=True):
                _bind(lw, node, name, item)
        case _:
            forget(lw, node)
            reason = f"the loop's variables do not fit {describe(value)}"
            lw.fail("AK121", target, reason=reason, hint="write one name per value: `for a, b in ((1, 2), (3, 4)):`")


def _not_a_loop(lw: Lowering, node: ast.For) -> NoReturn:
    forget(lw, node)
    if isinstance(node.iter, ast.Call) and any(callee_is(lw, node.iter.func, name) for name in AXES) and lw.prefix:
        text = lw.source.exact(node.iter)
        fixes = (lw.source.replace(node.iter, f"{lw.prefix}grid({text})", "make it an axis of a grid"),)
        instead = "it is an axis of a grid: `for s in ak.grid(ak.segments(offsets)):`"
        lw.fail("AK105", node.iter, what=f"a loop over `{lw.source.text_of(node.iter)}`", instead=instead, fixes=fixes)
    instead = "loops are `ak.grid`, in a grid `ak.steps`, and `range` over a compile-time number"
    lw.fail("AK105", node.iter, what=f"a loop over `{lw.source.text_of(node.iter)}`", instead=instead)


def _range(lw: Lowering, node: ast.For, call: ast.Call) -> None:
    values = [lw.evaluate(item) for item in call.args]
    if any(isinstance(value, Poison) for value in values) or call.keywords or not 1 <= len(values) <= 3:
        forget(lw, node)
        if call.keywords or not 1 <= len(values) <= 3:
            lw.fail("AK122", call, name="range", reason="it takes one to three numbers", form="range(lo, hi, step)")
        raise Poisoned
    numbers: list[int] = []
    if len(values) == 1 and lw.grid is None and isinstance(values[0], Extent) and not values[0].static:
        # A grid is meant: say so, and go on as if it were written.
        _report_run_time_range(lw, call, call.args[0])
        lower_grid(lw, node, call)
        return
    for value, item in zip(values, call.args, strict=True):
        if not isinstance(value, Number) or isinstance(value.value, bool) or not isinstance(value.value, int):
            forget(lw, node)
            _range_of_run_time(lw, node, call, item, value)
        else:
            numbers.append(value.value)
    if len(numbers) == 3 and numbers[2] == 0:
        lw.fail("AK504", call, reason="a step of 0")
    steps = range(*numbers)
    if len(steps) > MAX_UNROLLED:
        forget(lw, node)
        lw.fail("AK409", call, count=len(steps), limit=MAX_UNROLLED)
    _unroll(lw, node, [Number(number) for number in steps])


def _range_of_run_time(lw: Lowering, node: ast.For, call: ast.Call, item: ast.expr, value: object) -> None:
    text = lw.source.text_of(item)
    if isinstance(value, Extent) and value.static:
        name = next(iter(lw.open_sizes(item)), text)
        lw.fail("AK803", item, name=name)
    if not isinstance(value, Extent | Tile):
        what = "the bound of `range`"
        lw.fail("AK218", item, what=what)
    lw.fail("AK408", call, what=text)


def _report_run_time_range(lw: Lowering, call: ast.Call, item: ast.expr) -> None:
    fixes = (lw.source.replace(call.func, f"{lw.prefix}grid", "make it a grid"),) if lw.prefix else ()
    lw.diagnostics.append(lw.diagnostic("AK408", call, what=lw.source.text_of(item), fixes=fixes))
