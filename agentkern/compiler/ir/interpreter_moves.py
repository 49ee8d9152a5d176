"""TILE operations that move data: constants, regrouping, blocks' indices, loads and stores. A table by name.

Indices never wrap: one out of range is an error. Shares no code with the lowering and must not import it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from agentkern.compiler.ir import dims, reference_orders
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.interpreter_access import is_elementwise, load_elements, store_elements
from agentkern.compiler.ir.interpreter_frame import Block, Frame, InterpreterError
from agentkern.compiler.ir.interpreter_ops import constant, result_type, tile_type
from agentkern.compiler.ir.interpreter_views import tensor_array, written_array
from agentkern.compiler.ir.reference_formats import STORAGE, Raw
from agentkern.compiler.ir.types import TensorType

Subscript = tuple["int | slice", ...]


def attr_tuple(op: Op, name: str) -> tuple[object, ...]:
    """Return an attribute that is a tuple."""
    value = op.attrs[name]
    assert isinstance(value, tuple)
    return value


def _constant(op: Op, frame: Frame) -> Raw:
    return constant(result_type(op).dtype.name, op.attrs["value"])


def _size(op: Op, frame: Frame) -> Raw:
    extent = op.attrs["extent"]
    assert isinstance(extent, int | Dim)
    return np.asarray(dims.evaluate(extent, frame.sizes), dtype=STORAGE[result_type(op).dtype.name])


def _broadcast(op: Op, frame: Frame) -> Raw:
    return np.broadcast_to(frame.array(op.operands[0]), frame.shape(result_type(op).shape))


def _reshape(op: Op, frame: Frame) -> Raw:
    return frame.array(op.operands[0]).reshape(frame.shape(result_type(op).shape))


def _transpose(op: Op, frame: Frame) -> Raw:
    return frame.array(op.operands[0]).transpose([int(str(p)) for p in attr_tuple(op, "permutation")])


def _slice(op: Op, frame: Frame) -> Raw:
    source = frame.array(op.operands[0])
    picks: list[slice] = []
    for start, stop, extent in zip(attr_tuple(op, "starts"), attr_tuple(op, "stops"), source.shape, strict=True):
        assert isinstance(start, int | Dim)
        assert isinstance(stop, int | Dim)
        low, high = frame.shape((start, stop))
        if not 0 <= low <= high <= extent:
            raise InterpreterError(f"slice {low}:{high} of an axis of {extent}", op.location)
        picks.append(slice(low, high))
    return source[tuple(picks)]


def _extend(op: Op, frame: Frame) -> Raw:
    source, type_ = frame.array(op.operands[0]), result_type(op)
    whole = np.full(frame.shape(type_.shape), constant(type_.dtype.name, op.attrs["value"]))
    whole[tuple(slice(0, present) for present in source.shape)] = source
    return whole


def _index(op: Op, frame: Frame) -> Raw:
    block = frame.block(op.operands[0])
    return np.arange(block.start, block.stop, dtype=np.int64)


def _arange(op: Op, frame: Frame) -> Raw:
    return np.arange(frame.shape(result_type(op).shape)[0], dtype=np.int64)


def _concat(op: Op, frame: Frame) -> Raw:
    return np.concatenate([frame.array(value) for value in op.operands], axis_of(op))


def _last(op: Op, frame: Frame) -> Raw:
    source, axis = frame.array(op.operands[0]), axis_of(op)
    if source.shape[axis] == 0:
        raise InterpreterError(f"the last position of axis {axis}, which is empty", op.location)
    return source.take(source.shape[axis] - 1, axis)


def _bitcast_axis(op: Op, frame: Frame) -> Raw:
    type_ = result_type(op)
    whole = np.ascontiguousarray(frame.array(op.operands[0]))
    return np.frombuffer(whole.tobytes(), STORAGE[type_.dtype.name]).reshape(frame.shape(type_.shape))


def axis_of(op: Op) -> int:
    """Return the axis that an operation works along."""
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    return axis


def _sort(op: Op, frame: Frame) -> Raw:
    return reference_orders.sort(tile_type(op).dtype.name, frame.array(op.operands[0]), axis_of(op))


def _occurrence(op: Op, frame: Frame) -> Raw:
    return reference_orders.occurrence(tile_type(op).dtype.name, frame.array(op.operands[0]), axis_of(op))


def _bincount(op: Op, frame: Frame) -> Raw:
    return reference_orders.bincount(frame.array(op.operands[0]), frame.shape(result_type(op).shape)[0])


def _take(op: Op, frame: Frame) -> Raw:
    source, places, axis = frame.array(op.operands[0]), frame.array(op.operands[1]), axis_of(op)
    outside = places[(places < 0) | (places >= source.shape[axis])]
    if outside.size:
        raise InterpreterError(f"index {outside[0]} of axis {axis}, which has {source.shape[axis]}", op.location)
    return np.take_along_axis(source, places, axis)


def _order(op: Op, frame: Frame) -> Raw:
    axis, keys = axis_of(op), [frame.array(value) for value in op.operands]
    places = np.lexsort([np.ascontiguousarray(key) for key in reversed(keys)], axis=axis)
    return np.take_along_axis(keys[-1], places, axis)


def _ordinal(op: Op, frame: Frame) -> Raw:
    return np.asarray(frame.block(op.operands[0]).ordinal, dtype=np.int64)


def _start(op: Op, frame: Frame) -> Raw:
    return np.asarray(frame.block(op.operands[0]).start, dtype=np.int64)


def _end(op: Op, frame: Frame) -> Raw:
    return np.asarray(frame.block(op.operands[0]).stop, dtype=np.int64)


def _subscript(op: Op, frame: Frame, array: Raw, first: int) -> tuple[Subscript, tuple[int, ...]]:
    """NumPy's subscript of the existing axes, and where new axes of extent 1 stand in the result."""
    picks: list[int | slice] = []
    new_axes: list[int] = []
    rank = 0
    for entry in attr_tuple(op, "index"):
        text = str(entry)
        if text == "+":
            new_axes.append(rank)
            rank += 1
            continue
        axis = len(picks)
        pick = _pick(op, frame, text, array.shape[axis], first)
        low, high = (pick.start, pick.stop) if isinstance(pick, slice) else (pick, pick + 1)
        if not 0 <= low <= high <= array.shape[axis]:
            raise InterpreterError(f"index {low}:{high} of axis {axis}, which has {array.shape[axis]}", op.location)
        rank += isinstance(pick, slice)
        picks.append(pick)
    return tuple(picks), tuple(new_axes)


def _pick(op: Op, frame: Frame, text: str, extent: int, first: int) -> int | slice:
    if text == ":":
        return slice(0, extent)
    if not text.startswith("$"):
        low, high = frame.shape(tuple(dims.parse(part) for part in text.split(":")))
        return slice(low, high)
    chosen = frame.values[id(op.operands[first + int(text[1:])])]
    if isinstance(chosen, Block):
        return slice(chosen.start, chosen.stop)
    return int(chosen)


def _load(op: Op, frame: Frame) -> Raw:
    tensor = op.operands[0]
    assert isinstance(tensor.type, TensorType)
    if is_elementwise(op):
        return load_elements(op, frame)
    array = tensor_array(op, frame)
    picks, new_axes = _subscript(op, frame, array, 1)
    found = np.expand_dims(array[picks], new_axes)
    return found if tensor.type.access == "in" else found.copy()


MOVES: dict[str, Callable[[Op, Frame], Raw]] = {
    "constant": _constant,
    "size": _size,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "slice": _slice,
    "extend": _extend,
    "index": _index,
    "arange": _arange,
    "concat": _concat,
    "sort": _sort,
    "occurrence": _occurrence,
    "bincount": _bincount,
    "last": _last,
    "take": _take,
    "order": _order,
    "bitcast_axis": _bitcast_axis,
    "ordinal": _ordinal,
    "start": _start,
    "end": _end,
    "slot": _start,
    "load": _load,
}


def store(op: Op, frame: Frame) -> None:
    """Write a tile to a tensor. Errors: InterpreterError past an edge."""
    if is_elementwise(op):
        store_elements(op, frame)
        return
    with written_array(op, frame) as array:
        picks, _ = _subscript(op, frame, array, 2)
        array[picks] = frame.array(op.operands[1])


def sort_kept(op: Op, frame: Frame) -> None:
    """Sort memory in place. Errors: InterpreterError past an edge."""
    array = tensor_array(op, frame)
    picks, _ = _subscript(op, frame, array, 1)
    found = array[picks]
    arrays = [np.ascontiguousarray(part) for part in (found if op.attrs["arrays"] == 2 else (found,))]
    axis = axis_of(op) - (len(arrays) - 1)
    places = np.lexsort(arrays[::-1], axis=axis)
    ordered = [np.take_along_axis(keys, places, axis) for keys in arrays]
    array[picks] = np.stack(ordered) if len(arrays) == 2 else ordered[0]
