"""TILE operations about positions: their numbers, and the position of an extreme. Rows of the operation table.

What they mean is `reference_orders.py`. Passes spell most of them in element operations and plain reductions.
"""

from agentkern.compiler.ir.core import Op, OpSpec, Stage, VerifyRule
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DTYPES

TILE: frozenset[Stage] = frozenset({"tile", "placed"})
ARGUMENTS = ("argmax", "argmin")


def operand_type(op: Op, k: int = 0) -> TileType:
    """The type of operand k, a tile."""
    type_ = op.operands[k].type
    assert isinstance(type_, TileType)
    return type_


def result_type(op: Op, k: int = 0) -> TileType:
    """The type of result k, a tile."""
    type_ = op.results[k].type
    assert isinstance(type_, TileType)
    return type_


def reduced_wrongly(op: Op) -> str | None:
    """What is wrong with the axes or the result's shape of a reduction."""
    axes, keepdims = op.attrs["axes"], op.attrs["keepdims"]
    assert isinstance(axes, tuple)
    source = operand_type(op)
    if any(not isinstance(a, int) or not 0 <= a < source.rank for a in axes) or list(axes) != sorted(set(axes)):
        return f"axes {list(axes)} are not sorted axes of rank {source.rank}"
    want = tuple(1 if k in axes else e for k, e in enumerate(source.shape) if keepdims or k not in axes)
    if result_type(op).shape != want:
        return f"the result has shape {list(result_type(op).shape)}, not {list(want)}"
    return None


def _argument(op: Op) -> str | None:
    if result_type(op).dtype is not DTYPES["i64"]:
        return f"the result is {result_type(op).dtype}, not i64"
    return reduced_wrongly(op)


def _arange(op: Op) -> str | None:
    type_ = result_type(op)
    return None if type_.rank == 1 and type_.dtype is DTYPES["i64"] else f"the result is {type_}"


def _row(name: str, operands: int | None, rule: VerifyRule, doc: str, *traits: str, **attrs: bool) -> OpSpec:
    return OpSpec(name, TILE, operands, 1, attrs, 0, frozenset(traits), rule, doc)


ORDER_ROWS: tuple[OpSpec, ...] = (
    *(_row(n, 1, _argument, f"row-major index of the {n[3:]} over axes", axes=True, keepdims=True) for n in ARGUMENTS),
    _row("arange", 0, _arange, "the positions of an axis, from 0"),
)
