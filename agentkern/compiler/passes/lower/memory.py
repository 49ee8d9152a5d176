"""Loads and stores: 64-bit block base, 32-bit offset in the block, as wide as alignment allows, guarded at edges."""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.gpu_types import Pointer
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.layout.layout import REPLICATED, Layout
from agentkern.compiler.passes.grid_axes import Access, access_of, aligned_elems
from agentkern.compiler.passes.lower.arithmetic import I64
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, named, use_location

MAX_OFFSET = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a tile lies: a pointer to the block's first element, and the stride of each tile axis in elements."""

    pointer: Value
    strides: tuple[int | Value, ...]
    width: int


def _stride(function: FunctionLowering, name: str, access: Access, axis: int) -> int | Value:
    """Elements between neighbours of a tensor's axis."""
    if name in function.variant.strided:
        symbol = f"{name}.stride{axis}"
        return function.symbols[symbol]
    return function.extent(dims.product(access.tensor.shape[axis + 1 :]))


def _locate(function: FunctionLowering, access: Access) -> _Place:
    """The block's address and the tile's strides."""
    index = function.index
    tensor = access.op.operands[0]
    name = tensor.name or ""
    base: int | Value = 0
    strides: list[int | Value] = []
    axis = 0
    for entry in access.index:
        if entry == "+":
            strides.append(0)
            continue
        stride = _stride(function, name, access, axis)
        if entry == ":":
            strides.append(stride)
        elif not entry.startswith("$"):
            start = function.extent(dims.parse(entry.split(":")[0]))
            base = index.add(base, _wide_product(function, start, stride))
            strides.append(stride)
        else:
            operand = access.operand(entry)
            if isinstance(operand.type, BlockType):
                base = index.add(base, _wide_product(function, function.blocks[operand].start, stride))
                strides.append(stride)
            else:
                number = function.index.value(function.held[operand], I64)
                base = index.add(base, _wide_product(function, number, stride))
        axis += 1
    readonly = access.op.name == "load" and tensor not in function.memory.written
    type_ = Pointer(access.tensor.dtype, "global", readonly)
    pointer = function.builder.value("advance", (tensor, index.value(base, I64)), type_, None, f"{name}_block")
    width = aligned_elems(access, name, function.kernel, function.variant, function.tiles)
    return _Place(pointer, tuple(strides), width)


def _wide_product(function: FunctionLowering, number: int | Value, stride: int | Value) -> int | Value:
    """A product in 64 bits."""
    if isinstance(number, int) and isinstance(stride, int):
        return number * stride
    if number == 0 or stride == 0:
        return 0
    wide = function.index.value(number, I64) if isinstance(number, Value) else number
    return function.index.multiply(wide, stride)


def _offset(function: FunctionLowering, place: _Place, layout: Layout, register: int | Value) -> int | Value:
    """A register's element offset from the block's first, 32 bits when the block's span is known to fit."""
    span = 0
    for axis, stride in enumerate(place.strides):
        span = span + (layout.shape[axis] - 1) * stride if isinstance(stride, int) else MAX_OFFSET + 1
    total: int | Value = 0
    for axis, stride in enumerate(place.strides):
        coordinate = function.coordinate(layout, axis, register)
        if span > MAX_OFFSET:
            total = function.index.add(total, _wide_product(function, coordinate, stride))
        else:
            total = function.index.add(total, function.index.multiply(coordinate, stride))
    return named(total, "offset")


def _access_width(place: _Place, layout: Layout) -> int:
    """Elements per access: neighbouring registers that are neighbours in memory, within the alignment."""
    if not layout.registers or not place.strides or place.strides[-1] != 1:
        return 1
    digit = layout.registers[0]
    if digit.axis != layout.rank - 1 or digit.stride != 1:
        return 1
    width = place.width
    while digit.extent % width:
        width //= 2
    return max(width, 1)


def _straddles(function: FunctionLowering, type_: TileType, layout: Layout, width: int) -> bool:
    """Whether an access may begin inside the last axis and end outside it."""
    axis = layout.rank - 1
    if width == 1 or not function.is_clipped(type_, layout, axis):
        return False
    extent = type_.shape[axis]
    return not isinstance(extent, int) or extent % width != 0


def _guard(
    function: FunctionLowering, type_: TileType, layout: Layout, register: int | Value, skip_last: bool
) -> Value | None:
    """Whether a register's element exists; the last axis left out where it is checked apart."""
    guard: Value | None = None
    for axis in range(layout.rank - skip_last):
        guard = function.index.both(guard, function.inside(type_, layout, axis, register))
    return guard


def _accesses(
    function: FunctionLowering, op: Op, type_: TileType, layout: Layout, array: Value, owner: Value | None
) -> None:
    """Loops of accesses between memory and a register array."""
    access = access_of(op)
    assert access is not None
    function.memory.before(op, layout, function.barrier)
    place = _locate(function, access)
    width = _access_width(place, layout)
    name = "load_vector" if op.name == "load" else "store_vector"
    straddles = _straddles(function, type_, layout, width)
    with (
        function.when(owner),
        function.loop(0, layout.register_count, step=width, unroll=True) as register,
        function.when(_guard(function, type_, layout, register, straddles)),
    ):
        if not straddles:
            _one(function, name, place, layout, array, register, width)
            return
        axis = layout.rank - 1
        whole = function.inside(type_, layout, axis, register, width)
        with function.when(whole):
            _one(function, name, place, layout, array, register, width)
        assert whole is not None
        named(whole, "whole")
        partly = function.builder.value("not", (whole,), whole.type)
        with function.when(partly), function.loop(0, width, unroll=True, name="e") as element:
            single = named(function.index.add(register, element), "one")
            with function.when(function.inside(type_, layout, axis, single)):
                _one(function, name, place, layout, array, single, 1)


def _one(
    function: FunctionLowering,
    name: str,
    place: _Place,
    layout: Layout,
    array: Value,
    register: int | Value,
    count: int,
) -> None:
    offset = _offset(function, place, layout, register)
    offset = function.index.constant(offset) if isinstance(offset, int) else offset
    operands = (place.pointer, offset, array, function.index.value(register))
    function.builder.emit(name, operands, (), {"count": count})


def lower_load(function: FunctionLowering, op: Op) -> None:
    """Read a tile into registers; absent positions hold zero."""
    use_location(function, op)
    type_ = op.result.type
    assert isinstance(type_, TileType)
    layout = function.layout(op.result)
    clipped = any(function.is_clipped(type_, layout, axis) for axis in range(layout.rank))
    name = op.result.name or f"{op.operands[0].name}_tile"
    array = function.registers(type_.dtype, layout.register_count, name, 0 if clipped else None)
    _accesses(function, op, type_, layout, array, None)
    function.held[op.result] = array if layout.register_count > 1 else function.get(array, 0)


def lower_store(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Write a tile from registers, each element once: the first of the threads that hold it."""
    use_location(function, op)
    value = op.operands[1]
    type_ = value.type
    assert isinstance(type_, TileType)
    layout = function.layout(value)
    array = as_array(function, elements, value, layout, type_)
    _accesses(function, op, type_, layout, array, owner(function, layout))


def as_array(function: FunctionLowering, elements: Elements, value: Value, layout: Layout, type_: TileType) -> Value:
    """A value's registers as an array in the order of its layout."""
    held = function.held.get(value)
    if held is not None and not isinstance(held.type, TileType):
        return held
    array = function.registers(type_.dtype, layout.register_count, value.name)
    with function.loop(0, layout.register_count, unroll=True) as register:
        function.set(array, register, elements.element(value, register))
    return array


def owner(function: FunctionLowering, layout: Layout) -> Value | None:
    """Whether this thread is the first of those that hold the same elements; None if each holds its own."""
    guard: Value | None = None
    for number, digits in ((function.lane, layout.lanes), (function.warp, layout.warps)):
        divisor = 1
        for digit in digits:
            if digit.axis == REPLICATED and digit.extent > 1:
                part = function.index.bits(number, divisor.bit_length() - 1, digit.extent)
                if not isinstance(part, int):
                    guard = function.index.both(guard, function.index.compare("eq", part, 0))
            divisor *= digit.extent
    return guard
