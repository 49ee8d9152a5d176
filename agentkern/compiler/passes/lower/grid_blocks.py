"""The block of a grid that a launch's block runs: numbers of its axes, and the segment and rows of a ragged one.

The launch has one axis for each of the grid's, but for the rows of segments: how many blocks these have is data.
Segment `e` gets the numbers from `offsets[e] // tile + e` on, as many as it can need and at most one more, so that a
block finds its segment by a search, and one that no rows are left for does nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.gpu_types import Pointer
from agentkern.compiler.ir.segments import SegmentAxis, length_name, segment_axes, segment_bounds, start_name
from agentkern.compiler.ir.types import BlockType
from agentkern.compiler.ir.views import own_strides
from agentkern.compiler.passes.grid_axes import first_divisor
from agentkern.compiler.passes.lower.addresses import wide_product
from agentkern.compiler.passes.lower.arithmetic import I32, I64
from agentkern.compiler.passes.lower.function import FunctionLowering, LoopRegion

SEARCH_STEPS = 64
"""More than the binary digits of any number of segments."""

PROBES = 7
"""Offsets that a step of the search loads at once: three loads one behind another find one of 512 segments."""


@dataclass(frozen=True, slots=True)
class _LaunchAxis:
    """One axis of the launch: the block that it numbers, how many there are, its segments if it is ragged."""

    block: Value
    count: int | Dim
    segments: SegmentAxis | None = None


def _block(value: Value) -> BlockType:
    assert isinstance(value.type, BlockType)
    return value.type


def _launch_axes(op: Op, tiles: Mapping[Value, int]) -> list[_LaunchAxis]:
    ragged = {axis.block: axis for axis in segment_axes(op)}
    rows = {axis.rows for axis in ragged.values()}
    found: list[_LaunchAxis] = []
    for arg in op.regions[0].args:
        axis = ragged.get(arg)
        if axis is not None and axis.rows is not None:
            count = dims.add(dims.floordiv(axis.end, tiles[axis.rows]), _block(arg).extent)
            found.append(_LaunchAxis(arg, count, axis))
        elif arg not in rows:
            count = 1 if _block(arg).is_whole else dims.cdiv(_block(arg).length, tiles[arg])
            found.append(_LaunchAxis(arg, count, axis))
    return found


def _tiles(op: Op, tiles: tuple[int, ...]) -> dict[Value, int]:
    return dict(zip(op.regions[0].args, tiles, strict=True))


def block_count(op: Op, tiles: tuple[int, ...]) -> int | Dim:
    """How many blocks a grid's launch has."""
    return dims.product(tuple(axis.count for axis in _launch_axes(op, _tiles(op, tiles))))


def enter_grid(function: FunctionLowering, op: Op, tiles: tuple[int, ...]) -> Value | None:
    """Number the grid's blocks, the last axis fastest, and make each axis' block current.

    Returns whether the block has work, where only the run knows it.
    """
    sizes = _tiles(op, tiles)
    axes = _launch_axes(op, sizes)
    number: int | Value = function.builder.value("block", (), I32, None, "block")
    ordinals: dict[Value, int | Value] = {}
    for axis in reversed(axes):
        count = function.extent(axis.count)
        count = function.index.value(count, I32) if isinstance(count, Value) else count
        ordinals[axis.block] = 0 if _block(axis.block).is_whole else number
        if _block(axis.block).is_whole:
            continue
        if axis is not axes[0]:
            ordinals[axis.block] = function.index.remainder(number, count, f"{axis.block.name}_block")
            number = function.index.quotient(number, count)
    works: Value | None = None
    for axis in axes:
        ordinal = ordinals[axis.block]
        if axis.segments is not None:
            works = function.index.both(works, _enter_segment(function, axis.segments, ordinal, sizes))
        else:
            first = function.extent(_block(axis.block).first)
            function.enter_block(axis.block, ordinal, sizes[axis.block], first)
    return works


def _enter_segment(
    function: FunctionLowering, axis: SegmentAxis, number: int | Value, tiles: Mapping[Value, int]
) -> Value | None:
    """Make a segment current, and a block of its rows where the grid has these: then whether there are any."""
    index, name = function.index, axis.block.name or "segment"
    function.note(f"segment {name} of {axis.offsets.name}")
    ordinal = number if axis.rows is None else _search(function, axis, number, tiles[axis.rows])
    start = _offset(function, axis, ordinal, f"{name}_start")
    end = _offset(function, axis, index.add(ordinal, 1), f"{name}_end")
    function.symbols[start_name(axis.type.name)] = start
    function.symbols[length_name(axis.type.name)] = index.subtract(end, start, f"{name}_length")
    function.enter_block(axis.block, ordinal, 1)
    past = segment_bounds(axis.type.name)[1]
    assert isinstance(past, Dim)
    function.extents[past] = end
    if axis.rows is None or not isinstance(ordinal, Value):
        return None
    ordinal.name = f"{name}_number"
    tile = tiles[axis.rows]
    before = index.add(index.quotient(start, tile), ordinal)
    function.enter_block(axis.rows, index.subtract(index.value(number, I64), before), tile, start)
    function.tiles[axis.rows] = gcd(tile, first_divisor(_block(axis.rows).first, function.kernel))
    return index.compare("lt", function.blocks[axis.rows].start, end)


def _offset(function: FunctionLowering, axis: SegmentAxis, number: int | Value, name: str) -> Value:
    """One of the offsets, as an index."""
    tensor, tensor_name = function.tensor(axis.offsets), axis.offsets.name or ""
    strided = tensor_name in function.variant.strided
    stride = function.symbols[f"{tensor_name}.stride0"] if strided else function.extent(own_strides(tensor)[0])
    place = function.index.value(wide_product(function, number, stride), I64)
    type_ = Pointer(tensor.dtype, "global", True)
    pointer = function.builder.value("advance", (axis.offsets, place), type_, None, f"{tensor_name}_at")
    array = function.registers(tensor.dtype, 1, name)
    zero = function.index.constant(0)
    function.builder.emit("load_vector", (pointer, zero, array, zero), (), {"count": 1})
    return function.index.value(function.get(array, 0), I64)


def _search(function: FunctionLowering, axis: SegmentAxis, number: int | Value, tile: int) -> Value:
    """The last segment whose numbers begin at or before `number`: of several probes at once, the last that does."""
    index, name = function.index, axis.block.name or "segment"
    low, high = function.registers(I64.dtype, 1, f"{name}_low"), function.registers(I64.dtype, 1, f"{name}_high")
    function.set(low, 0, index.value(0, I64))
    function.set(high, 0, index.value(function.extent(axis.type.extent), I64))
    wanted = index.value(number, I64)
    with LoopRegion(function, 0, SEARCH_STEPS, 1, False, "step", rolled=True):
        first, last = function.get(low, 0), function.get(high, 0)
        width = index.subtract(last, first)
        function.builder.emit("break_if", (index.compare("le", width, 1),))
        stride = index.quotient(index.add(width, PROBES), PROBES + 1, f"{name}_stride")
        with function.loop(1, PROBES + 1, unroll=True, name="probe") as probe:
            # past the last candidate stands one that begins later
            place = index.value(index.minimum(index.add(first, index.multiply(stride, probe)), last), I64)
            begin = index.add(index.quotient(_offset(function, axis, place, f"{name}_offset"), tile), place)
            before = index.compare("le", begin, wanted)
            kept = function.builder.value("where", (before, place, function.get(low, 0)), I64)
            function.set(low, 0, kept)
        function.set(high, 0, index.value(index.minimum(index.add(function.get(low, 0), stride), last), I64))
    return function.get(low, 0)
