"""The module level of a kernel file: imports of agentkern, literals, sizes, functions."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.decorators import read_decorator
from agentkern.compiler.frontend.expressions import PUBLIC, public_value
from agentkern.compiler.frontend.lowering import Lowering, Rejected
from agentkern.compiler.frontend.record_types import UNNAMED
from agentkern.compiler.frontend.values import (
    POISON,
    Extent,
    FrontValue,
    Function,
    Module,
    Nothing,
    Number,
    Poison,
    PythonName,
    RecordName,
    Text,
    Tile,
    Tuple,
    TypeName,
    describe,
)
from agentkern.compiler.ir.records import Record
from agentkern.diagnostics import error

PACKAGE = "agentkern"
Functions = dict[str, ast.FunctionDef]


def read_module(lw: Lowering, tree: ast.Module) -> Functions:
    """Bind the module's names and return its kernels, in order."""
    kernels: Functions = {}
    for node in tree.body:
        try:
            _statement(lw, node, kernels)
        except Rejected as e:
            lw.diagnostics.append(e.diagnostic)
    return kernels


def _statement(lw: Lowering, node: ast.stmt, kernels: Functions) -> None:
    match node:
        case ast.Import():
            _import(lw, node)
        case ast.ImportFrom():
            _import_from(lw, node)
        case ast.Assign(targets=[target]):
            _assign(lw, target, node.value)
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            _assign(lw, target, value)
        case ast.FunctionDef():
            _function(lw, node, kernels)
        case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
            return
        case _:
            lw.fail("AK107", node, what=_what(node))


def _what(node: ast.stmt) -> str:
    names: dict[type[ast.stmt], str] = {
        ast.ClassDef: "a class",
        ast.Expr: "an expression",
        ast.If: "`if`",
        ast.For: "`for`",
        ast.While: "`while`",
        ast.AsyncFunctionDef: "`async def`",
        ast.Assign: "a chained assignment",
    }
    return names.get(type(node), f"`{type(node).__name__.lower()}`")


def _import(lw: Lowering, node: ast.Import) -> None:
    for alias in node.names:
        if alias.name != PACKAGE:
            _foreign_import(lw, node, alias.name)
        lw.bind(alias.asname or alias.name, Module())
        lw.prefix = f"{alias.asname or alias.name}."


def _foreign_import(lw: Lowering, node: ast.Import | ast.ImportFrom, module: str) -> None:
    for alias in node.names:
        lw.bind((alias.asname or alias.name).split(".")[0], POISON)
    fixes = ()
    if len(node.names) == 1:
        _, _, line, column = lw.source.location(node)
        end = (line + 1, 1) if line < len(lw.source.lines) else (line, column)
        fixes = (lw.source.delete((node.lineno, 1), end, "remove the import"),)
    lw.fail("AK108", node, module=module, fixes=fixes)


def _import_from(lw: Lowering, node: ast.ImportFrom) -> None:
    if node.module == "__future__" and not node.level:
        return
    if node.module != PACKAGE or node.level:
        _foreign_import(lw, node, f"{'.' * node.level}{node.module or ''}")
    if not any(isinstance(value, Module) for value in lw.scopes[0].values()):
        lw.prefix = ""
    for alias in node.names:
        name = alias.asname or alias.name
        lw.bind(name, POISON)
        if alias.name == "*":
            for public in PUBLIC:
                lw.bind(public, public_value(lw, public, node))
            lw.imported.update(PUBLIC)
            continue
        lw.imported.add(name)
        lw.bind(name, public_value(lw, alias.name, alias))


def _assign(lw: Lowering, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        _bind(lw, target, value, lw.evaluate(value))
        return
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for item, part in zip(target.elts, value.elts, strict=True):
            _assign(lw, item, part)
        return
    lw.fail("AK107", target, what="this assignment")


def _is_defined(lw: Lowering, name: str) -> bool:
    """Whether the file itself defines a name; imported ones may be shadowed, as in Python."""
    return name in lw.scopes[0] and name not in lw.imported and not isinstance(lw.scopes[0][name], Poison)


def _bind(lw: Lowering, target: ast.Name, node: ast.expr, value: FrontValue) -> None:
    if _is_defined(lw, target.id):
        lw.bind(target.id, POISON)
        lw.fail("AK114", target, name=target.id, what="name at module level")
    match value:
        case Number() | Extent() | Text() | TypeName() | Nothing() | Poison():
            lw.bind(target.id, value)
        case RecordName(record):
            # the first name is the record's own
            named = Record(target.id, record.fields) if record.name == UNNAMED else record
            lw.bind(target.id, RecordName(named))
        case Tuple(items) if all(isinstance(item, Number | Extent | Text | TypeName) for item in items):
            lw.bind(target.id, value)
        case Tile():
            # It waits for a static size: each use evaluates it where it stands.
            lw.deferred[target.id] = node
        case _:
            lw.bind(target.id, POISON)
            lw.fail("AK107", node, what=describe(value))


def _function(lw: Lowering, node: ast.FunctionDef, kernels: Functions) -> None:
    values = [read_decorator(lw, decorator, node.name) for decorator in node.decorator_list]
    helper = any(
        isinstance(d, ast.Attribute | ast.Name) and ast.unparse(d).endswith("inline") for d in node.decorator_list
    )
    is_kernel = bool(values) and not helper
    lw.functions[node.name] = node
    if helper and Function("inline") in values:
        lw.helpers[node.name] = node
    if _is_defined(lw, node.name):
        what = "kernel" if node.name in kernels else "name at module level"
        lw.diagnostics.append(error("AK114", lw.header(node), name=node.name, what=what))
    kind = "kernel" if is_kernel else "inline" if node.name in lw.helpers else "function"
    lw.bind(node.name, PythonName(node.name, kind))
    if is_kernel:
        kernels[node.name] = node
