"""Arrays in shared memory that are needed for a moment only: where memory is short, one takes the place of another."""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.gpu_types import Pointer
from agentkern.compiler.passes.lower.function import FunctionLowering
from agentkern.dsl.dtypes import DType

PLENTIFUL_BYTES = 48 * 1024  # a block has as much without asking; below that an array of its own costs no barrier


@dataclass(frozen=True, slots=True)
class SharedArray:
    """A borrowed array: its pointer, the bytes that it takes, and whether its first write waits for a barrier."""

    pointer: Value
    offset: int
    nbytes: int
    waits: bool


def borrow_shared(function: FunctionLowering, dtype: DType, count: int, name: str, alignment: int = 16) -> SharedArray:
    """A new array, or one that was given back."""
    nbytes = count * dtype.nbytes
    start = -(-function.shared_bytes // alignment) * alignment
    fitting = [place for place in function.free_shared if place[1] >= nbytes and place[0] % alignment == 0]
    again = start + nbytes > PLENTIFUL_BYTES and bool(fitting)
    if again:
        offset, size = min(fitting, key=lambda place: (place[1], place[0]))
        function.free_shared.remove((offset, size))
    else:
        offset, size = start, nbytes
        function.shared_bytes = start + nbytes
    attrs = {"offset": offset, "count": count}
    pointer = function.builder.value("shared", (), Pointer(dtype, "shared"), attrs, name)
    return SharedArray(pointer, offset, size, again or function.loop_depth > 0)


def return_shared(function: FunctionLowering, array: SharedArray) -> None:
    """Let the next borrower have an array whose last read is emitted."""
    function.free_shared.append((array.offset, array.nbytes))
