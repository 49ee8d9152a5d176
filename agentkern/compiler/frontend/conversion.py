"""Compile-time values to tiles, common dtypes, broadcasting. The rules of every operator and operation share these."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from agentkern.compiler.frontend.literals import converted, misfit
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.values import (
    BlockVar,
    Extent,
    FrontValue,
    Nothing,
    Number,
    RecordTile,
    Tensor,
    Tile,
    describe,
    extent_text,
    number_text,
    shape_text,
)
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.diagnostics import Fix
from agentkern.dsl.dtypes import DTYPES, DType

F64 = DTYPES["f64"]
BOOL = DTYPES["bool"]
# Other dtypes are for storage: they are converted before anything is computed.
ARITHMETIC = frozenset({"f64", "f32", "f16", "bf16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"})
Shape = tuple[int | Dim, ...]


def is_compile_time(value: FrontValue) -> bool:
    """Whether a value takes the other operand's dtype."""
    match value:
        case Number():
            return True
        case Extent(_, static):
            return static
        case Tile(_, weak):
            return weak
        case _:
            return False


def constant(lw: Lowering, dtype: DType, value: int | float | bool, node: Located) -> Tile:
    """A scalar of a number that fits."""
    attrs = {"value": converted(dtype, value)}
    return Tile(lw.emit("constant", (), TileType(dtype), node, attrs))


def cast(lw: Lowering, tile: Tile, dtype: DType, node: Located) -> Tile:
    """The tile in another dtype; to bool this is `!= 0`, as in NumPy."""
    if tile.dtype is dtype:
        return tile
    type_ = tile.type.with_dtype(dtype)
    if dtype.kind != "bool":
        return Tile(lw.emit("cast", (tile.value,), type_, node), tile.weak)
    if tile.dtype.name not in ARITHMETIC:
        tile = cast(lw, tile, DTYPES["f32"], node)
    zero = broadcast(lw, constant(lw, tile.dtype, 0, node), tile.shape, node)
    return Tile(lw.emit("ne", (tile.value, zero.value), type_, node), tile.weak)


def size_tile(lw: Lowering, value: Extent, node: Located) -> Tile:
    """A size as an i64 scalar."""
    return Tile(lw.emit("size", (), TileType(I64), node, {"extent": value.extent}), value.static)


def _kind(value: int | float | bool) -> str:
    return "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "float"


def number_as(lw: Lowering, value: Number, dtype: DType, node: Located) -> Tile:
    """A number in the dtype of what it meets. Errors: AK205, AK501, AK502."""
    number = value.value
    if isinstance(number, bool) != (dtype.kind == "bool"):
        hint = f"write {int(number)}" if isinstance(number, bool) else "write `True` or `False`, or compare: `!= 0`"
        lw.fail(
            "AK205", node, operator=lw.source.text_of(node), left=_kind(number), right=dtype.name, to="f32", hint=hint
        )
    if isinstance(number, float) and not dtype.is_float:
        fixes = ()
        if number.is_integer() and abs(number) < 1e15:
            fixes = (lw.source.replace(node, str(int(number)), "write an integer"),)
        lw.fail("AK502", node, value=number_text(number), dtype=dtype.name, fixes=fixes)
    reason = misfit(dtype, number)
    if reason is not None:
        hint, fixes = "convert the tile to a dtype that holds it", ()
        if reason.startswith("it rounds") and isinstance(number, int):
            hint = "write a float literal if rounding is meant"
            fixes = (lw.source.replace(node, f"{number}.0", "let it round"),)
        lw.fail("AK501", node, value=number_text(number), dtype=dtype.name, reason=reason, hint_text=hint, fixes=fixes)
    return constant(lw, dtype, number, node)


def weak_tile(lw: Lowering, value: FrontValue, dtype: DType, node: Located) -> Tile:
    """A compile-time value as a scalar of the given dtype."""
    match value:
        case Number():
            return number_as(lw, value, dtype, node)
        case Extent():
            return Tile(cast(lw, size_tile(lw, value, node), dtype, node).value)
        case Tile():
            if value.dtype.is_float and not dtype.is_float:
                lw.fail("AK502", node, value=f"`{lw.source.text_of(node)}`", dtype=dtype.name)
            return Tile(cast(lw, value, dtype, node).value)
        case _:
            raise AssertionError(value)


def operand(lw: Lowering, value: FrontValue, node: ast.expr, operation: str) -> FrontValue:
    """The value, if it can take part in arithmetic. Errors: AK217, AK223, AK405."""
    match value:
        case BlockVar(scalar=Tile() as scalar):
            return scalar
        case BlockVar():
            name, what = (".index", "its indices") if value.segment is None else (".ordinal", "its number")
            fixes = (lw.source.replace(node, f"{lw.source.exact(node)}{name}", f"use {what}"),)
            hint = None if value.segment is None else f"a segment's number is `{value.name}.ordinal`"
            lw.fail("AK405", node, block=value.name, fixes=fixes, hint=hint)
        case Tensor():
            colons = ", ".join([":"] * value.type.rank) or "()"
            instead = f"{lw.source.exact(node) if value.view or value.entry else value.name}[{colons}]"
            fixes = (lw.source.replace(node, instead, "read the whole tensor"),)
            lw.fail("AK217", node, name=value.name, instead=instead, fixes=fixes)
        case Number() | Extent() | Tile():
            return value
        case RecordTile(record):
            hint = f"read a field: `{lw.source.text_of(node)}.{record.fields[0].name}`"
            lw.fail("AK223", node, what=describe(value), operation=operation, hint_text=hint)
        case _:
            is_open = isinstance(value, Nothing) and operation == "ak.clip"
            hint = "an open side is `ak.inf` or `-ak.inf`" if is_open else "operands are tiles and numbers"
            lw.fail("AK223", node, what=describe(value), operation=operation, hint_text=hint)


def as_tile(lw: Lowering, value: FrontValue, node: ast.expr, operation: str) -> Tile:
    """The value as a tile with a dtype of its own. Errors: AK503 for compile-time values."""
    found = operand(lw, value, node, operation)
    if is_compile_time(found):
        lw.fail("AK503", node, operation=operation)
    if isinstance(found, Extent):
        return size_tile(lw, found, node)
    assert isinstance(found, Tile)
    return found


def joined(a: DType, b: DType) -> DType | None:
    """The dtype that holds every value of both integers types, if it is one of them; equal dtypes join."""
    if a is b:
        return a
    if not (a.is_integer and b.is_integer):
        return None
    narrow, wide = (a, b) if a.bits < b.bits else (b, a)
    if narrow.bits == wide.bits or (narrow.kind == "signed" and wide.kind == "unsigned"):
        return None
    return wide


def common_target(a: DType, b: DType) -> DType:
    """The dtype to suggest for two that do not join."""
    if a.is_float and b.is_float:
        wide = a if a.bits >= b.bits else b
        return DTYPES["f32"] if a.bits == b.bits or wide.bits < 16 else wide
    if a.is_float or b.is_float:
        found = a if a.is_float else b
        return found if found.bits >= 32 else DTYPES["f32"]
    return DTYPES["i64"] if "bool" not in (a.kind, b.kind) else a if b.kind == "bool" else b


def fix_cast(lw: Lowering, node: Located, dtype: DType) -> tuple[Fix, ...]:
    """The fix that converts an expression."""
    if not lw.prefix:
        return ()
    text = f".to({lw.prefix}{dtype.name})"
    return (lw.source.insert_after(node, text, f"convert to {dtype.name}"),)


def _mixed(lw: Lowering, tiles: list[tuple[Tile, ast.expr]], node: Located, operator: str) -> None:
    (left, left_node), (right, right_node) = tiles[0], tiles[1]
    to = common_target(left.dtype, right.dtype)
    at = right_node if left.dtype is to else left_node
    fixes = fix_cast(lw, at, to) if to in (left.dtype, right.dtype) else ()
    labels = (lw.label(left_node, left.dtype.name), lw.label(right_node, right.dtype.name))
    lw.fail(
        "AK205",
        node,
        operator=operator,
        left=left.dtype.name,
        right=right.dtype.name,
        to=to.name,
        fixes=fixes,
        labels=labels,
    )


def common(lw: Lowering, values: list[FrontValue], nodes: list[ast.expr], node: Located, operation: str) -> list[Tile]:
    """Operands as tiles of one dtype, not yet of one shape. Errors: AK205, AK501 to AK503."""
    found = [operand(lw, value, at, operation) for value, at in zip(values, nodes, strict=True)]
    if all(is_compile_time(value) for value in found):
        lw.fail("AK503", node, operation=operation)
    strong: list[tuple[Tile, ast.expr]] = []
    for value, at in zip(found, nodes, strict=True):
        if not is_compile_time(value):
            strong.append((as_tile(lw, value, at, operation), at))
    dtype = strong[0][0].dtype
    for tile, at in strong[1:]:
        wider = joined(dtype, tile.dtype)
        if wider is None:
            first = next(s for s in strong if joined(s[0].dtype, tile.dtype) is None or s is strong[0])
            _mixed(lw, [first, (tile, at)], node, operation)
            raise AssertionError
        dtype = wider
    rest = iter(strong)
    return [
        weak_tile(lw, value, dtype, at) if is_compile_time(value) else cast(lw, next(rest)[0], dtype, at)
        for value, at in zip(found, nodes, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Two extents that do not broadcast."""

    left: int | Dim
    right: int | Dim

    @property
    def reason(self) -> str:
        """The extents in words."""
        return f"`{extent_text(self.left)}` and `{extent_text(self.right)}` differ"


def broadcast_extent(a: int | Dim, b: int | Dim) -> int | Dim | None:
    """The extent that two axes broadcast to, or None."""
    if b in (1, a):
        return a
    return b if a == 1 else None


def broadcast_shape(shapes: list[Shape]) -> Shape | Mismatch:
    """The shape that shapes broadcast to, aligned at their ends; a `Mismatch` of two extents if they do not."""
    rank = max(len(shape) for shape in shapes)
    result: list[int | Dim] = []
    for axis in range(-rank, 0):
        extent: int | Dim = 1
        for shape in shapes:
            if len(shape) + axis >= 0:
                both = broadcast_extent(extent, shape[axis])
                if both is None:
                    return Mismatch(extent, shape[axis])
                extent = both
        result.append(extent)
    return tuple(result)


def broadcast(lw: Lowering, tile: Tile, shape: Shape, node: Located) -> Tile:
    """The tile repeated to a shape that it broadcasts to."""
    if tile.shape == shape:
        return tile
    return Tile(lw.emit("broadcast", (tile.value,), tile.type.with_shape(shape), node), tile.weak)


def together(lw: Lowering, tiles: list[Tile], nodes: list[ast.expr], node: Located) -> list[Tile]:
    """Tiles broadcast to one shape. Errors: AK207."""
    shape = broadcast_shape([tile.shape for tile in tiles])
    if isinstance(shape, Mismatch):
        waiting = lw.open_division((shape.left, shape.right))
        if waiting is not None:
            lw.fail("AK803", node, name=waiting)
        shapes = [tile for tile in tiles if tile.shape]
        left, right = shapes[0], next(t for t in reversed(shapes))
        lw.fail(
            "AK207",
            node,
            left=shape_text(left.shape),
            right=shape_text(right.shape),
            reason=shape.reason,
            labels=tuple(
                lw.label(at, shape_text(tile.shape)) for tile, at in zip(tiles, nodes, strict=True) if tile.shape
            ),
            hint_text=broadcast_hint(left.shape, right.shape),
            fixes=_every_pair(lw, tiles, nodes),
        )
    return [broadcast(lw, tile, shape, node) for tile in tiles]


def _every_pair(lw: Lowering, tiles: list[Tile], nodes: list[ast.expr]) -> tuple[Fix, ...]:
    """The fix for two tiles of one axis each: the first down, the second across."""
    if [len(tile.shape) for tile in tiles] != [1, 1]:
        return ()
    down, across = (
        lw.source.insert_after(at, text, "") for at, text in zip(nodes, ("[:, None]", "[None, :]"), strict=True)
    )
    return (Fix("take every pair", (*down.edits, *across.edits)),)


def broadcast_hint(left: Shape, right: Shape) -> str:
    """What to write so that two shapes broadcast."""
    short, long = (left, right) if len(left) <= len(right) else (right, left)
    if len(short) == len(long) == 1:
        return "compare every pair with `a[:, None]` and `b[None, :]`"
    if len(short) < len(long) and short and short[0] == long[0]:
        new_axes = ", ".join(["None"] * (len(long) - len(short)))
        return f"add axes at the end: `[:, {new_axes}]`, or reduce with `keepdims=True`"
    return "axes are aligned at their ends; `None` in a subscript adds one of extent 1"


def reshaped(lw: Lowering, tile: Tile, shape: Shape, node: Located) -> Tile:
    """The tile with its elements regrouped; the number of elements is the same."""
    if tile.shape == shape:
        return tile
    return Tile(lw.emit("reshape", (tile.value,), tile.type.with_shape(shape), node))
