"""Scans of the reference interpreter, in the fixed order of `order.py`. Shares no code with the lowering.

`before` is what came before the array along the axis: the running total of a long axis that is read in pieces, each
piece a whole number of panels. None at the start.
"""

import numpy as np

from agentkern.compiler.ir.order import ScanOrder, scan_order
from agentkern.compiler.ir.reference_formats import FLOATS, STORAGE, Raw, as_storage, canonical_nan, decode, encode
from agentkern.dsl.dtypes import DTYPES


def cumsum(dtype: str, x: Raw, axis: int, before: Raw | None, *, reverse: bool, exclusive: bool) -> tuple[Raw, Raw]:
    """Return the running sums along `axis` in raw storage, and the total so far."""
    raw = _in_order(as_storage(dtype, x), axis, reverse)
    if dtype not in FLOATS:
        storage = STORAGE[dtype]
        start = np.zeros(raw.shape[:-1], storage) if before is None else before
        with np.errstate(all="ignore"):
            sums = np.add(np.cumsum(raw, axis=-1, dtype=storage), start[..., None])
        total = sums[..., -1] if sums.shape[-1] else start
        found = np.concatenate((start[..., None], sums[..., :-1]), -1) if exclusive else sums
        return _back(found[..., : raw.shape[-1]].astype(storage), axis, reverse), total.astype(storage)
    values = decode(dtype, raw)
    start = np.full(values.shape[:-1], 0.0 if exclusive else -0.0, values.dtype) if before is None else before
    order = scan_order(axis_is_last=axis % max(np.ndim(x), 1) == np.ndim(x) - 1)
    found, total = _panels(values, start, order, reverse=reverse, exclusive=exclusive)
    return encode(dtype, _back(found, axis, reverse)), total


def _panels(values: Raw, start: Raw, order: ScanOrder, *, reverse: bool, exclusive: bool) -> tuple[Raw, Raw]:
    """Panels are cut from the axis' first position in both directions; absent positions are -0.0."""
    extent = values.shape[-1]
    absent = -extent % order.panel_elems
    ends = [(0, 0)] * (values.ndim - 1)
    # in reverse order the positions that are missing from the last panel come first
    padded = np.pad(values, [*ends, (absent, 0) if reverse else (0, absent)], constant_values=-0.0)
    count = padded.shape[-1] // order.panel_elems
    panels = padded.reshape((*values.shape[:-1], count, order.runs, order.run_elems))
    inside = np.empty_like(panels)
    running = np.full(panels.shape[:-1], -0.0, values.dtype)
    with np.errstate(all="ignore"):
        for step in range(order.run_elems):
            after = np.asarray(running + panels[..., step])
            inside[..., step] = running if exclusive else after
            running = after
        before, panel_totals = _tree(running)
        total = start
        for panel in range(panels.shape[-3]):
            offset = total[..., None] + before[..., panel, :]
            inside[..., panel, :, :] = offset[..., None] + inside[..., panel, :, :]
            total = np.asarray(total + panel_totals[..., panel])
    flat = canonical_nan(inside.reshape(padded.shape))
    return (flat[..., absent:] if reverse else flat[..., :extent]), canonical_nan(total)


def _tree(totals: Raw) -> tuple[Raw, Raw]:
    """What stands before each run of the last axis, and the total of all: (..., runs) and (...)."""
    runs = totals.shape[-1]
    before = np.full_like(totals, -0.0)
    number = np.arange(runs)
    reach = 1
    while reach < runs:
        other = totals[..., number ^ reach]
        before = np.where(number & reach, other + before, before)
        totals = totals + other
        reach *= 2
    return before, totals[..., 0]


def cummax(dtype: str, x: Raw, axis: int, before: Raw | None, *, reverse: bool, exclusive: bool) -> tuple[Raw, Raw]:
    """Return the running largest values along `axis`, NaN propagating and -0 < +0, and the largest so far."""
    raw = _in_order(as_storage(dtype, x), axis, reverse)
    is_float = dtype in FLOATS
    keys = _keys(decode(dtype, raw)) if is_float else raw
    lowest = _keys(np.asarray(-np.inf, decode(dtype, raw[..., :0]).dtype)) if is_float else None
    first = np.asarray(DTYPES[dtype].integer_range[0] if lowest is None else lowest, keys.dtype)
    start = np.full(raw.shape[:-1], first, keys.dtype) if before is None else before
    whole = np.maximum.accumulate(np.concatenate((start[..., None], keys), -1), axis=-1)
    found = whole[..., :-1] if exclusive else whole[..., 1:]
    back = _back(found, axis, reverse)
    return (encode(dtype, _from_keys(back)) if is_float else back), whole[..., -1]


def _keys(values: Raw) -> Raw:
    """Integers in the order of float32 or float64 values, NaN above infinity."""
    bits = np.asarray(canonical_nan(values)).view(np.int64 if values.dtype == np.float64 else np.int32)
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _from_keys(keys: Raw) -> Raw:
    bits = np.where(keys < 0, keys ^ np.iinfo(keys.dtype).max, keys)
    return np.asarray(bits).view(np.float64 if keys.dtype == np.int64 else np.float32)


def _in_order(raw: Raw, axis: int, reverse: bool) -> Raw:
    moved = np.moveaxis(raw, axis, -1)
    return moved[..., ::-1] if reverse else moved


def _back(found: Raw, axis: int, reverse: bool) -> Raw:
    return np.ascontiguousarray(np.moveaxis(found[..., ::-1] if reverse else found, -1, axis))
