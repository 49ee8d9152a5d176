"""Statements of a kernel's body: the table from syntax to handler."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.choices import condition_of, lower_if
from agentkern.compiler.frontend.elements import assign_element
from agentkern.compiler.frontend.expressions import condition
from agentkern.compiler.frontend.later import STATEMENTS
from agentkern.compiler.frontend.lists import list_item
from agentkern.compiler.frontend.loops import handle_for
from agentkern.compiler.frontend.lowering import Lowering, Poisoned, Rejected, Returned, StatementHandler
from agentkern.compiler.frontend.operators import operate
from agentkern.compiler.frontend.record_stores import part_written, record_target, store_part
from agentkern.compiler.frontend.recovery import forget
from agentkern.compiler.frontend.subscripts import store
from agentkern.compiler.frontend.values import (
    NOTHING,
    POISON,
    FrontValue,
    Nothing,
    Poison,
    Records,
    Tensor,
    TensorList,
    Tile,
    Tuple,
    describe,
)
from agentkern.compiler.frontend.views import is_place, mark_place


def _rebind(lw: Lowering, target: ast.Name, value: FrontValue) -> None:
    """Bind a name; in a grid, one whose earlier value the body has used would carry it on. Errors: AK410."""
    grid = lw.grid if not lw.calls else None
    carried = grid is not None and target.id in grid.outer and target.id not in grid.bound
    lw.bind(target.id, value)
    if carried and not isinstance(value, Poison):
        lw.fail("AK410", target, name=target.id)


def _bind_target(lw: Lowering, target: ast.expr, value: FrontValue, value_node: ast.expr) -> None:
    match target:
        case ast.Name():
            _rebind(lw, target, value)
        case ast.Subscript():
            _store(lw, target, value, value_node)
        case ast.Tuple() | ast.List():
            _unpack(lw, target, value, value_node)
        case ast.Attribute():
            _store_record(lw, target, value, value_node)
        case _:
            lw.fail("AK105", target, what="this assignment", instead="assign to names, or store: `out[...] = value`")


def _store_record(lw: Lowering, target: ast.Attribute | ast.Subscript, value: FrontValue, value_node: ast.expr) -> None:
    """`out[t].nope = v`, `out[t] = record`. Errors: AK105, AK204, AK601 and those of a store."""
    found = record_target(lw, target)
    if found is None:
        instead = "assign to a name or store to a tensor"
        lw.fail("AK105", target, what="an assignment to an attribute", instead=instead)
    _note_mentioned(lw, target)
    if not isinstance(value, Poison):
        store_part(lw, part_written(lw, found), Argument(value, value_node))


def _unpack(lw: Lowering, target: ast.Tuple | ast.List, value: FrontValue, value_node: ast.expr) -> None:
    if isinstance(value, Poison):
        for item in target.elts:
            _bind_target(lw, item, POISON, value_node)
        return
    if not isinstance(value, Tuple) or len(value.items) != len(target.elts):
        for item in target.elts:
            if isinstance(item, ast.Name):
                lw.bind(item.id, POISON)
        got = f"{len(value.items)} values" if isinstance(value, Tuple) else describe(value)
        what = f"unpacking {got} into {len(target.elts)} names"
        lw.fail("AK105", target, what=what, instead="give one name per value")
    for item, part in zip(target.elts, value.items, strict=True):
        _bind_target(lw, item, part, value_node)


def _store(lw: Lowering, target: ast.Subscript, value: FrontValue, value_node: ast.expr) -> None:
    base = target.value
    while isinstance(base, ast.Subscript):
        base = base.value
    is_tensor = isinstance(base, ast.Name) and isinstance(lw.lookup(base.id), Tensor)
    if base is not target.value and isinstance(base, ast.Name) and is_tensor and not is_place(lw, target.value):
        _note_mentioned(lw, target)
        name = lw.source.text_of(target.value)
        lw.fail("AK313", target, name=name, hint=f"write one subscript: `{base.id}[...] = ...`")
    mark_place(lw, target.value)
    match lw.evaluate(target.value):
        case Tensor() as tensor:
            if isinstance(value, Poison):
                _note_mentioned(lw, target)
                # The subscripts are still checked.
                for item in ast.walk(target.slice):
                    if isinstance(item, ast.Name):
                        lw.evaluate(item)
                return
            store(lw, tensor, target, value, value_node)
        case Poison():
            _note_mentioned(lw, target)
        case Records():
            _store_record(lw, target, value, value_node)
        case TensorList() as tensors:
            _note_mentioned(lw, target)
            list_item(lw, tensors, target)
            instead = f"{lw.source.text_of(target)}[:]"
            lw.fail("AK217", target, name=lw.source.text_of(target), instead=instead, hint=f"write `{instead} = ...`")
        case Tile() if lw.elements is not None:
            assign_element(lw, target, value, value_node)
        case Tile():
            name = lw.source.text_of(target.value)
            lw.fail("AK313", target, name=name)
        case other:
            lw.fail("AK223", target.value, what=describe(other), operation="a store", hint_text="store to an `ak.Out`")


def _note_mentioned(lw: Lowering, node: ast.AST) -> None:
    """Count the tensors that a rejected store names as written: no second error follows."""
    values = [lw.lookup(child.id) for child in ast.walk(node) if isinstance(child, ast.Name)]
    if lw.grid is not None:
        lw.grid.writes.update(value.name for value in values if isinstance(value, Tensor | Records))
        lists = [value for value in values if isinstance(value, TensorList)]
        lw.grid.writes.update(item.name for value in lists for item in (value, *value.items))


def _assign(lw: Lowering, node: ast.stmt) -> None:
    assert isinstance(node, ast.Assign)
    first = node.targets[0]
    lw.assigned = first.id if isinstance(first, ast.Name) else None
    value = lw.evaluate(node.value)
    lw.assigned = None
    for target in node.targets:
        _bind_target(lw, target, value, node.value)


def _annotated(lw: Lowering, node: ast.stmt) -> None:
    assert isinstance(node, ast.AnnAssign)
    if isinstance(node.target, ast.Name):
        lw.bind(node.target.id, POISON)
    start, end = lw.source.location(node.target), lw.source.location(node.annotation)
    fixes = (lw.source.delete((start[2], start[3]), (end[2], end[3]), "leave the annotation out"),)
    lw.fail("AK105", node, what="an annotation in a kernel", instead="write `name = value`", fixes=fixes)


def _augmented(lw: Lowering, node: ast.stmt) -> None:
    assert isinstance(node, ast.AugAssign)
    if isinstance(node.target, ast.Subscript):
        receiver = lw.need_one(node.target.value)
        if isinstance(receiver, Tile) and lw.elements is None:
            lw.fail("AK313", node.target, name=lw.source.text_of(node.target.value))
        load = ast.copy_location(ast.Subscript(node.target.value, node.target.slice, ast.Load()), node.target)
        _store(lw, node.target, _result(lw, node, load), node.value)
        return
    if isinstance(node.target, ast.Attribute):
        load = ast.copy_location(ast.Attribute(node.target.value, node.target.attr, ast.Load()), node.target)
        is_record = record_target(lw, node.target) is not None
        _store_record(lw, node.target, _result(lw, node, load) if is_record else POISON, node.value)
        return
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    _rebind(lw, node.target, _result(lw, node, load))


def _result(lw: Lowering, node: ast.AugAssign, load: ast.expr) -> FrontValue:
    try:
        values = lw.need(load, node.value)
    except Poisoned:
        return POISON
    return operate(lw, node.op, values, [load, node.value], node)


def _if(lw: Lowering, node: ast.stmt) -> None:
    assert isinstance(node, ast.If)
    try:
        value = lw.need_one(node.test)
        is_scalar = isinstance(value, Tile) and not value.weak and not value.shape
        given = condition_of(lw, value, node.test) if is_scalar and isinstance(value, Tile) else None
        chosen = condition(lw, node.test) if given is None else None
    except (Rejected, Poisoned):
        forget(lw, node)
        raise
    if given is not None:
        lower_if(lw, node, given)
    else:
        lw.run(node.body if chosen else node.orelse)


def _expression(lw: Lowering, node: ast.stmt) -> None:
    assert isinstance(node, ast.Expr)
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return
    value = lw.evaluate(node.value)
    if isinstance(value, Poison):
        _note_mentioned(lw, node)
        raise Poisoned
    if not isinstance(value, Nothing) or not isinstance(node.value, ast.Call):
        lw.fail("AK119", node)


def _return(lw: Lowering, node: ast.stmt) -> None:
    """The end of a helper's body. Errors: AK105 in a kernel."""
    assert isinstance(node, ast.Return)
    if not lw.calls:
        _unsupported(lw, node)
    if lw.regions:
        instead = "bind a name, and return it behind the loop or `if`"
        lw.fail("AK105", node, what="`return` in a loop or an `if` of the run", instead=instead)
    raise Returned(NOTHING if node.value is None else lw.evaluate(node.value))


def _pass(lw: Lowering, node: ast.stmt) -> None:
    del lw, node


def _unsupported(lw: Lowering, node: ast.stmt) -> None:
    name = type(node).__name__
    what, instead = STATEMENTS.get(name, (f"`{name}`", "use the statements of the language"))
    if hasattr(node, "body"):
        forget(lw, node)
    lw.fail("AK105", node, what=what, instead=instead)


HANDLERS: dict[type[ast.stmt], StatementHandler] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.For: handle_for,
    ast.If: _if,
    ast.Expr: _expression,
    ast.Pass: _pass,
    ast.Return: _return,
    ast.stmt: _unsupported,
}
