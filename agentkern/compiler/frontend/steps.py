"""`ak.steps`: blocks of an axis in order, with values carried from one to the next."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from agentkern.compiler.frontend.carried import (
    Carried,
    RegionBody,
    assigned_names,
    carried_names,
    end_names,
    matched,
    rebuilt,
)
from agentkern.compiler.frontend.choices import choose, has_break, run_with_breaks
from agentkern.compiler.frontend.conversion import cast
from agentkern.compiler.frontend.free_steps import check_free
from agentkern.compiler.frontend.grids import new_symbol
from agentkern.compiler.frontend.limits import Limit, check_rows, kept_rows, read_limit, running
from agentkern.compiler.frontend.lowering import I64, Lowering, Poisoned, Rejected
from agentkern.compiler.frontend.ranges import block_size, callee_is
from agentkern.compiler.frontend.recovery import forget
from agentkern.compiler.frontend.values import BlockVar, Extent, Number, Tile, describe
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Region, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.loop_ops import high_name, low_name
from agentkern.compiler.ir.types import BlockType, TileType

FORM = "ak.steps(lo, hi, block=128)"
Bound = int | Dim | Tile


@dataclass(frozen=True, slots=True)
class Steps:
    """What heads the loop: its variable, bounds, written block, and whether it is `ak.each`."""

    name: str
    low: Bound
    high: Bound
    block: int | None
    each: bool
    limits: tuple[Limit, ...] = ()


def lower_steps(lw: Lowering, node: ast.For, call: ast.Call) -> None:
    """A loop in order. Errors: AK110, AK121, AK122, AK215, AK420 to AK422."""
    try:
        if lw.grid is None:
            lw.fail("AK110", call, what="`ak.steps`")
        steps = _head(lw, node, call)
    except (Rejected, Poisoned):
        forget(lw, node)
        raise
    _lower_loop(lw, node, call, steps)


def _head(lw: Lowering, node: ast.For, call: ast.Call) -> Steps:
    if not isinstance(node.target, ast.Name):
        lw.fail("AK121", node.target, reason="steps have one variable", hint="write one name: `for k in ak.steps(K):`")
    bounds, keywords, each = call.args, call.keywords, False
    if len(bounds) == 1 and isinstance(bounds[0], ast.Call) and callee_is(lw, bounds[0].func, "each"):
        each = True
        if bounds[0].keywords:
            lw.fail("AK122", bounds[0], name="ak.each", reason="it takes one or two bounds", form="ak.each(lo, hi)")
        bounds = bounds[0].args
    if not 1 <= len(bounds) <= 2 or any(isinstance(item, ast.Starred) for item in bounds):
        lw.fail("AK122", call, name="ak.steps", reason="it takes one or two bounds", form=FORM)
    block: int | None = 1 if each else None
    limits: list[Limit] = []
    for keyword in keywords:
        if keyword.arg in ("until", "since"):
            limits.append(read_limit(lw, keyword.arg, keyword.value))
            continue
        if keyword.arg != "block":
            lw.fail("AK122", keyword, name="ak.steps", reason=f"unknown keyword `{keyword.arg}`", form=FORM)
        if each:
            lw.fail("AK121", keyword, reason="`ak.each` has no block to write", hint="leave `block=` out")
        block = block_size(lw, lw.need_one(keyword.value), keyword.value)
    values = [_bound(lw, item) for item in bounds]
    low, high = values if len(values) == 2 else (0, values[0])
    for what, used in (*((f"`{limit.name}=`", True) for limit in limits), ("`break`", has_break(node.body))):
        if used and block is None:
            fixes = (lw.source.insert_before_end(call, ", block=128", "write a block of 128"),)
            lw.fail("AK423", call, what=what, fixes=fixes)
    return Steps(node.target.id, low, high, block, each, tuple(sorted(limits, key=lambda limit: limit.name != "until")))


def _bound(lw: Lowering, node: ast.expr) -> Bound:
    match lw.need_one(node):
        case Number(int() as number) if not isinstance(number, bool):
            return number
        case Extent(extent):
            lw.use_sizes(extent)
            return extent
        case BlockVar(scalar=Tile() as scalar):
            return scalar
        case Tile(_, weak=True):
            lw.fail("AK215", node, reason=f"`{lw.source.text_of(node)}`")
        case Tile() as tile if tile.dtype.is_integer and not tile.shape:
            return cast(lw, tile, I64, node)
        case BlockVar(span=(_, _)) as block:
            bounds = f"{block.name}.start, {block.name}.end"
            fixes = (lw.source.replace(node, bounds, "step through its indices"),)
            lw.fail("AK215", node, reason=describe(block), hint=f"its indices are `ak.steps({bounds})`", fixes=fixes)
        case other:
            lw.fail("AK215", node, reason=describe(other), hint="bounds are sizes and integer scalars")


def _block_type(lw: Lowering, steps: Steps) -> tuple[BlockType, tuple[Value, ...]]:
    """The type of the step's block, and the bounds that only the run knows."""
    symbol = new_symbol(lw, steps.name)
    low, high = steps.low, steps.high
    operands = tuple(bound.value for bound in (low, high) if isinstance(bound, Tile))
    first = dims.symbol(low_name(symbol)) if isinstance(low, Tile) else low
    extent = dims.symbol(high_name(symbol)) if isinstance(high, Tile) else high
    return BlockType(symbol, extent, steps.block, first), operands


def _lower_loop(lw: Lowering, node: ast.For, call: ast.Call, steps: Steps) -> None:
    assert lw.grid is not None
    type_, operands = _block_type(lw, steps)
    block = Value(type_, type_.name.removeprefix("%"))
    names = assigned_names(node.body)
    carried = carried_names(lw, names)
    check_rows(lw, steps.limits, [(c.name, tile) for c in carried for tile in c.tiles])
    args = [Value(tile.type, c.name) for c in carried for tile in c.tiles]
    with RegionBody(lw) as region:
        scalar = Tile(lw.emit("start", (block,), TileType(I64), node.target)) if steps.each else None
        variable = BlockVar(block, steps.name, scalar, call)
        lw.grid.blocks[type_.name] = variable
        given = iter(args)
        for c in carried:
            lw.scopes[-1][c.name] = rebuilt(c.before, given)
        lw.bind(steps.name, variable)
        runs = running(lw, steps.limits, block, node.iter)
        stop = _run_body(lw, node, runs)
        yields = _yields(lw, carried, node)
        if yields is not None:
            if runs is not None and runs.shape:
                yields = [kept_rows(lw, runs, new, old, node.iter) for new, old in zip(yields, args, strict=True)]
            lw.builder.emit("yield", (*yields, *([stop.value] if stop is not None else [])))
    end_names(lw, region, (*names, steps.name), carried, node)
    if yields is None:
        forget(lw, node)
        raise Poisoned
    inits = tuple(tile.value for c in carried for tile in c.tiles)
    body = Region((block, *args), region.ops)
    lw.builder.location = lw.source.location(node.iter)
    limits = tuple(limit.furthest.value for limit in steps.limits)
    attrs = {limit.name: True for limit in steps.limits} | ({"breaks": True} if stop is not None else {})
    types = tuple(v.type for v in inits)
    results = lw.builder.emit("loop", (*operands, *limits, *inits), types, attrs or None, (body,))
    made = iter(results)
    for c in carried:
        for result in results:
            result.name = result.name or c.name
        lw.bind(c.name, rebuilt(c.before, made))
    check_free(lw, lw.builder.ops[-1], [c.name for c in carried for _ in c.tiles], steps.name, call)


def _run_body(lw: Lowering, node: ast.For, runs: Tile | None) -> Tile | None:
    """The statements of a step; gives the scalar that ends the loop, if one may."""
    if runs is None:
        return run_with_breaks(lw, node.body)
    if runs.shape:
        stop = run_with_breaks(lw, node.body)
        _refuse_stores(lw, node)
        return stop
    names = assigned_names(node.body)
    return choose(lw, node.iter, runs, (lambda: run_with_breaks(lw, node.body), lambda: None), names)


def _refuse_stores(lw: Lowering, node: ast.For) -> None:
    """A store or a requirement would have to leave out the rows that do not run. Errors: AK604."""
    writes = [op for op in walk(lw.builder.ops) if not op.spec.traits.isdisjoint(("writes", "checks"))]
    if not writes:
        return
    places = (inner for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.expr))
    here = next((place for place in places if lw.source.location(place) == writes[0].location), node.iter)
    verb, what = ("require it", "`ak.require`") if writes[0].name == "require" else ("store", "a store")
    instead = f"{verb} behind the loop, or give `until=` and `since=` scalars"
    lw.fail("AK604", here, what=f"{what} in a loop whose rows run different steps", instead=instead)


def _yields(lw: Lowering, carried: tuple[Carried, ...], node: ast.For) -> list[Value] | None:
    """The carried values at the end of a step; None where one was rejected."""
    found: list[Value] = []
    whole = True
    for c in carried:
        try:
            values = matched(lw, c, lw.scopes[-1][c.name], node.target)
        except Rejected as e:
            lw.diagnostics.append(e.diagnostic)
            values = None
        whole = whole and values is not None
        found += values or []
    return found if whole else None
