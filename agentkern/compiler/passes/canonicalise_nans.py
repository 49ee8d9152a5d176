"""Put `canonical_nan` between operations whose code may keep a NaN's bits and those that would show them.

Hardware makes the canonical NaN in every rounding f32 operation. Casts to f32 and f64, `neg` and `abs` are bit moves in
code, and f64 operations keep a payload of an operand or make another NaN, so theirs is repaired, but only where
somebody could see it: a store, a bitcast, a sign taken, an output of `where`. Casts of 8-bit floats to 16 bits go
through f32 and round.
"""

from agentkern.compiler.ir.core import Builder, Kernel, Op, Value, walk
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.rewrite import rewrite

_KEEPS_BITS = ("neg", "abs")
_PASSES_ON = ("where", "broadcast", "reshape", "transpose", "slice", "concat", "convert")


def _observed(kernel: Kernel) -> set[Value]:
    """Values whose bits reach a store, bitcast or copysign through moves alone."""
    found: set[Value] = set()
    ops = list(walk(kernel.body))
    before = -1
    while before != len(found):
        # once more where a loop carries what is observed round to its start
        before = len(found)
        for op in reversed(ops):
            if op.name in ("store", "bitcast", "copysign"):
                found.update(op.operands)
            elif op.name in _PASSES_ON and op.result in found:
                found.update(op.operands)
            elif op.name in ("loop", "branch"):
                found.update(value for group in _one_value(op) if not found.isdisjoint(group) for value in group)
    return found


def _one_value(op: Op) -> list[tuple[Value, ...]]:
    """Groups of values that stand for one another: what a loop carries, what a choice gives."""
    if op.name == "branch":
        return list(zip(op.results, *(region.ops[-1].operands for region in op.regions), strict=True))
    parts = loop_parts(op)
    return list(zip(op.results, parts.inits, parts.args, parts.yields, strict=True))


def _keeps_bits(op: Op) -> bool:
    if op.name == "cast":
        source, result = op.operands[0].type, op.result.type
        assert isinstance(source, TileType) and isinstance(result, TileType)
        widens = source.dtype.is_float and source.dtype.name != "f64"
        return widens and result.dtype.name in ("f32", "f64")
    result = op.results[0].type if op.results else None
    if not isinstance(result, TileType) or not result.dtype.is_float:
        return False
    return op.name in _KEEPS_BITS or (result.dtype.name == "f64" and "arithmetic" in op.spec.traits)


def canonicalise_nans(kernel: Kernel) -> Kernel:
    """Repair the NaN of bit-moving arithmetic where it can be observed."""
    observed = _observed(kernel)

    def rule(op: Op, builder: Builder) -> tuple[Value, ...] | None:
        if not op.results or op.result not in observed or not _keeps_bits(op):
            return None
        raw = builder.value(op.name, op.operands, op.result.type, op.attrs, op.result.name)
        return (builder.value("canonical_nan", (raw,), op.result.type, None, op.result.name),)

    return rewrite(kernel, rule)
