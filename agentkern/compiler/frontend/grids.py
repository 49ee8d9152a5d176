"""`ak.grid`: its axes, its variables, its body as a region."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from agentkern.compiler.frontend.lowering import I64, GridState, Lowering, Poisoned, Rejected
from agentkern.compiler.frontend.ranges import AxisRange, axis_range, block_size, piece_span
from agentkern.compiler.frontend.recovery import forget
from agentkern.compiler.frontend.segments import Ragged, forgotten_blocks, ragged_range
from agentkern.compiler.frontend.sinking import sink
from agentkern.compiler.frontend.values import (
    NOTHING,
    BlockVar,
    Nothing,
    Tile,
    Tuple,
)
from agentkern.compiler.ir.core import Op, Region, Value, walk
from agentkern.compiler.ir.segments import segment_bounds
from agentkern.compiler.ir.types import BlockType, TileType


@dataclass(frozen=True, slots=True)
class _Axis:
    """One argument of a grid: its node, what it runs over, its variables: of blocks of rows two."""

    node: ast.expr
    range: AxisRange
    ragged: Ragged | None = None
    names: tuple[str, ...] = ()

    @property
    def is_paired(self) -> bool:
        """Whether it gives a segment and a block of its rows."""
        return self.ragged is not None and self.ragged.rows is not None


def _axis(lw: Lowering, node: ast.expr) -> _Axis:
    ragged = ragged_range(lw, node)
    if ragged is None:
        return _Axis(node, axis_range(lw, node))
    lw.use_sizes(ragged.count)
    return _Axis(node, AxisRange(ragged.count, block=1), ragged)


def _targets(lw: Lowering, node: ast.For, axes: list[_Axis]) -> list[ast.Name]:
    """The grid's variables, one for each axis, of blocks of rows two. Errors: AK114, AK121."""
    alone = len(axes) == 1 and axes[0].is_paired
    found = list(node.target.elts) if isinstance(node.target, ast.Tuple | ast.List) and not alone else [node.target]
    if not axes and len(found) == 1:
        return []
    if len(found) != len(axes):
        reason = f"{len(found)} names for a grid of {len(axes)} extents"
        fixes = forgotten_blocks(lw, axes[0].node, len(found)) if len(axes) == 1 else ()
        lw.fail("AK121", node.target, reason=reason, fixes=fixes)
    names: list[ast.Name] = []
    for target, axis in zip(found, axes, strict=True):
        names += _names(lw, target, axis)
    seen: set[str] = set()
    for target in names:
        if target.id in seen and target.id != "_":
            lw.fail("AK114", target, name=target.id, what="variable")
        seen.add(target.id)
    return names


def _names(lw: Lowering, target: ast.expr, axis: _Axis) -> list[ast.Name]:
    found = list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]
    names = [name for name in found if isinstance(name, ast.Name)]
    if len(names) != len(found) or (len(found) > 1 and axis.ragged is None):
        lw.fail("AK121", target, reason="a grid's variables are plain names")
    if axis.is_paired and len(names) != 2:
        hint = "unpack each: `for (s, m), n in ak.grid(ak.segments(offsets).blocks(), N):`"
        lw.fail("AK121", target, reason="`.blocks()` gives a segment and a block of its rows", hint=hint)
    if not axis.is_paired and len(names) != 1:
        hint = "`ak.segments(offsets).blocks()` gives pairs of a segment and a block of its rows"
        reason = "`ak.segments` gives one variable, the whole segment"
        lw.fail("AK121", target, reason=reason, hint=hint, fixes=forgotten_blocks(lw, axis.node, len(names)))
    return names


def _blocks(lw: Lowering, call: ast.Call, n_extents: int) -> list[int | None]:
    given: ast.expr | None = None
    for keyword in call.keywords:
        if keyword.arg != "block":
            form = "ak.grid(M, N, block=(None, 128))"
            lw.fail("AK122", keyword, name="ak.grid", reason=f"unknown keyword `{keyword.arg}`", form=form)
        given = keyword.value
    if given is None:
        return [None] * n_extents
    value = lw.need_one(given)
    if not isinstance(value, Tuple):
        if n_extents != 1 and not isinstance(value, Nothing):
            reason = f"one block size for {n_extents} extents"
            lw.fail("AK121", given, reason=reason, hint="write one per extent: `block=(None, 128)`")
        return [block_size(lw, value, given)] * n_extents
    if len(value.items) != n_extents:
        reason = f"{len(value.items)} block sizes for {n_extents} extents"
        lw.fail("AK121", given, reason=reason, hint="write one per extent, `None` where the compiler chooses")
    nodes = given.elts if isinstance(given, ast.Tuple) else [given] * n_extents
    return [block_size(lw, item, at) for item, at in zip(value.items, nodes, strict=True)]


def lower_grid(lw: Lowering, node: ast.For, call: ast.Call) -> None:
    """A grid. Errors: AK120, AK121, AK215, AK411, AK604."""
    if lw.grid is not None or lw.calls:
        forget(lw, node)
        lw.fail("AK120", node.iter, what="helper" if lw.calls else "grid")
    try:
        axes = _axes(lw, node, call)
    except (Rejected, Poisoned):
        forget(lw, node)
        raise
    lw.n_grids += 1
    _lower_body(lw, node, call, axes)


def _axes(lw: Lowering, node: ast.For, call: ast.Call) -> list[_Axis]:
    if any(isinstance(item, ast.Starred) for item in call.args):
        lw.fail("AK106", call, what="`*`", instead="write the items")
    found = [_axis(lw, item) for item in call.args]
    for at, axis, block in zip(call.args, found, _blocks(lw, call, len(found)), strict=True):
        if axis.ragged is not None and block is not None:
            hint = "write it where the blocks of rows are asked for: `ak.segments(offsets).blocks(block=64)`"
            lw.fail("AK121", at, reason="a segment has no block to write", hint=hint)
        if axis.range.block is not None and block is not None:
            form = "ak.each" if axis.range.each else "ak.parts"
            lw.fail("AK121", at, reason=f"`{form}` has no block to write", hint="leave it `None`")
    names = iter(_targets(lw, node, found))
    return [
        replace(
            axis,
            range=axis.range if block is None else replace(axis.range, block=block),
            names=tuple(next(names).id for _ in range(2 if axis.is_paired else 1)),
        )
        for axis, block in zip(found, _blocks(lw, call, len(found)), strict=True)
    ]


def new_symbol(lw: Lowering, name: str) -> str:
    """A block's symbol: unique in the kernel, ASCII."""
    plain = "".join(c if c.isascii() else f"u{ord(c):x}" for c in name)
    symbol = f"%{plain}"
    while symbol in lw.symbols:
        lw.symbols[symbol] += 1
        symbol = f"%{plain}.{lw.symbols[f'%{plain}']}"
    lw.symbols[symbol] = 0
    return symbol


def _lower_body(lw: Lowering, node: ast.For, call: ast.Call, axes: list[_Axis]) -> None:
    outer = lw.builder
    lw.builder = outer.nested()
    lw.grid = GridState(names=tuple(axis.names[0] for axis in axes), call=call)
    lw.scopes.append({})
    remapped = sink(lw, outer.ops)
    made = [_variables(lw, axis, node.target) for axis in axes]
    variables = [variable for group in made for variable in group]
    for variable in variables:
        lw.grid.blocks[variable.type.name] = variable
        lw.bind(variable.name, variable)
    if not axes and isinstance(node.target, ast.Name):
        lw.bind(node.target.id, NOTHING)
    try:
        lw.run(node.body)
    finally:
        lw.scopes.pop()
        body, lw.builder, grid, lw.grid = lw.builder, outer, lw.grid, None
        _end_names(lw, grid.bound)
    _check_accesses(lw, grid)
    lw.builder.location = lw.source.location(node.iter)
    ops = _without_unused(body.ops, remapped)
    args = tuple(variable.value for variable in variables)
    ragged = [(args.index(group[0].value), axis.ragged) for group, axis in zip(made, axes, strict=True) if axis.ragged]
    offsets = tuple(found.offsets.value for _, found in ragged)
    places = tuple((place, found.end) for place, found in ragged)
    lw.builder.emit("grid", offsets, (), {"segments": places} if places else None, (Region(args, ops),))


def _variables(lw: Lowering, axis: _Axis, target: ast.expr) -> list[BlockVar]:
    """The variables of one axis, with symbols of their own."""
    found, name = axis.range, axis.names[0]
    symbol = new_symbol(lw, name)
    value = Value(BlockType(symbol, found.extent, found.block, found.first), symbol.removeprefix("%"))
    if axis.ragged is not None:
        low, high = segment_bounds(symbol)
        segment = BlockVar(value, name, span=(low, high), segment=axis.ragged.end)
        if axis.ragged.rows is None:
            return [segment]
        inner = new_symbol(lw, axis.names[1])
        rows = Value(BlockType(inner, high, axis.ragged.block, low), inner.removeprefix("%"))
        return [segment, BlockVar(rows, axis.names[1], rows=axis.ragged.rows)]
    scalar = Tile(lw.emit("start", (value,), TileType(I64), target)) if found.each else None
    span = None if found.whole is None else piece_span(symbol, found.whole, found.extent)
    return [BlockVar(value, name, scalar, span=span)]


def _end_names(lw: Lowering, bound: set[str]) -> None:
    """What a grid bound has no value after it, even under a name that had one before."""
    lw.ended |= bound
    for scope in lw.scopes[1:]:
        for name in bound & scope.keys():
            del scope[name]


def _without_unused(ops: list[Op], sunk: int) -> tuple[Op, ...]:
    """Drop sunk operations that the body does not use, in its loops and branches either."""
    used = {id(value) for op in walk(ops[sunk:]) for value in op.operands}
    kept: list[Op] = []
    for op in reversed(ops[:sunk]):
        if id(op.result) in used:
            kept.append(op)
            used.update(id(value) for value in op.operands)
    return (*reversed(kept), *ops[sunk:])


def _check_accesses(lw: Lowering, grid: GridState) -> None:
    for name, nodes in grid.reads.items():
        for at in nodes:
            if name in grid.writes:
                lw.diagnostics.append(lw.diagnostic("AK312", at, name=name, reason="this grid writes it"))
            elif name not in lw.written:
                hint = "write it in an earlier grid, or declare it `ak.InOut[...]`"
                reason = "no earlier grid wrote it"
                lw.diagnostics.append(lw.diagnostic("AK312", at, hint=hint, name=name, reason=reason))
    lw.written |= grid.writes
