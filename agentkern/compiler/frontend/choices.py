"""A choice between two regions by a scalar of the run: `if` in a grid, and what follows a `break`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from agentkern.compiler.frontend.carried import Carried, RegionBody, assigned_names, matched, tiles_of
from agentkern.compiler.frontend.conversion import BOOL, constant
from agentkern.compiler.frontend.lowering import Lowering, Poisoned, Rejected
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.values import POISON, FrontValue, Number, Poison, Tile
from agentkern.compiler.ir.core import Region, Value
from agentkern.compiler.ir.types import TileType

Body = Callable[[], "Tile | None"]


def lower_if(lw: Lowering, node: ast.If, condition: Tile) -> None:
    """`if` on a run-time scalar: names that the branches bind keep the value of the one that ran. Errors: AK421."""
    names = assigned_names([*node.body, *node.orelse])

    def run(statements: Sequence[ast.stmt]) -> Body:
        def body() -> None:
            lw.run(statements)

        return body

    choose(lw, node.test, condition, (run(node.body), run(node.orelse)), names)


def choose(
    lw: Lowering, node: Located, condition: Tile, bodies: tuple[Body, Body], names: Sequence[str]
) -> Tile | None:
    """Run one of two bodies and merge the names that they bind; what a body returns is false where it is left out."""
    regions: list[RegionBody] = []
    flags: list[Tile | None] = []
    for body in bodies:
        with RegionBody(lw) as region:
            flags.append(body())
        regions.append(region)
    kept: list[Carried] = []
    yields: tuple[list[Value], list[Value]] = ([], [])
    for name in names:
        found = _merged(lw, node, name, regions)
        if found is not None:
            kept.append(found[0])
            for values, more in zip(yields, found[1], strict=True):
                values += more
    if any(flag is not None for flag in flags):
        for region, values, flag in zip(regions, yields, flags, strict=True):
            values.append((flag or _inside(lw, region, lambda: constant(lw, BOOL, False, node))).value)
    made = _emit(lw, node, condition, regions, yields)
    for carried in kept:
        for value in made[: len(carried.tiles)]:
            value.name = carried.name
        lw.bind(carried.name, carried.rebuilt(made))
    return Tile(made[0]) if made else None


def _emit(
    lw: Lowering,
    node: Located,
    condition: Tile,
    regions: Sequence[RegionBody],
    yields: tuple[list[Value], list[Value]],
) -> list[Value]:
    for region, values in zip(regions, yields, strict=True):
        region.builder.emit("yield", tuple(values))
    types = tuple(value.type for value in yields[0])
    lw.builder.location = lw.source.location(node)
    bodies = tuple(Region((), region.ops) for region in regions)
    return list(lw.builder.emit("branch", (condition.value,), types, None, bodies))


def _inside(lw: Lowering, region: RegionBody, make: Callable[[], Tile]) -> Tile:
    """Emit at the end of a region that is closed."""
    outer, lw.builder = lw.builder, region.builder
    try:
        return make()
    finally:
        lw.builder = outer


def _merged(
    lw: Lowering, node: Located, name: str, regions: Sequence[RegionBody]
) -> tuple[Carried, tuple[list[Value], list[Value]]] | None:
    """A name's value in both branches, where they differ; None where the name needs none, or has none any more."""
    first, second = (region.names.get(name) for region in regions)
    if first is second or (isinstance(first, Number) and first == second):
        if first is not None:
            lw.bind(name, first)
        return None
    if first is None or second is None:
        lw.end(name)
        return None
    if isinstance(first, Poison) or isinstance(second, Poison):
        lw.bind(name, POISON)
        return None
    return _both(lw, node, name, (first, second), regions)


def _both(
    lw: Lowering, node: Located, name: str, values: tuple[FrontValue, FrontValue], regions: Sequence[RegionBody]
) -> tuple[Carried, tuple[list[Value], list[Value]]] | None:
    """The tiles of a name's two values, numbers in the dtype of the other side. Errors: AK421, reported.

    Where neither value has a dtype the name ends: who reads it is told so (AK420).
    """
    typed = next((value for value in values if tiles_of(value)), None)
    if typed is None:
        hint = "give it a dtype in each branch: `ak.full((), 1.0, ak.f32)`"
        lw.end(name, lw.diagnostic("AK420", node, name=name, hint_text=hint))
        return None
    try:
        carried = Carried(name, typed, tiles_of(typed))
        found: list[list[Value]] = []
        for value, region in zip(values, regions, strict=True):
            outer, lw.builder = lw.builder, region.builder
            try:
                found.append(matched(lw, carried, value, node) or [])
            finally:
                lw.builder = outer
    except Rejected as e:
        lw.diagnostics.append(e.diagnostic)
        lw.bind(name, POISON)
        return None
    return carried, (found[0], found[1])


def condition_of(lw: Lowering, value: Tile, node: ast.expr) -> Tile:
    """A run-time condition. Errors: AK110 outside a grid, AK206 for what is no bool."""
    if lw.grid is None:
        lw.fail("AK110", node, what="`if` on a run-time scalar")
    if value.type != TileType(BOOL):
        fixes = (lw.source.insert_after(node, " != 0", "compare with 0"),)
        hint = "compare it: `!= 0`"
        lw.fail("AK206", node, operation="if", got=value.dtype.name, hint_text=hint, fixes=fixes)
    return value


def run_with_breaks(lw: Lowering, statements: Sequence[ast.stmt]) -> Tile | None:
    """Lower a loop's statements; what follows `if condition: break` runs where it does not hold. Gives the stop."""
    for place, statement in enumerate(statements):
        if not (isinstance(statement, ast.If) and _ends_in_break(statement)):
            continue
        lw.run(statements[:place])
        rest, last = statements[place + 1 :], statement.body[:-1]
        value = lw.evaluate(statement.test)
        if isinstance(value, Poison):
            raise Poisoned
        if isinstance(value, Number):
            if value.value:
                lw.run(last)
                return constant(lw, BOOL, True, statement.test)
            return run_with_breaks(lw, rest)
        if not isinstance(value, Tile) or value.weak or value.shape:
            lw.fail("AK424", statement.test, hint_text="reduce it: `ak.all(...)` or `ak.any(...)`")
        condition = condition_of(lw, value, statement.test)

        def leave(last: Sequence[ast.stmt] = last, at: ast.expr = statement.test) -> Tile:
            lw.run(last)
            return constant(lw, BOOL, True, at)

        def go_on(rest: Sequence[ast.stmt] = rest) -> Tile | None:
            return run_with_breaks(lw, rest)

        names = assigned_names([*last, *rest])
        return choose(lw, statement.test, condition, (leave, go_on), names)
    lw.run(statements)
    return None


def _ends_in_break(node: ast.If) -> bool:
    return isinstance(node.body[-1], ast.Break) and not node.orelse


def has_break(statements: Sequence[ast.stmt]) -> bool:
    """Whether a loop's own statements hold `if condition: break`."""
    return any(isinstance(s, ast.If) and _ends_in_break(s) for s in statements)
