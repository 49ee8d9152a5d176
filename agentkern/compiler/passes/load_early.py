"""PLACED to PLACED: loads, and what computes their subscripts, stand before everything that waits for memory.

A kernel that reads an index, then a row, then the next index, waits for memory once for each. Read together, all
indices cost one wait, and the rows another. Small loads move, and those that wait for others, as far as registers
allow, of tensors that the grid does not write. None passes a `require`, which may be what makes its address right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from agentkern.compiler.ir.core import Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import parse_layout

MOST_REGISTERS = 2  # of an operation behind a subscript, and of a small load
MOST_REGISTERS_AHEAD = 48  # of all loads that move: they live until they are used
FEW_REGISTERS_AHEAD = 6  # where not all loads fit: of the small ones, indices and scales of rows
"""On an H200, sums of six gathered bf16 rows: all ahead 7.3 -> 5.2 us (257 x 576); where they do not fit, some rows
ahead 42.1 us, indices alone 39.7 us, nothing 40.4 us (4096 x 2560); 12 ahead 105.6 us, 6 99.2 us (4001 x 7168)."""
_PURE = frozenset("constant size index ordinal start end arange broadcast reshape transpose".split())


def load_early(kernel: Kernel) -> Kernel:
    """The kernel with its loads ahead, in the sequence in which they depend on one another."""
    return replace(kernel, body=tuple(_grid(op) if op.name == "grid" else op for op in kernel.body))


def _grid(op: Op) -> Op:
    written = {inner.operands[0] for inner in walk(op.regions[0].ops) if "writes" in inner.spec.traits}
    return _with_regions(op, written)


def _with_regions(op: Op, written: set[Value]) -> Op:
    regions = tuple(Region(r.args, tuple(_ordered(r.ops, written))) for r in op.regions)
    return Op(op.spec, op.operands, op.attrs, op.results, regions, op.location)


def _ordered(ops: Sequence[Op], written: set[Value]) -> Iterator[Op]:
    """The operations of one region, stretch by stretch between requirements."""
    stretch: list[Op] = []
    for op in ops:
        inner = _with_regions(op, written) if op.regions else op
        if any(part.name == "require" for part in walk((inner,))):
            yield from _stretch(stretch, written)
            yield inner
            stretch = []
        else:
            stretch.append(inner)
    yield from _stretch(stretch, written)


def _stretch(ops: Sequence[Op], written: set[Value]) -> list[Op]:
    """Loads and their subscripts by how many loads they wait for, then everything else as it was."""
    made = {value for op in ops for value in op.results}
    depth: dict[Value, int] = {}
    waits: dict[Op, int] = {}
    for op in ops:
        if _may_move(op, written) and all(v in depth or v not in made for v in op.operands):
            waits[op] = max((depth.get(v, 0) for v in op.operands), default=0)
            depth[op.result] = waits[op] + (op.name == "load")
    behind_loads = (op for op in waits if op.name == "load" and (waits[op] or _registers(op) <= MOST_REGISTERS))
    loads = sorted(behind_loads, key=lambda op: waits[op])
    if not any(waits.values()):  # nothing waits for a load's address: the sequence is as good as any
        return list(ops)
    room = MOST_REGISTERS_AHEAD
    if sum(_registers(op) for op in ops if op.name == "load") > room:
        loads = [op for op in loads if _registers(op) <= MOST_REGISTERS]
        room = FEW_REGISTERS_AHEAD
    ahead: set[Op] = set()
    for load in loads:
        needed = _needed(load, waits) - ahead
        registers = sum(_registers(op) for op in needed if op.name == "load")
        if registers <= room:
            ahead |= needed
            room -= registers
    first = sorted((op for op in ops if op in ahead), key=lambda op: waits[op])
    return [*first, *(op for op in ops if op not in ahead)]


def _may_move(op: Op, written: set[Value]) -> bool:
    if op.name == "load":
        return op.operands[0] not in written
    return (op.name in _PURE or "elementwise" in op.spec.traits) and _registers(op) <= MOST_REGISTERS


def _needed(load: Op, known: dict[Op, int]) -> set[Op]:
    """The load and every operation of the stretch behind its operands."""
    makers = {op.result: op for op in known}
    found: set[Op] = set()
    pending = [load]
    while pending:
        op = pending.pop()
        if op not in found:
            found.add(op)
            pending += [makers[v] for v in op.operands if v in makers]
    return found


def _registers(op: Op) -> int:
    """32-bit registers of a result, at least one."""
    type_ = op.result.type
    assert isinstance(type_, TileType)
    count = parse_layout(type_.layout).register_count if type_.layout is not None else 1
    return -(-count * type_.dtype.nbytes // 4)
