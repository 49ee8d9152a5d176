"""Sort memory in place: row after row, every thread of the block at work on each."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.gpu_types import Pointer
from agentkern.compiler.ir.subscripts import entries_of, selected
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import WARP_LANES
from agentkern.compiler.passes.lower.addresses import first_index
from agentkern.compiler.passes.lower.arithmetic import I32, I64
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.lies import lies_of, wide_product
from agentkern.compiler.passes.lower.orders import thread_number
from agentkern.compiler.passes.lower.shared_memory import return_shared
from agentkern.compiler.passes.lower.takes import borrow_tile

SLOTS = 8192
"""Elements that are sorted in shared memory at once, of all arrays together: 64 KiB."""


def lower_sort_kept(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """Loops over the rows, in each a call that sorts it. What was written before is there, what comes after waits."""
    del elements
    use_location(function, op)
    tile, axis, arrays = selected(op), op.attrs["axis"], op.attrs["arrays"]
    assert isinstance(tile, TileType) and isinstance(axis, int) and isinstance(arrays, int)
    function.memory.all_meet(function.barrier)
    index = function.index
    base, strides = _place(function, op, tile.rank)
    slots = SLOTS // arrays
    shared = [borrow_tile(function, op, tile.dtype, slots) for _ in range(arrays)]
    others = [k for k in range(arrays > 1, tile.rank) if k != axis]
    with _rows(function, tile, others) as coordinates:
        for k, coordinate in zip(others, coordinates, strict=True):
            base = index.add(base, wide_product(function, coordinate, strides[k]))
        starts = [base, index.add(base, strides[0])][:arrays]
        type_ = Pointer(tile.dtype, "global")
        pointers = [
            function.builder.value("advance", (op.operands[0], index.value(start, I64)), type_, None, "row")
            for start in starts
        ]
        count, step = function.extent(tile.shape[axis]), strides[axis]
        operands = (
            *pointers,
            *(array.pointer for array in shared),
            index.value(count, I64),
            index.value(step, I64),
            index.value(thread_number(function), I32),
        )
        attrs = {"slots": slots, "threads": function.warps * WARP_LANES}
        function.builder.emit("sort_memory", operands, (), attrs)
    for array in shared:
        return_shared(function, array)


@contextmanager
def _rows(function: FunctionLowering, tile: TileType, axes: list[int]) -> Generator[list[int | Value]]:
    """Nested loops over some axes of a tile; gives the coordinate along each."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(function.loop(0, function.extent(tile.shape[axis]), unroll=False, name="row"))
            for axis in axes
        ]


def _place(function: FunctionLowering, op: Op, rank: int) -> tuple[int | Value, list[int | Value]]:
    """The offset of the first element, and the stride of every axis of what is subscripted."""
    lies, _ = lies_of(function, op)
    base: int | Value = function.extent(lies.offset)
    strides: list[int | Value] = [0] * rank
    for entry in entries_of(op):
        assert entry.axis is not None
        stride = function.extent(lies.strides[entry.axis])
        base = function.index.add(base, wide_product(function, first_index(function, entry), stride))
        for axis in entry.tile_axes:
            strides[axis] = stride
    return base, strides
