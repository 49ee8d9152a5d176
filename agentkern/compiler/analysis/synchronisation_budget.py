"""What a block has: registers of warpgroups, never more than at launch; arrays of shared memory, inside it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from agentkern.compiler.analysis.synchronisation_findings import Report
from agentkern.compiler.analysis.synchronisation_groups import WARPGROUP
from agentkern.compiler.analysis.synchronisation_trace import Event
from agentkern.compiler.ir.core import Op, walk
from agentkern.compiler.ir.gpu_types import Mbarriers, Pointer

# PTX ISA, setmaxnreg; CUDA C++ Programming Guide, technical specifications: registers of an SM, of one thread at most.
FILE_REGISTERS = 65536
MOST_REGISTERS = 255
STEP = 8
BARRIER_BYTES = 8


def launched_registers(threads: int, min_blocks: int) -> int:
    """Registers a thread has at launch: the file shared evenly, in steps of eight."""
    return min(MOST_REGISTERS, FILE_REGISTERS // (threads * min_blocks)) // STEP * STEP


def check_budgets(function: Op, events: Sequence[Event], report: Report) -> None:
    """What warpgroups keep, by their changes, fits what the block was launched with."""
    changes = [event for event in events if event.op.name == "register_budget"]
    if not changes:
        return
    threads, min_blocks = function.attrs["threads"], function.attrs.get("min_blocks", 1)
    assert isinstance(threads, int) and isinstance(min_blocks, int)
    start = launched_registers(threads, min_blocks)
    held = [start] * -(-threads // WARPGROUP)
    for event in changes:
        count = event.op.attrs["count"]
        assert isinstance(count, int)
        for warpgroup in range(len(held)):
            if event.mask[warpgroup * WARPGROUP]:
                is_less = count <= held[warpgroup]
                if is_less != (event.op.attrs["change"] == "dec") and count != held[warpgroup]:
                    report.add(
                        "budget", f"{event.op.attrs['change']} from {held[warpgroup]} to {count} registers", event.op
                    )
                held[warpgroup] = count
    if sum(held) > start * len(held):
        largest = max(changes, key=_count)
        other = min(changes, key=_count)
        report.add(
            "budget",
            f"warpgroups hold {' + '.join(map(str, held))} registers a thread, more than {start} each at launch",
            largest.op,
            other.op if other is not largest else None,
        )


def check_space(function: Op, report: Report) -> None:
    """Arrays lie inside the function's shared memory, barriers apart from each other."""
    limit = function.attrs["shared_bytes"]
    assert isinstance(limit, int)
    barriers: list[tuple[int, int, Op]] = []
    for op in walk(function.regions[0].ops):
        offset, type_ = op.attrs.get("offset"), op.results[0].type if op.results else None
        if not isinstance(offset, int):
            continue
        count = op.attrs.get("count")
        if isinstance(type_, Mbarriers):
            end = offset + BARRIER_BYTES * type_.count
            barriers += [(offset, end, op)]
        elif isinstance(type_, Pointer) and isinstance(count, int):
            end = offset + count * type_.dtype.nbytes
        else:
            continue
        if end > limit:
            report.add("bounds", f"ends at byte {end} of {limit} of shared memory", op)
    barriers.sort(key=_start)
    for before, after in pairwise(barriers):
        if after[0] < before[1]:
            report.add("bounds", f"barriers at {after[0]} overlap those at {before[0]}", after[2], before[2])


def _start(array: tuple[int, int, Op]) -> int:
    return array[0]


def _count(event: Event) -> int:
    count = event.op.attrs["count"]
    assert isinstance(count, int)
    return count
