"""Calls of a file's `@ak.inline` functions: the body is lowered in the place of the call, with names of its own."""

from __future__ import annotations

import ast
from typing import NoReturn

from agentkern.compiler.frontend.lowering import HelperCall, Lowering, Poisoned, Returned
from agentkern.compiler.frontend.values import NOTHING, FrontValue, Poison, Tuple, describe


def call_helper(lw: Lowering, name: str, node: ast.Call) -> FrontValue:
    """The value that a helper returns for the arguments of a call. Errors: AK109 for recursion, AK122."""
    function = lw.helpers[name]
    if any(active.name == name for active in lw.calls):
        lw.fail("AK109", node, name=name, instead="a helper that calls itself has no end: use a loop over `range`")
    lw.count_op()
    names = _bound(lw, name, function, node)
    return _run(lw, function, names, HelperCall(name, node))


def _run(lw: Lowering, function: ast.FunctionDef, names: dict[str, FrontValue], call: HelperCall) -> FrontValue:
    """Lower the body where only the module's names and the helper's own are known."""
    scopes, calls, regions, elements = lw.scopes, lw.calls, lw.regions, lw.elements
    lw.scopes, lw.calls, lw.regions, lw.elements = [scopes[0], names], (*calls, call), (), None
    try:
        lw.run(function.body)
    except Returned as returned:
        if isinstance(returned.value, Poison):
            raise Poisoned from None
        return returned.value
    finally:
        lw.scopes, lw.calls, lw.regions, lw.elements = scopes, calls, regions, elements
    return NOTHING


def _wrong(lw: Lowering, name: str, function: ast.FunctionDef, node: ast.Call, reason: str) -> NoReturn:
    lw.fail("AK122", node, name=name, reason=reason, form=f"{name}({ast.unparse(function.args)})")


def _bound(lw: Lowering, name: str, function: ast.FunctionDef, node: ast.Call) -> dict[str, FrontValue]:
    """The parameters' values: positional, by keyword, by default, as Python binds them."""
    form = function.args
    if form.vararg is not None or form.kwarg is not None:
        _wrong(lw, name, function, node, "a helper has plain named parameters")
    positional = [*form.posonlyargs, *form.args]
    given = _positional(lw, name, function, node)
    if len(given) > len(positional):
        _wrong(lw, name, function, node, f"{len(given)} arguments; at most {len(positional)}")
    found = {parameter.arg: value for parameter, value in zip(positional, given, strict=False)}
    by_keyword = {parameter.arg for parameter in (*form.args, *form.kwonlyargs)}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg not in by_keyword:
            _wrong(lw, name, function, node, f"unknown keyword `{keyword.arg or '**'}`")
        if keyword.arg in found:
            _wrong(lw, name, function, node, f"`{keyword.arg}` is given twice")
        found[keyword.arg] = lw.evaluate(keyword.value)
    if any(isinstance(value, Poison) for value in found.values()):
        raise Poisoned
    for parameter, default in _defaults(form):
        if parameter not in found:
            if default is None:
                _wrong(lw, name, function, node, f"`{parameter}` is missing")
            found[parameter] = _default(lw, default, HelperCall(name, node))
    return found


def _positional(lw: Lowering, name: str, function: ast.FunctionDef, node: ast.Call) -> list[FrontValue]:
    found: list[FrontValue] = []
    for item in node.args:
        value = lw.evaluate(item.value if isinstance(item, ast.Starred) else item)
        if not isinstance(item, ast.Starred):
            found.append(value)
        elif isinstance(value, Tuple):
            found += value.items
        elif not isinstance(value, Poison):
            _wrong(lw, name, function, node, f"`*` of {describe(value)}")
    return found


def _defaults(form: ast.arguments) -> list[tuple[str, ast.expr | None]]:
    """Every parameter with its default."""
    positional = [*form.posonlyargs, *form.args]
    missing: list[ast.expr | None] = [None] * (len(positional) - len(form.defaults))
    pairs = [(p.arg, d) for p, d in zip(positional, [*missing, *form.defaults], strict=True)]
    return pairs + [(p.arg, d) for p, d in zip(form.kwonlyargs, form.kw_defaults, strict=True)]


def _default(lw: Lowering, node: ast.expr, call: HelperCall) -> FrontValue:
    """A default's value, which may name what stands at module level only."""
    scopes, calls = lw.scopes, lw.calls
    lw.scopes, lw.calls = scopes[:1], (*calls, call)
    try:
        return lw.need_one(node)
    finally:
        lw.scopes, lw.calls = scopes, calls
