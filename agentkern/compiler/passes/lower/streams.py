"""Streams: a loop over chunks of a long axis, with accumulators that live through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.dims import cdiv
from agentkern.compiler.ir.order import SumOrder
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.layout.layout import Digit
from agentkern.compiler.passes.lower.arithmetic import BOOL, I32
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, LoopRegion
from agentkern.compiler.passes.lower.reductions import (
    Accumulators,
    Tree,
    accumulate,
    finish,
    fix_empty,
    identity,
    plan_accumulators,
)
from agentkern.compiler.passes.lower.scans import carried_totals

COUNTER_RANKS = 32  # panels of a run-time axis: fewer than 2**32, so an axis of fewer than 2**42 elements

MOST_COUNTER_REGISTERS = 32
"""Of one thread: 32 ranks of one sum; eight sums of a thread would take every register that it has."""

MOST_EXCHANGED = 32
"""Values that a thread reads of other warps where a panel ends, in a walk whose last chunk stands apart."""

LowerRegion = Callable[[FunctionLowering, tuple[Op, ...]], Elements]


@dataclass(frozen=True, slots=True)
class _Sum:
    """One yielded reduction: its plan, accumulators and, for an ordered one, the counter of panels."""

    plan: Accumulators
    type: TileType
    array: Value
    ranks: int
    counter: Value | None

    @property
    def warps(self) -> tuple[Digit, ...]:
        """The digits of the walked axis in the warp's number."""
        return tuple(digit for digit in self.plan.layout.warps if digit.axis == self.plan.axis)

    @property
    def in_registers(self) -> bool:
        """Whether the counter is small enough for registers, by loops that are unrolled.

        A larger one lies in memory, at a place that a loop computes: it is used once a panel, and only what is there.
        """
        return self.ranks * self.plan.kept <= MOST_COUNTER_REGISTERS

    def each_rank(self, function: FunctionLowering) -> LoopRegion:
        """A loop over the counter."""
        return LoopRegion(function, 0, self.ranks, 1, self.in_registers, "rank", rolled=not self.in_registers)

    def slot(self, function: FunctionLowering, rank: int | Value, kept: int | Value) -> int | Value:
        """The place of a rank of the counter."""
        return function.index.add(function.index.multiply(rank, self.plan.kept), kept)


def _begin(function: FunctionLowering, op: Op, kind: str, value: Value, axis: int, order: SumOrder | None) -> _Sum:
    type_ = value.type
    assert isinstance(type_, TileType)
    plan = plan_accumulators(kind, function.layout(value), axis, order)
    nothing = identity(kind, type_.dtype)
    array = function.registers(type_.dtype, plan.count, f"{kind}_partial", nothing)
    if order is None:
        return _Sum(plan, type_, array, 0, None)
    block = op.regions[0].args[0].type
    assert isinstance(block, BlockType)
    ranks = COUNTER_RANKS
    if isinstance(block.extent, int):
        ranks = (-(-block.extent // order.panel_elems)).bit_length()
    ranks = max(ranks, 1)
    # in memory no rank is read before it is set
    fill = nothing if ranks * plan.kept <= MOST_COUNTER_REGISTERS else None
    counter = function.registers(type_.dtype, ranks * plan.kept, f"{kind}_panels", fill)
    return _Sum(plan, type_, array, ranks, counter)


def _push_panel(function: FunctionLowering, sums: _Sum, panel: int | Value) -> None:
    """Combine a complete panel into the counter and clear the accumulators."""
    dtype = sums.type.dtype
    done = finish(function, sums.plan, sums.array, sums.type)
    if sums.in_registers:
        for kept, value in enumerate(done):
            _push_in_registers(function, sums, panel, kept, value)
    else:
        _push_in_memory(function, sums, panel, done)
    nothing = function.builder.value("constant", (), TileType(dtype), {"value": identity(sums.plan.kind, dtype)})
    with function.loop(0, sums.plan.count, unroll=True) as slot:
        function.set(sums.array, slot, nothing)


def _push_in_registers(function: FunctionLowering, sums: _Sum, panel: int | Value, kept: int, value: Value) -> None:
    """Carry one value through every rank, so that the loop unrolls."""
    assert sums.counter is not None
    dtype = sums.type.dtype
    tree = Tree(function, sums.plan, dtype)
    carried = function.registers(dtype, 1, "panel_sum")
    going = function.registers(BOOL.dtype, 1, "carrying", 1)
    function.set(carried, 0, value)
    with sums.each_rank(function) as rank:
        slot = sums.slot(function, rank, kept)
        is_set = _has_rank(function, panel, rank)
        with function.when(function.get(going, 0)):
            before = function.get(sums.counter, slot)
            combined = tree.combine(before, function.get(carried, 0))
            with function.when(is_set):
                function.set(carried, 0, combined)
            with function.when(function.builder.value("not", (is_set,), BOOL)):
                function.set(sums.counter, slot, function.get(carried, 0))
                false = function.builder.value("constant", (), BOOL, {"value": False})
                function.set(going, 0, false)


def _push_in_memory(function: FunctionLowering, sums: _Sum, panel: int | Value, done: list[Value]) -> None:
    """Carry all values together up to the first rank that is free: every second panel ends at the first."""
    assert sums.counter is not None
    dtype = sums.type.dtype
    tree = Tree(function, sums.plan, dtype)
    carried = function.registers(dtype, len(done), "panel_sum")
    for kept, value in enumerate(done):
        function.set(carried, kept, value)
    with sums.each_rank(function) as rank:
        is_free = function.builder.value("not", (_has_rank(function, panel, rank),), BOOL)
        with function.when(is_free), function.loop(0, len(done), unroll=True) as kept:
            function.set(sums.counter, sums.slot(function, rank, kept), function.get(carried, kept))
        function.builder.emit("break_if", (is_free,))
        with function.loop(0, len(done), unroll=True) as kept:
            before = function.get(sums.counter, sums.slot(function, rank, kept))
            function.set(carried, kept, tree.combine(before, function.get(carried, kept)))


def _has_rank(function: FunctionLowering, panels: int | Value, rank: int | Value) -> Value:
    """Whether the counter of so many panels has a value of a rank."""
    bit = function.builder.value("index_and", (_shifted(function, panels, rank), function.index.constant(1)), I32)
    return function.index.compare("eq", bit, 1)


def _shifted(function: FunctionLowering, number: int | Value, places: int | Value) -> Value:
    index = function.index
    return function.builder.value("index_shr", (index.value(number, I32), index.value(places, I32)), I32)


def _leftovers(function: FunctionLowering, sums: _Sum, panels: int | Value) -> list[Value]:
    """The panels still in the counter, from the lowest rank up."""
    assert sums.counter is not None
    dtype = sums.type.dtype
    tree = Tree(function, sums.plan, dtype)
    nothing = identity(sums.plan.kind, dtype)
    if not sums.in_registers:
        return _leftovers_in_memory(function, sums, panels)
    totals: list[Value] = []
    for kept in range(sums.plan.kept):
        total = function.registers(dtype, 1, f"{sums.plan.kind}_total", nothing)
        with sums.each_rank(function) as rank:
            slot = sums.slot(function, rank, kept)
            is_set = _has_rank(function, panels, rank)
            combined = tree.combine(function.get(sums.counter, slot), function.get(total, 0))
            chosen = (is_set, combined, function.get(total, 0))
            function.set(total, 0, function.builder.value("where", chosen, TileType(dtype)))
        totals.append(function.get(total, 0))
    return totals


def _leftovers_in_memory(function: FunctionLowering, sums: _Sum, panels: int | Value) -> list[Value]:
    """All values together, no further than the highest rank that the counter has."""
    assert sums.counter is not None
    dtype = sums.type.dtype
    tree = Tree(function, sums.plan, dtype)
    total = function.registers(dtype, sums.plan.kept, f"{sums.plan.kind}_total", identity(sums.plan.kind, dtype))
    with sums.each_rank(function) as rank:
        rest = _shifted(function, panels, rank)
        function.builder.emit("break_if", (function.index.compare("eq", rest, 0),))
        is_set = _has_rank(function, panels, rank)
        with function.when(is_set), function.loop(0, sums.plan.kept, unroll=True) as kept:
            before = function.get(sums.counter, sums.slot(function, rank, kept))
            function.set(total, kept, tree.combine(before, function.get(total, kept)))
    return [function.get(total, kept) for kept in range(sums.plan.kept)]


def lower_stream(
    function: FunctionLowering, op: Op, orders: tuple[SumOrder | None, ...], lower_region: LowerRegion
) -> list[list[Value]]:
    """The loop, and each result's values by kept register."""
    region = op.regions[0]
    block_value, last = region.args[0], region.ops[-1]
    block = block_value.type
    assert isinstance(block, BlockType) and block.block is not None
    kinds, axes = op.attrs["kinds"], op.attrs["axes"]
    assert isinstance(kinds, tuple) and isinstance(axes, tuple)
    sums = [
        _begin(function, op, str(kind), value, int(axis), order)
        for kind, axis, value, order in zip(kinds, axes, last.operands, orders, strict=True)
    ]
    carried_totals(function, region)
    extent = function.extent(block.extent)
    chunks = function.extent(cdiv(block.extent, block.block))
    chunks = function.index.value(chunks, I32) if isinstance(chunks, Value) else chunks
    whole = _whole_chunks(function, op, sums, chunks)

    def turn(number: int | Value, *, is_whole: bool) -> None:
        function.enter_block(block_value, number, block.block or 1, is_whole=is_whole)
        elements = lower_region(function, region.ops[:-1])
        for item, value in zip(sums, last.operands, strict=True):
            with function.loop(0, item.plan.layout.register_count, unroll=True) as register:
                accumulate(function, item.plan, item.type, item.array, register, elements.element(value, register))

    if isinstance(whole, Value) or whole > 0:
        with (
            function.loop(0, whole, unroll=False, name=block_value.name or "chunk") as number,
            function.memory.loop(block_value, function.barrier),
        ):
            backward = op.attrs.get("reverse")
            at = function.index.subtract(function.index.subtract(chunks, 1), number) if backward else number
            turn(at, is_whole=whole is not chunks)
            for item in sums:
                _end_of_chunk(function, item, number, chunks if whole is chunks else None, block.block)
    if whole is not chunks:
        with function.when(_comes_last(function, whole, chunks)), function.memory.branch():
            turn(whole, is_whole=False)
        for item in sums:
            _end_of_last_panel(function, item, extent)
    return [_result(function, item, extent) for item in sums]


_LONE = frozenset("load constant size index arange broadcast reshape transpose ordinal start end yield".split())


def _whole_chunks(function: FunctionLowering, op: Op, sums: Sequence[_Sum], chunks: int | Value) -> int | Value:
    """Chunks before the one that is cut short, which stands behind the loop; all of them if none does.

    Whole chunks need no guards. It stands there for innermost walks that only reduce, whose code can but double. Those
    of a run's length, which may have no whole chunk, have to be short besides: their threads work alone until a panel
    ends, and exchange little then.
    """
    block = op.regions[0].args[0].type
    assert isinstance(block, BlockType) and block.block is not None
    length, inner = block.length, list(walk(op.regions[0].ops))
    is_plain = not any(part.name in ("loop", "stream", "store", "atomic") or part.name in SCANS for part in inner)
    if not op.results or not is_plain or op.attrs.get("reverse"):
        return chunks
    if isinstance(length, int):
        return chunks if length % block.block == 0 else length // block.block
    alone = all(part.name in _LONE or "elementwise" in part.spec.traits for part in inner)
    exchanged = sum(item.plan.kept * prod(d.extent for d in item.warps) for item in sums if item.warps)
    if not alone or exchanged > MOST_EXCHANGED:
        return chunks
    whole = function.index.quotient(function.extent(block.extent), block.block)
    return function.index.value(whole, I32) if isinstance(whole, Value) else whole


def _comes_last(function: FunctionLowering, whole: int | Value, chunks: int | Value) -> Value | None:
    """Whether a chunk stands behind the whole ones; None where one always does."""
    known = isinstance(whole, int) and isinstance(chunks, int)
    return None if known else function.index.compare("lt", whole, chunks)


def _end_of_chunk(
    function: FunctionLowering, item: _Sum, number: int | Value, chunks: int | Value | None, chunk: int
) -> None:
    """Push the panel when its last chunk is in, or the last chunk of all, if `chunks` says which that is."""
    order = item.plan.order
    if order is None:
        return
    assert order.panel_elems % chunk == 0, "chunks fill panels evenly"
    per_panel = order.panel_elems // chunk
    index = function.index
    after = index.add(number, 1)
    panel = index.quotient(number, per_panel)
    ends = None
    if per_panel > 1:
        ends = index.compare("eq", index.remainder(after, per_panel), 0)
    if ends is not None and chunks is not None:
        ends = function.builder.value("or", (ends, index.compare("eq", after, chunks)), BOOL)
    with function.when(ends):
        _push_panel(function, item, panel)


def _end_of_last_panel(function: FunctionLowering, item: _Sum, extent: int | Value) -> None:
    """Push the panel that no whole chunk ended, where there is one."""
    order, index = item.plan.order, function.index
    if order is None:
        return
    rest = index.remainder(extent, order.panel_elems)
    panel = index.quotient(extent, order.panel_elems)
    panel = index.value(panel, I32) if isinstance(panel, Value) else panel
    if isinstance(rest, int) and rest == 0:
        return
    with function.when(None if isinstance(rest, int) else index.compare("lt", 0, rest)):
        _push_panel(function, item, panel)


def _result(function: FunctionLowering, item: _Sum, extent: int | Value) -> list[Value]:
    order = item.plan.order
    if order is None:
        values = finish(function, item.plan, item.array, item.type)
    else:
        panels = function.index.quotient(function.index.add(extent, order.panel_elems - 1), order.panel_elems)
        panels = function.index.value(panels, I32) if isinstance(panels, Value) else panels
        values = _leftovers(function, item, panels)
    return fix_empty(function, item.plan.kind, item.type.dtype, extent, values)
