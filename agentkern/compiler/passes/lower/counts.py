"""Counts of small integers: counters in shared memory, which every thread adds to for the elements that it holds."""

from __future__ import annotations

from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import WARP_LANES
from agentkern.compiler.passes.lower.arithmetic import I64
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.memory import owner
from agentkern.compiler.passes.lower.shared_memory import return_shared
from agentkern.compiler.passes.lower.takes import borrow_tile

VECTOR = 4  # counters of 32 bits that one access moves
MOST_WRITTEN_OUT = 64


def lower_bincount(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Clear the counters, meet, count, meet, read them. Sums of integers do not depend on the order."""
    use_location(function, op)
    source, result = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    layout, after, index = function.layout(op.operands[0]), function.layout(op.result), function.index
    (count,) = result.shape
    assert isinstance(count, int)
    vectors = -(-max(count, 1) // VECTOR)
    shared = borrow_tile(function, op, result.dtype, vectors * VECTOR)
    _clear(function, shared.pointer, function.registers(result.dtype, VECTOR, "zeros", 0), vectors)
    function.barrier()
    one = function.registers(result.dtype, 1, "one", 1)
    with (
        function.when(owner(function, layout)),
        function.loop(0, layout.register_count, unroll=True) as register,
        function.when(function.present(source, layout, register)),
    ):
        value = index.value(elements.element(op.operands[0], register), I64)
        inside = index.both(index.compare("ge", value, 0), index.compare("lt", value, count))
        with function.when(inside):
            operands = (shared.pointer, value, one, index.constant(0))
            function.builder.emit("update", operands, (), {"count": 1, "kind": "add"})
    function.barrier()
    array = function.registers(result.dtype, after.register_count, op.result.name, 0)
    with (
        function.loop(0, after.register_count, unroll=True) as register,
        function.when(function.present(result, after, register)),
    ):
        where = index.value(function.coordinate(after, 0, register))
        function.builder.emit("load_vector", (shared.pointer, where, array, index.value(register)), (), {"count": 1})
    return_shared(function, shared)
    function.held[op.result] = array if after.register_count > 1 else function.get(array, 0)


def _clear(function: FunctionLowering, pointer: Value, zeros: Value, vectors: int) -> None:
    """Every thread clears each so many-th vector of counters; few turns are written out, so that all can be checked."""
    index, threads = function.index, function.warps * WARP_LANES
    thread = index.add(index.multiply(function.warp, WARP_LANES), function.lane)
    turns = -(-vectors // threads)
    with function.loop(0, turns, unroll=turns <= MOST_WRITTEN_OUT, name="turn") as turn:
        at = index.add(thread, index.multiply(turn, threads))
        with function.when(index.compare("lt", at, vectors) if vectors % threads else None):
            where = index.value(index.multiply(at, VECTOR))
            function.builder.emit("store_vector", (pointer, where, zeros, index.constant(0)), (), {"count": VECTOR})
