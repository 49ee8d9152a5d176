"""Who knows what: agents of a block, clocks over them, and the state of its barriers. Data and joins, no judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.analysis.synchronisation_groups import WARPGROUP, Group
from agentkern.compiler.analysis.synchronisation_memory import EXECUTION, FENCED, MEMORY
from agentkern.compiler.analysis.synchronisation_trace import Event
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.gpu_types import Mbarriers

Clock = NDArray[np.int64]
NAMED_BARRIERS = 16
ALL = 1 << 60


class Agents:
    """Numbers of agents: groups, barriers, named barriers, products by warpgroup, bulk and element copies by group."""

    def __init__(self, groups: Sequence[Group], barriers: Sequence[Value], threads: int) -> None:
        self.n_groups = len(groups)
        self.first: dict[Value, int] = {}
        at = self.n_groups
        for value in barriers:
            assert isinstance(value.type, Mbarriers)
            self.first[value] = at
            at += value.type.count
        self.named = at
        self.products = self.named + NAMED_BARRIERS
        self.bulk = self.products + -(-threads // WARPGROUP)
        self.copies = self.bulk + self.n_groups
        self.count = self.copies + self.n_groups


@dataclass(eq=False, slots=True)
class Phase:
    """One phase of an mbarrier: what arrived, and its clock once complete. `waits` are (group, epoch, op)."""

    pending: int
    expected: int = 0
    copied: int = 0
    clock: Clock | None = None
    expects: Op | None = None
    copies: Op | None = None
    is_waited: bool = False
    waits: list[tuple[int, int, Op]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Barrier:
    """An mbarrier: its initialisation (group, epoch), the fence after it, its phases, the last not complete."""

    arrivals: int
    agent: int
    init: tuple[int, int, Op] | None = None
    fenced: bool = False
    phases: list[Phase] = field(default_factory=list)

    @property
    def current(self) -> Phase:
        """The phase that is not complete."""
        return self.phases[-1]

    @property
    def number(self) -> int:
        """The current phase's number."""
        return len(self.phases) - 1


@dataclass(eq=False, slots=True)
class Meeting:
    """A hardware barrier: threads that arrived in the present generation, clocks of the generations that are over."""

    threads: int = 0
    wanted: int = 0
    op: Op | None = None
    clock: Clock | None = None
    over: list[Clock] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class GroupState:
    """What the threads of a group have done and know.

    `in_flight` maps register arrays to (count of commits before, operation) of the products that use them;
    `dirty` are arrays changed since the last `wgmma_fence`, `changed` those not pinned since, `unpinned` those not
    pinned when it came; `retired` are accumulators waited for and not pinned since.
    """

    group: Group
    events: list[tuple[Event, NDArray[np.int64]]]
    clock: Clock
    own: NDArray[np.int64]
    at: int = 0
    epoch: int = 0
    met: tuple[int, int] | None = None
    products: int = 0
    products_done: int = 0
    bulk: int = 0
    copies: int = 0
    open_products: Op | None = None
    open_bulk: Op | None = None
    open_copies: Op | None = None
    last_commit: dict[str, Op] = field(default_factory=dict)
    in_flight: dict[Value, tuple[int, Op, bool]] = field(default_factory=dict)
    dirty: dict[Value, Op] = field(default_factory=dict)
    changed: dict[Value, Op] = field(default_factory=dict)
    unpinned: dict[Value, Op] = field(default_factory=dict)
    retired: dict[Value, Op] = field(default_factory=dict)
    undefined: dict[Value, Op] = field(default_factory=dict)
    has_fenced: bool = False

    def know(self, other: Clock) -> None:
        """Acquire."""
        np.maximum(self.clock, other, out=self.clock)

    def publish(self, agents: Agents) -> Clock:
        """Release: what others learn from an arrival of all threads of the group."""
        number = self.group.number
        found = self.clock.copy()
        found[MEMORY, number] = found[EXECUTION, number] = self.epoch + 1
        for base in (agents.bulk, agents.copies):
            done = self.own[base + number]
            found[MEMORY, base + number] = max(found[MEMORY, base + number], done)
        self.epoch += 1
        return found

    def fence(self) -> None:
        """Order what the threads did before what the asynchronous proxy does later."""
        self.clock[FENCED, self.group.number] = self.epoch + 1
        self.epoch += 1


def new_state(group: Group, events: list[tuple[Event, NDArray[np.int64]]], agents: Agents) -> GroupState:
    """A group before its first event: nobody has finished anything."""
    own = np.full(agents.count, -1, np.int64)
    own[group.number] = ALL
    own[agents.bulk + group.number] = own[agents.copies + group.number] = 0
    return GroupState(group, events, np.zeros((3, agents.count), np.int64), own)
