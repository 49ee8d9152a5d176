"""What may depend on the order of threads, and the kernel's word that it may: `@ak.kernel(nondeterministic=True)`.

Atomic sums of floats round in the order in which threads come. Every other operation, atomic extremes of floats
included, gives the same bits in any order.
"""

from __future__ import annotations

from agentkern.compiler.ir.core import Kernel, Op
from agentkern.dsl.dtypes import DType

ATTRIBUTE = "nondeterministic"
ATOMIC_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
"""Float dtypes that have atomics."""
ATOMIC_INTEGER_BITS = (32, 64)


def has_atomics(dtype: DType) -> bool:
    """Whether elements of a dtype can be combined in one step."""
    return dtype.name in ATOMIC_FLOATS or (dtype.is_integer and dtype.bits in ATOMIC_INTEGER_BITS)


def is_nondeterministic(kernel: Kernel) -> bool:
    """Whether the kernel says that its bits may differ from run to run."""
    return bool(kernel.attrs.get(ATTRIBUTE))


def is_order_dependent(op: Op) -> bool:
    """Whether an operation's result depends on the order of threads: an atomic sum of floats, in any stage."""
    if op.name not in ("atomic", "update") or op.attrs.get("kind") != "add":
        return False
    value = op.operands[1 if op.name == "atomic" else 0].type
    dtype = getattr(value, "dtype", None)
    return dtype is not None and dtype.is_float
