"""A view of a tensor as a NumPy array over the same memory, step by step with NumPy's own operations.

Shares no code with the lowering: no stride is computed here.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np

from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.interpreter_frame import Frame, InterpreterError
from agentkern.compiler.ir.reference_formats import STORAGE, Raw
from agentkern.compiler.ir.views import view_of


def tensor_array(op: Op, frame: Frame) -> Raw:
    """What an access' subscript subscripts, to be read. Errors: InterpreterError."""
    array = frame.array(op.operands[0])
    return viewed_array(op, frame, np.ascontiguousarray(array).reshape(array.shape)) if view_of(op) else array


@contextmanager
def written_array(op: Op, frame: Frame) -> Generator[Raw]:
    """What an access' subscript subscripts, to be changed. Errors: InterpreterError."""
    array = frame.array(op.operands[0])
    if not view_of(op):
        yield array
        return
    # a tensor with gaps has no such view: a copy without gaps has, and goes back whole
    work = np.ascontiguousarray(array).reshape(array.shape)
    yield viewed_array(op, frame, work)
    if not np.may_share_memory(work, array):
        array[...] = work


def viewed_array(op: Op, frame: Frame, array: Raw) -> Raw:
    """Any array of the tensor's shape, as an access' subscript sees it. Errors: InterpreterError."""
    for name, *given in view_of(op):
        array = _step(op, frame, array, str(name), given)
    return array


def _step(op: Op, frame: Frame, array: Raw, name: str, given: list[object]) -> Raw:
    if name == "bitcast":
        return array.view(STORAGE[str(given[0])])
    if name == "field":
        return array
    numbers = [_numbers(frame, part) for part in given]
    if name == "transpose":
        return np.transpose(array, numbers[0])
    if name == "reshape":
        if -1 in numbers[0] or int(np.prod(numbers[0])) != array.size:
            raise InterpreterError(f"{list(array.shape)} is no view of shape {list(numbers[0])}", op.location)
        found = array.reshape(numbers[0])
        assert not array.size or np.may_share_memory(found, array), "a view that has no strides"
        return found
    for low, high, extent in zip(*numbers, array.shape, strict=True):
        if not 0 <= low <= high <= extent:
            raise InterpreterError(f"slice {low}:{high} of an axis of {extent}", op.location)
    return array[tuple(slice(low, high) for low, high in zip(*numbers, strict=True))]


def _numbers(frame: Frame, part: object) -> tuple[int, ...]:
    assert isinstance(part, tuple)
    return frame.shape([extent for extent in part if isinstance(extent, int | Dim)])
