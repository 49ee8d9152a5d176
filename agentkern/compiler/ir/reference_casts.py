"""Casts of the `portable` mode in NumPy: every dtype to every other, one rounding each.

Raw storage as in `reference_formats.py`. Integer to float rounds to nearest even unless asked
otherwise; float to integer truncates, saturates, and gives 0 for NaN; integer narrowing keeps the
low bits; to bool asks whether the value differs from zero (NaN does).
"""

import numpy as np

from agentkern.compiler.ir.reference_formats import (
    FLOATS,
    STORAGE,
    Raw,
    Rounding,
    as_storage,
    decode,
    encode,
)
from agentkern.dsl.dtypes import DTYPES


def cast(
    source: str,
    target: str,
    raw: Raw,
    *,
    rounding: Rounding = "nearest",
    saturate: bool | None = None,
) -> Raw:
    """Convert raw storage of `source` to raw storage of `target`.

    rounding and saturate concern float targets only; f64 is rounded to nearest. A cast to the same
    dtype keeps all bits.
    """
    raw = as_storage(source, raw)
    if source == target:
        return raw
    with np.errstate(all="ignore"):
        if target in FLOATS:
            values = decode(source, raw) if source in FLOATS else _integer_values(raw, target)
            return encode(target, values, rounding=rounding, saturate=saturate)
        if target == "bool":
            return np.asarray((decode(source, raw) if source in FLOATS else raw) != 0)
        if source in FLOATS:
            return _truncate_to_integer(decode(source, raw), target)
        return raw.astype(STORAGE[target])


_FORMATS = {
    "f32": (23, -126),
    "tf32": (10, -126),
    "bf16": (7, -126),
    "f16": (10, -14),
    "e4m3": (3, -6),
    "e5m2": (2, -14),
}


def cast_stochastic(source: str, target: str, raw: Raw, bits: Raw, *, saturate: bool | None = None) -> Raw:
    """Round away from zero where what the target drops, in units of 2**-32 of its last place, and the bits make one."""
    fraction_bits, smallest = _FORMATS[target]
    values = decode(source, as_storage(source, raw)).astype(np.float64)
    values, random = np.broadcast_arrays(values, bits.astype(np.float64))
    with np.errstate(all="ignore"):
        finite = np.isfinite(values)
        magnitude = np.where(finite, np.abs(values), 0.0)
        exponent = np.maximum(np.frexp(magnitude)[1] - 1, smallest) - fraction_bits
        units = np.ldexp(magnitude, -exponent)
        whole = np.floor(units)
        up = np.floor((units - whole) * 2.0**32) + random >= 2.0**32
        rounded = np.copysign(np.ldexp(whole + up, exponent), values)
        return encode(target, np.where(finite, rounded, values), saturate=saturate)


def _integer_values(raw: Raw, target: str) -> Raw:
    """Return integers as float64: nearest for f64, else rounded to odd so that `encode` sees all bits."""
    if target == "f64" or raw.dtype.itemsize < 8:
        return raw.astype(np.float64)
    negative = raw < 0
    magnitude = np.where(negative, -raw, raw).astype(np.uint64)
    low = np.uint64(0x7FF)
    shortened = (magnitude >> np.uint64(11)) | ((magnitude & low) != 0)
    # at least 42 bits are left, 16 more than any target keeps
    large = shortened.astype(np.float64) * 2048.0
    value = np.where(magnitude >> np.uint64(53) == 0, magnitude.astype(np.float64), large)
    return np.where(negative, -value, value)


def _truncate_to_integer(values: Raw, target: str) -> Raw:
    """Truncate floats toward zero, saturating, NaN to 0."""
    storage = STORAGE[target]
    low, high = DTYPES[target].integer_range
    whole = np.trunc(values.astype(np.float64))
    # high + 1 is a power of two, exact where high itself is not
    above, below = whole >= float(high + 1), whole < float(low)
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(storage)
    return np.where(above, storage(high), np.where(below, storage(low), inside)).astype(storage)
