"""Accesses by tiles of indices or under a mask: every element's place in the tensor, computed in NumPy.

Indices never wrap: one out of range where the mask holds is an error, and so is a place that a store writes twice.
Shares no code with the lowering and must not import it.
"""

from __future__ import annotations

import numpy as np

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.interpreter_frame import Block, Frame, InterpreterError
from agentkern.compiler.ir.interpreter_ops import bits_of
from agentkern.compiler.ir.interpreter_requirements import BrokenPromise
from agentkern.compiler.ir.interpreter_views import tensor_array, written_array
from agentkern.compiler.ir.reference_formats import Raw
from agentkern.compiler.ir.subscripts import Entry, entries_of, fill_of, mask_of
from agentkern.compiler.ir.types import TileType


def is_elementwise(op: Op) -> bool:
    """Whether an access has a mask, a window or a gather."""
    return bool(op.attrs.get("masked")) or any(entry.is_window or entry.is_gather for entry in entries_of(op))


def load_elements(op: Op, frame: Frame) -> Raw:
    """Read every element where the mask holds, the fill elsewhere."""
    array, type_ = tensor_array(op, frame), op.result.type
    assert isinstance(type_, TileType)
    shape = frame.shape(type_.shape)
    places, present = places_of(op, frame, array, shape)
    fill = fill_of(op)
    found = np.zeros(shape, array.dtype)
    if fill is not None:
        found[...] = frame.array(fill)
    bits_of(found)[present] = bits_of(array)[places]
    return found


def store_elements(op: Op, frame: Frame) -> None:
    """Write every element where the mask holds. Errors: BrokenPromise for a place written twice."""
    value = frame.array(op.operands[1])
    with written_array(op, frame) as array:
        places, present = places_of(op, frame, array, value.shape)
        if not op.attrs.get("again"):
            _once(op, frame, array, places)
        bits_of(array)[places] = bits_of(np.ascontiguousarray(value))[present]


def places_of(op: Op, frame: Frame, array: Raw, shape: tuple[int, ...]) -> tuple[tuple[Raw, ...], Raw]:
    """One array of indices per axis of the tensor, for the elements that are present, and which these are."""
    mask = mask_of(op)
    present = np.ones(shape, np.bool_) if mask is None else np.broadcast_to(frame.array(mask), shape)
    places: list[Raw] = []
    for entry in entries_of(op):
        if entry.axis is None:
            continue
        extent = array.shape[entry.axis]
        every = np.broadcast_to(_along(_indices(entry, frame, extent), entry, len(shape)), shape)[present]
        outside = every[(every < 0) | (every >= extent)]
        if outside.size:
            raise InterpreterError(f"index {outside[0]} of axis {entry.axis}, which has {extent}", op.location)
        places.append(every)
    return tuple(places), present


def _indices(entry: Entry, frame: Frame, extent: int) -> Raw:
    """The indices that an entry names, over its own axes."""
    if entry.text == ":":
        return np.arange(extent, dtype=np.int64)
    if entry.operand is None:
        low, high = frame.shape(tuple(dims.parse(part) for part in entry.text.split(":")))
        return np.arange(low, high, dtype=np.int64)
    chosen = frame.values[id(entry.operand)]
    if isinstance(chosen, Block):
        return np.arange(chosen.start, chosen.stop, dtype=np.int64)
    if chosen.dtype == np.uint64:
        return np.minimum(chosen, np.uint64(2**63 - 1)).astype(np.int64)
    return chosen.astype(np.int64)


def _along(indices: Raw, entry: Entry, rank: int) -> Raw:
    """The indices with extent 1 on the axes of other entries."""
    if not entry.tile_axes:
        return indices
    shape = [1] * rank
    for axis, extent in zip(entry.tile_axes, indices.shape, strict=True):
        shape[axis] = extent
    return indices.reshape(shape)


def _once(op: Op, frame: Frame, array: Raw, places: tuple[Raw, ...]) -> None:
    """Note the places that a store of the running grid writes. Errors: BrokenPromise for one written before."""
    if not places or not places[0].size:
        return
    flat = np.ravel_multi_index(places, array.shape)
    written = frame.scattered.setdefault(id(op), np.zeros(array.size, np.bool_))
    again = flat[written[flat]]
    if not again.size:
        unique, counts = np.unique(flat, return_counts=True)
        again = unique[counts > 1]
    if again.size:
        element = ", ".join(str(n) for n in np.unravel_index(int(again[0]), array.shape))
        raise BrokenPromise(op.operands[0].name or "", f"element [{element}] is written twice", op.location)
    written[flat] = True
