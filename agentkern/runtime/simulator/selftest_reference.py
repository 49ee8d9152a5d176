"""What the self-test expects, in NumPy: exact rounding by round-to-odd and by search in the table of all values.

Shares nothing with the shim. Every function takes and returns arrays; floats travel as their bits where NaN matters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CANONICAL_NAN = np.uint32(0x7FFFFFFF)


@dataclass(frozen=True, slots=True)
class NarrowFormat:
    """A binary format: `max_code` is the largest finite one; beyond it lies `overflow`."""

    mantissa_bits: int
    bias: int
    max_code: int
    overflow: int
    nan: int
    sign_shift: int
    first_nan: int


BF16 = NarrowFormat(7, 127, 0x7F7F, 0x7F80, 0x7FFF, 15, 0x7F81)
F16 = NarrowFormat(10, 15, 0x7BFF, 0x7C00, 0x7FFF, 15, 0x7C01)
E4M3 = NarrowFormat(3, 7, 0x7E, 0x7E, 0x7F, 7, 0x7F)
E5M2 = NarrowFormat(2, 15, 0x7B, 0x7B, 0x7F, 7, 0x7D)


def canonical(values: np.ndarray) -> np.ndarray:
    """Return the bits of f32 `values` with every NaN canonical."""
    return np.where(np.isnan(values), CANONICAL_NAN, values.view(np.uint32))


def fused_multiply_add(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return a * b + c for f32 arrays, rounded once.

    The product is exact in f64; the sum is rounded to odd there, which leaves the second rounding as the only one.
    """
    product = a.astype(np.float64) * b.astype(np.float64)
    addend = c.astype(np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    is_even = total.view(np.uint64) & np.uint64(1) == 0
    inexact = np.isfinite(total) & np.isfinite(error) & (error != 0)
    odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where(inexact & is_even, odd, total).astype(np.float32)


def finite_values(narrow: NarrowFormat) -> np.ndarray:
    """Return the value of every non-negative code up to one beyond the largest finite, in f64."""
    codes = np.arange(narrow.max_code + 2)
    exponent = codes >> narrow.mantissa_bits
    mantissa = codes & ((1 << narrow.mantissa_bits) - 1)
    significand = np.where(exponent == 0, mantissa, mantissa + (1 << narrow.mantissa_bits)).astype(np.float64)
    return np.ldexp(significand, np.maximum(exponent, 1) - narrow.bias - narrow.mantissa_bits)


def to_narrow(values: np.ndarray, narrow: NarrowFormat) -> np.ndarray:
    """Return the codes of the nearest values, ties to the even code; u32."""
    table = finite_values(narrow)
    size = np.abs(np.where(np.isnan(values), 0, values).astype(np.float64))
    above = np.clip(np.searchsorted(table, size), 1, len(table) - 1)
    below = above - 1
    up, down = table[above] - size, size - table[below]
    code = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    code = np.where(size >= table[-1], len(table) - 1, code)
    code = np.where(code > narrow.max_code, narrow.overflow, code)
    signed = code | (np.signbit(values).astype(np.int64) << narrow.sign_shift)
    return np.where(np.isnan(values), narrow.nan, signed).astype(np.uint32)


def from_narrow(codes: np.ndarray, narrow: NarrowFormat) -> np.ndarray:
    """Return the f32 bits of the codes, NaN canonical."""
    size = codes & ((1 << narrow.sign_shift) - 1)
    table = finite_values(narrow).astype(np.float32)
    value = np.where(size <= narrow.max_code, table[np.minimum(size, narrow.max_code)], np.float32(np.inf))
    value = np.where(codes >> narrow.sign_shift & 1 == 1, -value, value).astype(np.float32)
    return np.where(size >= narrow.first_nan, CANONICAL_NAN, value.view(np.uint32))


def to_integer(values: np.ndarray, bits: int) -> np.ndarray:
    """Return f32 `values` truncated, saturated, NaN as 0, in i64."""
    bound = 2.0 ** (bits - 1)
    whole = np.trunc(np.where(np.isnan(values), 0, values).astype(np.float64))
    inside = np.clip(whole, -bound, np.nextafter(bound, 0))
    return np.where(whole >= bound, np.int64((1 << (bits - 1)) - 1), inside.astype(np.int64))


def larger(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the bits of max(a, b): any NaN wins, -0 < +0."""
    both_zero = (a == 0) & (b == 0)
    zero = np.where(np.signbit(a) & np.signbit(b), np.float32(-0.0), np.float32(0.0))
    return canonical(np.where(both_zero, zero, np.maximum(a, b)))


def smaller(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the bits of min(a, b): any NaN wins, -0 < +0."""
    both_zero = (a == 0) & (b == 0)
    zero = np.where(np.signbit(a) | np.signbit(b), np.float32(-0.0), np.float32(0.0))
    return canonical(np.where(both_zero, zero, np.minimum(a, b)))
