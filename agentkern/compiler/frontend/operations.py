"""Operations called by name, `ak.sum(...)`: one table of forms and typing rules."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from agentkern.compiler.frontend import order, random, shaping, taking
from agentkern.compiler.frontend.arguments import Argument, Form, bind, form
from agentkern.compiler.frontend.conversion import (
    as_tile,
    broadcast,
    cast,
    common,
    fix_cast,
    is_compile_time,
    joined,
    operand,
    together,
    weak_tile,
)
from agentkern.compiler.frontend.folding import FoldError, fold
from agentkern.compiler.frontend.functions import function, gelu
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.operators import Domain, OperatorRow, binary, check_domain, unary
from agentkern.compiler.frontend.reductions import reduction
from agentkern.compiler.frontend.scans import scan, scan_form
from agentkern.compiler.frontend.scratch import scratch
from agentkern.compiler.frontend.shapes import dtype_of, shape_of
from agentkern.compiler.frontend.sizes import declare
from agentkern.compiler.frontend.values import (
    Extent,
    FrontValue,
    Number,
    Tile,
    describe,
    extent_text,
    shape_text,
)
from agentkern.compiler.ir.function_table import FUNCTIONS

Arguments = dict[str, Argument]
Rule = Callable[[Lowering, Arguments, ast.Call], FrontValue]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its form and the rule that types and emits it."""

    form: Form
    rule: Rule


def _unary(op: str, domain: Domain) -> Operation:
    def rule(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
        x = arguments["x"]
        return unary(lw, op, domain, x.value, x.node, node)

    return Operation(form(f"ak.{op}(x)"), rule)


def _function(op: str) -> Operation:
    def rule(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
        return function(lw, op, arguments["x"], node)

    return Operation(form(f"ak.{op}(x)"), rule)


def _pair(op: str, domain: Domain) -> Operation:
    row = OperatorRow(op, op, domain)

    def rule(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
        a, b = arguments["a"], arguments["b"]
        return binary(lw, row, [a.value, b.value], [a.node, b.node], node)

    return Operation(form(f"ak.{op}(a, b)"), rule)


def _several(lw: Lowering, arguments: Arguments, names: str, op: str, node: ast.Call) -> Tile:
    given = [arguments[name] for name in names.split()]
    nodes = [argument.node for argument in given]
    tiles = common(lw, [argument.value for argument in given], nodes, node, f"ak.{op}")
    for tile, at in zip(tiles, nodes, strict=True):
        check_domain(lw, "float", tile, at, f"ak.{op}")
    tiles = together(lw, tiles, nodes, node)
    return Tile(lw.emit(op, tuple(tile.value for tile in tiles), tiles[0].type, node))


def _fma(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    return _several(lw, arguments, "a b c", "fma", node)


def _copysign(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    return _several(lw, arguments, "magnitude sign", "copysign", node)


def _clip(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    x, low, high = arguments["x"], arguments["low"], arguments["high"]
    raised = binary(lw, OperatorRow("ak.clip", "maximum", "number"), [x.value, low.value], [x.node, low.node], node)
    return binary(lw, OperatorRow("ak.clip", "minimum", "number"), [raised, high.value], [x.node, high.node], node)


def _where(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    condition, a, b = arguments["condition"], arguments["a"], arguments["b"]
    chosen = operand(lw, condition.value, condition.node, "ak.where")
    if isinstance(chosen, Number):
        return a.value if chosen.value else b.value
    flag = as_tile(lw, chosen, condition.node, "ak.where")
    if flag.dtype.kind != "bool":
        hint = "compare it: `!= 0`"
        fixes = (lw.source.insert_after(condition.node, " != 0", "compare with 0"),)
        lw.fail("AK206", condition.node, operation="ak.where", got=flag.dtype.name, hint_text=hint, fixes=fixes)
    nodes = [a.node, b.node]
    if is_compile_time(a.value) and is_compile_time(b.value):
        hint = "convert the condition: `condition.to(ak.f32)`, or give one side a dtype: `ak.full((), 1.0, ak.f32)`"
        lw.fail("AK503", node, operation="ak.where", hint=hint)
    tiles = common(lw, [a.value, b.value], nodes, node, "ak.where")
    every = together(lw, [flag, *tiles], [condition.node, *nodes], node)
    return Tile(lw.emit("where", tuple(tile.value for tile in every), every[1].type, node))


def _full(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    shape = shape_of(lw, arguments["shape"])
    dtype = dtype_of(lw, arguments["dtype"])
    value = arguments["value"]
    found = operand(lw, value.value, value.node, "ak.full")
    if is_compile_time(found):
        tile = weak_tile(lw, found, dtype, value.node)
    else:
        tile = as_tile(lw, found, value.node, "ak.full")
        if tile.shape:
            lw.fail(
                "AK223",
                value.node,
                what=describe(tile),
                operation="ak.full",
                hint_text="use `ak.broadcast_to(x, shape)`",
            )
        if joined(tile.dtype, dtype) is not dtype:
            fixes = fix_cast(lw, value.node, dtype)
            lw.fail(
                "AK205",
                node,
                operator="ak.full",
                left=tile.dtype.name,
                right=dtype.name,
                to=dtype.name,
                fixes=fixes,
            )
        tile = cast(lw, tile, dtype, value.node)
    return broadcast(lw, tile, shape, node)


def _zeros(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    shape, dtype = shape_of(lw, arguments["shape"]), dtype_of(lw, arguments["dtype"])
    zero = Number(False) if dtype.kind == "bool" else Number(0)
    return broadcast(lw, weak_tile(lw, zero, dtype, node), shape, node)


def _broadcast_to(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
    x = arguments["x"]
    tile = as_tile(lw, x.value, x.node, "ak.broadcast_to")
    shape = shape_of(lw, arguments["shape"])
    tail = shape[len(shape) - len(tile.shape) :] if len(tile.shape) <= len(shape) else None
    if tail is None or any(have not in (1, want) for have, want in zip(tile.shape, tail, strict=True)):
        pairs = [(h, w) for h, w in zip(reversed(tile.shape), reversed(shape), strict=False) if h not in (1, w)]
        reason = f"`{extent_text(pairs[0][0])}` is not `{extent_text(pairs[0][1])}`" if pairs else "it has more axes"
        lw.fail(
            "AK207",
            node,
            left=shape_text(tile.shape),
            right=shape_text(shape),
            reason=reason,
            hint_text="only axes of extent 1 are repeated",
        )
    return broadcast(lw, tile, shape, node)


def _size_operation(symbol: str) -> Operation:
    def rule(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
        pair: list[Number | Extent] = []
        for argument in (arguments["a"], arguments["b"]):
            value = argument.value
            integer = isinstance(value, Number) and isinstance(value.value, int) and not isinstance(value.value, bool)
            if not (integer or isinstance(value, Extent)):
                lw.fail("AK215", argument.node, reason=describe(value))
            assert isinstance(value, Number | Extent)
            pair.append(value)
        try:
            found = fold(symbol, pair[0], pair[1])
        except FoldError as e:
            lw.fail("AK504", node, reason=str(e))
        assert found is not None
        return found

    return Operation(form(f"ak.{symbol}(a, b)"), rule)


def _declaration(name: str) -> Operation:
    def rule(lw: Lowering, arguments: Arguments, node: ast.Call) -> FrontValue:
        if not lw.in_module:
            reason = "sizes are defined at module level"
            lw.fail("AK215", node, reason=reason, hint=f'write `T = ak.{name}("T")` there')
        return declare(lw, arguments, node, static=name == "static")

    return Operation(form(f"ak.{name}(name, multiple_of=1, min=0, max=None)"), rule)


OPERATIONS: dict[str, Operation] = {
    **{name: _unary(name, "number") for name in ("abs", "sign")},
    **{name: _unary(name, "float") for name in ("rsqrt", "sqrt", "floor", "ceil", "round", "trunc", "isnan", "isinf")},
    **{name: _function(name) for name in FUNCTIONS if not name.startswith("gelu")},
    "gelu": Operation(form("ak.gelu(x, approximate=None)"), gelu),
    **{name: _pair(name, "number") for name in ("maximum", "minimum")},
    **{name: _pair(name, "integer") for name in ("trunc_div", "trunc_mod")},
    **{
        name: Operation(form(f"ak.{name}(x, axis=None, keepdims=False)"), reduction(name))
        for name in ("sum", "prod", "mean", "max", "min", "absmax", "any", "all", "argmax", "argmin")
    },
    **{name: Operation(form(scan_form(name)), scan(name)) for name in ("cumsum", "cummax")},
    "topk": Operation(form(order.FORMS["topk"]), order.topk),
    "sort": Operation(form(order.FORMS["sort"]), order.sort),
    "occurrence": Operation(form(order.FORMS["occurrence"]), order.occurrence),
    "bincount": Operation(form(order.FORMS["bincount"]), order.bincount),
    "arange": Operation(form(shaping.FORMS["arange"]), shaping.arange),
    "concat": Operation(form(shaping.FORMS["concat"]), shaping.concat),
    "stack": Operation(form(shaping.FORMS["stack"]), shaping.stack),
    "repeat": Operation(form(shaping.FORMS["repeat"]), shaping.repeat),
    "last": Operation(form(shaping.FORMS["last"]), shaping.last),
    "philox": Operation(form(random.FORM), random.philox),
    "take_along_axis": Operation(form(taking.FORM), taking.take_along_axis),
    "where": Operation(form("ak.where(condition, a, b)"), _where),
    "fma": Operation(form("ak.fma(a, b, c)"), _fma),
    "clip": Operation(form("ak.clip(x, low, high)"), _clip),
    "copysign": Operation(form("ak.copysign(magnitude, sign)"), _copysign),
    "zeros": Operation(form("ak.zeros(shape, dtype)"), _zeros),
    "full": Operation(form("ak.full(shape, value, dtype)"), _full),
    "broadcast_to": Operation(form("ak.broadcast_to(x, shape)"), _broadcast_to),
    "cdiv": _size_operation("cdiv"),
    "align": _size_operation("align"),
    "scratch": Operation(form("ak.scratch(shape, dtype)"), scratch),
    "dim": _declaration("dim"),
    "static": _declaration("static"),
}


def call(lw: Lowering, name: str, node: ast.Call) -> FrontValue:
    """An operation of the table, called. Errors: AK122 and the rule's."""
    operation = OPERATIONS[name]
    return operation.rule(lw, bind(lw, f"ak.{name}", operation.form, node), node)
