"""Decorators: `@ak.kernel`, with `nondeterministic=True` where a kernel gives up equal bits, and `@ak.inline`."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Sequence

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import FrontValue, Function, Number, Poison
from agentkern.compiler.ir.core import Op, walk
from agentkern.compiler.ir.nondeterminism import is_order_dependent
from agentkern.diagnostics import Diagnostic, Fix

ALLOWED = "nondeterministic=True"
"""The argument of `ak.kernel` that lets a result depend on the order of threads."""


def read_decorator(lw: Lowering, node: ast.expr, name: str) -> FrontValue:
    """What a decorator of the function `name` is; errors are noted. Errors: AK118, AK218, AK601."""
    callee = node.func if isinstance(node, ast.Call) else node
    value = lw.evaluate(callee)
    if value == Function("inline") and not isinstance(node, ast.Call):
        return value
    if value == Function("kernel") and isinstance(node, ast.Call):
        wrong = _read_arguments(lw, node, callee, name)
        lw.diagnostics += [] if wrong is None else [wrong]
    elif value != Function("kernel") and not isinstance(value, Poison):
        fixes = (lw.source.replace(node, f"{lw.prefix}kernel", "mark it as a kernel"),) if lw.prefix else ()
        lw.diagnostics.append(lw.diagnostic("AK118", node, name=lw.source.text_of(node), fixes=fixes))
    return value


def _read_arguments(lw: Lowering, node: ast.Call, callee: ast.expr, name: str) -> Diagnostic | None:
    plain = (lw.source.replace(node, lw.source.exact(callee), "leave the parentheses out"),)
    if not node.args and not node.keywords:
        return lw.diagnostic("AK118", node, name="ak.kernel()", fixes=plain)
    unknown = next((k for k in node.keywords if k.arg != "nondeterministic"), None)
    if node.args or unknown is not None or len(node.keywords) > 1:
        near = difflib.get_close_matches((unknown.arg if unknown else None) or "", ["nondeterministic"], 1)
        instead = f"did you mean `{near[0]}`?" if near else f"write `@ak.kernel` or `@ak.kernel({ALLOWED})`"
        return lw.diagnostic("AK601", node, what="an argument of `ak.kernel`", instead=instead, fixes=plain)
    given = lw.evaluate(node.keywords[0].value)
    if not isinstance(given, Number) or not isinstance(given.value, bool):
        if isinstance(given, Poison):
            return None
        return lw.diagnostic("AK218", node.keywords[0].value, what="`nondeterministic` of `ak.kernel`")
    if given.value:
        lw.nondeterministic.add(name)
    return None


def allowing_fix(lw: Lowering) -> tuple[Fix, ...]:
    """The change that lets the kernel being lowered depend on the order of threads."""
    decorator = _decorator(lw)
    if decorator is None:
        return ()
    callee = decorator.func if isinstance(decorator, ast.Call) else decorator
    text = f"{lw.source.exact(callee)}({ALLOWED})"
    return (lw.source.replace(decorator, text, "let the bits depend on the order of threads"),)


def unneeded(lw: Lowering, ops: Sequence[Op]) -> tuple[Diagnostic, ...]:
    """AK431 for a kernel that gives up equal bits, of which every operation has them."""
    decorator = _decorator(lw)
    if decorator is None or not isinstance(decorator, ast.Call) or any(is_order_dependent(op) for op in walk(ops)):
        return ()
    fix = lw.source.replace(decorator, lw.source.exact(decorator.func), "leave it out")
    return (lw.diagnostic("AK431", decorator, fixes=(fix,)),)


def _decorator(lw: Lowering) -> ast.expr | None:
    """The decorator of the kernel being lowered, if it has one alone."""
    found = lw.kernel.decorator_list if lw.kernel is not None else []
    return found[0] if len(found) == 1 else None
