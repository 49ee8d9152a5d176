"""Elements at computed positions along an axis: the tile lies in shared memory, where threads read what they want."""

from __future__ import annotations

from math import prod

from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import Layout
from agentkern.compiler.passes.lower.arithmetic import I32
from agentkern.compiler.passes.lower.conversions import MAX_SHARED_BYTES
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.memory import as_array, owner
from agentkern.compiler.passes.lower.shared_memory import SharedArray, borrow_shared, return_shared
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.dsl.dtypes import DType


def lower_take(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Write every element once, meet, read those that the positions name. Errors: UnsupportedError."""
    use_location(function, op)
    source, result, axis = op.operands[0].type, op.result.type, op.attrs["axis"]
    assert isinstance(source, TileType) and isinstance(result, TileType) and isinstance(axis, int)
    before, after = function.layout(op.operands[0]), function.layout(op.result)
    held = as_array(function, elements, op.operands[0], before, source)
    shared = spread_tile(function, op, (source, before, held))
    array = function.registers(source.dtype, after.register_count, op.result.name, 0)
    with (
        function.loop(0, after.register_count, unroll=True) as register,
        function.when(function.present(result, after, register)),
    ):
        place = function.index.value(elements.element(op.operands[1], register), I32)
        repeated = {k: 0 for k, extent in enumerate(source.shape) if extent == 1}
        where = _address(function, before, after, register, {**repeated, axis: place})
        operands = (shared.pointer, function.index.value(where), array, function.index.value(register))
        function.builder.emit("load_vector", operands, (), {"count": 1})
    return_shared(function, shared)
    function.held[op.result] = array if after.register_count > 1 else function.get(array, 0)


def spread_tile(function: FunctionLowering, op: Op, held: tuple[TileType, Layout, Value]) -> SharedArray:
    """A tile's registers, row-major over the layout's extents in shared memory, for every thread to read."""
    type_, layout, array = held
    shared = borrow_tile(function, op, type_.dtype, prod(layout.shape))
    with (
        function.when(owner(function, layout)),
        function.loop(0, layout.register_count, unroll=True) as register,
        function.when(function.present(type_, layout, register)),
    ):
        where = _address(function, layout, layout, register, {})
        operands = (shared.pointer, function.index.value(where), array, function.index.value(register))
        function.builder.emit("store_vector", operands, (), {"count": 1})
    function.barrier()
    return shared


def borrow_tile(function: FunctionLowering, op: Op, dtype: DType, count: int) -> SharedArray:
    """Shared memory of so many elements, nobody's at the moment. Errors: UnsupportedError."""
    if count * dtype.nbytes > MAX_SHARED_BYTES:
        raise UnsupportedError(
            f"`{op.name}` of a tile of {count} elements, which does not fit shared memory",
            "write a smaller `block=`, or make another of its axes a grid axis",
            op.location,
        )
    shared = borrow_shared(function, dtype, count, f"{op.name}_tile")
    if shared.waits:
        function.barrier()
    return shared


def _address(
    function: FunctionLowering, tile: Layout, layout: Layout, register: int | Value, given: dict[int, int | Value]
) -> int | Value:
    """The row-major number in `tile` of a register of `layout`; `given` are its positions along some axes."""
    index = function.index
    total: int | Value = 0
    for axis, extent in enumerate(tile.shape):
        place = given[axis] if axis in given else function.coordinate(layout, axis, register)
        total = index.add(index.multiply(total, extent), place)
    return total
