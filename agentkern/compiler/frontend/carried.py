"""Values that live through a region: names bound before a loop or a choice and rebound in it.

A name that holds a tile, or a tuple of tiles, is carried. One that holds something else is carried by nobody: read in
the region as it stood before, its new value would have to be; read after the region, it has no value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentkern.compiler.frontend.conversion import broadcast, is_compile_time, weak_tile
from agentkern.compiler.frontend.lowering import Lowering, RegionState
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.values import (
    POISON,
    FrontValue,
    Number,
    Poison,
    RecordTile,
    Tile,
    Tuple,
    describe,
    type_text,
)
from agentkern.compiler.ir.core import Builder, Op, Value
from agentkern.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Carried:
    """A name with its value before the region, and that value's tiles."""

    name: str
    before: FrontValue
    tiles: tuple[Tile, ...]

    def rebuilt(self, made: list[Value]) -> FrontValue:
        """The value with the first of other tiles in the places of its own; takes them away."""
        taken = [made.pop(0) for _ in self.tiles]
        return rebuilt(self.before, iter(taken))


def assigned_names(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Every name that statements bind or whose elements they assign, in order."""
    found: list[str] = []
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.append(node.id)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name):
            found.append(node.value.id)
    return tuple(dict.fromkeys(found))


def _leaves(value: FrontValue) -> Iterator[FrontValue]:
    if isinstance(value, Tuple | RecordTile):
        for item in value.items:
            yield from _leaves(item)
    else:
        yield value


def carried_names(lw: Lowering, names: Sequence[str]) -> tuple[Carried, ...]:
    """Of the names that a region binds, those that hold tiles before it."""
    own = lw.grid is None or bool(lw.calls)
    found: list[Carried] = []
    for name in names:
        if name not in lw.scopes[-1] or not (own or (lw.grid is not None and name in lw.grid.bound)):
            continue
        value = lw.scopes[-1][name]
        if tiles_of(value):
            found.append(Carried(name, value, tiles_of(value)))
    return tuple(found)


def tiles_of(value: FrontValue) -> tuple[Tile, ...]:
    """The tiles of a value that is one, or a tuple or record of nothing else; none of other values."""
    tiles = [leaf for leaf in _leaves(value) if isinstance(leaf, Tile) and not leaf.weak]
    return tuple(tiles) if len(tiles) == sum(1 for _ in _leaves(value)) else ()


def rebuilt(value: FrontValue, tiles: Iterator[Value]) -> FrontValue:
    """A carried value with other tiles in the places of its own."""
    if isinstance(value, Tuple):
        return Tuple(tuple(rebuilt(item, tiles) for item in value.items))
    if isinstance(value, RecordTile):
        return RecordTile(value.record, tuple(rebuilt(item, tiles) for item in value.items))
    return Tile(next(tiles))


class RegionBody:
    """A region being lowered: `with RegionBody(lw) as region: ...`, then `region.ops`.

    Inside it names are bound as anywhere; after it they mean again what they meant before.
    """

    def __init__(self, lw: Lowering) -> None:
        self.lw = lw
        self.state = RegionState()
        self.names: dict[str, FrontValue] = {}
        self.builder = Builder(lw.builder.table)

    @property
    def ops(self) -> tuple[Op, ...]:
        """What was emitted."""
        return tuple(self.builder.ops)

    def __enter__(self) -> RegionBody:
        lw = self.lw
        self.before = dict(lw.scopes[-1])
        self.outer, self.regions = lw.builder, lw.regions
        self.builder = lw.builder = lw.builder.nested()
        lw.regions = (*lw.regions, self.state)
        return self

    def __exit__(self, *_: object) -> None:
        lw = self.lw
        self.names = dict(lw.scopes[-1])
        lw.builder, lw.regions = self.outer, self.regions
        lw.scopes[-1].clear()
        lw.scopes[-1].update(self.before)


def matched(lw: Lowering, carried: Carried, after: FrontValue, node: Located) -> list[Value] | None:
    """The tiles of a carried value's new value; None if it was rejected already. Errors: AK421."""
    if any(isinstance(leaf, Poison) for leaf in _leaves(after)):
        return None
    found: list[Value] = []
    if not _match(lw, carried.before, after, node, found):
        hint = _one_at_a_time(lw, carried.before, after)
        lw.fail("AK421", node, name=carried.name, before=_shown(carried.before), after=_shown(after), hint=hint)
    return found


def _one_at_a_time(lw: Lowering, before: FrontValue, after: FrontValue) -> str | None:
    """What to write where a value has grown an axis of the steps' block."""
    if not isinstance(after, Tile) or not isinstance(before, Tile):
        return None
    blocks = [block for extent in after.shape if extent not in before.shape and (block := lw.block_of(extent))]
    if len(after.shape) == len(before.shape) or not blocks:
        return None
    name = blocks[0].name
    return f"`{name}` is a block of several; `ak.steps(ak.each(...))` takes one at a time; or reduce over `{name}`"


def _match(lw: Lowering, before: FrontValue, after: FrontValue, node: Located, found: list[Value]) -> bool:
    if isinstance(before, Tuple):
        if not isinstance(after, Tuple) or len(after.items) != len(before.items):
            return False
        return all(_match(lw, a, b, node, found) for a, b in zip(before.items, after.items, strict=True))
    if isinstance(before, RecordTile):
        if not isinstance(after, RecordTile) or after.record != before.record:
            return False
        return all(_match(lw, a, b, node, found) for a, b in zip(before.items, after.items, strict=True))
    assert isinstance(before, Tile)
    if is_compile_time(after) and _takes(before, after):
        after = broadcast(lw, weak_tile(lw, after, before.dtype, node), before.shape, node)
    if not isinstance(after, Tile) or after.type != before.type:
        return False
    found.append(after.value)
    return True


def _takes(tile: Tile, value: FrontValue) -> bool:
    """Whether a number is of the tile's kind."""
    if not isinstance(value, Number):
        return True
    is_bool = isinstance(value.value, bool)
    return is_bool == (tile.dtype.kind == "bool") and (tile.dtype.is_float or not isinstance(value.value, float))


def _shown(value: FrontValue) -> str:
    if isinstance(value, Tuple):
        return f"({', '.join(_shown(item) for item in value.items)})"
    return type_text(value.type) if isinstance(value, Tile) else describe(value)


def end_names(
    lw: Lowering, region: RegionBody, names: Sequence[str], carried: Sequence[Carried], node: ast.For
) -> None:
    """What a loop leaves of the names that it binds, but for carried ones: nothing. Errors: AK420, AK421, reported."""
    kept = {c.name for c in carried}
    for name in names:
        before, after = lw.scopes[-1].get(name), region.names.get(name)
        if name in kept or before == after:
            continue
        if before is not None and name in region.state.read and not isinstance(after, Poison):
            lw.diagnostics.append(_changes(lw, name, before, after, node))
            lw.bind(name, POISON)
            continue
        lw.end(name)


def _changes(lw: Lowering, name: str, before: FrontValue, after: FrontValue | None, node: ast.For) -> Diagnostic:
    """What is wrong with a name that a step reads as the one before left it, where nothing carries it."""
    if isinstance(before, Number):
        return lw.diagnostic("AK420", node.target, name=name, hint_text=_first_value(before, after))
    was, becomes = _shown(before), "nothing" if after is None else _shown(after)
    return lw.diagnostic("AK421", node.target, name=name, before=was, after=becomes)


def _first_value(before: Number, after: FrontValue | None) -> str:
    """What to begin with so that the loop carries it."""
    if not isinstance(after, Tile):
        number = after if isinstance(after, Number) else before
        dtype = {bool: "bool", int: "i32", float: "f32"}[type(number.value)]
        return f"begin with `ak.full((), {before.value!r}, ak.{dtype})`"
    shape = ", ".join(str(extent).replace("%", "") for extent in after.shape)
    comma = "," if len(after.shape) == 1 else ""
    return f"begin with `ak.full(({shape}{comma}), {before.value!r}, ak.{after.dtype.name})`"
