"""`ak.grid`: its axes, its variables, its body as a region."""

from __future__ import annotations

import ast
from dataclasses import replace

from agentkern.compiler.frontend.lowering import I64, GridState, Lowering, Poisoned, Rejected
from agentkern.compiler.frontend.ranges import AxisRange, axis_range, block_size
from agentkern.compiler.frontend.recovery import forget
from agentkern.compiler.frontend.sinking import sink
from agentkern.compiler.frontend.values import (
    NOTHING,
    BlockVar,
    Nothing,
    Tile,
    Tuple,
)
from agentkern.compiler.ir.core import Op, Region, Value
from agentkern.compiler.ir.types import BlockType, TileType


def _targets(lw: Lowering, node: ast.For, n_extents: int) -> list[ast.Name]:
    found = list(node.target.elts) if isinstance(node.target, ast.Tuple | ast.List) else [node.target]
    names = [target for target in found if isinstance(target, ast.Name)]
    if len(names) != len(found):
        lw.fail("AK121", node.target, reason="a grid's variables are plain names")
    if n_extents == 0 and len(names) == 1:
        return []
    if len(names) != n_extents:
        reason = f"{len(names)} names for a grid of {n_extents} extents"
        lw.fail("AK121", node.target, reason=reason)
    seen: set[str] = set()
    for target in names:
        if target.id in seen and target.id != "_":
            lw.fail("AK114", target, name=target.id, what="variable")
        seen.add(target.id)
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
    """A grid. Errors: AK120, AK121, AK215, AK604."""
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


def _axes(lw: Lowering, node: ast.For, call: ast.Call) -> list[tuple[str, AxisRange]]:
    if any(isinstance(item, ast.Starred) for item in call.args):
        lw.fail("AK106", call, what="`*`", instead="write the items")
    ranges = [axis_range(lw, item) for item in call.args]
    blocks = _blocks(lw, call, len(ranges))
    for at, found, block in zip(call.args, ranges, blocks, strict=True):
        if found.block is not None and block is not None:
            form = "ak.each" if found.each else "ak.parts"
            lw.fail("AK121", at, reason=f"`{form}` has no block to write", hint="leave it `None`")
    targets = _targets(lw, node, len(ranges))
    return [
        (target.id, found if block is None else replace(found, block=block))
        for target, found, block in zip(targets, ranges, blocks, strict=True)
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


def _lower_body(lw: Lowering, node: ast.For, call: ast.Call, axes: list[tuple[str, AxisRange]]) -> None:
    outer = lw.builder
    lw.builder = outer.nested()
    lw.grid = GridState(names=tuple(name for name, _ in axes), call=call)
    lw.scopes.append({})
    remapped = sink(lw, outer.ops)
    args: list[Value] = []
    for name, axis in axes:
        symbol = new_symbol(lw, name)
        value = Value(BlockType(symbol, axis.extent, axis.block, axis.first), symbol.removeprefix("%"))
        args.append(value)
        scalar = Tile(lw.emit("start", (value,), TileType(I64), node.target)) if axis.each else None
        variable = BlockVar(value, name, scalar, whole=axis.whole)
        lw.grid.blocks[variable.type.name] = variable
        lw.bind(name, variable)
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
    lw.builder.emit("grid", (), (), None, (Region(tuple(args), ops),))


def _end_names(lw: Lowering, bound: set[str]) -> None:
    """What a grid bound has no value after it, even under a name that had one before."""
    lw.ended |= bound
    for scope in lw.scopes[1:]:
        for name in bound & scope.keys():
            del scope[name]


def _without_unused(ops: list[Op], sunk: int) -> tuple[Op, ...]:
    """Drop sunk operations that the body does not use."""
    used = {id(value) for op in ops[sunk:] for value in op.operands}
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
                lw.diagnostics.append(lw.diagnostic("AK312", at, name=name, reason="no earlier grid wrote it"))
    lw.written |= grid.writes
