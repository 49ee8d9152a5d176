"""Scalar expressions before a grid move into it: a kernel's body is then grids only."""

from __future__ import annotations

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import FrontValue, Tile, Tuple
from agentkern.compiler.ir.core import Op, Value


def _remapped(value: FrontValue, clones: dict[int, Value]) -> FrontValue:
    if isinstance(value, Tile) and id(value.value) in clones:
        return Tile(clones[id(value.value)], value.weak)
    if isinstance(value, Tuple):
        return Tuple(tuple(_remapped(item, clones) for item in value.items))
    return value


def sink(lw: Lowering, outer: list[Op]) -> int:
    """Copy the scalar operations emitted so far into the grid being built, and let its names mean the copies.

    Returns how many operations were copied.
    """
    clones: dict[int, Value] = {}
    for op in outer:
        if op.name == "grid":
            continue
        result = Value(op.result.type, op.result.name)
        operands = tuple(clones.get(id(value), value) for value in op.operands)
        lw.builder.ops.append(Op(op.spec, operands, op.attrs, (result,), (), op.location))
        clones[id(op.result)] = result
    for scope in lw.scopes[1:-1]:
        for name, value in scope.items():
            changed = _remapped(value, clones)
            if changed is not value:
                lw.scopes[-1][name] = changed
    return len(clones)
