"""Bit-exact arithmetic of the `portable` mode in NumPy, element by element.

Every function takes a dtype's name and raw storage (`reference_formats.py`) and returns raw
storage. Narrow floats are widened to float32, the float32 operation is done, and the result is
rounded once. Results that are NaN are canonical. Integers wrap. Shares no code with the lowering
and must not import it. Rules follow IEEE 754-2019 and the numerics page of the docs.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from agentkern.compiler.ir.reference_formats import (
    FLOATS,
    STORAGE,
    Raw,
    as_storage,
    canonical_nan,
    decode,
    encode,
    in_pieces,
)


def _unary_float(dtype: str, x: Raw, function: Callable[[Raw], Raw]) -> Raw:
    with np.errstate(all="ignore"):
        return encode(dtype, np.asarray(function(decode(dtype, x))))


def _binary(dtype: str, a: Raw, b: Raw, function: Callable[[Raw, Raw], Raw]) -> Raw:
    with np.errstate(all="ignore"):
        if dtype in FLOATS:
            return encode(dtype, np.asarray(function(decode(dtype, a), decode(dtype, b))))
        left, right = as_storage(dtype, a), as_storage(dtype, b)
        return np.asarray(function(left, right)).astype(STORAGE[dtype], copy=False)


def add(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return a + b."""
    return _binary(dtype, a, b, np.add)


def sub(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return a - b."""
    return _binary(dtype, a, b, np.subtract)


def mul(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return a * b."""
    return _binary(dtype, a, b, np.multiply)


def div(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return a / b of floats, correctly rounded in float32 (float64 for f64)."""
    return _binary(dtype, a, b, np.divide)


def sqrt(dtype: str, x: Raw) -> Raw:
    """Return the correctly rounded square root."""
    return _unary_float(dtype, x, np.sqrt)


def rsqrt(dtype: str, x: Raw) -> Raw:
    """Return 1 / sqrt(x); correctly rounded in float32.

    The float64 quotient rounds to the right float32 for every input: shown over all 2^32 inputs
    by `evals/numerics/scan_float32.c`. For f64 it is the two IEEE operations one after the other.
    """
    return _unary_float(dtype, x, _rsqrt_value)


def _rsqrt_value(x: Raw) -> Raw:
    wide = np.divide(1.0, np.sqrt(x.astype(np.float64)))
    return wide if x.dtype == np.float64 else wide.astype(np.float32)


def fma(dtype: str, a: Raw, b: Raw, c: Raw) -> Raw:
    """Return a * b + c rounded once (for 16-bit floats: once to float32, once to the storage)."""
    with np.errstate(all="ignore"):
        if dtype not in FLOATS:
            return add(dtype, mul(dtype, a, b), c)
        x, y, z = np.broadcast_arrays(decode(dtype, a), decode(dtype, b), decode(dtype, c))
        return encode(dtype, _fma_f64(x, y, z) if dtype == "f64" else fma_f32(x, y, z))


def fma_f32(a: Raw, b: Raw, c: Raw) -> Raw:
    """Return a * b + c of float32 values, rounded once.

    The product is exact in float64. The error of the float64 sum, exact by two-sum, is folded
    into the sum's last bit (rounding to odd), so that the second rounding sees it.
    """
    with np.errstate(all="ignore"):
        return in_pieces(_fma_piece, np.float32, *np.broadcast_arrays(a, b, c))


def _fma_piece(a: Raw, b: Raw, c: Raw) -> Raw:
    product = np.multiply(a, b, dtype=np.float64)
    addend = np.asarray(c).astype(np.float64)
    total = np.asarray(product + addend)
    part = total - product
    error = (product - (total - part)) + (addend - part)
    bits = total.view(np.int64)
    adjust = np.isfinite(total) & (error != 0) & ((bits & 1) == 0)
    away = (error > 0) == (total > 0)
    odd = np.where(adjust, bits + np.where(away, 1, -1), bits).view(np.float64)
    return canonical_nan(np.asarray(odd.astype(np.float32)))


def _fma_f64(a: Raw, b: Raw, c: Raw) -> Raw:
    """Return a * b + c of float64 values, rounded once, by exact rational arithmetic."""
    # a finite product never overflows before an infinity or NaN is added
    result = np.asarray(np.where(np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c), c, a * b + c))
    flat = result.reshape(-1)
    finite = (np.isfinite(a) & np.isfinite(b) & np.isfinite(c)).reshape(-1)
    left, right, addend = a.reshape(-1), b.reshape(-1), c.reshape(-1)
    for i in np.flatnonzero(finite):
        exact = Fraction(float(left[i])) * Fraction(float(right[i])) + Fraction(float(addend[i]))
        if exact == 0:
            product = np.copysign(0.0, left[i]) * np.copysign(1.0, right[i])
            zero_product = left[i] == 0 or right[i] == 0
            flat[i] = product + addend[i] if zero_product else 0.0
            continue
        try:
            flat[i] = float(exact)
        except OverflowError:
            flat[i] = np.inf if exact > 0 else -np.inf
    return result


def neg(dtype: str, x: Raw) -> Raw:
    """Return -x."""
    if dtype in FLOATS:
        return _unary_float(dtype, x, np.negative)
    return sub(dtype, np.zeros((), STORAGE[dtype]), x)


def absolute(dtype: str, x: Raw) -> Raw:
    """Return |x|; the smallest signed integer stays itself."""
    if dtype in FLOATS:
        return _unary_float(dtype, x, np.abs)
    return np.asarray(np.abs(as_storage(dtype, x)))


def _maximum_value(a: Raw, b: Raw) -> Raw:
    """Return the larger float; NaN propagates and -0 < +0."""
    larger = np.maximum(a, b)
    # of two zeros, +0 unless both are -0: exactly what their sum gives
    return np.where((a == 0) & (b == 0), a + b, larger)


def maximum(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return the larger value; NaN propagates and max(-0, +0) = +0."""
    return _binary(dtype, a, b, _maximum_value if dtype in FLOATS else np.maximum)


def minimum(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return the smaller value; NaN propagates and min(-0, +0) = -0."""
    if dtype in FLOATS:
        return _binary(dtype, a, b, lambda x, y: -_maximum_value(-x, -y))
    return _binary(dtype, a, b, np.minimum)


def clip(dtype: str, x: Raw, low: Raw, high: Raw) -> Raw:
    """Return minimum(maximum(x, low), high)."""
    return minimum(dtype, maximum(dtype, x, low), high)


def sign(dtype: str, x: Raw) -> Raw:
    """Return -1, 0 or 1 (+0 for both zeros; NaN for NaN)."""
    if dtype in FLOATS:
        return _unary_float(dtype, x, lambda v: np.where(v == 0, v.dtype.type(0), np.sign(v)))
    return np.sign(as_storage(dtype, x))


def floor(dtype: str, x: Raw) -> Raw:
    """Return the largest integer not above x; zeros keep their sign."""
    return _unary_float(dtype, x, np.floor)


def ceil(dtype: str, x: Raw) -> Raw:
    """Return the smallest integer not below x; a negative x above -1 gives -0."""
    return _unary_float(dtype, x, np.ceil)


def trunc(dtype: str, x: Raw) -> Raw:
    """Return x without its fraction, sign kept."""
    return _unary_float(dtype, x, np.trunc)


def round_half_even(dtype: str, x: Raw) -> Raw:
    """Return the nearest integer, halves to even, sign kept."""
    return _unary_float(dtype, x, np.rint)


def copysign(dtype: str, magnitude: Raw, sign_source: Raw) -> Raw:
    """Return the bits of `magnitude` with the sign bit of `sign_source`, NaN payloads kept."""
    bits_type = np.dtype(f"u{np.dtype(STORAGE[dtype]).itemsize}")
    high = bits_type.type(1 << (8 * bits_type.itemsize - 1))
    left = as_storage(dtype, magnitude).view(bits_type)
    right = as_storage(dtype, sign_source).view(bits_type)
    return np.asarray((left & ~high) | (right & high)).view(STORAGE[dtype])


def isnan(dtype: str, x: Raw) -> Raw:
    """Return whether each value is NaN, as bool storage."""
    return np.isnan(decode(dtype, x))


def isinf(dtype: str, x: Raw) -> Raw:
    """Return whether each value is infinite, as bool storage."""
    return np.isinf(decode(dtype, x))


def floor_div(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return a // b of integers, rounded down; b must not be 0. Smallest // -1 wraps."""
    return _binary(dtype, a, b, np.floor_divide)


def floor_mod(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return a - (a // b) * b of integers, with the sign of b; b must not be 0."""
    return _binary(dtype, a, b, np.remainder)


def trunc_div(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return a / b of integers, rounded toward zero; b must not be 0. Smallest / -1 wraps."""
    quotient = floor_div(dtype, a, b)
    exact = mul(dtype, quotient, b) == as_storage(dtype, a)
    opposite = (np.asarray(a) < 0) != (np.asarray(b) < 0)
    bump = (~exact & opposite).astype(STORAGE[dtype])
    return add(dtype, quotient, bump)


def trunc_mod(dtype: str, a: Raw, b: Raw) -> Raw:
    """Return a - trunc_div(a, b) * b of integers, with the sign of a; b must not be 0."""
    return sub(dtype, a, mul(dtype, trunc_div(dtype, a, b), b))


_COMPARISONS: dict[str, Callable[[Raw, Raw], Raw]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def compare(op: str, dtype: str, a: Raw, b: Raw) -> Raw:
    """Return `a op b` (eq ne lt le gt ge) as bool storage; every comparison with NaN but ne is false."""
    if dtype in FLOATS:
        return np.asarray(_COMPARISONS[op](decode(dtype, a), decode(dtype, b)))
    left, right = as_storage(dtype, a), as_storage(dtype, b)
    return np.asarray(_COMPARISONS[op](left, right))
