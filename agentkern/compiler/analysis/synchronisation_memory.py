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


# Columns of a plane: the last access of each piece by one agent (reads), or by any (writes).
_AGENT, _COUNT, _THREAD, _OP = range(4)
_Plane = NDArray[np.int64]


def _plane(pieces: int) -> _Plane:
    return np.full((pieces, 4), NOBODY, np.int64)


class SharedMemory:
    """The state of a block's shared memory."""

    def __init__(self, nbytes: int, piece_bytes: int, n_groups: int, report: Report) -> None:
        self.piece_bytes = piece_bytes
        self.n_groups = n_groups
        self.report = report
        self.pieces = -(-nbytes // piece_bytes)
        self.written = _plane(self.pieces)
        self.read_by: dict[int, _Plane] = {}
        self.is_read = np.zeros(self.pieces, np.bool_)
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

    def _unordered(self, last: _Plane, thread: Lanes | int, access: Access) -> Mask | None:
        """The pieces whose last access is not ordered before this one; None: all are."""
        agent, count = last[:, _AGENT], last[:, _COUNT]
        # Nobody's count is -1, which every clock exceeds.
        unknown = access.clock[MEMORY].take(agent) <= count
        if not unknown.any():
            return None
        own = (last[:, _THREAD] == thread) & (access.own.take(agent) > count)
        return unknown & ~own

    def _unfenced(self, last: _Plane, access: Access) -> Mask | None:
        """The pieces written by threads that have not fenced since; None: no piece is."""
        agent = last[:, _AGENT]
        if agent.min() >= self.n_groups:
            return None
        is_generic = (agent >= 0) & (agent < self.n_groups)
        return is_generic & (access.clock[FENCED].take(agent) <= last[:, _COUNT])

    def _say(
        self, rule: str, wrong: Mask | None, last: _Plane, index: Lanes, access: Access, say: Callable[[int], str]
    ) -> None:
        if wrong is not None and wrong.any():
            at = int(np.argmax(wrong))
            self.report.add(rule, say(int(index[at]) * self.piece_bytes), access.op, self.ops[int(last[at, _OP])])

    def read(self, index: Lanes, thread: Lanes | int, access: Access) -> None:
        """Check and note that pieces are read, by one thread or by one each."""
        last = self.written.take(index, axis=0)
        never = last[:, _AGENT] == NOBODY
        if never.any():
            at = int(index[int(np.argmax(never))]) * self.piece_bytes
            self.report.add("uninitialised", f"byte {at} of shared memory is read and was never written", access.op)
        self._say(
            "read after write", self._unordered(last, thread, access), last, index, access,
            lambda at: f"reads byte {at} of shared memory without being ordered after its write",
        )  # fmt: skip
        if access.is_async:
            self._say(
                "proxy", self._unfenced(last, access), last, index, access,
                lambda at: f"reads byte {at} asynchronously; its writer has not fenced (`fence_async`) before",
            )  # fmt: skip
        self._note_read(index, thread, access)

    def _note_read(self, index: Lanes, thread: Lanes | int, access: Access) -> None:
        plane = self.read_by.get(access.agent)
        if plane is None:
            plane = self.read_by[access.agent] = _plane(self.pieces)
        self.is_read[index] = True
        if isinstance(thread, int) and thread == SEVERAL:
            self._note(plane, index, thread, access)
            return
        last = plane.take(index, axis=0)
        count = last[:, _COUNT]
        several = (last[:, _THREAD] != thread) & (count >= 0) & (count >= access.clock[MEMORY, access.agent])
        self._note(plane, index, thread, access)
        if not isinstance(thread, int):
            several |= plane[index, _THREAD] != thread
        if several.any():
            plane[index[several], _THREAD] = SEVERAL

    def _note(self, plane: _Plane, index: Lanes, thread: Lanes | int, access: Access) -> None:
        one = thread if isinstance(thread, int) else NOBODY
        plane[index] = (access.agent, access.count, one, self._op_number(access.op))
        if not isinstance(thread, int):
            plane[index, _THREAD] = thread

    def write(self, index: Lanes, thread: Lanes | int, access: Access) -> None:
        """Check and note that pieces are written, by one thread or by one each."""
        last = self.written.take(index, axis=0)
        self._say(
            "write after write", self._unordered(last, thread, access), last, index, access,
            lambda at: f"overwrites byte {at} of shared memory without being ordered after its write",
        )  # fmt: skip
        for plane in self.read_by.values() if self.is_read[index].any() else ():
            seen = plane.take(index, axis=0)
            if seen[:, _AGENT].max(initial=NOBODY) == NOBODY:
                continue
            self._say(
                "write after read", self._unordered(seen, thread, access), seen, index, access,
                lambda at: f"overwrites byte {at} of shared memory, which may not have been read yet",
            )  # fmt: skip
            plane[index, : _COUNT + 1] = NOBODY
        self.is_read[index] = False
        if access.is_async:
            self._say(
                "proxy", self._unfenced(last, access), last, index, access,
                lambda at: f"overwrites byte {at} asynchronously; its writer has not fenced (`fence_async`) before",
            )  # fmt: skip
        self._note(self.written, index, thread, access)
        if not isinstance(thread, int) and (self.written[index, _THREAD] != thread).any():
            self.report.add("write after write", "two threads write the same bytes at once", access.op)


class Boxes:
    """Which box each 16-byte piece came from: the copy's number and swizzle, its row and piece within the box."""

    def __init__(self, nbytes: int) -> None:
        self.copy, self.row, self.column = (
            np.full(-(-nbytes // PIECE_BYTES), NOBODY, np.int64) for _ in range(3)
        )  # fmt: skip
        self.filled: list[tuple[Op, Layout]] = []
        self.torn: dict[tuple[Layout, Layout], bool] = {}

    def fill(self, layout: Layout, op: Op) -> None:
        """Note a copied box."""
        self.copy[layout.at] = len(self.filled)
        self.row[layout.at], self.column[layout.at] = layout.row, layout.column
        self.filled.append((op, layout))

    def forget(self, pieces: Lanes) -> None:
        """Note that threads wrote over pieces."""
        self.copy[pieces] = NOBODY

    def _numbers(self, layout: Layout) -> tuple[int, ...]:
        """Copies that a matrix has pieces of, in their order; NOBODY where no copy was last to write."""
        copy = self.copy[layout.at]
        first, last = int(copy.min()), int(copy.max())
        return (first,) if first == last else tuple(int(n) for n in np.unique(copy))

    def copies(self, layout: Layout) -> tuple[tuple[Op, bool], ...]:
        """The copies that a matrix has pieces of, each with whether the matrix takes its box apart.

        Apart: pieces of one box that are not one rectangle of it, unpermuted.
        """
        numbers = self._numbers(layout)
        if len(numbers) == 1 and numbers[0] != NOBODY:
            # All pieces are where one copy put them: what comes of two layouts need be found once.
            op, box = self.filled[numbers[0]]
            if (box, layout) not in self.torn:
                self.torn[box, layout] = self._is_torn(layout, numbers[0])
            return ((op, self.torn[box, layout]),)
        return tuple((self.filled[n][0], self._is_torn(layout, n)) for n in numbers if n != NOBODY)

    def _is_torn(self, layout: Layout, number: int) -> bool:
        inside = self.copy[layout.at] == number
        at = layout.at[inside]
        across, along = self.row[at] - layout.row[inside], self.column[at] - layout.column[inside]
        return bool(np.ptp(across) or np.ptp(along))
