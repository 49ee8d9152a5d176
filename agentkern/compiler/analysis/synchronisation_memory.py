"""Shared memory while one block runs: who wrote and read each piece last, and whether an access is ordered after them.

An agent is a group of threads, a barrier (for the bytes that complete on it), a warpgroup's products, or a group's bulk
or element copies. An access bears its agent's count of what was finished before it; it is ordered before another when
that one's clock shows a greater count. Pieces are as large as the smallest access of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.analysis.synchronisation_findings import Report
from agentkern.compiler.analysis.synchronisation_matrices import PIECE_BYTES, Layout, Pieces
from agentkern.compiler.analysis.synchronisation_trace import Lanes, Mask
from agentkern.compiler.ir.core import Op

NOBODY = -1
SEVERAL = -2
MEMORY, EXECUTION, FENCED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Access:
    """One access. `clock` is what the issuing threads know, `own` what each of them knows of its own work.

    `agent` and `count` are what a later access must know to be ordered after it; `is_async` accesses go through the
    asynchronous proxy.
    """

    op: Op
    agent: int
    count: int
    clock: NDArray[np.int64]
    own: NDArray[np.int64]
    is_async: bool


@dataclass(frozen=True, slots=True)
class _Plane:
    """The last access of each piece by one agent (reads), or by any (writes)."""

    agent: Lanes
    count: Lanes
    thread: Lanes
    op: Lanes

    @staticmethod
    def empty(pieces: int) -> _Plane:
        return _Plane(*(np.full(pieces, NOBODY, np.int64) for _ in range(4)))


class SharedMemory:
    """The state of a block's shared memory."""

    def __init__(self, nbytes: int, piece_bytes: int, n_groups: int, report: Report) -> None:
        self.piece_bytes = piece_bytes
        self.n_groups = n_groups
        self.report = report
        self.pieces = -(-nbytes // piece_bytes)
        self.written = _Plane.empty(self.pieces)
        self.read_by: dict[int, _Plane] = {}
        self.ops: list[Op] = []
        self.number: dict[int, int] = {}

    def _op_number(self, op: Op) -> int:
        if id(op) not in self.number:
            self.number[id(op)] = len(self.ops)
            self.ops.append(op)
        return self.number[id(op)]

    def spread(self, at: Pieces, nbytes: int, threads: Lanes | int) -> tuple[Lanes, Lanes]:
        """The pieces from each byte address on, and the thread of each."""
        count = max(1, nbytes // self.piece_bytes)
        index = (at[:, None] // self.piece_bytes + np.arange(count)).ravel()
        thread = np.broadcast_to(np.asarray(threads), at.shape)
        return index, np.repeat(thread, count)

    def _unordered(self, plane: _Plane, index: Lanes, thread: Lanes, access: Access) -> Mask:
        agent, count = plane.agent[index], plane.count[index]
        known = access.clock[MEMORY][agent] > count
        own = (plane.thread[index] == thread) & (access.own[agent] > count)
        return (agent >= 0) & ~(known | own)

    def _unfenced(self, index: Lanes, access: Access) -> Mask:
        agent = self.written.agent[index]
        is_generic = (agent >= 0) & (agent < self.n_groups)
        return is_generic & ~(access.clock[FENCED][agent] > self.written.count[index])

    def _say(
        self, rule: str, wrong: Mask, plane: _Plane, index: Lanes, access: Access, say: Callable[[int], str]
    ) -> None:
        if wrong.any():
            piece = int(index[int(np.argmax(wrong))])
            self.report.add(rule, say(piece * self.piece_bytes), access.op, self.ops[int(plane.op[piece])])

    def read(self, index: Lanes, thread: Lanes, access: Access) -> None:
        """Check and note that pieces are read."""
        written = self.written
        never = written.agent[index] == NOBODY
        if never.any():
            at = int(index[int(np.argmax(never))]) * self.piece_bytes
            self.report.add("uninitialised", f"byte {at} of shared memory is read and was never written", access.op)
        self._say(
            "read after write", self._unordered(written, index, thread, access), written, index, access,
            lambda at: f"reads byte {at} of shared memory without being ordered after its write",
        )  # fmt: skip
        if access.is_async:
            self._say(
                "proxy", self._unfenced(index, access), written, index, access,
                lambda at: f"reads byte {at} asynchronously; its writer has not fenced (`fence_async`) before",
            )  # fmt: skip
        self._note_read(index, thread, access)

    def _note_read(self, index: Lanes, thread: Lanes, access: Access) -> None:
        plane = self.read_by.get(access.agent)
        if plane is None:
            plane = self.read_by[access.agent] = _Plane.empty(self.pieces)
        before, count = plane.thread[index], plane.count[index]
        several = (count >= 0) & (before != thread) & ~(access.clock[MEMORY][access.agent] > count)
        plane.agent[index] = access.agent
        plane.count[index] = access.count
        plane.op[index] = self._op_number(access.op)
        plane.thread[index] = thread
        shared_read = several | (plane.thread[index] != thread)
        plane.thread[index[shared_read]] = SEVERAL

    def write(self, index: Lanes, thread: Lanes, access: Access) -> None:
        """Check and note that pieces are written."""
        written = self.written
        self._say(
            "write after write", self._unordered(written, index, thread, access), written, index, access,
            lambda at: f"overwrites byte {at} of shared memory without being ordered after its write",
        )  # fmt: skip
        for plane in self.read_by.values():
            self._say(
                "write after read", self._unordered(plane, index, thread, access), plane, index, access,
                lambda at: f"overwrites byte {at} of shared memory, which may not have been read yet",
            )  # fmt: skip
            plane.agent[index] = plane.count[index] = NOBODY
        if access.is_async:
            self._say(
                "proxy", self._unfenced(index, access), written, index, access,
                lambda at: f"overwrites byte {at} asynchronously; its writer has not fenced (`fence_async`) before",
            )  # fmt: skip
        written.agent[index] = access.agent
        written.count[index] = access.count
        written.op[index] = self._op_number(access.op)
        written.thread[index] = thread
        if (written.thread[index] != thread).any():
            self.report.add("write after write", "two threads write the same bytes at once", access.op)


class Boxes:
    """Which box each 16-byte piece came from: the copy's number and swizzle, its row and piece within the box."""

    def __init__(self, nbytes: int) -> None:
        self.copy, self.row, self.column = (
            np.full(-(-nbytes // PIECE_BYTES), NOBODY, np.int64) for _ in range(3)
        )  # fmt: skip
        self.ops: list[Op] = []

    def fill(self, layout: Layout, op: Op) -> None:
        """Note a copied box."""
        self.copy[layout.at] = len(self.ops)
        self.row[layout.at], self.column[layout.at] = layout.row, layout.column
        self.ops.append(op)

    def forget(self, pieces: Lanes) -> None:
        """Note that threads wrote over pieces."""
        self.copy[pieces] = NOBODY

    def misread(self, layout: Layout) -> Op | None:
        """The copy whose box a matrix takes apart: pieces of one box that are not one rectangle of it, unpermuted."""
        copy = self.copy[layout.at]
        across, along = self.row[layout.at] - layout.row, self.column[layout.at] - layout.column
        for number in np.unique(copy[copy >= 0]):
            inside = copy == number
            if np.ptp(across[inside]) or np.ptp(along[inside]):
                return self.ops[int(number)]
        return None
