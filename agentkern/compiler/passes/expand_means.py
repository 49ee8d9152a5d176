"""Spell `mean` as `sum / n`, its definition."""

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.rewrite import rewrite
from agentkern.dsl.dtypes import DTYPES


def _count(extent: int | dims.Dim, type_: TileType, builder: Builder) -> Value:
    """The number of elements as a scalar of the sum's type."""
    scalar = TileType(type_.dtype)
    if isinstance(extent, int):
        return builder.value("constant", (), scalar, {"value": float(extent)})
    size = builder.value("size", (), TileType(DTYPES["i64"]), {"extent": extent})
    return builder.value("cast", (size,), scalar)


def _rule(op: Op, builder: Builder) -> tuple[Value, ...] | None:
    if op.name != "mean":
        return None
    source, result, axes = op.operands[0].type, op.result.type, op.attrs["axes"]
    assert isinstance(source, TileType) and isinstance(result, TileType) and isinstance(axes, tuple)
    total = builder.value("sum", op.operands, result, op.attrs, op.result.name)
    count = _count(dims.product(tuple(source.shape[int(a)] for a in axes)), result, builder)
    if result.shape:
        count = builder.value("broadcast", (count,), result)
    return (builder.value("div", (total, count), result, None, op.result.name),)


def expand_means(kernel: Kernel) -> Kernel:
    """A sum and one division for every mean."""
    return rewrite(kernel, _rule)
