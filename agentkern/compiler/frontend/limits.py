"""`until=` and `since=` of a loop: rows that a step leaves as they are, and the steps that no row needs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.frontend.conversion import BOOL, broadcast, cast, size_tile, weak_tile
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.subscripts import reshaped
from agentkern.compiler.frontend.values import BlockVar, Extent, Number, Tile, describe, shape_text
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.types import TileType


@dataclass(frozen=True, slots=True)
class Limit:
    """`until=` or `since=`: for each row, or for all, where its steps end or begin; `furthest` of all rows."""

    name: str
    rows: Tile
    furthest: Tile
    node: ast.expr


def read_limit(lw: Lowering, name: str, node: ast.expr) -> Limit:
    """A limit's value, a scalar or a tile over rows. Errors: AK424."""
    found = lw.need_one(node)
    match found:
        case Number(int()) if not isinstance(found.value, bool):
            rows = weak_tile(lw, found, I64, node)
        case Extent():
            lw.use_sizes(found.extent)
            rows = Tile(size_tile(lw, found, node).value)
        case BlockVar(scalar=Tile() as scalar):
            rows = scalar
        case Tile() if found.dtype.is_integer and not found.weak and len(found.shape) <= 1:
            rows = cast(lw, found, I64, node)
        case _:
            lw.fail(
                "AK424", node, hint_text=f"`{name}=` is an integer scalar or a tile over rows, not {describe(found)}"
            )
    if not rows.shape:
        return Limit(name, rows, rows, node)
    attrs = {"axes": (0,), "keepdims": False}
    furthest = lw.emit("max" if name == "until" else "min", (rows.value,), TileType(I64), node, attrs)
    return Limit(name, rows, Tile(furthest), node)


def running(lw: Lowering, limits: Sequence[Limit], block: Value, node: Located) -> Tile | None:
    """Whether each row runs the step: it starts before `until`, ends after `since`."""
    found: Tile | None = None
    for limit in limits:
        is_until = limit.name == "until"
        edge = Tile(lw.emit("start" if is_until else "end", (block,), TileType(I64), node))
        edge = broadcast(lw, edge, limit.rows.shape, node)
        type_ = limit.rows.type.with_dtype(BOOL)
        one = Tile(lw.emit("lt" if is_until else "gt", (edge.value, limit.rows.value), type_, node))
        if found is not None:
            shape = found.shape or one.shape
            pair = (broadcast(lw, found, shape, node).value, broadcast(lw, one, shape, node).value)
            one = Tile(lw.emit("and", pair, TileType(BOOL, shape), node))
        found = one
    return found


def check_rows(lw: Lowering, limits: Sequence[Limit], carried: Sequence[tuple[str, Tile]]) -> None:
    """Rows are the leading axis of every carried value. Errors: AK424."""
    for limit in limits:
        for name, tile in carried if limit.rows.shape else ():
            if tile.shape[:1] != limit.rows.shape:
                shapes = f"{shape_text(limit.rows.shape)}, `{name}` is {shape_text(tile.shape)}"
                hint = f"`{limit.name}=` has the leading axis of every carried value: it is {shapes}"
                lw.fail("AK424", limit.node, hint_text=hint)


def kept_rows(lw: Lowering, runs: Tile, new: Value, old: Value, node: Located) -> Value:
    """The new value in rows that run the step, the old one in the others."""
    type_ = new.type
    assert isinstance(type_, TileType)
    mask = runs
    if mask.shape and len(type_.shape) > 1:
        mask = reshaped(lw, mask, (mask.shape[0], *(1 for _ in type_.shape[1:])), node)
    mask = broadcast(lw, mask, type_.shape, node)
    return lw.emit("where", (mask.value, new, old), type_, node)
