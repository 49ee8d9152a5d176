"""Loads and stores: as wide as alignment allows, guarded at edges and by masks. Addresses are `addresses.py`."""

from __future__ import annotations

from math import prod

from agentkern.compiler.analysis.windows import varies_along
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.subscripts import fill_of, mask_of
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import REPLICATED, Layout
from agentkern.compiler.passes.lower.addresses import Place, locate, offset_of
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, named, use_location

NAMES = {"load": "load_vector", "store": "store_vector", "atomic": "update"}


def _access_width(place: Place, layout: Layout) -> tuple[int, tuple[int, ...]]:
    """Elements per access, and the axes along which they are neighbours in registers and in memory, innermost first."""
    count = 1
    axes: list[int] = []
    for digit in layout.registers if place.strides else ():
        stride = place.strides[digit.axis] if digit.axis != REPLICATED else None
        if not isinstance(stride, int) or stride * digit.stride != count:
            break
        if not axes or digit.axis != axes[-1]:
            if digit.stride != 1 or (axes and place.run[len(axes) : len(axes) + 1] != (digit.axis,)):
                break
            axes.append(digit.axis)
        count *= digit.extent
    width = place.widths[len(axes) - 1] if axes else 1
    while count % width:
        width //= 2
    return max(width, 1), tuple(axes) or (layout.rank - 1,)


def _straddles(function: FunctionLowering, type_: TileType, layout: Layout, width: int, axes: tuple[int, ...]) -> bool:
    """Whether an access may begin inside an axis and end outside it: only the last of several is not read whole."""
    if width == 1 or not function.is_clipped(type_, layout, axes[-1]):
        return False
    return prod(function.divisor(type_.shape[axis]) for axis in axes) % width != 0


def _all_inside(
    function: FunctionLowering,
    type_: TileType,
    layout: Layout,
    axes: tuple[int, ...],
    access: tuple[int | Value, int],
) -> Value | None:
    """Whether an access, of (first register, elements), ends inside the outermost of its axes."""
    register, width = access
    if len(axes) == 1:
        return function.inside(type_, layout, axes[0], register, width)
    return function.inside(type_, layout, axes[-1], function.index.add(register, width - 1))


def _guard(
    function: FunctionLowering, type_: TileType, layout: Layout, register: int | Value, skipped: int | None
) -> Value | None:
    """Whether a register's element exists; an axis left out where it is checked apart."""
    guard: Value | None = None
    for axis in range(layout.rank):
        if axis == skipped:
            continue
        guard = function.index.both(guard, function.inside(type_, layout, axis, register))
    return guard


def _mask(function: FunctionLowering, elements: Elements, op: Op, register: int | Value) -> Value | None:
    """The mask's element of a register; None without a mask."""
    mask = mask_of(op)
    return None if mask is None else elements.element(mask, register)


def _accesses(
    function: FunctionLowering, elements: Elements, op: Op, type_: TileType, layout: Layout, array: Value
) -> None:
    """Loops of accesses between memory and a register array; a store's by the first thread that holds an element."""
    function.memory.before(op, layout, function.barrier)
    place = locate(function, op, layout)
    width, axes = _access_width(place, layout) if op.name != "atomic" else (1, (layout.rank - 1,))
    name, kind = NAMES[op.name], {"kind": op.attrs["kind"]} if op.name == "atomic" else {}
    straddles = _straddles(function, type_, layout, width, axes)
    mask = mask_of(op)
    picks = width > 1 and mask is not None and any(varies_along(mask, axis, function.makers) for axis in axes)

    def offset_at(register: int | Value) -> Value:
        offset = offset_of(function, elements, place, layout, register)
        return function.index.constant(offset) if isinstance(offset, int) else offset

    def one(register: int | Value, count: int, offset: Value | None = None) -> None:
        operands = (place.pointer, offset or offset_at(register), array, function.index.value(register))
        function.builder.emit(name, operands, (), {"count": count, **kind})

    def parted(register: int | Value) -> None:
        whole = _all_inside(function, type_, layout, axes, (register, width)) if straddles else None
        for element in range(width if picks else 0):
            whole = function.index.both(whole, _mask(function, elements, op, function.index.add(register, element)))
        assert whole is not None
        named(whole, "whole")
        partly = function.builder.value("not", (whole,), whole.type)
        with function.when(whole):
            one(register, width)
        with function.when(partly), function.loop(0, width, unroll=True, name="e") as element:
            single = named(function.index.add(register, element), "one")
            present = function.inside(type_, layout, axes[-1], single) if straddles else None
            chosen = _mask(function, elements, op, single) if picks else None
            with function.when(function.index.both(present, chosen)):
                one(single, 1)

    # products with strides of the run stand before the guards: what other guards let through shares them
    is_early = mask is not None and not straddles and not picks and place.multiplies_at_run
    with (
        function.when(owner(function, layout) if op.name != "load" else None),
        function.loop(0, layout.register_count, step=width, unroll=True) as register,
    ):
        offset = offset_at(register) if is_early else None
        with (
            function.when(_guard(function, type_, layout, register, axes[-1] if straddles else None)),
            function.when(None if picks else _mask(function, elements, op, register)),
        ):
            if straddles or picks:
                parted(register)
            else:
                one(register, width, offset)


def lower_load(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Read a tile into registers; absent positions hold zero, those that the mask leaves out the fill."""
    use_location(function, op)
    type_ = op.result.type
    assert isinstance(type_, TileType)
    layout = function.layout(op.result)
    partial = bool(op.attrs.get("masked")) or any(
        function.is_clipped(type_, layout, axis) for axis in range(layout.rank)
    )
    name = op.result.name or f"{op.operands[0].name}_tile"
    array = function.registers(type_.dtype, layout.register_count, name, 0 if partial else None)
    fill = fill_of(op)
    if fill is not None:
        with function.loop(0, layout.register_count, unroll=True) as register:
            function.set(array, register, elements.element(fill, 0))
    _accesses(function, elements, op, type_, layout, array)
    function.held[op.result] = array if layout.register_count > 1 else function.get(array, 0)


def lower_store(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Write a tile from registers, each element once: the first of the threads that hold it."""
    use_location(function, op)
    value = op.operands[1]
    type_ = value.type
    assert isinstance(type_, TileType)
    layout = function.layout(value)
    array = as_array(function, elements, value, layout, type_)
    _accesses(function, elements, op, type_, layout, array)


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
