"""Conversions between layouts through shared memory, by row-major address."""

from __future__ import annotations

from math import prod

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import Layout
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.memory import as_array, owner
from agentkern.compiler.passes.unsupported import UnsupportedError

MAX_SHARED_BYTES = 160 * 1024  # of one conversion; what an sm_80 block can have at most


def _address(
    function: FunctionLowering,
    type_: TileType,
    layout: Layout,
    register: int | Value,
    starts: tuple[int | Value, ...],
    shape: tuple[int | dims.Dim, ...],
) -> int | Value:
    """The row-major number of a register's element in a tile of `shape`, from `starts` on."""
    index = function.index
    total: int | Value = 0
    for axis in range(type_.rank):
        stride = function.extent(dims.product(shape[axis + 1 :]))
        coordinate = index.add(function.coordinate(layout, axis, register), starts[axis])
        total = index.add(total, index.multiply(coordinate, stride))
    return total


def _guard(function: FunctionLowering, type_: TileType, layout: Layout, register: int | Value) -> Value | None:
    guard: Value | None = None
    for axis in range(type_.rank):
        guard = function.index.both(guard, function.inside(type_, layout, axis, register))
    return guard


def lower_conversion(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Write every element once, meet, read it where the new layout wants it; `slice` reads a part.

    Errors: UnsupportedError.
    """
    use_location(function, op)
    value, result = op.operands[0], op.result
    source, target = value.type, result.type
    assert isinstance(source, TileType) and isinstance(target, TileType)
    before, after = function.layout(value), function.layout(result)
    count = prod(before.shape)
    if count * source.dtype.nbytes > MAX_SHARED_BYTES:
        raise UnsupportedError(
            f"a value of {count} elements must move between threads and does not fit shared memory",
            "write a smaller `block=`, or keep the value's axes in one order",
            op.location,
        )
    buffer = function.allocate_shared(source.dtype, count, f"{value.name or 'tile'}_exchange")
    held = as_array(function, elements, value, before, source)
    if function.loop_depth:
        function.barrier()
    zeros = (0,) * source.rank
    with (
        function.when(owner(function, before)),
        function.loop(0, before.register_count, unroll=True) as register,
        function.when(_guard(function, source, before, register)),
    ):
        where = _address(function, source, before, register, zeros, source.shape)
        _move(function, "store_vector", buffer, where, held, register)
    function.barrier()
    starts: tuple[int | Value, ...] = (0,) * target.rank
    shape = target.shape
    if op.name == "slice":
        begins = op.attrs["starts"]
        assert isinstance(begins, tuple)
        starts = tuple(function.extent(b) for b in begins)
        shape = source.shape
    array = function.registers(target.dtype, after.register_count, result.name, 0)
    with (
        function.loop(0, after.register_count, unroll=True) as register,
        function.when(_guard(function, target, after, register)),
    ):
        where = _address(function, target, after, register, starts, shape)
        _move(function, "load_vector", buffer, where, array, register)
    function.held[result] = array if after.register_count > 1 else function.get(array, 0)


def _move(
    function: FunctionLowering, name: str, buffer: Value, where: int | Value, array: Value, register: int | Value
) -> None:
    operands = (buffer, function.index.value(where), array, function.index.value(register))
    function.builder.emit(name, operands, (), {"count": 1})
