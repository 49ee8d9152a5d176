"""Windows: tiles of indices that run along a block in equal steps, `step * t.index + start`. Facts only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DType

MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Window:
    """`step * index + start + sum of scalars`, each scalar with its sign; `index` are a block's global indices."""

    block: Value
    step: int
    start: int
    scalars: tuple[tuple[int, Value], ...]


@dataclass(frozen=True, slots=True)
class _Sum:
    """A linear combination: of a block's indices, or of none."""

    block: Value | None
    step: int
    start: int
    scalars: tuple[tuple[int, Value], ...]


Makers = Mapping[Value, Op]


def makers_of(ops: Sequence[Op]) -> dict[Value, Op]:
    """The operation that makes each value, nested ones included."""
    return {value: op for op in walk(ops) for value in op.results}


def window_of(value: Value, makers: Makers) -> Window | None:
    """How a 1-D tile of indices runs along a block; None where it does not in steps that are numbers."""
    found = _sum(value, makers, MAX_DEPTH)
    if found is None or found.block is None:
        return None
    return Window(found.block, found.step, found.start, found.scalars)


def _sum(value: Value, makers: Makers, depth: int) -> _Sum | None:
    if not isinstance(value.type, TileType) or not depth:
        return None
    op = makers.get(value)
    if op is not None and op.name == "constant" and isinstance(op.attrs["value"], int):
        return _Sum(None, 0, int(op.attrs["value"]), ())
    if not value.type.shape:
        inner = _sum(op.operands[0], makers, depth - 1) if op is not None and _widens(op) else None
        return inner if inner is not None and not inner.scalars else _Sum(None, 0, 0, ((1, value),))
    if op is None:
        return None
    return _Sum(op.operands[0], 1, 0, ()) if op.name == "index" else _combined(op, makers, depth)


def _combined(op: Op, makers: Makers, depth: int) -> _Sum | None:
    """What an operation makes of sums; None where that is none."""
    parts = [_sum(v, makers, depth - 1) for v in op.operands]
    found = [part for part in parts if part is not None]
    if len(found) != len(parts) or not found:
        return None
    if op.name == "broadcast":
        return found[0] if op.operands[0].type == TileType(_dtype(op.operands[0])) else None
    if op.name == "convert" or _widens(op):
        return found[0]
    if op.name == "mul":
        return _product(*found)
    if op.name == "neg":
        return _scaled(found[0], -1)
    if op.name in ("add", "sub"):
        return _added(found[0], found[1] if op.name == "add" else _scaled(found[1], -1))
    return None


def _dtype(value: Value) -> DType:
    assert isinstance(value.type, TileType)
    return value.type.dtype


def _widens(op: Op) -> bool:
    """Whether an operation is a cast that keeps every integer."""
    if op.name != "cast":
        return False
    source, result = op.operands[0].type, op.result.type
    assert isinstance(source, TileType)
    assert isinstance(result, TileType)
    if not (source.dtype.is_integer and result.dtype.is_integer):
        return False
    low, high = source.dtype.integer_range
    least, most = result.dtype.integer_range
    return least <= low and high <= most


def _scaled(a: _Sum, factor: int) -> _Sum:
    return _Sum(a.block, a.step * factor, a.start * factor, tuple((n * factor, v) for n, v in a.scalars))


def _product(a: _Sum, b: _Sum) -> _Sum | None:
    for one, other in ((a, b), (b, a)):
        if one.block is None and not one.scalars:
            return _scaled(other, one.start)
    return None


def _added(a: _Sum, b: _Sum) -> _Sum | None:
    if a.block is not None and b.block is not None:
        return None
    block = a.block if a.block is not None else b.block
    return _Sum(block, a.step + b.step, a.start + b.start, (*a.scalars, *b.scalars))


def varies_along(value: Value, axis: int, makers: Makers, depth: int = MAX_DEPTH) -> bool:
    """Whether neighbours along an axis of a tile may differ."""
    type_ = value.type
    assert isinstance(type_, TileType)
    if not type_.shape or type_.shape[axis] == 1:
        return False
    op = makers.get(value)
    if op is None or not depth:
        return True
    if op.name == "broadcast":
        source = op.operands[0].type
        assert isinstance(source, TileType)
        inner = axis - type_.rank + source.rank
        return inner >= 0 and source.shape[inner] != 1 and varies_along(op.operands[0], inner, makers, depth - 1)
    if op.name == "convert" and op.operands[0].type.shape == type_.shape:  # pyright: ignore[reportAttributeAccessIssue]: a tile
        return varies_along(op.operands[0], axis, makers, depth - 1)
    if "elementwise" in op.spec.traits and op.name != "extend":
        return any(varies_along(v, axis, makers, depth - 1) for v in op.operands)
    return True
