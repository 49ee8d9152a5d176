"""Sort tiles of distinct integers along an axis: a bitonic network in shared memory, every thread of the block at work.

Each row lies on a power of two of slots; those past its end hold the largest integer, which stays behind.
"""

from __future__ import annotations

from math import prod

from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import WARP_LANES, Layout
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.memory import as_array, owner
from agentkern.compiler.passes.lower.shared_memory import SharedArray, return_shared
from agentkern.compiler.passes.lower.takes import borrow_tile
from agentkern.dsl.dtypes import DTYPES

I64 = DTYPES["i64"]


def lower_order(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Fill the slots, sort them, read those of the result. Errors: UnsupportedError where they do not fit."""
    use_location(function, op)
    axis, result = op.attrs["axis"], op.result.type
    assert isinstance(axis, int) and isinstance(result, TileType)
    layout = function.layout(op.operands[0])
    rows = tuple(0 if k == axis else extent for k, extent in enumerate(layout.shape))
    width = 1 << max(layout.shape[axis] - 1, 0).bit_length()
    count = width * prod(extent for k, extent in enumerate(layout.shape) if k != axis)
    buffers = [borrow_tile(function, op, I64, count) for _ in op.operands]
    attrs = {"width": width, "count": count, "threads": function.warps * WARP_LANES}
    operands = (*(buffer.pointer for buffer in buffers), function.index.value(thread_number(function)))
    function.builder.emit("fill_slots", operands, (), attrs)
    for value, buffer in zip(op.operands, buffers, strict=True):
        type_, before = value.type, function.layout(value)
        assert isinstance(type_, TileType)
        array = as_array(function, elements, value, before, type_)
        with (
            function.when(owner(function, before)),
            function.loop(0, before.register_count, unroll=True) as register,
            function.when(function.present(type_, before, register)),
        ):
            _move(function, "store_vector", (buffer, _slot(function, before, rows, width, register)), array, register)
    function.barrier()
    if width > 1:
        function.builder.emit("sort_slots", operands, (), attrs)
    after = function.layout(op.result)
    found = function.registers(I64, after.register_count, op.result.name, 0)
    with (
        function.loop(0, after.register_count, unroll=True) as register,
        function.when(function.present(result, after, register)),
    ):
        _move(function, "load_vector", (buffers[-1], _slot(function, after, rows, width, register)), found, register)
    for buffer in buffers:
        return_shared(function, buffer)
    function.held[op.result] = found if after.register_count > 1 else function.get(found, 0)


def _move(
    function: FunctionLowering, name: str, place: tuple[SharedArray, int | Value], array: Value, register: int | Value
) -> None:
    index = function.index
    operands = (place[0].pointer, index.value(place[1]), array, index.value(register))
    function.builder.emit(name, operands, (), {"count": 1})


def _slot(
    function: FunctionLowering, layout: Layout, rows: tuple[int, ...], width: int, register: int | Value
) -> int | Value:
    """The slot of a register: its row among all, then its place in it; `rows` are the extents, 0 of the axis."""
    index = function.index
    row: int | Value = 0
    for k, extent in enumerate(rows):
        if extent:
            row = index.add(index.multiply(row, extent), function.coordinate(layout, k, register))
    return index.add(index.multiply(row, width), function.coordinate(layout, rows.index(0), register))


def thread_number(function: FunctionLowering) -> int | Value:
    """The thread's number in its block."""
    return function.index.add(function.index.multiply(function.warp, WARP_LANES), function.lane)
