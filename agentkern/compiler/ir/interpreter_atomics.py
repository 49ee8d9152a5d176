"""Atomics in NumPy: elements combined one after another, in the order of blocks and, in a tile, row-major.

Float sums depend on that order; this is one that a kernel may have. What every order would give is noted on request
(`interpreter_orders.py`), so that a check can ask for equal bits where, and only where, they are the kernel's meaning.
Shares no code with the lowering and must not import it.
"""

from __future__ import annotations

import numpy as np

from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.interpreter_access import places_of
from agentkern.compiler.ir.interpreter_frame import Frame
from agentkern.compiler.ir.interpreter_orders import OPEN, Orders, Sums, started
from agentkern.compiler.ir.interpreter_views import viewed_array, written_array
from agentkern.compiler.ir.reference_formats import F32_NAN, F64_NAN, Raw, decode, encode
from agentkern.compiler.ir.types import TensorType, TileType
from agentkern.compiler.ir.views import view_of

_COMBINE = {"add": np.add, "max": np.maximum, "min": np.minimum}
_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def update_elements(op: Op, frame: Frame) -> None:
    """Combine every element where the mask holds with what the tensor holds; integer sums wrap."""
    type_ = op.operands[1].type
    assert isinstance(type_, TileType)
    value = np.ascontiguousarray(frame.array(op.operands[1]))
    with written_array(op, frame) as array:
        places, present = places_of(op, frame, array, value.shape)
        given = value[present]
        if not type_.dtype.is_float:
            _COMBINE[str(op.attrs["kind"])].at(array, places, given)
        elif op.attrs["kind"] != "add":
            _extreme(str(op.attrs["kind"]), type_.dtype.name, array, places, given)
        else:
            if frame.orders is not None:
                _note(op, frame, frame.orders, array, places, given)
            _add(type_.dtype.name, array, places, given)


def _add(dtype: str, array: Raw, places: tuple[Raw, ...], given: Raw) -> None:
    """Add one after another, each sum rounded; a NaN is the canonical one."""
    with np.errstate(all="ignore"):
        if dtype == "bf16":
            for chosen in _rounds(array.shape, places):
                at = tuple(place[chosen] for place in places)
                array[at] = encode("bf16", decode("bf16", array[at]) + decode("bf16", given[chosen]))
        else:
            np.add.at(array, places, given)
            touched = array[places]
            nans = np.isnan(touched)
            bits = array.view(_BITS[array.itemsize])
            bits[tuple(place[nans] for place in places)] = _nan(dtype)


def _nan(dtype: str) -> int:
    return int({"f32": F32_NAN, "f64": F64_NAN}.get(dtype, np.uint16(0x7FFF)))


def _rounds(shape: tuple[int, ...], places: tuple[Raw, ...]) -> list[Raw]:
    """The elements in rounds: the first of each place, then the second of each, and so on."""
    if not places[0].size:
        return []
    flat = np.ravel_multi_index(places, shape)
    order = np.argsort(flat, kind="stable")
    first = np.r_[True, flat[order][1:] != flat[order][:-1]]
    rank = np.arange(flat.size) - np.maximum.accumulate(np.where(first, np.arange(flat.size), 0))
    by_rank = np.argsort(rank, kind="stable")
    return np.split(order[by_rank], np.cumsum(np.bincount(rank))[:-1])


def _extreme(kind: str, dtype: str, array: Raw, places: tuple[Raw, ...], given: Raw) -> None:
    """The larger or smaller ones, -0 < +0; the canonical NaN where any of them is NaN. Free of order."""
    bits = array.view(_BITS[array.itemsize])
    nans = np.isnan(decode(dtype, array[places])) | np.isnan(decode(dtype, given))
    _, first, number = np.unique(np.ravel_multi_index(places, array.shape), return_index=True, return_inverse=True)
    once = tuple(place[first] for place in places)
    keys = _keyed(bits[once])
    _COMBINE[kind].at(keys, number, _keyed(np.ascontiguousarray(given).view(bits.dtype)))
    bits[once] = _unkeyed(keys)
    bits[tuple(place[nans] for place in places)] = _nan(dtype)


def _keyed(bits: Raw) -> Raw:
    """Unsigned integers in the order of the floats."""
    sign = bits.dtype.type(1 << (8 * bits.itemsize - 1))
    return np.where(bits & sign, ~bits, bits | sign)


def _unkeyed(keys: Raw) -> Raw:
    sign = keys.dtype.type(1 << (8 * keys.itemsize - 1))
    return np.where(keys & sign, keys ^ sign, ~keys)


def _note(op: Op, frame: Frame, orders: Orders, array: Raw, places: tuple[Raw, ...], given: Raw) -> None:
    """Count a sum's terms before they are added."""
    tensor, type_ = op.operands[0].name or "", op.operands[0].type
    assert isinstance(type_, TensorType)
    base, dtype = frame.array(op.operands[0]), type_.dtype.name
    if any(step[0] in ("bitcast", "field") for step in view_of(op)):
        orders.states[tensor] = np.full(base.shape, OPEN, np.uint8)
        return
    old, terms = decode(dtype, array[places]), decode(dtype, given)
    if tensor not in orders.running:
        orders.running[tensor] = started(dtype, decode(dtype, np.ascontiguousarray(base)).reshape(base.shape))
    sums = orders.running[tensor]
    seen = Sums(dtype, *(viewed_array(op, frame, part) for part in sums.parts()))
    seen.add(places, old.astype(np.float64), terms.astype(np.float64))
