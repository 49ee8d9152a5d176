"""Spell element arithmetic and reductions of types narrower than f32 through f32, rounded once at the end.

For + - * / and sqrt one f32 rounding before the narrow one is invisible (24 >= 2 * 11 + 2 fraction bits); for the rest
the f32 operation is the definition.
"""

from agentkern.compiler.ir.core import Builder, Kernel, Op, Value
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.rewrite import rewrite
from agentkern.dsl.dtypes import DTYPES

_MOVES = ("where", "copysign", "bitcast", "cast")


def _is_small(type_: object) -> bool:
    return isinstance(type_, TileType) and type_.dtype.is_float and type_.dtype.bits < 32


def _rule(op: Op, builder: Builder) -> tuple[Value, ...] | None:
    computes = "elementwise" in op.spec.traits or op.name in REDUCTIONS
    if not computes or op.name in _MOVES or not any(_is_small(v.type) for v in op.operands):
        return None
    f32 = DTYPES["f32"]
    wide: list[Value] = []
    for value in op.operands:
        assert isinstance(value.type, TileType)
        wide.append(builder.value("cast", (value,), value.type.with_dtype(f32), None, value.name))
    result = op.result.type
    assert isinstance(result, TileType)
    if not _is_small(result):
        return builder.emit(op.name, tuple(wide), (result,), op.attrs, (), op.result.name)
    value = builder.value(op.name, tuple(wide), result.with_dtype(f32), op.attrs, op.result.name)
    return (builder.value("cast", (value,), result, None, op.result.name),)


def widen_small_floats(kernel: Kernel) -> Kernel:
    """Casts around every narrow float operation that computes; moves stay narrow."""
    return rewrite(kernel, _rule)
