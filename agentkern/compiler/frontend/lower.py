"""Entry point of the front end: one kernel of a file's text to TILE IR or to diagnostics."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from agentkern.compiler.frontend import expressions, statements
from agentkern.compiler.frontend.decorators import unneeded
from agentkern.compiler.frontend.habits import habit_warnings
from agentkern.compiler.frontend.lowering import MAX_OPERATIONS, Lowering, TooLarge
from agentkern.compiler.frontend.module import read_module
from agentkern.compiler.frontend.names import why_not_kernel
from agentkern.compiler.frontend.records import without_unused
from agentkern.compiler.frontend.signature import Signature, read_signature
from agentkern.compiler.frontend.sinking import grids_of
from agentkern.compiler.frontend.source import MAX_DEPTH, parse_source
from agentkern.compiler.ir.core import Builder, Kernel
from agentkern.compiler.ir.nondeterminism import ATTRIBUTE
from agentkern.compiler.ir.tile_ops import TILE_OPS
from agentkern.diagnostics import Diagnostic, Edit, Fix, Span, error, in_source_order

Scalar = int | float | bool


@dataclass(frozen=True, slots=True)
class FrontendResult:
    """A kernel in the TILE stage, or None with errors; the names of the file's kernels.

    `outline`: the kernel, or its name, parameters and sizes alone where nothing is wrong but that the body waits for
    the numbers of static sizes (AK803). `optional`: tensors that a build may be without, by the setting of their name.
    """

    kernel: Kernel | None
    diagnostics: tuple[Diagnostic, ...]
    kernels: tuple[str, ...]
    outline: Kernel | None = None
    optional: tuple[str, ...] = ()


def lower_source(
    text: str,
    path: str,
    kernel: str | None = None,
    dims: Mapping[str, int] | None = None,
    settings: Mapping[str, Scalar] | None = None,
) -> FrontendResult:
    """Lower one kernel of a file (the first when `kernel` is None).

    `dims` gives static sizes their numbers; one without a number stays a symbol. `settings` gives compile-time
    parameters their values. Never raises on any text.
    """
    source, tree, diagnostics = parse_source(text, path)
    if tree is None:
        return FrontendResult(None, diagnostics, ())
    tables: frozenset[str] = frozenset()
    while True:
        lw = Lowering(source, expressions.HANDLERS, statements.HANDLERS)
        lw.dim_values, lw.tables = dict(dims or {}), tables
        result = _guarded(lw, tree, kernel, settings or {})
        if lw.picked <= tables:
            return result
        tables |= lw.picked  # once more, now that these lists are known to be picked from at run time


def _guarded(lw: Lowering, tree: ast.Module, kernel: str | None, settings: Mapping[str, Scalar]) -> FrontendResult:
    try:
        return _lower(lw, tree, kernel, settings)
    except TooLarge:
        found = error("AK605", Span(lw.source.path), limit=MAX_OPERATIONS)
    except RecursionError:
        found = error("AK104", Span(lw.source.path), depth="too many levels", limit=MAX_DEPTH)
    return FrontendResult(None, in_source_order((*lw.diagnostics, found)), ())


def _lower(lw: Lowering, tree: ast.Module, kernel: str | None, settings: Mapping[str, Scalar]) -> FrontendResult:
    lw.first_statement = _after_header(tree)
    lw.in_module = True
    kernels = read_module(lw, tree)
    lw.in_module = False
    lw.builder = Builder(TILE_OPS)
    names = tuple(kernels)
    _check_dims(lw)
    if not kernels:
        lw.diagnostics.append(error("AK112", Span(lw.source.path), fixes=_mark(lw, tree)))
    elif kernel is not None and kernel not in kernels:
        near = difflib.get_close_matches(kernel, names, 1)
        hint = f"did you mean `{near[0]}`?" if near else None
        available = ", ".join(f"`{name}`" for name in names)
        span = Span(lw.source.path)
        lw.diagnostics.append(error("AK113", span, kernel=kernel, available=available, hint=hint))
    else:
        result = _kernel(lw, kernels[kernel or names[0]], settings)
        diagnostics = in_source_order(tuple(lw.diagnostics))
        if lw.skipped and not diagnostics:
            reason = "a part of the kernel was left out without an error"
            diagnostics = (error("AK901", Span(lw.source.path), reason=reason),)
        errors = {d.code for d in diagnostics if d.severity == "error"}
        if errors:
            outline = replace(result, body=()) if errors == {"AK803"} else None
            return FrontendResult(None, diagnostics, names, outline, lw.optional)
        return FrontendResult(result, diagnostics, names, result, lw.optional)
    return FrontendResult(None, in_source_order(tuple(lw.diagnostics)), names)


def _after_header(tree: ast.Module) -> int:
    """The line of the first statement after the docstring and future imports."""
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (docstring or future):
            return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return 1


def _mark(lw: Lowering, tree: ast.Module) -> tuple[Fix, ...]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if len(functions) != 1 or not lw.prefix:
        return ()
    at = (functions[0].lineno, 1)
    return (Fix("mark the function as a kernel", (Edit(at, at, f"@{lw.prefix}kernel\n"),)),)


def _check_dims(lw: Lowering) -> None:
    for name in lw.dim_values:
        if name not in lw.sizes:
            near = difflib.get_close_matches(name, list(lw.sizes), 1)
            hint = f"did you mean `{near[0]}`?" if near else None
            available = ", ".join(f"`{size}`" for size in lw.sizes) or "none"
            span = Span(lw.source.path)
            reason = "the file has no such size"
            lw.diagnostics.append(error("AK802", span, name=name, reason=reason, available=available, hint=hint))


def _kernel(lw: Lowering, node: ast.FunctionDef, settings: Mapping[str, Scalar]) -> Kernel:
    reason = why_not_kernel(node.name)
    if reason is not None:
        lw.diagnostics.append(error("AK123", lw.header(node), name=node.name, what="kernel", reason=reason))
    lw.kernel = node
    signature = read_signature(lw, node, settings)
    lw.parameter_names, lw.optional = set(signature.names), tuple(signature.optional)
    lw.promises = tuple(signature.promises)
    lw.annotations = {a.arg: a.annotation for a in node.args.args if a.annotation is not None}
    lw.scopes.append(signature.names)
    _check_settings(lw, node, signature, settings)
    lw.run(node.body)
    _check_whole(lw, node, signature)
    statics = tuple(
        (name, lw.dim_values[name]) for name, info in lw.sizes.items() if info.static and name in lw.dim_values
    )
    ops = grids_of(without_unused(lw.builder.ops, lw.unused_allowed) if lw.unused_allowed else lw.builder.ops)
    declared = node.name in lw.nondeterministic
    if not lw.diagnostics:
        lw.diagnostics += habit_warnings(lw, ops) + (unneeded(lw, ops) if declared else ())
    return Kernel(
        node.name,
        "tile",
        (*signature.params, *lw.scratch),
        ops,
        tuple(lw.used_sizes.values()),
        {
            "source_name": PurePath(lw.source.path).name,
            "defaults": tuple(signature.defaults),
            "statics": statics,
            "settings": tuple(signature.settings),
            **({"promises": tuple(signature.promises)} if signature.promises else {}),
            **({"lists": tuple(signature.lists)} if signature.lists else {}),
            **({"records": tuple(signature.records)} if signature.records else {}),
            **({ATTRIBUTE: True} if declared else {}),
        },
    )


def _check_settings(lw: Lowering, node: ast.FunctionDef, signature: Signature, settings: Mapping[str, Scalar]) -> None:
    for name in settings:
        if name not in signature.setting_names:
            near = difflib.get_close_matches(name, signature.setting_names, 1)
            hint = f"did you mean `{near[0]}`?" if near else None
            available = ", ".join(f"`{known}`" for known in signature.setting_names) or "none"
            reason = "the kernel has no such compile-time parameter"
            span = lw.header(node)
            lw.diagnostics.append(error("AK804", span, name=name, reason=reason, available=available, hint=hint))


def _check_whole(lw: Lowering, node: ast.FunctionDef, signature: Signature) -> None:
    """What only the whole kernel shows: a grid, and a store to every output."""
    if lw.abandoned:
        return
    if lw.n_grids == 0:
        if not any(d.code == "AK110" for d in lw.diagnostics):
            lw.diagnostics.append(error("AK111", lw.header(node), kernel=node.name))
        return
    reported: set[str] = set()
    for name, (argument, access) in signature.outputs.items():
        # of a list, the first tensor that is not written
        if name not in lw.written and argument.arg not in reported:
            reported.add(argument.arg)
            hint = "store to it, or declare it `ak.In[...]`" if access == "inout" else None
            lw.diagnostics.append(lw.diagnostic("AK310", argument, name=name, hint=hint))
