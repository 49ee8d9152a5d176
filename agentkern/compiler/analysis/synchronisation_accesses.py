"""Accesses of shared memory by threads, the copy engine and products, brought to pieces of shared memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agentkern.compiler.analysis.synchronisation_clocks import Agents, GroupState
from agentkern.compiler.analysis.synchronisation_findings import Report
from agentkern.compiler.analysis.synchronisation_matrices import (
    PIECE_BYTES,
    Layout,
    Operand,
    box_layout,
    descriptor_layout,
    repeat_bytes,
)
from agentkern.compiler.analysis.synchronisation_memory import SEVERAL, Access, Boxes, SharedMemory
from agentkern.compiler.analysis.synchronisation_plan import is_shared
from agentkern.compiler.analysis.synchronisation_trace import (
    Address,
    Event,
    Lanes,
    Matrix,
    Region,
    access_address,
)
from agentkern.compiler.ir.core import Op, walk
from agentkern.compiler.ir.gpu_types import Mbarriers, RegisterArray, TensorMap

_MATRIX_ROWS = 8


def access_bytes(op: Op) -> int:
    """Bytes that one thread moves at one address."""
    if op.name in ("load_matrix", "store_matrix"):
        return PIECE_BYTES
    if op.name == "copy_async":
        nbytes = op.attrs["bytes"]
        assert isinstance(nbytes, int)
        return nbytes
    array, count = op.operands[2].type, op.attrs["count"]
    assert isinstance(array, RegisterArray) and isinstance(count, int)
    return count * array.dtype.nbytes


def _is_threads_access(op: Op) -> bool:
    names = ("load_vector", "store_vector", "load_matrix", "store_matrix", "copy_async")
    return op.name in names and is_shared(op.operands[0])


class Accesses:
    """Brings every access to `SharedMemory`, checked for bounds and alignment."""

    def __init__(self, function: Op, events: Sequence[Event], agents: Agents, report: Report) -> None:
        nbytes, body = function.attrs["shared_bytes"], tuple(walk(function.regions[0].ops))
        assert isinstance(nbytes, int)
        sizes = [access_bytes(op) for op in body if _is_threads_access(op)]
        self.agents = agents
        self.report = report
        self.nbytes = nbytes
        self.memory = SharedMemory(nbytes, min([PIECE_BYTES, *sizes]), agents.n_groups, report)
        self.boxes = Boxes(nbytes)
        self.pieces: dict[Layout, Lanes] = {}
        self.inside: dict[tuple[Layout, Op], bool] = {}
        self.barriers = [
            (offset, offset + 8 * op.result.type.count, op)
            for op in body
            if op.name == "mbarriers"
            and isinstance(op.result.type, Mbarriers)
            and isinstance(offset := op.attrs["offset"], int)
        ]

    def _inside(self, at: Lanes, nbytes: int, region: Region, op: Op) -> bool:
        """Whether accesses of `nbytes` at addresses stay inside their array, apart from barriers."""
        low, high = int(at.min()), int(at.max()) + nbytes
        if low < region.start or high > min(region.end, self.nbytes):
            self.report.add(
                "bounds", f"bytes {low} to {high - 1} reach outside the array at {region.start} to {region.end - 1}",
                op, region.op,
            )  # fmt: skip
            return False
        for start, end, barriers in self.barriers:
            if low < end and high > start and ((at < end) & (at + nbytes > start)).any():
                self.report.add("bounds", f"touches the barriers at {start} to {end - 1}", op, barriers)
                return False
        return True

    def _layout_inside(self, layout: Layout, region: Region, op: Op) -> bool:
        """Whether the pieces of a box or a matrix do; one layout in one array is looked at once."""
        key = (layout, region.op)
        if key not in self.inside:
            self.inside[key] = self._inside(layout.at * PIECE_BYTES, PIECE_BYTES, region, op)
        return self.inside[key]

    def threads_access(self, state: GroupState, event: Event, threads: Lanes) -> None:
        """An access of each thread of its own address."""
        op = event.op
        if not _is_threads_access(op):
            return
        address = access_address(event, 0)
        if address is None or address.at is None:
            return
        if op.name in ("load_matrix", "store_matrix"):
            count = op.attrs["count"]
            assert isinstance(count, int)
            threads = threads[threads % 32 < _MATRIX_ROWS * count]
            if not len(threads):
                return
        at = address.at[threads] if isinstance(address.at, np.ndarray) else np.full(len(threads), address.at)
        nbytes = access_bytes(op)
        if not self._inside(at, nbytes, address.region, op):
            return
        beyond = at % nbytes
        if beyond.any():
            self.report.add("alignment", f"{nbytes} bytes at byte {int(at[np.argmax(beyond)])}", op)
        index, thread = self.memory.spread(at, nbytes, threads)
        number = state.group.number
        if op.name == "copy_async":
            agent = self.agents.copies + number
            self.memory.write(index, thread, Access(op, agent, state.copies, state.clock, state.own, is_async=False))
            state.open_copies = op
            return
        access = Access(op, number, state.epoch, state.clock, state.own, is_async=False)
        if op.name.startswith("load"):
            self.memory.read(index, thread, access)
            return
        self.memory.write(index, thread, access)
        self.boxes.forget(at // PIECE_BYTES)

    def all_write(self, state: GroupState, event: Event) -> None:
        """All threads read and write whole arrays, in an order of their own; the first ones stand for all."""
        if state.group.number:
            return
        access = Access(event.op, state.group.number, state.epoch, state.clock, state.own, is_async=False)
        for k, value in enumerate(event.op.operands):
            address = event.operands[k]
            if not is_shared(value) or not isinstance(address, Address):
                continue
            start, end = address.region.start, address.region.end
            index, _ = self.memory.spread(np.array([start]), end - start, SEVERAL)
            if event.op.name == "sort_slots":
                self.memory.read(index, SEVERAL, access)
            self.memory.write(index, SEVERAL, access)

    def _box(self, event: Event, at: int, map_: TensorMap, thread: int) -> Layout | None:
        address = access_address(event, at)
        if address is None or address.at is None:
            return None
        start = int(address.at[thread]) if isinstance(address.at, np.ndarray) else address.at
        repeat = repeat_bytes(map_.swizzle)
        if start % repeat:
            self.report.add(
                "alignment", f"a box at byte {start}, not a multiple of {repeat}", event.op, address.region.op
            )
            return None
        layout = box_layout(map_, start)
        return layout if self._layout_inside(layout, address.region, event.op) else None

    def _pieces(self, layout: Layout) -> Lanes:
        """The pieces of memory that a box or a matrix covers, found once for each layout."""
        found = self.pieces.get(layout)
        if found is None:
            found, _ = self.memory.spread(layout.at * PIECE_BYTES, PIECE_BYTES, SEVERAL)
            self.pieces[layout] = found
        return found

    def copy_in(self, state: GroupState, event: Event, thread: int, agent: int, phase: int) -> None:
        """A box comes from global memory; its bytes are there once a phase of a barrier is complete."""
        map_ = event.op.operands[2].type
        assert isinstance(map_, TensorMap)
        layout = self._box(event, 0, map_, thread)
        if layout is None:
            return
        index = self._pieces(layout)
        access = Access(event.op, agent, phase, state.clock, state.own, is_async=True)
        self.memory.write(index, thread, access)
        self.boxes.fill(layout, event.op)

    def copy_out(self, state: GroupState, event: Event, thread: int) -> None:
        """A box goes to global memory; it has been read once its group is waited for."""
        map_ = event.op.operands[0].type
        assert isinstance(map_, TensorMap)
        layout = self._box(event, 1, map_, thread)
        if layout is None:
            return
        index = self._pieces(layout)
        agent = self.agents.bulk + state.group.number
        access = Access(event.op, agent, state.bulk, state.clock, state.own, is_async=True)
        self.memory.read(index, thread, access)

    def product_reads(self, state: GroupState, event: Event, matrix: Matrix, operand: Operand) -> None:
        """A warpgroup's product reads a matrix."""
        address = self._matrix_start(state, event, matrix)
        if address is None:
            return
        layout = descriptor_layout(operand, matrix.op, address)
        if not self._layout_inside(layout, matrix.address.region, event.op):
            return
        agent = self.agents.products + state.group.warpgroup
        access = Access(event.op, agent, state.products, state.clock, state.own, is_async=True)
        index = self._pieces(layout)
        thread = state.group.first if len(state.group.threads) == 1 else SEVERAL
        self.memory.read(index, thread, access)
        self._check_boxes(event.op, matrix, layout)

    def _matrix_start(self, state: GroupState, event: Event, matrix: Matrix) -> int | None:
        at = matrix.address.at
        if isinstance(at, np.ndarray):
            own = at[state.group.threads]
            if (own != own[0]).any():
                self.report.add("descriptor", "differs between threads of a warpgroup", matrix.op, event.op)
                return None
            at = int(own[0])
        if at is not None and at % PIECE_BYTES:
            self.report.add("descriptor", f"names byte {at}, not a multiple of {PIECE_BYTES}", matrix.op, event.op)
            return None
        return at

    def _check_boxes(self, op: Op, matrix: Matrix, layout: Layout) -> None:
        """The matrix shows boxes as they were copied: same swizzle, rows and pieces in their places."""
        span = matrix.op.attrs["swizzle"]
        copies = self.boxes.copies(layout)
        for copy, _ in copies:
            map_ = copy.operands[2].type
            assert isinstance(map_, TensorMap)
            if map_.swizzle != span:
                self.report.add("descriptor", f"swizzle {span} of a box copied with {map_.swizzle}", matrix.op, copy)
                return
        torn = next((copy for copy, is_torn in copies if is_torn), None)
        if torn is not None:
            self.report.add("descriptor", "takes rows and columns of a copied box out of their order", matrix.op, torn)
