"""Conversions of layouts and slices: renumbered registers, shuffles or shared memory, as the layout algebra plans.

A tile is seen with those axes merged that source and result group differently. Where an inner extent is known only to
the run, elements go one by one through shared memory by their row-major number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.conversion import Conversion, Tile, merged_axes, plan_conversion
from agentkern.compiler.layout.exchange import Atom, start_atoms
from agentkern.compiler.layout.layout import Layout
from agentkern.compiler.layout.shared_exchange import MAX_ACCESS_BYTES, SharedExchange, Side
from agentkern.compiler.layout.swizzle import NO_SWIZZLE, Swizzle
from agentkern.compiler.passes.lower.concat_places import Placed, concat_places
from agentkern.compiler.passes.lower.elements import Elements, View
from agentkern.compiler.passes.lower.exchanges import lower_exchange
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.memory import as_array, owner
from agentkern.compiler.passes.lower.shared_memory import borrow_shared, return_shared
from agentkern.compiler.passes.unsupported import UnsupportedError

MAX_SHARED_BYTES = 160 * 1024  # of one conversion; what an sm_80 block can have at most
SWIZZLE_ALIGNMENT = 128  # a swizzled buffer begins at bank 0


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a conversion: its tile, layout, and the number of elements that each axis' coordinate stands for."""

    type: TileType
    layout: Layout
    strides: tuple[int | dims.Dim, ...]
    starts: tuple[int | Value, ...]


@dataclass(frozen=True, slots=True)
class _Buffer:
    """An array in shared memory and how elements lie in it."""

    pointer: Value
    swizzle: Swizzle
    nbytes: int


def _groups(op: Op) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Axes of the source and of the result that run over the same indices."""
    source, target = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(target, TileType)
    if op.name == "slice" or source.shape == target.shape:
        return [((axis,), (axis,)) for axis in range(source.rank)]
    return reshape_groups(source.shape, target.shape)


def _numbers(extents: Sequence[int | dims.Dim], layout: Layout) -> list[int]:
    """Extents as numbers; what only the run knows is bounded by the layout."""
    return [e if isinstance(e, int) else layout.shape[axis] for axis, e in enumerate(extents)]


def _covers_exactly(type_: TileType, layout: Layout, groups: Sequence[tuple[int, ...]]) -> bool:
    """Whether no coordinate of a merged axis' inner part lies outside it, and dropped axes have one index."""
    inner = all(layout.shape[axis] == type_.shape[axis] for group in groups for axis in group[1:])
    kept = {axis for group in groups for axis in group}
    return inner and all(layout.shape[axis] == 1 for axis in range(type_.rank) if axis not in kept)


def _width_cap(type_: TileType, groups: Sequence[tuple[int, ...]], starts: Sequence[int]) -> int:
    """Most elements per access: accesses stay inside the innermost of merged axes, and slices begin at whole ones."""
    cap = MAX_ACCESS_BYTES
    for group in groups:
        innermost = type_.shape[group[-1]]
        if len(group) > 1:
            assert isinstance(innermost, int)
            cap = gcd(cap, innermost)
    return gcd(cap, *starts)


def _has_static_strides(type_: TileType, groups: Sequence[tuple[int, ...]]) -> bool:
    return all(isinstance(type_.shape[axis], int) for group in groups for axis in group[1:])


def _slice_starts(op: Op) -> tuple[int, ...] | None:
    """Where a slice begins on each axis; zeros of a conversion; None if only the run knows."""
    assert isinstance(op.result.type, TileType)
    if op.name != "slice":
        return (0,) * op.result.type.rank
    starts = op.attrs["starts"]
    assert isinstance(starts, tuple)
    found = [start if isinstance(start, int) else dims.parse(str(start)) for start in starts]
    return tuple(s for s in found if isinstance(s, int)) if all(isinstance(s, int) for s in found) else None


def _planned(op: Op, before: Layout, after: Layout) -> tuple[Conversion, _Side, _Side] | None:
    """The plan, and both sides with the buffer's strides by their own axes; None where only the run knows strides."""
    source, target = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(target, TileType)
    pairs = [(old, new) for old, new in _groups(op) if old and new]
    olds, news = [old for old, _ in pairs], [new for _, new in pairs]
    starts = _slice_starts(op)
    if starts is None or not _has_static_strides(source, olds) or not _has_static_strides(target, news):
        return None
    whole = [_numbers(source.shape, before), _numbers(target.shape, after)]
    firsts = [merged_axes(before, olds, whole[0]), merged_axes(after, news, whole[1])]
    bounds = [[prod(sizes[a] for a in g) for g in groups] for sizes, groups in zip(whole, (olds, news), strict=True)]
    is_slice = op.name == "slice"
    extents = tuple(bounds[0]) if is_slice else tuple(map(min, *bounds)) if pairs else ()
    clipped = not all(isinstance(e, int) for e in (*source.shape, *target.shape))
    fixed: Mapping[Atom, int] | None = start_atoms(before, after, starts) if is_slice else {}
    exact = _covers_exactly(source, before, olds) and _covers_exactly(target, after, news)
    plan = plan_conversion(
        Side(firsts[0], _width_cap(source, olds, ())),
        Side(firsts[1], _width_cap(target, news, starts)),
        Tile(extents, source.dtype.nbytes, clipped, tuple(bounds[1]) if is_slice else extents),
        fixed=fixed or {},
        whole_atoms=exact and fixed is not None,
    )
    strides = plan.shared.strides if plan.shared is not None else (0,) * len(pairs)
    return (
        plan,
        _Side(source, before, _own_strides(source, olds, strides), (0,) * source.rank),
        _Side(target, after, _own_strides(target, news, strides), starts),
    )


def describe_conversion(op: Op, before: Layout, after: Layout) -> str:
    """How a conversion or slice will be carried out, in words."""
    planned = _planned(op, before, after)
    return "shared memory, element by element" if planned is None else planned[0].text


def _own_strides(type_: TileType, groups: Sequence[tuple[int, ...]], strides: Sequence[int]) -> tuple[int, ...]:
    """The buffer's stride of every axis, from those of the merged ones."""
    found = [0] * type_.rank
    for group, stride in zip(groups, strides, strict=True):
        for axis in reversed(group):
            found[axis] = stride
            extent = type_.shape[axis]
            stride *= extent if isinstance(extent, int) else 0
    return tuple(found)


def _address(function: FunctionLowering, side: _Side, buffer: _Buffer, register: int | Value) -> int | Value:
    """The element address of a register."""
    index = function.index
    total: int | Value = 0
    for axis, stride in enumerate(side.strides):
        coordinate = index.add(function.coordinate(side.layout, axis, register), side.starts[axis])
        total = index.add(total, index.multiply(coordinate, function.extent(stride)))
    return _swizzled(function, buffer, total)


def _swizzled(function: FunctionLowering, buffer: _Buffer, address: int | Value) -> int | Value:
    swizzle = buffer.swizzle
    if not swizzle.bits:
        return address
    if isinstance(address, int):
        return swizzle(address * buffer.nbytes) // buffer.nbytes
    mask = ((1 << swizzle.bits) - 1) << (swizzle.base - (buffer.nbytes.bit_length() - 1))
    index = function.index
    type_ = address.type
    assert isinstance(type_, TileType)
    shifted = function.builder.value("index_shr", (address, index.value(swizzle.shift, type_)), type_)
    flips = function.builder.value("index_and", (shifted, index.value(mask, type_)), type_)
    return function.builder.value("xor", (address, flips), type_)


def _accesses(function: FunctionLowering, name: str, side: _Side, buffer: _Buffer, array: Value, width: int) -> None:
    """All of a side's accesses whose first element is present."""
    with (
        function.when(owner(function, side.layout) if name == "store_vector" else None),
        function.loop(0, side.layout.register_count, step=width, unroll=True) as register,
        function.when(function.present(side.type, side.layout, register)),
    ):
        where = function.index.value(_address(function, side, buffer, register))
        operands = (buffer.pointer, where, array, function.index.value(register))
        function.builder.emit(name, operands, (), {"count": width})


def _row_major(function: FunctionLowering, op: Op, before: Layout, after: Layout) -> tuple[_Side, _Side]:
    """Both sides by row-major numbers of the source's elements, whose inner extents the run gives."""
    source, target = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(target, TileType)
    starts: tuple[int | Value, ...] = (0,) * target.rank
    shape = target.shape
    if op.name == "slice":
        begins = op.attrs["starts"]
        assert isinstance(begins, tuple)
        starts = tuple(function.extent(b) for b in begins)
        shape = source.shape

    def strides(extents: Sequence[int | dims.Dim]) -> tuple[int | dims.Dim, ...]:
        return tuple(dims.product(tuple(extents[axis + 1 :])) for axis in range(len(extents)))

    return (
        _Side(source, before, strides(source.shape), (0,) * source.rank),
        _Side(target, after, strides(shape), starts),
    )


def _one_by_one(before: Layout) -> SharedExchange:
    return SharedExchange((), prod(before.shape), NO_SWIZZLE, 1, 1, 0, 0, 0)


def lower_conversion(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """A conversion or slice, the cheapest way. Errors: UnsupportedError where the tile does not fit shared memory."""
    use_location(function, op)
    before, after = function.layout(op.operands[0]), function.layout(op.result)
    planned = _planned(op, before, after)
    if planned is None:
        sides = _row_major(function, op, before, after)
        _through_shared(function, elements, op, _one_by_one(before), sides)
        return
    plan, *sides = planned
    if plan.shared is not None:
        _through_shared(function, elements, op, plan.shared, (sides[0], sides[1]))
        return
    assert plan.exchange is not None
    lower_exchange(function, elements, op, plan.exchange)


def lower_concat(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Registers beside each other where each thread holds its whole part of the axis; else through one buffer.

    Every tile is written to its part of the buffer, which the result's layout reads. Errors: UnsupportedError.
    """
    use_location(function, op)
    target, axis = op.result.type, op.attrs["axis"]
    assert isinstance(target, TileType) and isinstance(axis, int)
    after = function.layout(op.result)
    places = concat_places(op, [function.layout(value) for value in op.operands], after)
    if places is not None:
        _beside(function, elements, op, places)
        return
    count, dtype = prod(after.shape), target.dtype
    if count * dtype.nbytes > MAX_SHARED_BYTES:
        raise _too_large(op, count)
    shared = borrow_shared(function, dtype, count, "joined")
    buffer = _Buffer(shared.pointer, NO_SWIZZLE, dtype.nbytes)
    strides = tuple(dims.product(tuple(target.shape[a + 1 :])) for a in range(target.rank))
    if shared.waits:
        function.barrier()
    start: int | dims.Dim = 0
    for value in op.operands:
        source = value.type
        assert isinstance(source, TileType)
        layout = function.layout(value)
        starts = tuple(function.extent(start) if a == axis else 0 for a in range(target.rank))
        held = as_array(function, elements, value, layout, source)
        _accesses(function, "store_vector", _Side(source, layout, strides, starts), buffer, held, 1)
        start = dims.add(start, source.shape[axis])
    function.barrier()
    array = function.registers(dtype, after.register_count, op.result.name, 0)
    _accesses(function, "load_vector", _Side(target, after, strides, (0,) * target.rank), buffer, array, 1)
    return_shared(function, shared)
    function.held[op.result] = array if after.register_count > 1 else function.get(array, 0)


def _beside(function: FunctionLowering, elements: Elements, op: Op, places: Sequence[Placed]) -> None:
    """Every operand's registers at their places among the result's."""
    target = op.result.type
    assert isinstance(target, TileType)
    count = function.layout(op.result).register_count
    array = function.registers(target.dtype, count, op.result.name)
    for value, place in zip(op.operands, places, strict=True):
        view = View(value, place.terms, place.count)
        with function.loop(0, place.count, unroll=True) as register:
            number = function.index.add(elements.renumbered(view, register), place.start)
            function.set(array, number, elements.element(value, register))
    function.held[op.result] = array if count > 1 else function.get(array, 0)


def _too_large(op: Op, count: int) -> UnsupportedError:
    return UnsupportedError(
        f"a value of {count} elements must move between threads and does not fit shared memory",
        "write a smaller `block=`, or keep the value's axes in one order",
        op.location,
    )


def _through_shared(
    function: FunctionLowering, elements: Elements, op: Op, plan: SharedExchange, sides: tuple[_Side, _Side]
) -> None:
    """Write every element once, meet, read it where the new layout wants it."""
    value, result = op.operands[0], op.result
    source, target = sides
    dtype, count = source.type.dtype, plan.count
    if count * dtype.nbytes > MAX_SHARED_BYTES:
        raise _too_large(op, prod(source.layout.shape))
    alignment = SWIZZLE_ALIGNMENT if plan.swizzle.bits else MAX_ACCESS_BYTES
    shared = borrow_shared(function, dtype, count, f"{value.name or 'tile'}_exchange", alignment)
    buffer = _Buffer(shared.pointer, plan.swizzle, dtype.nbytes)
    held = as_array(function, elements, value, source.layout, source.type)
    if shared.waits:
        function.barrier()
    _accesses(function, "store_vector", source, buffer, held, plan.write_width)
    function.barrier()
    registers = target.layout.register_count
    array = function.registers(dtype, registers, result.name, 0)
    _accesses(function, "load_vector", target, buffer, array, plan.read_width)
    return_shared(function, shared)
    function.held[result] = array if registers > 1 else function.get(array, 0)
