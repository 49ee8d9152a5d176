"""Reductions of the reference interpreter, in the fixed order of `order.py`.

The order is followed literally over padded arrays; nothing here is shared with the lowering.
An array's shape is its present part: absent positions are not in it. Where the block that an
axis was cut from is longer than what is present, the caller says so by the static extent, which
fixes the class of the order and the row-major flattening; it never adds elements.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from agentkern.compiler.ir.order import SumOrder, sum_order
from agentkern.compiler.ir.reference_formats import (
    FLOATS,
    STORAGE,
    Raw,
    as_storage,
    canonical_nan,
    decode,
    encode,
    value_dtype,
)
from agentkern.dsl.dtypes import DTYPES

Axes = Sequence[int]
Extents = Sequence[int | None]


def sum_in_order(dtype: str, x: Raw, axes: Axes, extents: Extents | None = None) -> Raw:
    """Return the sum of raw storage over `axes` (removed from the shape), in raw storage.

    extents: the static extent of each entry of `axes`, None where it is a run-time size (all of
    them by default). Floats accumulate in float32 (f64: float64) and round once; integers keep
    their dtype and wrap; bool sums are i32.
    """
    raw = as_storage(dtype, x)
    if dtype not in FLOATS:
        kept = np.int32 if dtype == "bool" else STORAGE[dtype]
        return np.asarray(np.sum(raw, axis=tuple(axes), dtype=kept))
    return encode(dtype, sum_values(decode(dtype, raw), axes, extents))


def sum_values(values: Raw, axes: Axes, extents: Extents | None = None) -> Raw:
    """Return the ordered sum of float32 or float64 values, not yet rounded to any storage."""
    if _count(values, axes) == 0:
        return np.zeros(_kept_shape(values, axes), values.dtype)
    return _fold(values, axes, extents, np.add, identity=-0.0)


def prod_in_order(dtype: str, x: Raw, axes: Axes, extents: Extents | None = None) -> Raw:
    """Return the product over `axes` in the order of a sum; the product of no elements is 1."""
    raw = as_storage(dtype, x)
    if dtype not in FLOATS:
        kept = np.int32 if dtype == "bool" else STORAGE[dtype]
        return np.asarray(np.prod(raw, axis=tuple(axes), dtype=kept))
    return encode(dtype, _fold(decode(dtype, raw), axes, extents, np.multiply, identity=1.0))


def mean_in_order(dtype: str, x: Raw, axes: Axes, extents: Extents | None = None) -> Raw:
    """Return the ordered sum divided by the number of present elements; NaN for none."""
    values = decode(dtype, as_storage(dtype, x))
    number = value_dtype(dtype)(_count(values, axes))
    with np.errstate(all="ignore"):
        return encode(dtype, np.asarray(sum_values(values, axes, extents) / number))


def max_over(dtype: str, x: Raw, axes: Axes) -> Raw:
    """Return the largest value over `axes`: NaN propagates, -0 < +0, of no elements the lowest."""
    raw = as_storage(dtype, x)
    if dtype not in FLOATS:
        lowest = DTYPES[dtype].integer_range[0]
        return np.asarray(np.max(raw, axis=tuple(axes), initial=lowest))
    return encode(dtype, _max_values(decode(dtype, raw), axes), saturate=_saturate(dtype))


def min_over(dtype: str, x: Raw, axes: Axes) -> Raw:
    """Return the smallest value over `axes`: NaN propagates, -0 < +0, of no elements the highest."""
    raw = as_storage(dtype, x)
    if dtype not in FLOATS:
        highest = DTYPES[dtype].integer_range[1]
        return np.asarray(np.min(raw, axis=tuple(axes), initial=highest))
    return encode(dtype, -_max_values(-decode(dtype, raw), axes), saturate=_saturate(dtype))


def absmax_over(dtype: str, x: Raw, axes: Axes) -> Raw:
    """Return the largest magnitude over `axes`: NaN propagates, +0 for no elements."""
    raw = as_storage(dtype, x)
    if dtype not in FLOATS:
        return np.asarray(np.max(np.abs(raw), axis=tuple(axes), initial=0))
    values = np.abs(decode(dtype, raw))
    return encode(dtype, np.asarray(np.max(values, axis=tuple(axes), initial=0.0)), saturate=False)


def _saturate(dtype: str) -> bool:
    """Whether an infinite extreme must become the largest finite value, for want of infinities."""
    return dtype == "e4m3"


def _max_values(values: Raw, axes: Axes) -> Raw:
    largest = np.asarray(np.max(values, axis=tuple(axes), initial=-np.inf))
    zeros = largest == 0
    if not zeros.any():
        return largest
    positive = np.any((values == 0) & ~np.signbit(values), axis=tuple(axes))
    signed = np.where(positive, 0.0, -0.0).astype(values.dtype)
    return np.where(zeros, signed, largest)


def _normal_axes(values: Raw, axes: Axes) -> tuple[int, ...]:
    return tuple(axis % values.ndim for axis in axes)


def _count(values: Raw, axes: Axes) -> int:
    return math.prod(values.shape[axis] for axis in _normal_axes(values, axes))


def _kept_shape(values: Raw, axes: Axes) -> tuple[int, ...]:
    reduced = _normal_axes(values, axes)
    return tuple(size for axis, size in enumerate(values.shape) if axis not in reduced)


def _fold(
    values: Raw,
    axes: Axes,
    extents: Extents | None,
    function: Callable[[Raw, Raw], Raw],
    identity: float,
) -> Raw:
    """Combine over `axes` in the fixed order; absent positions are the identity."""
    reduced = _normal_axes(values, axes)
    known = dict(zip(reduced, extents or (None,) * len(reduced), strict=True))
    ordered = sorted(reduced)
    kept = [axis for axis in range(values.ndim) if axis not in known]
    flat = np.transpose(values, (*kept, *ordered))
    padding = [(0, 0)] * len(kept)
    for axis in ordered:
        extent = known[axis]
        padding.append((0, 0 if extent is None else extent - values.shape[axis]))
    flat = np.pad(flat, padding, constant_values=identity)
    flat = flat.reshape((*flat.shape[: len(kept)], math.prod(flat.shape[len(kept) :])))
    static = [known[axis] for axis in ordered]
    total = None if None in static else math.prod(size for size in static if size is not None)
    order = sum_order(values.ndim - 1 in known, total)
    with np.errstate(all="ignore"):
        return canonical_nan(_fold_panels(flat, order, function, identity))


def _fold_panels(flat: Raw, order: SumOrder, function: Callable[[Raw, Raw], Raw], identity: float) -> Raw:
    """Combine the last axis panel by panel, panels as a binary counter combines them."""
    ranks: list[tuple[int, Raw]] = []
    for start in range(0, max(flat.shape[-1], 1), order.panel_elems):
        panel = _fold_panel(flat[..., start : start + order.panel_elems], order, function, identity)
        rank = 0
        while ranks and ranks[-1][0] == rank:
            panel = function(ranks.pop()[1], panel)
            rank += 1
        ranks.append((rank, panel))
    result = ranks.pop()[1]
    while ranks:
        result = function(ranks.pop()[1], result)
    return np.asarray(result)


def _fold_panel(panel: Raw, order: SumOrder, function: Callable[[Raw, Raw], Raw], identity: float) -> Raw:
    """Combine one panel: rows into partials in ascending order, then the tree over index bits."""
    partials = np.full((*panel.shape[:-1], order.partials), identity, panel.dtype)
    for start in range(0, panel.shape[-1], order.partials):
        row = panel[..., start : start + order.partials]
        width = row.shape[-1]
        partials[..., :width] = function(partials[..., :width], row)
    # one axis of two per index bit, the highest bit first
    bits = order.partials.bit_length() - 1
    tree = partials.reshape((*panel.shape[:-1], *(2,) * bits))
    left = list(range(bits))
    for bit in order.tree_bits:
        axis = tree.ndim - 1 - left.index(bit)
        low, high = np.take(tree, 0, axis=axis), np.take(tree, 1, axis=axis)
        tree = np.asarray(function(low, high))
        left.remove(bit)
    return tree
