"""Where a tile lies in memory: a 64-bit block base, strides of its axes, and tiles of indices added per element."""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.analysis.windows import Window
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.gpu_types import Pointer
from agentkern.compiler.ir.subscripts import Entry
from agentkern.compiler.layout.layout import Layout
from agentkern.compiler.passes.grid_axes import access_of, aligned_elems, memory_run
from agentkern.compiler.passes.lower.arithmetic import I64
from agentkern.compiler.passes.lower.elements import Elements, View, spread_view
from agentkern.compiler.passes.lower.function import FunctionLowering, named
from agentkern.compiler.passes.lower.lies import Parting, lies_of, parted, wide_product
from agentkern.compiler.passes.lower.tables import pick_entry

MAX_OFFSET = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Gathered:
    """A tile of indices: its registers by the access' registers, and the stride of the axis that they index."""

    view: View
    stride: int | Value


@dataclass(frozen=True, slots=True)
class Place:
    """A pointer to the block's first element, the stride of each tile axis in elements, and what is gathered.

    `widths`: elements that an access may move at once along the innermost axis of memory's run, along that and the next
    one, and so on; `run` are their axes of the tile. With `parting`, offsets number the elements of the whole tensor
    from 0, in row-major order, `base` is the block's first, and the tensor's own indices are parted from them.
    """

    pointer: Value
    strides: tuple[int | Value, ...]
    gathered: tuple[Gathered, ...]
    widths: tuple[int, ...]
    run: tuple[int, ...]
    base: int | Value = 0
    parting: Parting | None = None

    @property
    def multiplies_at_run(self) -> bool:
        """Whether offsets are products of tile coordinates with numbers that only the run knows, and no divisions."""
        return self.parting is None and not all(isinstance(stride, int) for stride in self.strides)


def locate(function: FunctionLowering, op: Op, layout: Layout) -> Place:
    """The address of a load's or store's tile, whose layout is `layout`."""
    access = access_of(op, function.makers)
    assert access is not None
    index = function.index
    tensor = op.operands[0]
    name = tensor.name or ""
    table = pick_entry(function, op)
    lies, parting = lies_of(function, op)
    base: int | Value = function.extent(lies.offset)
    strides: list[int | Value] = [0] * layout.rank
    gathered: list[Gathered] = []
    for entry in access.entries:
        if entry.axis is None or (table is not None and entry.axis == 0):
            continue
        stride = function.extent(lies.strides[entry.axis])
        window = access.window(entry)
        if window is not None:
            base = index.add(base, wide_product(function, _window_start(function, window), stride))
            strides[entry.tile_axes[0]] = index.multiply(stride, window.step)
        elif entry.is_window or entry.is_gather:
            gathered.append(_gathered(function, entry, layout, stride))
        else:
            base = index.add(base, wide_product(function, first_index(function, entry), stride))
            for axis in entry.tile_axes:
                strides[axis] = stride
    readonly = op.name == "load" and tensor not in function.memory.written
    type_ = Pointer(access.tensor.dtype, "global", readonly)
    start = base if parting is None else 0
    pointer = function.builder.value(
        "advance", (table or tensor, index.value(start, I64)), type_, None, f"{name}_block"
    )
    run = memory_run(access)
    outers = [run[1:count] for count in range(1, max(len(run), 1) + 1)]
    widths = tuple(
        aligned_elems(access, name, function.kernel, function.variant, function.tiles, outer) for outer in outers
    )
    axes = tuple(entry.tile_axes[0] for entry in run)
    return Place(pointer, tuple(strides), tuple(gathered), widths, axes, base, parting)


def first_index(function: FunctionLowering, entry: Entry) -> int | Value:
    """The first index of a block, a range or a scalar."""
    if entry.text == ":":
        return 0
    if entry.operand is None:
        return function.extent(dims.parse(entry.text.split(":")[0]))
    if entry.is_block:
        return function.blocks[entry.operand].start
    return function.index.value(function.held[entry.operand], I64)


def _window_start(function: FunctionLowering, window: Window) -> int | Value:
    """The index of a window's element 0."""
    index = function.index
    start = index.multiply(function.blocks[window.block].start, window.step)
    total = index.add(start, window.start)
    for factor, scalar in window.scalars:
        number = index.value(function.held[scalar], I64)
        total = index.add(total, index.multiply(number, factor))
    return total


def _gathered(function: FunctionLowering, entry: Entry, layout: Layout, stride: int | Value) -> Gathered:
    assert entry.operand is not None
    source = function.layout(entry.operand)
    return Gathered(spread_view(entry.operand, source, entry.tile_axes, layout), stride)


def offset_of(
    function: FunctionLowering, elements: Elements, place: Place, layout: Layout, register: int | Value
) -> int | Value:
    """A register's element offset from the block's first, 32 bits when the block's span is known to fit."""
    span = 0 if place.parting is None else MAX_OFFSET + 1
    for axis, stride in enumerate(place.strides):
        span = span + (layout.shape[axis] - 1) * abs(stride) if isinstance(stride, int) else MAX_OFFSET + 1
    total: int | Value = 0
    for axis, stride in enumerate(place.strides):
        coordinate = function.coordinate(layout, axis, register)
        if span > MAX_OFFSET:
            total = function.index.add(total, wide_product(function, coordinate, stride))
        else:
            total = function.index.add(total, function.index.multiply(coordinate, stride))
    for gathered in place.gathered:
        number = elements.element(gathered.view.source, elements.renumbered(gathered.view, register))
        total = function.index.add(total, wide_product(function, number, gathered.stride))
    if place.parting is not None:
        total = parted(function, place.parting, function.index.add(place.base, total))
    return named(total, "offset")
