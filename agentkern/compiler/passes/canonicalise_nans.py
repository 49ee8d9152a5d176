"""Put `canonical_nan` between operations whose code may keep a NaN's bits and those that would show them.

Hardware makes the canonical NaN in every rounding operation. Widening casts, `neg` and `abs` are bit moves in code, so
their NaN is repaired, but only where somebody could see it: a store, a bitcast, a sign taken, an output of `where`.
"""

from agentkern.compiler.ir.core import Builder, Kernel, Op, Value, walk
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.rewrite import rewrite

_KEEPS_BITS = ("neg", "abs")
_PASSES_ON = ("where", "broadcast", "reshape", "transpose", "slice", "concat", "convert")


def _observed(kernel: Kernel) -> set[Value]:
    """Values whose bits reach a store, bitcast or copysign through moves alone."""
    found: set[Value] = set()
    for op in reversed(list(walk(kernel.body))):
        if op.name in ("store", "bitcast", "copysign"):
            found.update(op.operands)
        elif op.name in _PASSES_ON and op.result in found:
            found.update(op.operands)
    return found


def _keeps_bits(op: Op) -> bool:
    if op.name == "cast":
        source, result = op.operands[0].type, op.result.type
        assert isinstance(source, TileType) and isinstance(result, TileType)
        return source.dtype.is_float and result.dtype.is_float and source.dtype.bits < result.dtype.bits
    result = op.results[0].type if op.results else None
    return op.name in _KEEPS_BITS and isinstance(result, TileType) and result.dtype.is_float


def canonicalise_nans(kernel: Kernel) -> Kernel:
    """Repair the NaN of bit-moving arithmetic where it can be observed."""
    observed = _observed(kernel)

    def rule(op: Op, builder: Builder) -> tuple[Value, ...] | None:
        if not op.results or op.result not in observed or not _keeps_bits(op):
            return None
        raw = builder.value(op.name, op.operands, op.result.type, op.attrs, op.result.name)
        return (builder.value("canonical_nan", (raw,), op.result.type, None, op.result.name),)

    return rewrite(kernel, rule)
