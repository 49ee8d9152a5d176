"""Divide by a value that is constant along an axis through its correctly rounded reciprocal (Markstein), same bits.

An IEEE division per element costs a third of the memory bandwidth; one reciprocal per row and three operations per
element cost nothing measurable. The guard for extreme operands is part of `divide_by`.
"""

from agentkern.compiler.ir.core import Builder, Kernel, Op, Value, walk
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.rewrite import rewrite

MINIMUM_REUSE = 4  # divisions per reciprocal from which the reciprocal pays


def _reuse(source: TileType, result: TileType) -> int:
    """How many elements of a thread may share one divisor: repeats along fixed axes and a last axis of any length."""
    reuse = 1
    for axis, extent in enumerate(result.shape):
        have = axis - (result.rank - source.rank)
        repeated = have < 0 or (source.shape[have] == 1 and extent != 1)
        if repeated:
            unknown = MINIMUM_REUSE if axis == result.rank - 1 else 1
            reuse *= extent if isinstance(extent, int) else unknown
    return reuse


def divide_by_rows(kernel: Kernel) -> Kernel:
    """Replace f32 divisions by a broadcast divisor."""
    makers = {value: op for op in walk(kernel.body) for value in op.results}

    def rule(op: Op, builder: Builder) -> tuple[Value, ...] | None:
        result = op.results[0].type if op.results else None
        if op.name != "div" or not isinstance(result, TileType) or result.dtype.name != "f32":
            return None
        maker = makers.get(op.operands[1])
        if maker is None or maker.name != "broadcast":
            return None
        divisor = maker.operands[0]
        assert isinstance(divisor.type, TileType)
        if _reuse(divisor.type, result) < MINIMUM_REUSE:
            return None
        reciprocal = builder.value("reciprocal", (divisor,), divisor.type)
        spread = builder.value("broadcast", (reciprocal,), result)
        return builder.emit("divide_by", (*op.operands, spread), (result,), None, (), op.result.name)

    return rewrite(kernel, rule)
