"""Warpgroup products in flight: registers left alone, fences before, commits and waits after, operands in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from agentkern.compiler.analysis.synchronisation_accesses import Accesses
from agentkern.compiler.analysis.synchronisation_clocks import Agents, Clock, GroupState
from agentkern.compiler.analysis.synchronisation_findings import Report
from agentkern.compiler.analysis.synchronisation_matrices import operands_of
from agentkern.compiler.analysis.synchronisation_memory import EXECUTION, MEMORY
from agentkern.compiler.analysis.synchronisation_trace import Event, Matrix
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.gpu_types import RegisterArray

_CHANGES = frozenset({"set", "usual", "registers", "load_vector", "load_matrix", "mma"})


class Products:
    """The products of every warpgroup of a block. `arrays` are the register arrays that they use."""

    def __init__(
        self, arrays: frozenset[Value], agents: Agents, states: Sequence[GroupState], accesses: Accesses, report: Report
    ) -> None:
        self.arrays = arrays
        self.agents = agents
        self.accesses = accesses
        self.report = report
        self.members: dict[int, list[int]] = {}
        for state in states:
            if any(event.op.name == "wgmma" for event, _ in state.events):
                self.members.setdefault(state.group.warpgroup, []).append(state.group.number)
        self.commits: dict[int, list[Clock]] = {state.group.number: [] for state in states}

    def use(self, state: GroupState, event: Event) -> None:
        """Threads read or change register arrays, which no product in flight may use."""
        op = event.op
        touched = [v for v in (*op.operands, *op.results) if v in self.arrays]
        if op.name == "wgmma_pin":
            for array in touched:
                state.changed.pop(array, None)
                state.retired.pop(array, None)
        for array in touched:
            if array in state.in_flight:
                _, product, is_accumulator = state.in_flight[array]
                what = "the accumulator" if is_accumulator else "operand A"
                self.report.add(
                    "in flight", f"`{op.name}` uses {what} of a product that was not waited for", op, product
                )
            if op.name == "get" and array in state.retired:
                self.report.add(
                    "pin", "no `wgmma_pin` between the wait for a product and its use", op, state.retired[array]
                )
            if op.name in _CHANGES:
                state.dirty[array] = state.changed[array] = op
                state.unpinned.pop(array, None)
                state.undefined.pop(array, None)
            if op.name == "registers" and "fill" not in op.attrs:
                state.undefined[array] = op

    def multiply(self, state: GroupState, event: Event) -> bool:
        """One product step."""
        op, instruction = event.op, str(event.op.attrs["instruction"])
        a, b = operands_of(instruction)
        registers = [v for v in op.operands[:2] if isinstance(v.type, RegisterArray)]
        for array in registers:
            if array in state.dirty or not state.has_fenced:
                self.report.add("fence", "no `wgmma_fence` between a change of its registers and the product", op,
                                state.dirty.get(array))  # fmt: skip
            if array in state.unpinned:
                self.report.add("pin", "no `wgmma_pin` between a change of its registers and `wgmma_fence`", op,
                                state.unpinned[array])  # fmt: skip
        accumulator = op.operands[0]
        adds = event.operands[3] != 0
        for array in registers:
            if array in state.undefined and (array is not accumulator or adds):
                self.report.add(
                    "uninitialised", "the product reads registers that were never set", op, state.undefined[array]
                )
        self._check_shape(state, event)
        for matrix, operand in ((event.operands[1], a), (event.operands[2], b)):
            if operand is not None and isinstance(matrix, Matrix):
                self.accesses.product_reads(state, event, matrix, operand)
        state.undefined.pop(accumulator, None)
        for array in registers:
            state.in_flight[array] = (state.products, op, array is accumulator)
        state.open_products = op
        return True

    def _check_shape(self, state: GroupState, event: Event) -> None:
        """An accumulator in flight is added to by products of one shape only, and is nobody's operand."""
        for array in event.op.operands[:2]:
            found = state.in_flight.get(array)
            if found is None:
                continue
            _, before, was_accumulator = found
            is_accumulator = array is event.op.operands[0]
            same = event.op.attrs["instruction"] == before.attrs["instruction"] or not is_accumulator
            if was_accumulator != is_accumulator or not same:
                self.report.add("in flight", "uses registers of a product of another kind in flight", event.op, before)

    def fence(self, state: GroupState, event: Event) -> bool:
        """Order changes of registers before products."""
        state.dirty.clear()
        state.unpinned.update(state.changed)
        state.changed.clear()
        state.has_fenced = True
        return True

    def commit(self, state: GroupState, event: Event) -> bool:
        """Close a group of products."""
        state.products += 1
        state.open_products = None
        state.last_commit["wgmma_commit"] = event.op
        self.commits[state.group.number].append(state.publish(self.agents))
        return True

    def wait(self, state: GroupState, event: Event) -> bool:
        """Groups are complete when every thread of the warpgroup has issued them; then their operands are free."""
        pending = event.op.attrs["pending"]
        assert isinstance(pending, int)
        target = max(state.products - pending, state.products_done)
        members = self.members.get(state.group.warpgroup, [])
        if any(len(self.commits[number]) < target for number in members):
            return False
        agent = self.agents.products + state.group.warpgroup
        for number in members:
            if target:
                np.maximum(
                    state.clock[EXECUTION], self.commits[number][target - 1][EXECUTION], out=state.clock[EXECUTION]
                )
        state.products_done = target
        state.clock[MEMORY, agent] = state.clock[EXECUTION, agent] = max(int(state.clock[MEMORY, agent]), target)
        # Products that were never committed belong to no group: no wait covers them.
        for array, (count, _, is_accumulator) in list(state.in_flight.items()):
            if count < target:
                del state.in_flight[array]
                if is_accumulator:
                    state.retired[array] = event.op
        return True

    def check_end(self, state: GroupState) -> None:
        """Nothing is in flight when the function ends."""
        if state.open_products is not None:
            self.report.add("end", "a product is never committed", state.open_products)
        if state.products > state.products_done:
            self.report.add(
                "end", "the function ends before these products are waited for", state.last_commit["wgmma_commit"]
            )


PRODUCT_STEPS: Mapping[str, Callable[[Products, GroupState, Event], bool]] = {
    "wgmma": Products.multiply,
    "wgmma_fence": Products.fence,
    "wgmma_commit": Products.commit,
    "wgmma_wait": Products.wait,
}
