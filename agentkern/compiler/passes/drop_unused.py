"""GPU to GPU: leave out what nothing reads, so that the printed code declares only what it uses.

Lowering computes coordinates and sizes before it knows whether an access needs them. Only operations that do nothing
but compute are left out, registers that are only set, and loops and conditions around nothing; memory operations,
shuffles and barriers always stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentkern.compiler.ir.core import Kernel, Op, Region, Value, walk

PURE = frozenset(
    "thread block size_argument constant registers get advance narrow_pair"
    " index_add index_sub index_mul index_shr index_and quotient remainder".split()
)
"""Beside the element operations."""
_EMPTIED = ("for", "if")


def drop_unused(kernel: Kernel) -> Kernel:
    """The kernel without unread values."""
    body = _kept(kernel.body, set(), _only_set(kernel.body))
    while only_set := _only_set(body):
        # what such registers were computed from may have no other reader
        body = _kept(body, set(), only_set)
    return replace(kernel, body=body)


def _only_set(ops: Sequence[Op]) -> frozenset[Value]:
    """Register arrays that nothing but `set` names."""
    changed = {op.operands[0] for op in walk(ops) if op.name == "set"}
    read = (v for op in walk(ops) for k, v in enumerate(op.operands) if op.name != "set" or k)
    return frozenset(changed.difference(read))


def _kept(ops: tuple[Op, ...], used: set[Value], only_set: frozenset[Value]) -> tuple[Op, ...]:
    """Operations that act or whose results are used, last first; `used` grows by what they read."""
    kept: list[Op] = []
    for op in reversed(ops):
        if _is_pure(op) and not any(value in used for value in op.results):
            continue
        if op.name == "set" and op.operands[0] in only_set:
            continue
        regions = tuple(Region(region.args, _kept(region.ops, used, only_set)) for region in op.regions)
        if op.name in _EMPTIED and not regions[0].ops:
            continue
        used.update(op.operands)
        kept.append(Op(op.spec, op.operands, op.attrs, op.results, regions, op.location) if regions else op)
    return tuple(reversed(kept))


def _is_pure(op: Op) -> bool:
    return op.name in PURE or "elementwise" in op.spec.traits
