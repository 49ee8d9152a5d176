"""Expressions: the table from syntax to handler, names and calls."""

from __future__ import annotations

import ast
import difflib
from math import isinf
from typing import NoReturn

from agentkern.compiler.frontend.element_reads import mentions_element, read_elements
from agentkern.compiler.frontend.guarded import ACCESSES
from agentkern.compiler.frontend.inline import call_helper
from agentkern.compiler.frontend.later import BUILTINS, EXPRESSIONS, FOREIGN, LATER, LIBRARIES
from agentkern.compiler.frontend.lowering import ExpressionHandler, Lowering, Rejected
from agentkern.compiler.frontend.methods import handle_attribute, method
from agentkern.compiler.frontend.operations import OPERATIONS, call
from agentkern.compiler.frontend.operators import handle_binary, handle_bool_op, handle_compare, handle_unary
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.spelled import SPELLED, spelled_fix
from agentkern.compiler.frontend.subscripts import handle_subscript
from agentkern.compiler.frontend.tuples import handle_tuple
from agentkern.compiler.frontend.values import (
    NOTHING,
    Extent,
    FrontValue,
    Function,
    Module,
    Number,
    PythonName,
    Text,
    Tile,
    TypeName,
    describe,
)
from agentkern.diagnostics import Edit, Fix
from agentkern.dsl.dtypes import DTYPES

# Names of agentkern that are neither operations nor dtypes nor numbers.
STRUCTURE = (
    "In",
    "Out",
    "InOut",
    "List",
    "kernel",
    "inline",
    "grid",
    "each",
    "steps",
    "elements",
    "parts",
    "segments",
    "static_int",
    "static_bool",
    "static_float",
    "Kernel",
    "compile",
)
# Where those stand that a loop's head calls.
HEADS = {
    **dict.fromkeys(("grid", "steps", "elements"), "heads a loop: `for t in ak.grid(T):`"),
    **dict.fromkeys(("each", "parts"), "is an axis of a grid: `for p in ak.grid(ak.parts(T, 8)):`"),
    "segments": "is an axis of a grid: `for s in ak.grid(ak.segments(offsets)):`",
}
NUMBERS = {"inf": float("inf"), "nan": float("nan")}
PUBLIC = (*OPERATIONS, *ACCESSES, *DTYPES, *NUMBERS, *STRUCTURE)


def public_value(lw: Lowering, name: str, node: Located) -> FrontValue:
    """What `ak.name` stands for. Errors: AK202, AK601."""
    if name in DTYPES:
        return TypeName(DTYPES[name])
    if name in NUMBERS:
        return Number(NUMBERS[name])
    if name in OPERATIONS or name in ACCESSES or name in STRUCTURE:
        return Function(name)
    if name in LATER:
        lw.fail("AK601", node, what=f"`ak.{name}`", instead=LATER[name])
    known = FOREIGN.get(name, "")
    near = [known[1:]] if known.startswith("=") else [] if known else difflib.get_close_matches(name, PUBLIC, 1)
    fixes: tuple[Fix, ...] = ()
    if near and isinstance(node, ast.Attribute):
        text = f"{lw.source.exact(node.value)}.{near[0]}"
        fixes = (lw.source.replace(node, text, f"write `ak.{near[0]}`"),)
    hint = f"did you mean `ak.{near[0]}`?" if near else known or "see the operations table of the language"
    found = lw.diagnostic("AK202", node, name=name, hint_text=hint, fixes=fixes)
    if not known.startswith("="):
        raise Rejected(found)
    # Only a renaming: go on with the name that is meant.
    lw.diagnostics.append(found)
    return public_value(lw, known[1:], node)


def _constant(lw: Lowering, node: ast.expr) -> FrontValue:
    assert isinstance(node, ast.Constant)
    match node.value:
        case float() as number if isinf(number):
            text, hint = lw.source.text_of(node), "write `ak.inf` if infinity is meant"
            lw.fail("AK501", node, value=text, dtype="f64", reason="its magnitude is too large", hint_text=hint)
        case bool() | int() | float():
            return Number(node.value)
        case str():
            return Text(node.value)
        case None:
            return NOTHING
        case _:
            what = "`...` outside a subscript" if node.value is ... else f"a {type(node.value).__name__} literal"
            lw.fail("AK106", node, what=what, instead="values are numbers and tiles")


def unknown_name(lw: Lowering, node: ast.Name) -> FrontValue:
    """Reject a name, offering the nearest one. Errors: AK201; what `unsettled` has of it."""
    if node.id in lw.unsettled:
        raise Rejected(lw.unsettled.pop(node.id))
    if node.id in ("ak", "agentkern") and not any(isinstance(v, Module) for v in lw.scopes[0].values()):
        return _missing_import(lw, node)
    near = difflib.get_close_matches(node.id, lw.visible_names(), 1, 0.6)
    fixes: tuple[Fix, ...] = ()
    hint = "assign it before, or define a size at module level"
    if node.id in lw.ended_in_loop:
        hint = "names bound inside a loop end with it: bind it before the loop, so that the loop carries it"
    elif node.id in lw.ended:
        hint = "names bound inside a grid end with it: store the value, or compute it again"
    elif node.id in LIBRARIES and lw.prefix:
        hint = "operations are those of `ak`: `ak.maximum`, `ak.exp`, ..."
        fixes = (lw.source.replace(node, lw.prefix.rstrip("."), "take the operation of `ak`"),)
    elif near:
        hint = f"did you mean `{near[0]}`?"
        fixes = (lw.source.replace(node, near[0], f"write `{near[0]}`"),)
    elif node.id in PUBLIC and lw.prefix:
        hint = f"did you mean `ak.{node.id}`?"
        fixes = (lw.source.replace(node, f"{lw.prefix}{node.id}", f"write `ak.{node.id}`"),)
    lw.fail("AK201", node, name=node.id, hint_text=hint, fixes=fixes)


def _missing_import(lw: Lowering, node: ast.Name) -> Module:
    """Report the import once and go on as if it were there."""
    lw.scopes[0][node.id] = Module()
    lw.prefix = f"{node.id}."
    text = "import agentkern as ak\n" if node.id == "ak" else "import agentkern\n"
    at = (lw.first_statement, 1)
    fixes = (Fix("import agentkern", (Edit(at, at, text),)),)
    hint = f"begin the file with `{text.strip()}`"
    lw.diagnostics.append(lw.diagnostic("AK201", node, name=node.id, hint_text=hint, fixes=fixes))
    return Module()


def _name(lw: Lowering, node: ast.expr) -> FrontValue:
    assert isinstance(node, ast.Name)
    value = lw.lookup(node.id)
    if value is not None:
        return value
    if node.id in BUILTINS:
        return PythonName(node.id, "builtin")
    return unknown_name(lw, node)


def _attribute(lw: Lowering, node: ast.expr) -> FrontValue:
    assert isinstance(node, ast.Attribute)
    value = lw.need_one(node.value)
    if isinstance(value, Module):
        return public_value(lw, node.attr, node)
    return handle_attribute(lw, value, node)


def _call(lw: Lowering, node: ast.expr) -> FrontValue:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute):
        receiver = lw.need_one(node.func.value)
        if not isinstance(receiver, Module):
            return method(lw, receiver, node)
        if node.func.attr in SPELLED:
            name, hint = node.func.attr, FOREIGN[node.func.attr]
            lw.fail("AK202", node.func, name=name, hint_text=hint, fixes=spelled_fix(lw, node, name))
        callee = public_value(lw, node.func.attr, node.func)
    else:
        callee = lw.need_one(node.func)
    match callee:
        case Function(name) if name in OPERATIONS:
            return call(lw, name, node)
        case Function(name) if name in ACCESSES:
            return ACCESSES[name](lw, node)
        case Function(name):
            where = HEADS.get(name, "is not called in a kernel")
            lw.fail("AK109", node, name=f"ak.{name}", instead=f"`ak.{name}` {where}")
        case PythonName(name, "builtin"):
            _builtin(lw, name, node)
        case PythonName(name, "inline"):
            return call_helper(lw, name, node)
        case PythonName(name, kind):
            instead = "mark it `@ak.inline`" if kind == "function" else "launch kernels one after another"
            lw.fail("AK109", node, name=name, instead=instead, fixes=_mark_inline(lw, name))
        case TypeName(dtype):
            _constructor(lw, dtype.name, node)
        case other:
            lw.fail(
                "AK223", node.func, what=describe(other), operation="a call", hint_text="call operations: `ak.sum(x)`"
            )


def _mark_inline(lw: Lowering, name: str) -> tuple[Fix, ...]:
    function = lw.functions.get(name)
    if function is None or function.decorator_list or not lw.prefix:
        return ()
    at = (function.lineno, 1)
    return (Fix("mark the function as a helper", (Edit(at, at, f"@{lw.prefix}inline\n"),)),)


def _builtin(lw: Lowering, name: str, node: ast.Call) -> NoReturn:
    fixes: tuple[Fix, ...] = ()
    target = {"max": "maximum", "min": "minimum"}.get(name, name) if len(node.args) > 1 else name
    if target in OPERATIONS and lw.prefix:
        fixes = (lw.source.replace(node.func, f"{lw.prefix}{target}", f"use `ak.{target}`"),)
    lw.fail("AK109", node, name=name, instead=BUILTINS[name], fixes=fixes)


def _constructor(lw: Lowering, name: str, node: ast.Call) -> NoReturn:
    fixes: tuple[Fix, ...] = ()
    if len(node.args) == 1 and not node.keywords and lw.prefix:
        inner = node.args[0]
        start, end = lw.source.span(node), lw.source.span(inner)
        simple = isinstance(inner, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        opened, closed = ("", "") if simple else ("(", ")")
        edits = (
            Edit(start.start, end.start, opened),
            Edit(end.end, start.end, f"{closed}.to({lw.prefix}{name})"),
        )
        fixes = (Fix(f"convert with `.to(ak.{name})`", edits),)
    lw.fail("AK109", node, name=f"ak.{name}", instead=f"convert with `.to(ak.{name})`", fixes=fixes)


def _subscript(lw: Lowering, node: ast.expr) -> FrontValue:
    assert isinstance(node, ast.Subscript)
    if mentions_element(lw, node):
        receiver = lw.need_one(node.value)
        if isinstance(receiver, Tile):
            return read_elements(lw, receiver, node)
    return handle_subscript(lw, node)


def condition(lw: Lowering, node: ast.expr) -> bool:
    """A compile-time truth value. Errors: AK224, AK604, AK803."""
    match lw.need_one(node):
        case Number(value):
            return bool(value)
        case Tile(_, weak=True) | Extent(_, static=True):
            name = next(iter(lw.open_sizes(node)), "")
            lw.fail("AK803", node, name=name)
        case Tile() as scalar if not scalar.shape:
            instead = "pick a value with `ak.where(condition, a, b)`"
            lw.fail("AK604", node, what="`if` on a run-time scalar", instead=instead)
        case other:
            lw.fail("AK224", node, got=describe(other))


def _if_expression(lw: Lowering, node: ast.expr) -> FrontValue:
    assert isinstance(node, ast.IfExp)
    return lw.need_one(node.body if condition(lw, node.test) else node.orelse)


def _unsupported(lw: Lowering, node: ast.expr) -> FrontValue:
    name = type(node).__name__
    what, instead = EXPRESSIONS.get(name, (f"`{name}`", "use the operations of the language"))
    fixes: tuple[Fix, ...] = ()
    if isinstance(node, ast.List):
        comma = "," if len(node.elts) == 1 else ""
        text = f"({lw.source.exact(node)[1:-1]}{comma})"
        fixes = (lw.source.replace(node, text, "write a tuple"),)
    lw.fail("AK106", node, what=what, instead=instead, fixes=fixes)


HANDLERS: dict[type[ast.expr], ExpressionHandler] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.BinOp: handle_binary,
    ast.UnaryOp: handle_unary,
    ast.Compare: handle_compare,
    ast.BoolOp: handle_bool_op,
    ast.IfExp: _if_expression,
    ast.Tuple: handle_tuple,
    ast.expr: _unsupported,
}
