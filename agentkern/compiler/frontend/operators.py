"""Operators on tiles, sizes and numbers: one table, one typing rule a kind."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.frontend.conversion import (
    ARITHMETIC,
    BOOL,
    F64,
    as_tile,
    broadcast,
    common,
    fix_cast,
    is_compile_time,
    operand,
    size_tile,
    together,
    weak_tile,
)
from agentkern.compiler.frontend.folding import FoldError, fold
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.values import Extent, FrontValue, Nothing, Number, Tile
from agentkern.compiler.ir.types import TileType
from agentkern.diagnostics import Edit, Fix
from agentkern.dsl.dtypes import DTYPES, DType

Domain = Literal["number", "float", "integer", "integer or bool", "any"]


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One binary operator: its text, its operation, the dtypes it takes."""

    text: str
    op: str
    domain: Domain
    compares: bool = False


BINARY: dict[type[ast.operator], OperatorRow] = {
    ast.Add: OperatorRow("+", "add", "number"),
    ast.Sub: OperatorRow("-", "sub", "number"),
    ast.Mult: OperatorRow("*", "mul", "number"),
    ast.Div: OperatorRow("/", "div", "float"),
    ast.FloorDiv: OperatorRow("//", "floor_div", "integer"),
    ast.Mod: OperatorRow("%", "mod", "integer"),
    ast.BitAnd: OperatorRow("&", "and", "integer or bool"),
    ast.BitOr: OperatorRow("|", "or", "integer or bool"),
    ast.BitXor: OperatorRow("^", "xor", "integer or bool"),
    ast.LShift: OperatorRow("<<", "shl", "integer"),
    ast.RShift: OperatorRow(">>", "shr", "integer"),
}
COMPARE: dict[type[ast.cmpop], OperatorRow] = {
    ast.Lt: OperatorRow("<", "lt", "number", compares=True),
    ast.LtE: OperatorRow("<=", "le", "number", compares=True),
    ast.Gt: OperatorRow(">", "gt", "number", compares=True),
    ast.GtE: OperatorRow(">=", "ge", "number", compares=True),
    ast.Eq: OperatorRow("==", "eq", "any", compares=True),
    ast.NotEq: OperatorRow("!=", "ne", "any", compares=True),
}
NO_OPERATOR: dict[type[ast.operator] | type[ast.cmpop], tuple[str, str]] = {
    ast.MatMult: ("@", "`ak.dot` comes later; `ak.sum(a * b, axis=...)` is a product by hand"),
}


def accepts(domain: Domain, dtype: DType) -> bool:
    """Whether an operation of this domain works on a dtype."""
    if dtype.kind == "bool":
        return domain in ("any", "integer or bool")
    if dtype.name not in ARITHMETIC:
        return False
    if domain == "float":
        return dtype.is_float
    return not dtype.is_float if domain.startswith("integer") else True


def check_domain(lw: Lowering, domain: Domain, tile: Tile, node: ast.expr, operation: str) -> None:
    """Reject a tile whose dtype an operation does not take. Errors: AK206, AK506."""
    dtype = tile.dtype
    if accepts(domain, dtype):
        return
    if dtype.is_float and dtype.name not in ARITHMETIC:
        hint, fixes = "convert it to compute: `.to(ak.f32)`", fix_cast(lw, node, DTYPES["f32"])
    elif dtype.is_float:
        hint, fixes = _float_hint(operation), ()
    elif dtype.kind == "bool":
        to = DTYPES["f32" if domain == "float" else "i32"]
        hint, fixes = f"convert it to a number: `.to(ak.{to})`", fix_cast(lw, node, to)
    else:
        hint, fixes = "convert it: `.to(ak.f32)`", fix_cast(lw, node, DTYPES["f32"])
    lw.fail("AK206", node, operation=operation, got=dtype.name, hint_text=hint, fixes=fixes)


def _float_hint(operation: str) -> str:
    if operation == "//":
        return "write `ak.floor(a / b)`"
    if operation == "%":
        return "write `a - ak.floor(a / b) * b`"
    if operation in ("&", "|", "^"):
        return "put comparisons in parentheses, `(a > 0) & (b > 0)`, or use the bits: `.bitcast(ak.u32)`"
    return "use the bits: `.bitcast(ak.u32)`"


def binary(
    lw: Lowering, row: OperatorRow, values: list[FrontValue], nodes: list[ast.expr], node: Located
) -> FrontValue:
    """An operator on two values. Errors: AK205 to AK207, AK405, AK50x."""
    found = [operand(lw, value, at, row.text) for value, at in zip(values, nodes, strict=True)]
    if all(isinstance(value, Number | Extent) for value in found) or all(map(is_compile_time, found)):
        return _compile_time(lw, row, found, nodes, node)
    if row.op in ("shl", "shr"):
        _check_shift(lw, found, nodes)
    tiles = common(lw, found, nodes, node, row.text)
    if row.text == "/" and tiles[0].dtype.is_integer:
        typed = [at for value, at in zip(found, nodes, strict=True) if not isinstance(value, Number)]
        edits = tuple(edit for at in typed for edit in _as_f32(lw, at))
        fixes = (Fix("convert to f32", edits),) if edits else ()
        lw.fail("AK506", node, fixes=fixes)
    for tile, at in zip(tiles, nodes, strict=True):
        check_domain(lw, row.domain, tile, at, row.text)
    tiles = together(lw, tiles, nodes, node)
    type_ = tiles[0].type.with_dtype(BOOL) if row.compares else tiles[0].type
    return Tile(lw.emit(row.op, tuple(tile.value for tile in tiles), type_, node))


def _as_f32(lw: Lowering, node: ast.expr) -> tuple[Edit, ...]:
    return tuple(edit for fix in fix_cast(lw, node, DTYPES["f32"]) for edit in fix.edits)


def _check_shift(lw: Lowering, values: list[FrontValue], nodes: list[ast.expr]) -> None:
    base, amount = values
    if isinstance(base, Tile) and base.dtype.is_integer and isinstance(amount, Number):
        bits = base.dtype.bits
        if isinstance(amount.value, int) and not 0 <= amount.value < bits:
            lw.fail("AK505", nodes[1], amount=amount.value, dtype=base.dtype.name, last=bits - 1)


def _compile_time(
    lw: Lowering, row: OperatorRow, values: list[FrontValue], nodes: list[ast.expr], node: Located
) -> FrontValue:
    a, b = values
    if isinstance(a, Number | Extent) and isinstance(b, Number | Extent):
        try:
            result = fold(row.text, a, b)
        except FoldError as e:
            lw.fail("AK504", node, reason=str(e))
        except TypeError:
            lw.fail("AK504", node, reason=f"`{row.text}` of these kinds of numbers")
        if result is not None:
            return result
        if not (is_compile_time(a) and is_compile_time(b)):
            return _run_time_sizes(lw, row, [a, b], nodes, node)
    return _open(lw, row, values, nodes, node)


def _run_time_sizes(
    lw: Lowering, row: OperatorRow, values: list[Number | Extent], nodes: list[ast.expr], node: Located
) -> FrontValue:
    if row.text == "/":
        text = " // ".join(map(lw.source.exact, nodes))
        lw.fail("AK506", node, fixes=(lw.source.replace(node, text, "divide and round down"),))
    tiles: list[FrontValue] = [
        size_tile(lw, v, at) if isinstance(v, Extent) and not v.static else v
        for v, at in zip(values, nodes, strict=True)
    ]
    return binary(lw, row, tiles, nodes, node)


def _open(lw: Lowering, row: OperatorRow, values: list[FrontValue], nodes: list[ast.expr], node: Located) -> FrontValue:
    """A compile-time value that waits for a static size: emitted as f64 or i64 arithmetic."""
    integers = row.text != "/" and all(_is_integer(value) for value in values)
    dtype = I64 if integers else F64
    if not integers and row.domain.startswith("integer"):
        lw.fail("AK218", node, what=f"`{lw.source.text_of(node)}`")
    tiles = [weak_tile(lw, value, dtype, at) for value, at in zip(values, nodes, strict=True)]
    type_ = TileType(BOOL if row.compares else dtype)
    return Tile(lw.emit(row.op, tuple(tile.value for tile in tiles), type_, node), weak=True)


def _is_integer(value: FrontValue) -> bool:
    if isinstance(value, Tile):
        return value.dtype.is_integer
    return not (isinstance(value, Number) and isinstance(value.value, float))


def handle_binary(lw: Lowering, node: ast.expr) -> FrontValue:
    """`a + b` and its like."""
    assert isinstance(node, ast.BinOp)
    left, right = lw.need(node.left, node.right)
    return operate(lw, node.op, [left, right], [node.left, node.right], node)


def operate(
    lw: Lowering, op: ast.operator, values: list[FrontValue], nodes: list[ast.expr], node: Located
) -> FrontValue:
    """A binary operator by its syntax. Errors: AK601 for operators without an operation."""
    row = BINARY.get(type(op))
    if row is not None:
        return binary(lw, row, values, nodes, node)
    if isinstance(op, ast.Pow):
        return _power(lw, values, nodes, node)
    text, instead = NO_OPERATOR[type(op)]
    lw.fail("AK601", node, what=f"`{text}`", instead=instead)


MOST_FACTORS = 16


def _power(lw: Lowering, values: list[FrontValue], nodes: list[ast.expr], node: Located) -> FrontValue:
    """`x ** n`: n factors, multiplied from left to right. Errors: AK601 where n is no small number of compile time."""
    base, exponent = values
    if all(isinstance(value, Number) for value in values):
        return _compile_time(lw, OperatorRow("**", "", "number"), values, nodes, node)
    if isinstance(base, Extent) and base.static and isinstance(exponent, Number):
        lw.fail("AK803", nodes[0], name=lw.open_sizes(nodes[0])[0])
    count = exponent.value if isinstance(exponent, Number) else None
    if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MOST_FACTORS:
        instead = f"the exponent is a compile-time integer from 0 to {MOST_FACTORS}: multiply, or use `ak.exp2`"
        lw.fail("AK601", node, what="this exponent of `**`", instead=instead)
    if count == 0:
        tile = as_tile(lw, base, nodes[0], "**")
        check_domain(lw, "number", tile, nodes[0], "**")
        one = weak_tile(lw, Number(1), tile.dtype, node)
        return broadcast(lw, one, tile.shape, node)
    product = operand(lw, base, nodes[0], "**")
    if isinstance(product, Tile):
        check_domain(lw, "number", product, nodes[0], "**")
    for _ in range(count - 1):
        product = binary(lw, BINARY[ast.Mult], [product, base], [nodes[0], nodes[0]], node)
    return product


def handle_compare(lw: Lowering, node: ast.expr) -> FrontValue:
    """`a < b`; chains and membership are rejected. Errors: AK106, AK116."""
    assert isinstance(node, ast.Compare)
    op = node.ops[0]
    if any(isinstance(o, ast.In | ast.NotIn) for o in node.ops):
        lw.fail("AK106", node, what="`in`", instead="compare with each value and join with `|`")
    if any(isinstance(o, ast.Is | ast.IsNot) for o in node.ops):
        value, other = lw.need_one(node.left), node.comparators[0]
        if len(node.ops) == 1 and isinstance(other, ast.Constant) and other.value is None:
            return Number(isinstance(value, Nothing) == isinstance(op, ast.Is))
        lw.fail("AK106", node, what="`is`", instead="compare values with `==`")
    values = lw.need(node.left, *node.comparators)
    nodes = [node.left, *node.comparators]
    if len(node.ops) > 1:
        return _chain(lw, node, values, nodes)
    return binary(lw, COMPARE[type(op)], values, nodes, node)


def _chain(lw: Lowering, node: ast.Compare, values: list[FrontValue], nodes: list[ast.expr]) -> FrontValue:
    if all(isinstance(value, Number) for value in values):
        parts = [
            binary(lw, COMPARE[type(op)], values[k : k + 2], nodes[k : k + 2], node) for k, op in enumerate(node.ops)
        ]
        return Number(all(isinstance(part, Number) and bool(part.value) for part in parts))
    text = lw.source.exact
    pieces = [f"({text(nodes[k])} {COMPARE[type(op)].text} {text(nodes[k + 1])})" for k, op in enumerate(node.ops)]
    # In parentheses: an operator beside a chain would otherwise bind tighter than `&`.
    fixed = f"({' & '.join(pieces)})"
    lw.fail("AK116", node, fixes=(lw.source.replace(node, fixed, "join the comparisons"),))


def handle_unary(lw: Lowering, node: ast.expr) -> FrontValue:
    """`-a`, `+a`, `~a`, `not a`. Errors: AK117, AK206."""
    assert isinstance(node, ast.UnaryOp)
    value = operand(lw, lw.need_one(node.operand), node.operand, "-")
    if isinstance(node.op, ast.Not):
        if isinstance(value, Number):
            return Number(not value.value)
        fixed = f"~({lw.source.exact(node.operand)})"
        fixes = (lw.source.replace(node, fixed, "negate each element"),)
        lw.fail("AK117", node, operator="not", instead="~a", fixes=fixes)
    if isinstance(node.op, ast.Invert):
        return _invert(lw, value, node)
    if isinstance(node.op, ast.UAdd):
        return value
    if isinstance(value, Number):
        return Number(-value.value)
    if is_compile_time(value) or isinstance(value, Extent):
        row = OperatorRow("*", "mul", "number")
        return binary(lw, row, [value, Number(-1)], [node.operand, node.operand], node)
    tile = as_tile(lw, value, node.operand, "-")
    check_domain(lw, "number", tile, node.operand, "-")
    return Tile(lw.emit("neg", (tile.value,), tile.type, node))


def _invert(lw: Lowering, value: FrontValue, node: ast.UnaryOp) -> FrontValue:
    if isinstance(value, Number):
        if isinstance(value.value, bool):
            return Number(not value.value)
        if isinstance(value.value, int):
            return Number(~value.value)
        lw.fail("AK504", node, reason="`~` takes integers")
    tile = as_tile(lw, value, node.operand, "~")
    check_domain(lw, "integer or bool", tile, node.operand, "~")
    return Tile(lw.emit("not", (tile.value,), tile.type, node))


def handle_bool_op(lw: Lowering, node: ast.expr) -> FrontValue:
    """`a and b` of compile-time values; on tiles it is rejected. Errors: AK117."""
    assert isinstance(node, ast.BoolOp)
    both = isinstance(node.op, ast.And)
    values: list[FrontValue] = []
    for item in node.values:
        value = lw.need_one(item)
        values.append(value)
        if isinstance(value, Number) and bool(value.value) != both:
            return value
    if all(isinstance(value, Number) for value in values):
        return values[-1]
    symbol = "&" if both else "|"
    fixed = f"({f' {symbol} '.join(f'({lw.source.exact(item)})' for item in node.values)})"
    fixes = (lw.source.replace(node, fixed, f"use `{symbol}`"),)
    lw.fail("AK117", node, operator="and" if both else "or", instead=f"a {symbol} b", fixes=fixes)


UNARY_FOLDS = {
    "abs": abs,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "trunc": lambda x: float(math.trunc(x)),
    "round": lambda x: float(round(x)),
    "sign": lambda x: (x > 0) - (x < 0),
    "isnan": math.isnan,
    "isinf": math.isinf,
}


def unary(lw: Lowering, op: str, domain: Domain, value: FrontValue, at: ast.expr, node: Located) -> FrontValue:
    """A named element operation of one operand. Errors: AK206, AK504."""
    found = operand(lw, value, at, f"ak.{op}")
    if isinstance(found, Number):
        try:
            return Number(UNARY_FOLDS[op](found.value))
        except (ValueError, OverflowError, ZeroDivisionError) as e:
            lw.fail("AK504", node, reason=str(e))
    if is_compile_time(found):
        dtype = F64 if domain == "float" or not _is_integer(found) else I64
        tile = weak_tile(lw, found, dtype, at)
        return Tile(lw.emit(op, (tile.value,), tile.type, node), weak=True)
    tile = as_tile(lw, found, at, f"ak.{op}")
    check_domain(lw, domain, tile, at, f"ak.{op}")
    type_ = tile.type.with_dtype(BOOL) if op in ("isnan", "isinf") else tile.type
    return Tile(lw.emit(op, (tile.value,), type_, node))
