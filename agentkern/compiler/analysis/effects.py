"""Which tensors a region reads and writes, and whether a load may be repeated later. Facts only.

Aliasing: the caller may pass one buffer as an `in` and an `inout` tensor only where the launcher has checked it, so
different parameters are disjoint buffers, except that an `inout` parameter may alias nothing but itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.ir.core import Op, Value, walk


@dataclass(frozen=True, slots=True)
class Effects:
    """Tensors read and written, each once, in the order of the first access."""

    reads: tuple[Value, ...]
    writes: tuple[Value, ...]


def effects(ops: Sequence[Op]) -> Effects:
    """The effects of operations and everything nested in them."""
    reads = {op.operands[0]: None for op in walk(ops) if "reads" in op.spec.traits}
    writes = {op.operands[0]: None for op in walk(ops) if "writes" in op.spec.traits}
    return Effects(tuple(reads), tuple(writes))


def may_alias(a: Value, b: Value) -> bool:
    """Whether two tensors may share memory: different parameters never do."""
    return a is b


def may_reload(ops: Sequence[Op], load: Op, until: Op) -> bool:
    """Whether `load`, repeated just before `until`, reads the same: no store to its tensor lies between.

    Both are operations of `ops`, the load first. A store anywhere inside an operation between counts.
    """
    first, last = ops.index(load), ops.index(until)
    if last < first:
        raise ValueError("the load comes after the operation that it is repeated for")
    tensor = load.operands[0]
    return not any(may_alias(tensor, written) for written in effects(ops[first + 1 : last]).writes)
