"""Run the groups of a block against each other and check that barriers order what they must, in every execution.

The run takes one order. It stands for all of them because three rules make the phases of every barrier unambiguous: who
arrives at a phase knows that the phase before is complete; who waits for a phase knows that the one before it is
complete; and the phase after it cannot complete before the wait is over. Each rule broken is a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from agentkern.compiler.analysis.synchronisation_accesses import Accesses
from agentkern.compiler.analysis.synchronisation_clocks import (
    Agents,
    Barrier,
    Clock,
    GroupState,
    Meeting,
    Phase,
    new_state,
)
from agentkern.compiler.analysis.synchronisation_findings import Report
from agentkern.compiler.analysis.synchronisation_groups import Group
from agentkern.compiler.analysis.synchronisation_memory import EXECUTION, MEMORY
from agentkern.compiler.analysis.synchronisation_plan import SORTS, Plan
from agentkern.compiler.analysis.synchronisation_products import PRODUCT_STEPS, Products
from agentkern.compiler.analysis.synchronisation_trace import Event, Lanes
from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.gpu_types import Mbarriers, TensorMap

Step = Callable[["BlockRun", GroupState, Event, Lanes], bool]


def _by_group(events: Sequence[Event], groups: Sequence[Group]) -> list[list[tuple[Event, Lanes]]]:
    """Each group's events, with those of its threads that execute them."""
    found: list[list[tuple[Event, Lanes]]] = [[] for _ in groups]
    members: dict[int, list[tuple[int, Lanes]]] = {}
    for event in events:
        key = id(event.mask)
        if key not in members:
            inside = ((g.number, g.threads[event.mask[g.threads]]) for g in groups)
            members[key] = [(number, threads) for number, threads in inside if len(threads)]
        for number, threads in members[key]:
            found[number].append((event, threads))
    return found


class BlockRun:
    """One block at one choice of sizes."""

    def __init__(self, plan: Plan, events: Sequence[Event], groups: Sequence[Group], report: Report) -> None:
        function = plan.function
        threads = function.attrs["threads"]
        assert isinstance(threads, int)
        self.report = report
        self.threads = threads
        declared = [op.result for op in walk(function.regions[0].ops) if op.name == "mbarriers"]
        self.agents = Agents(groups, declared, threads)
        self.barriers: dict[int, Barrier] = {}
        for value in declared:
            assert isinstance(value.type, Mbarriers)
            for k in range(value.type.count):
                agent = self.agents.first[value] + k
                self.barriers[agent] = Barrier(value.type.arrivals, agent)
        self.meetings: dict[int, Meeting] = {}
        traces = _by_group(events, groups)
        self.states = [new_state(g, traces[g.number], self.agents) for g in groups]
        self.accesses = Accesses(function, events, self.agents, report)
        self.products = Products(plan.products, self.agents, self.states, self.accesses, report)

    def run(self) -> None:
        """Let groups go on in turn until all are done or none can."""
        moved = True
        while moved:
            moved = False
            for state in self.states:
                while state.at < len(state.events) and self._step(state):
                    state.at += 1
                    moved = True
        blocked = [state for state in self.states if state.at < len(state.events)]
        for state in blocked:
            self._say_blocked(state)
        if not blocked:
            self._check_end()

    def _step(self, state: GroupState) -> bool:
        event, threads = state.events[state.at]
        step = _STEPS.get(event.op.name)
        if step is not None:
            return step(self, state, event, threads)
        product_step = PRODUCT_STEPS.get(event.op.name)
        if product_step is not None:
            return product_step(self.products, state, event)
        self.products.use(state, event)
        self.accesses.threads_access(state, event, threads)
        return True

    def barrier(self, state: GroupState, event: Event, index_at: int = 1) -> Barrier | None:
        """The mbarrier that an event names, checked for its range and initialisation."""
        value = event.operands[index_at - 1]
        index = event.number(index_at, state.group.first)
        if not isinstance(value, Value) or index is None:
            return None
        assert isinstance(value.type, Mbarriers)
        if not 0 <= index < value.type.count:
            self.report.add("barrier index", f"barrier {index} of an array of {value.type.count}", event.op)
            return None
        barrier = self.barriers[self.agents.first[value] + index]
        self._check_initialised(barrier, state, event)
        if not barrier.phases:
            barrier.phases.append(Phase(barrier.arrivals))
        return barrier

    def _check_initialised(self, barrier: Barrier, state: GroupState, event: Event) -> None:
        if barrier.init is None:
            self.report.add("initialisation", "uses a barrier that nobody has initialised", event.op)
            return
        group, epoch, op = barrier.init
        is_own = group == state.group.number and len(state.group.threads) == 1
        if not is_own and not state.clock[MEMORY, group] > epoch:
            self.report.add("initialisation", "uses a barrier before its initialisation is seen", event.op, op)
        if event.op.name == "tma_load" and not barrier.fenced:
            self.report.add(
                "initialisation", "the copy engine may not see the barrier: no `mbarrier_fence`", event.op, op
            )

    def arrive(self, barrier: Barrier, state: GroupState, clock: Clock, event: Event) -> None:
        """One arrival, which must belong to one phase only."""
        self.check_phase(barrier, state, event.op)
        phase = barrier.current
        phase.pending -= 1
        phase.clock = clock if phase.clock is None else np.maximum(phase.clock, clock)
        self.complete(barrier, event.op)

    def check_phase(self, barrier: Barrier, state: GroupState, op: Op) -> None:
        """What comes to a barrier comes after the phase before is known to be complete."""
        if state.clock[EXECUTION, barrier.agent] < barrier.number:
            before = barrier.phases[-2]
            self.report.add(
                "phase", f"may count for phase {barrier.number - 1}: its completion was not waited for", op,
                before.expects or before.copies,
            )  # fmt: skip

    def complete(self, barrier: Barrier, op: Op) -> None:
        """Begin the next phase if everything has arrived."""
        phase = barrier.current
        if phase.pending > 0:
            return
        if phase.copied > phase.expected:
            self.report.add(
                "bytes", f"{phase.copied} bytes are copied in a phase that expects {phase.expected}", op, phase.expects
            )
        elif phase.copied < phase.expected:
            return
        assert phase.clock is not None
        number = barrier.number
        if number:
            for group, epoch, waiting in barrier.phases[-2].waits:
                if not phase.clock[EXECUTION, group] > epoch:
                    self.report.add(
                        "phase", f"phase {number} may complete before a wait for {number - 1} ends", waiting, op
                    )
        phase.clock[MEMORY, barrier.agent] = phase.clock[EXECUTION, barrier.agent] = number + 1
        barrier.phases.append(Phase(barrier.arrivals))

    def meet(self, state: GroupState, number: int, wanted: int, count: int, op: Op) -> Meeting:
        """Arrive at a hardware barrier."""
        meeting = self.meetings.setdefault(number, Meeting())
        agent = self.agents.named + number
        if state.clock[EXECUTION, agent] < len(meeting.over):
            self.report.add("barrier", f"barrier {number} may still be in use by other threads", op, meeting.op)
        if meeting.threads and meeting.wanted != wanted:
            self.report.add(
                "barrier", f"{wanted} threads are to meet at {number}, others say {meeting.wanted}", op, meeting.op
            )
        clock = state.publish(self.agents)
        meeting.clock = clock if meeting.clock is None else np.maximum(meeting.clock, clock)
        meeting.threads += count
        meeting.wanted, meeting.op = wanted, op
        if meeting.threads > wanted:
            self.report.add("barrier", f"{meeting.threads} threads arrive at barrier {number} of {wanted}", op)
        if meeting.threads >= wanted:
            meeting.clock[:2, agent] = len(meeting.over) + 1
            meeting.over.append(meeting.clock)
            meeting.threads, meeting.clock = 0, None
        return meeting

    def _say_blocked(self, state: GroupState) -> None:
        event, threads = state.events[state.at]
        text = f"{len(threads)} threads from thread {threads[0]} wait for ever"
        other: Op | None = None
        if event.op.name == "mbarrier_wait":
            barrier = self.barrier(state, event)
            if barrier is not None:
                phase, other = barrier.current, barrier.current.expects
                text += (
                    f": phase {barrier.number} lacks {phase.pending} of {barrier.arrivals} arrivals and"
                    f" {phase.expected - phase.copied} of {phase.expected} bytes"
                )
        elif state.met is not None:
            meeting = self.meetings[state.met[0]]
            text += f": {meeting.threads} of {meeting.wanted} threads are at barrier {state.met[0]}"
        self.report.add("deadlock", text, event.op, other)

    def _check_end(self) -> None:
        for state in self.states:
            self.products.check_end(state)
            for op, what in ((state.open_bulk, "store"), (state.open_copies, "copy")):
                if op is not None:
                    self.report.add("end", f"an asynchronous {what} is never committed", op)
            number = state.group.number
            for made, base, name in (
                (state.bulk, self.agents.bulk, "bulk_commit"),
                (state.copies, self.agents.copies, "copy_commit"),
            ):
                if made > max(int(state.own[base + number]), 0):
                    self.report.add(
                        "end", "the function ends before these copies are waited for", state.last_commit[name]
                    )
        for barrier in self.barriers.values():
            for phase in barrier.phases:
                if phase.copied < phase.expected:
                    self.report.add("end", f"{phase.expected - phase.copied} bytes are expected and never copied",
                                    *(op for op in (phase.expects,) if op is not None))  # fmt: skip
                elif phase.copies is not None and not phase.is_waited:
                    self.report.add("end", "nobody waits for this copy", phase.copies)


def _barrier(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    return _meet(run, state, event, 0, run.threads)


def _sort(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    if state.met is None:
        run.accesses.all_write(state, event)
    return _barrier(run, state, event, threads)


def _named_barrier(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    number, wanted = event.op.attrs["id"], event.op.attrs["threads"]
    assert isinstance(number, int) and isinstance(wanted, int)
    return _meet(run, state, event, number, wanted)


def _meet(run: BlockRun, state: GroupState, event: Event, number: int, wanted: int) -> bool:
    if state.met is None:
        generation = len(run.meetings[number].over) if number in run.meetings else 0
        run.meet(state, number, wanted, len(state.group.threads), event.op)
        state.met = (number, generation)
    number, generation = state.met
    over = run.meetings[number].over
    if len(over) <= generation:
        return False
    state.know(over[generation])
    state.met = None
    return True


def _named_arrive(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    number, wanted = event.op.attrs["id"], event.op.attrs["threads"]
    assert isinstance(number, int) and isinstance(wanted, int)
    run.meet(state, number, wanted, len(threads), event.op)
    return True


def _init(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    value = event.operands[0]
    assert isinstance(value, Value) and isinstance(value.type, Mbarriers)
    for k in range(value.type.count):
        barrier = run.barriers[run.agents.first[value] + k]
        if barrier.init is not None or len(threads) > 1:
            run.report.add("initialisation", "a barrier is initialised more than once", event.op,
                           barrier.init[2] if barrier.init is not None else None)  # fmt: skip
        barrier.init = (state.group.number, state.epoch, event.op)
        barrier.phases = [Phase(barrier.arrivals)]
    return True


def _init_fence(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    for barrier in run.barriers.values():
        if barrier.init is not None and barrier.init[0] == state.group.number:
            barrier.fenced = True
    return True


def _arrive(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    barrier = run.barrier(state, event)
    if barrier is None:
        return True
    clock = state.publish(run.agents)
    for _ in threads:
        run.arrive(barrier, state, clock.copy(), event)
    return True


def _expect(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    barrier = run.barrier(state, event)
    if barrier is None:
        return True
    nbytes = event.op.attrs["bytes"]
    assert isinstance(nbytes, int)
    clock = state.publish(run.agents)
    for _ in threads:
        barrier.current.expected += nbytes
        barrier.current.expects = event.op
        run.arrive(barrier, state, clock.copy(), event)
    return True


def _wait(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    barrier = run.barrier(state, event)
    parity = event.number(2, state.group.first)
    if barrier is None or parity is None:
        return True
    if barrier.number & 1 == parity & 1:
        return False
    seen = barrier.number - 1
    if seen >= 1 and state.clock[EXECUTION, barrier.agent] < seen:
        run.report.add("phase", f"a wait for phase {seen} may pass on phase {seen - 2}", event.op)
    if seen >= 0:
        phase = barrier.phases[seen]
        assert phase.clock is not None
        phase.is_waited = True
        phase.waits.append((state.group.number, state.epoch, event.op))
        state.know(phase.clock)
    return True


def _tma_load(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    barrier, map_ = run.barrier(state, event, 4), event.op.operands[2].type
    assert isinstance(map_, TensorMap)
    if barrier is None:
        return True
    for thread in threads:
        run.check_phase(barrier, state, event.op)
        run.accesses.copy_in(state, event, int(thread), barrier.agent, barrier.number)
        phase = barrier.current
        phase.copied += map_.nbytes
        phase.copies = event.op
        run.complete(barrier, event.op)
    return True


def _tma_store(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    for thread in threads:
        run.accesses.copy_out(state, event, int(thread))
    state.open_bulk = event.op
    return True


def _bulk_commit(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    state.bulk += 1
    state.open_bulk = None
    state.last_commit["bulk_commit"] = event.op
    return True


def _copy_commit(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    state.copies += 1
    state.open_copies = None
    state.last_commit["copy_commit"] = event.op
    return True


def _wait_own(base: str, made: str) -> Step:
    def step(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
        pending = event.op.attrs["pending"]
        assert isinstance(pending, int)
        agent = getattr(run.agents, base) + state.group.number
        done = max(0, getattr(state, made) - pending)
        state.own[agent] = max(int(state.own[agent]), done)
        if len(state.group.threads) == 1:
            state.clock[MEMORY, agent] = state.own[agent]
        return True

    return step


def _fence_async(run: BlockRun, state: GroupState, event: Event, threads: Lanes) -> bool:
    state.fence()
    return True


_STEPS: Mapping[str, Step] = {
    **dict.fromkeys(SORTS, _sort),
    "barrier": _barrier, "named_barrier": _named_barrier, "named_arrive": _named_arrive, "mbarrier_init": _init,
    "mbarrier_fence": _init_fence, "mbarrier_arrive": _arrive, "mbarrier_expect": _expect, "mbarrier_wait": _wait,
    "tma_load": _tma_load, "tma_store": _tma_store, "bulk_commit": _bulk_commit, "copy_commit": _copy_commit,
    "bulk_wait": _wait_own("bulk", "bulk"), "copy_wait": _wait_own("copies", "copies"), "fence_async": _fence_async,
}  # fmt: skip
