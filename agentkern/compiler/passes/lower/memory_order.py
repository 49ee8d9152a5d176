"""Barriers between threads of a block that touch one element of global memory, at least one of them to write it.

A grid that reads back what it writes (its own InOut elements), or writes an element twice, does so in the program's
order. Where the same thread does both, its own order is enough; elsewhere all threads meet in between.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from agentkern.compiler.analysis.subscripts import are_apart, constant_positions, same_subscript
from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.subscripts import entries_of
from agentkern.compiler.ir.views import view_of
from agentkern.compiler.layout.layout import REPLICATED, Layout


@dataclass(frozen=True, slots=True)
class _Touch:
    op: Op
    layout: Layout

    @property
    def writes(self) -> bool:
        return self.op.name != "load"

    @property
    def is_copied(self) -> bool:
        """Whether several threads hold one element."""
        digits = (*self.layout.lanes, *self.layout.warps)
        return any(digit.axis == REPLICATED and digit.extent > 1 for digit in digits)


@dataclass(slots=True)
class _Region:
    """A region that is being lowered: the accesses in it before the first barrier that always stands in it."""

    early: list[_Touch] = field(default_factory=list["_Touch"])
    has_barrier: bool = False


class MemoryOrder:
    """The accesses since the last barrier, to tensors that the grid writes."""

    def __init__(self, grid: Op) -> None:
        self.constants = constant_positions((grid,))
        touched: dict[Value, list[Op]] = {}
        for op in walk((grid,)):
            if op.name in ("load", "store", "sort_kept"):
                touched.setdefault(op.operands[0], []).append(op)
        self.written = {tensor for tensor, ops in touched.items() if any(op.name != "load" for op in ops)}
        # one store and nothing else can meet nothing
        self.watched = {tensor for tensor in self.written if len(touched[tensor]) > 1}
        self.pending: list[_Touch] = []
        self.regions = [_Region()]

    def before(self, op: Op, layout: Layout, barrier: Callable[[], None]) -> None:
        """Note an access, behind a barrier if another thread may have touched its elements since the last one."""
        if op.operands[0] not in self.watched:
            return
        touch = _Touch(op, layout)
        if any(self._meet(earlier, touch) for earlier in self.pending):
            self.all_meet(barrier)
        self.pending.append(touch)
        for region in self.regions:
            if not region.has_barrier:
                region.early.append(touch)

    def all_meet(self, barrier: Callable[[], None]) -> None:
        """A barrier: nothing before it is pending. So it is behind an operation at whose end all threads meet."""
        barrier()
        self.pending = []
        self.regions[-1].has_barrier = True

    @contextmanager
    def loop(self, block: Value, barrier: Callable[[], None]) -> Generator[None]:
        """Around the body of a loop over the blocks of `block`: a barrier at its end if one turn may meet the next."""
        before = self.pending
        self.pending = list(before)
        self.regions.append(_Region())
        yield
        early = self.regions.pop().early
        inside = [touch for touch in self.pending if touch not in before]
        following = [*inside, *(touch for touch in early if touch not in inside)]
        if any(self._meet(a, b) for a in inside for b in following if not _moves_on(a.op, b.op, block)):
            barrier()
            self.pending = []
        # a loop may run no turn at all
        self.pending = [*before, *(touch for touch in self.pending if touch not in before)]

    @contextmanager
    def branch(self) -> Generator[None]:
        """Around a region that may run or not: what it orders is not ordered behind it."""
        before = list(self.pending)
        self.regions.append(_Region())
        yield
        self.regions.pop()
        self.pending = [*before, *(touch for touch in self.pending if touch not in before)]

    def _meet(self, a: _Touch, b: _Touch) -> bool:
        if a.op.operands[0] is not b.op.operands[0] or not (a.writes or b.writes):
            return False
        if same_subscript(a.op, b.op):
            return a.layout != b.layout or ((a.is_copied or b.is_copied) and not (a.writes and b.writes))
        return not (are_apart(a.op, b.op, self.constants) or _by_one_thread(a, b))


def _by_one_thread(a: _Touch, b: _Touch) -> bool:
    """Whether an element that both touch is touched by one thread: they differ in what no thread number decides."""
    if a.layout != b.layout or ((a.is_copied or b.is_copied) and not (a.writes and b.writes)):
        return False
    if view_of(a.op) != view_of(b.op):
        return False
    entries = zip(*([e for e in entries_of(touch.op) if e.axis is not None] for touch in (a, b)), strict=True)
    shape = a.layout.shape
    for one, other in entries:
        if one.tile_axes != other.tile_axes:
            return False
        same = one.text == other.text if one.operand is None else one.operand is other.operand
        if not same and any(shape[axis] > 1 for axis in one.tile_axes):
            return False
    return True


def _moves_on(a: Op, b: Op, block: Value) -> bool:
    """Whether each turn of a loop touches elements of its own."""
    return same_subscript(a, b) and block in a.operands
