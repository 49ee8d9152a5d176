"""Threads that behave alike: same synchronisation events with the same numbers, so that one stands for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentkern.compiler.analysis.synchronisation_findings import Report
from agentkern.compiler.analysis.synchronisation_plan import SORTS
from agentkern.compiler.analysis.synchronisation_trace import Event, Lanes, Mask
from agentkern.compiler.ir.gpu_async_ops import GPU_ASYNC_OPS

WARP = 32
WARPGROUP = 128
_ACCESSES = frozenset({"load_vector", "store_vector", "load_matrix", "store_matrix", "copy_async"})
_USES = frozenset({"get", "set", "usual", "registers", "mma", "shuffle_xor", "wgmma_pin"})
SYNCHRONISES = (frozenset(GPU_ASYNC_OPS) - _ACCESSES - _USES) | {"barrier"} | SORTS
WHOLE_WARPS = SORTS | frozenset(
    {"barrier", "named_barrier", "named_arrive", "shuffle_xor", "load_matrix", "store_matrix", "mma", "elect"}
)
WHOLE_WARPGROUPS = frozenset({"wgmma", "wgmma_fence", "wgmma_commit", "wgmma_wait", "register_budget"})


@dataclass(frozen=True, slots=True)
class Group:
    """Threads with one trace, in order. `warpgroup` is that of all of them where products exist."""

    number: int
    threads: Lanes
    warpgroup: int

    @property
    def first(self) -> int:
        """The thread that stands for all."""
        return int(self.threads[0])


def _columns(events: Sequence[Event]) -> Sequence[Lanes]:
    """What synchronisation events show of each thread, each column once."""
    seen: set[tuple[int, int]] = set()
    columns: dict[bytes, Lanes] = {}
    for event in events:
        if event.op.name not in SYNCHRONISES:
            continue
        for column in (event.mask, *(event.operands if event.op.name not in SORTS else ())):
            key = (id(column), id(event.mask))
            if isinstance(column, np.ndarray) and key not in seen:
                seen.add(key)
                # Numbers of threads that do not execute the operation must not part them.
                shown = column if column is event.mask else np.where(event.mask, column, -1)
                numbers = shown.astype(np.int64)
                columns.setdefault(numbers.tobytes(), numbers)
    return tuple(columns.values())


def find_groups(events: Sequence[Event], threads: int) -> tuple[Group, ...]:
    """Part the threads of a block by their synchronisation events."""
    labels = np.zeros(threads, np.int64)
    with_products = any(event.op.name in WHOLE_WARPGROUPS for event in events)
    if with_products:
        labels = np.arange(threads, dtype=np.int64) // WARPGROUP
    for column in _columns(events):
        _, inverse = np.unique(column, return_inverse=True)
        _, labels = np.unique(labels * (int(inverse.max()) + 1) + inverse, return_inverse=True)
    found = [np.flatnonzero(labels == label) for label in range(int(labels.max()) + 1)]
    return tuple(Group(k, members, int(members[0]) // WARPGROUP) for k, members in enumerate(found))


def is_whole(mask: Mask, unit: int) -> bool:
    """Whether a mask takes whole warps or warpgroups."""
    if len(mask) % unit:
        return False
    counts = mask.reshape(-1, unit).sum(axis=1)
    return bool(np.all((counts == 0) | (counts == unit)))


def check_whole(events: Sequence[Event], report: Report) -> None:
    """Operations of whole warps and warpgroups are executed by all their threads."""
    known: dict[tuple[int, int], bool] = {}
    for event in events:
        name = event.op.name
        unit = WARPGROUP if name in WHOLE_WARPGROUPS else WARP if name in WHOLE_WARPS else 0
        if not unit:
            continue
        key = (id(event.mask), unit)
        if key not in known:
            known[key] = is_whole(event.mask, unit)
        if not known[key]:
            what = "warpgroup" if unit == WARPGROUP else "warp"
            count = int(event.mask.sum())
            report.add("convergence", f"{count} threads, not whole {what}s, execute it", event.op)
