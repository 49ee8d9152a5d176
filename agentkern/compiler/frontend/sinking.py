"""Scalar expressions before a grid move into it: a kernel's body is then grids only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import FrontValue, Records, Tensor, Tile, Tuple
from agentkern.compiler.ir.core import Op, Region, Value
from agentkern.compiler.ir.tile_ops import TILE_OPS


def _remapped(value: FrontValue, clones: dict[int, Value]) -> FrontValue:
    if isinstance(value, Tile) and id(value.value) in clones:
        return Tile(clones[id(value.value)], value.weak)
    if isinstance(value, Tensor) and id(value.entry) in clones:
        return replace(value, entry=clones[id(value.entry)])
    if isinstance(value, Records):
        tensor = _remapped(value.tensor, clones)
        assert isinstance(tensor, Tensor)
        return value if tensor is value.tensor else Records(tensor, value.record)
    if isinstance(value, Tuple):
        return Tuple(tuple(_remapped(item, clones) for item in value.items))
    return value


def sink(lw: Lowering, outer: list[Op]) -> int:
    """Copy the scalar operations emitted so far into the grid being built, and let its names mean the copies.

    Returns how many operations were copied.
    """
    clones: dict[int, Value] = {}
    for op in outer:
        if op.name not in ("grid", "require"):
            lw.builder.ops.append(_copied(op, clones))
    for scope in lw.scopes[1:-1]:
        for name, value in scope.items():
            changed = _remapped(value, clones)
            if changed is not value:
                lw.scopes[-1][name] = changed
    return len(clones)


def _copied(op: Op, clones: dict[int, Value]) -> Op:
    results = tuple(Value(value.type, value.name) for value in op.results)
    operands = tuple(clones.get(id(value), value) for value in op.operands)
    clones.update({id(old): new for old, new in zip(op.results, results, strict=True)})
    return Op(op.spec, operands, op.attrs, results, (), op.location)


def grids_of(outer: Sequence[Op]) -> tuple[Op, ...]:
    """A kernel's body: its grids, and one of a single block for the conditions that stand before or behind each."""
    body: list[Op] = []
    waiting: list[Op] = []
    for position, op in enumerate(outer):
        if op.name == "require":
            waiting.append(op)
        if waiting and (op.name == "grid" or position == len(outer) - 1):
            body.append(_checks(outer, waiting))
            waiting = []
        if op.name == "grid":
            body.append(op)
    return tuple(body)


def _checks(outer: Sequence[Op], required: Sequence[Op]) -> Op:
    """A grid of one block that checks conditions, with copies of the scalar operations that they use."""
    needed = {id(value) for op in required for value in op.operands}
    used: list[Op] = []
    for op in reversed(outer):
        if op in required or needed.intersection(map(id, op.results)):
            needed.update(map(id, op.operands))
            used.append(op)
    clones: dict[int, Value] = {}
    region = Region((), tuple(_copied(op, clones) for op in reversed(used)))
    return Op(TILE_OPS["grid"], (), None, (), (region,), required[0].location)
