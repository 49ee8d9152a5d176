"""Expressions: the table from syntax to handler, names and calls."""

from __future__ import annotations

import ast
from math import isinf
from typing import NoReturn

from agentkern.compiler.frontend.element_reads import mentions_element, read_elements
from agentkern.compiler.frontend.elsewhere import ABSENT, CONSTANTS
from agentkern.compiler.frontend.guarded import ACCESSES
from agentkern.compiler.frontend.inline import call_helper
from agentkern.compiler.frontend.later import BUILTINS, EXPRESSIONS, FOREIGN, LATER, LIBRARIES
from agentkern.compiler.frontend.lowering import ExpressionHandler, Lowering, Rejected
from agentkern.compiler.frontend.methods import handle_attribute, method
from agentkern.compiler.frontend.operations import OPERATIONS, call
from agentkern.compiler.frontend.operators import handle_binary, handle_bool_op, handle_compare, handle_unary
from agentkern.compiler.frontend.slips import nearest, slip_of
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
# Names that `ak` and another library have for different things.
OTHERS = (*ACCESSES, *STRUCTURE, "require", "dim", "static", "scratch", "Record", "align", "last")
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
    hint, meant = said_of_unknown(name)
    fixes: tuple[Fix, ...] = ()
    if meant and isinstance(node, ast.Attribute):
        text = meant if name in CONSTANTS else f"{lw.source.exact(node.value)}.{meant}"
        fixes = (lw.source.replace(node, text, f"write `{_as_said(name, meant)}`"),)
    found = lw.diagnostic("AK202", node, name=name, hint_text=hint, fixes=fixes)
    if name in CONSTANTS and isinstance(node, ast.Attribute):
        lw.diagnostics.append(found)
        return Number(float(meant))
    if not FOREIGN.get(name, "").startswith("="):
        raise Rejected(found)
    # Only a renaming: go on with the name that is meant.
    lw.diagnostics.append(found)
    return public_value(lw, meant, node)


def said_of_unknown(name: str) -> tuple[str, str]:
    """What a hint says of a name that `ak` has not, and what a fix may write in its place, which is empty for none.

    A fix is for what is the same under another name, and for a slip of the keyboard in a name that no library has.
    """
    known = FOREIGN.get(name, ABSENT.get(name))
    meant = CONSTANTS.get(name, "")
    if known is None and not meant:
        meant = slip_of(name, PUBLIC) or ""
    elif known is not None and known.startswith("="):
        meant = known[1:]
    if meant:
        said = _as_said(name, meant)
        return (f"write the number: `{said}`" if name in CONSTANTS else f"did you mean `{said}`?"), meant
    if known:
        return known, ""
    near = nearest(name, PUBLIC)
    none = "there is nothing like it" if known is not None else ""
    return "; ".join(part for part in (none, near) if part) or "see the operations table of the language", ""


def _as_said(name: str, meant: str) -> str:
    return meant if name in CONSTANTS else f"ak.{meant}"


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
    fixes: tuple[Fix, ...] = ()
    meant, near = slip_of(node.id, lw.visible_names()), nearest(node.id, lw.visible_names())
    hint = "assign it before, or define a size at module level"
    if node.id in lw.ended_in_loop:
        hint = "names bound inside a loop end with it: bind it before the loop, so that the loop carries it"
    elif node.id in lw.ended:
        hint = "names bound inside a grid end with it: store the value, or compute it again"
    elif node.id in LIBRARIES and lw.prefix:
        hint = "operations are those of `ak`: `ak.maximum`, `ak.exp`, ..."
    elif meant:
        hint = f"did you mean `{meant}`?"
        fixes = (lw.source.replace(node, meant, f"write `{meant}`"),)
    elif node.id in PUBLIC and lw.prefix:
        hint = f"did you mean `ak.{node.id}`?"
        fixes = (lw.source.replace(node, f"{lw.prefix}{node.id}", f"write `ak.{node.id}`"),)
    elif near:
        hint = f"{hint}; {near}"
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


def _reject_library(lw: Lowering, node: ast.Attribute, call: ast.Call | None = None) -> None:
    """Reject `np.exp`, `torch.nn.functional.silu`: a dotted name of another library that is bound to nothing.

    Errors: AK201, with a fix where `ak` has the same function.
    """
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id not in LIBRARIES or not lw.prefix or lw.lookup(root.id) is not None:
        return
    name = node.attr
    if name in PUBLIC:
        hint, meant = f"write `ak.{name}`", name if name not in OTHERS else ""
    elif call is not None and name in SPELLED:
        lw.fail("AK201", root, name=root.id, hint_text=FOREIGN[name], fixes=spelled_fix(lw, call, name))
    else:
        hint, meant = said_of_unknown(name)
    fixes: tuple[Fix, ...] = ()
    if meant:
        text = meant if name in CONSTANTS else f"{lw.prefix}{meant}"
        fixes = (lw.source.replace(node, text, f"write `{_as_said(name, meant)}`"),)
    lw.fail("AK201", root, name=root.id, hint_text=hint, fixes=fixes)


def _attribute(lw: Lowering, node: ast.expr) -> FrontValue:
    assert isinstance(node, ast.Attribute)
    _reject_library(lw, node)
    value = lw.need_one(node.value)
    if isinstance(value, Module):
        return public_value(lw, node.attr, node)
    return handle_attribute(lw, value, node)


def _call(lw: Lowering, node: ast.expr) -> FrontValue:
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute):
        _reject_library(lw, node.func, node)
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
