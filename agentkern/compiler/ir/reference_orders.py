"""Positions, orders and counts in the reference interpreter. Shares no code with the lowering and must not import it.

NaN counts as the largest value and -0 equals +0; of equal elements the one of the smallest index is taken.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from agentkern.compiler.ir.reference_formats import FLOATS, Raw, as_storage, canonical_nan, decode

Axes = Sequence[int]
Extents = Sequence[int | None]


def argmax_over(dtype: str, x: Raw, axes: Axes, extents: Extents) -> Raw:
    """Return the index of the largest element over `axes`, as int64."""
    return _over(dtype, x, axes, extents, largest=True)


def argmin_over(dtype: str, x: Raw, axes: Axes, extents: Extents) -> Raw:
    """Return the index of the smallest element over `axes`, as int64."""
    return _over(dtype, x, axes, extents, largest=False)


def _over(dtype: str, x: Raw, axes: Axes, extents: Extents, *, largest: bool) -> Raw:
    """Row-major index over the axes at their static extents: it does not depend on how much of a block is present."""
    raw = as_storage(dtype, x)
    kept = [axis for axis in range(raw.ndim) if axis not in axes]
    moved = np.transpose(raw, (*kept, *axes))
    present = moved.shape[len(kept) :]
    flat = moved.reshape((*moved.shape[: len(kept)], prod(present)))
    if flat.shape[-1] == 0:
        # only where nothing is kept either: the prover excludes empty axes
        return np.zeros(flat.shape[:-1], np.int64)
    found = _first(flat, dtype, largest=largest)
    whole = [have if known is None else known for have, known in zip(present, extents, strict=True)]
    index = np.zeros(found.shape, np.int64)
    for place, extent in zip(np.unravel_index(found, present), whole, strict=True):
        index = index * extent + place
    return np.asarray(index)


def _first(flat: Raw, dtype: str, *, largest: bool) -> Raw:
    """Position of the first extreme along the last axis."""
    if dtype not in FLOATS:
        return np.asarray(np.argmax(flat, axis=-1) if largest else np.argmin(flat, axis=-1))
    values = decode(dtype, flat)
    nan = np.isnan(values)
    if largest:
        top = np.max(np.where(nan, -np.inf, values), axis=-1, keepdims=True)
        return np.asarray(np.argmax(np.where(nan.any(axis=-1, keepdims=True), nan, values == top), axis=-1))
    low = np.min(np.where(nan, np.inf, values), axis=-1, keepdims=True)
    return np.asarray(np.argmax((values == low) & ~nan, axis=-1))


def sort_keys(dtype: str, raw: Raw) -> Raw:
    """Integers in the order of the elements: NaN above infinity, -0 equal to +0."""
    if dtype not in FLOATS:
        return raw
    values = np.asarray(canonical_nan(np.asarray(decode(dtype, raw) + 0.0)))
    bits = values.view(np.int64 if values.dtype == np.float64 else np.int32)
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def topk(dtype: str, x: Raw, k: int, axis: int) -> tuple[Raw, Raw]:
    """Return the k largest elements along `axis`, the largest first, and their indices; equals by smaller index."""
    raw = as_storage(dtype, x)
    order = np.argsort(np.invert(sort_keys(dtype, raw)), axis=axis, kind="stable")
    indices = np.take(order, range(min(k, raw.shape[axis])), axis=axis).astype(np.int64)
    return np.take_along_axis(raw, indices, axis), indices


def sort(dtype: str, x: Raw, axis: int) -> Raw:
    """Return the elements along `axis` in ascending order, equals as they stood."""
    raw = as_storage(dtype, x)
    return np.take_along_axis(raw, np.argsort(sort_keys(dtype, raw), axis=axis, kind="stable"), axis)


def occurrence(dtype: str, x: Raw, axis: int) -> Raw:
    """Return how many equal elements come earlier along `axis`, as int32; NaN equals nothing."""
    raw = as_storage(dtype, x)
    values = np.moveaxis(decode(dtype, raw) if dtype in FLOATS else raw, axis, -1)
    counts = np.zeros(values.shape, np.int32)
    for place in range(values.shape[-1]):
        counts[..., place] = np.sum(values[..., :place] == values[..., place : place + 1], axis=-1)
    return np.moveaxis(counts, -1, axis)


def bincount(x: Raw, n: int) -> Raw:
    """Return how many integers are 0, 1, ... n - 1, as int32; others are not counted."""
    flat = x.reshape(-1)
    return np.bincount(flat[(flat >= 0) & (flat < n)].astype(np.int64), minlength=n)[:n].astype(np.int32)
