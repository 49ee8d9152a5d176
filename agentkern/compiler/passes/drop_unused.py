"""GPU to GPU: leave out what nothing reads, so that the printed code declares only what it uses.

Lowering computes coordinates and sizes before it knows whether an access needs them. Only operations that do nothing
but compute are left out, and loops and conditions around nothing; memory operations, shuffles and barriers always stay.
"""

from __future__ import annotations

from dataclasses import replace

from agentkern.compiler.ir.core import Kernel, Op, Region, Value

PURE = frozenset(
    "thread block size_argument constant registers get advance narrow_pair"
    " index_add index_sub index_mul index_shr index_and quotient remainder".split()
)
"""Beside the element operations."""
_EMPTIED = ("for", "if")


def drop_unused(kernel: Kernel) -> Kernel:
    """The kernel without unread values."""
    return replace(kernel, body=_kept(kernel.body, set()))


def _kept(ops: tuple[Op, ...], used: set[Value]) -> tuple[Op, ...]:
    """Operations that act or whose results are used, last first; `used` grows by what they read."""
    kept: list[Op] = []
    for op in reversed(ops):
        if _is_pure(op) and not any(value in used for value in op.results):
            continue
        regions = tuple(Region(region.args, _kept(region.ops, used)) for region in op.regions)
        if op.name in _EMPTIED and not regions[0].ops:
            continue
        used.update(op.operands)
        kept.append(Op(op.spec, op.operands, op.attrs, op.results, regions, op.location) if regions else op)
    return tuple(reversed(kept))


def _is_pure(op: Op) -> bool:
    return op.name in PURE or "elementwise" in op.spec.traits
