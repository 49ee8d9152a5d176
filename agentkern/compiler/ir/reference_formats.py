"""Storage conventions and float formats of the reference interpreter.

Raw storage, one NumPy array element per value:

- f64 `float64`, f32 and tf32 `float32` (tf32: the low 13 bits are zero), f16 `float16`;
- bf16 `uint16`, e4m3, e5m2 and e8m0 `uint8`: bit patterns, because extension dtypes pick their own NaN
  and overflow rules;
- integers by their NumPy types, bool `bool_`.

`decode` and `encode` are the only places that turn storage into values and back. The value type of
every float dtype is float32, of f64 float64. Both give the canonical NaN (all bits set but the
sign), as every cast does. Rounding is done on bits here, never by a host conversion whose rules
could differ. Formats follow IEEE 754-2019 and, for the 8-bit ones, the OCP 8-bit floating point
specification 1.0 and the Microscaling specification 1.0 (e8m0: no sign, no zero, no infinity).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

# the element type is known by the dtype name beside it
Raw = NDArray[Any]
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Rounding = Literal["nearest", "toward_zero", "nearest_away"]

F32_NAN = np.uint32(0x7FFFFFFF)
F64_NAN = np.uint64(0x7FFFFFFFFFFFFFFF)
E8M0_NAN = 0xFF

STORAGE: dict[str, type[np.generic]] = {
    "f64": np.float64,
    "f32": np.float32,
    "tf32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
    "e4m3": np.uint8,
    "e5m2": np.uint8,
    "e8m0": np.uint8,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "bool": np.bool_,
}
FLOATS = ("f64", "f32", "tf32", "f16", "bf16", "e4m3", "e5m2", "e8m0")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


@dataclass(frozen=True, slots=True)
class NarrowFormat:
    """A float format of at most 16 bits; codes are without the sign bit."""

    mantissa_bits: int
    bias: int
    sign_shift: int
    max_code: int
    overflow_code: int
    nan_code: int
    saturates: bool

    @property
    def min_exponent(self) -> int:
        """Exponent of the smallest normal value."""
        return 1 - self.bias


NARROW: dict[str, NarrowFormat] = {
    "f16": NarrowFormat(10, 15, 15, 0x7BFF, 0x7C00, 0x7FFF, saturates=False),
    "bf16": NarrowFormat(7, 127, 15, 0x7F7F, 0x7F80, 0x7FFF, saturates=False),
    "e4m3": NarrowFormat(3, 7, 7, 0x7E, 0x7F, 0x7F, saturates=True),
    "e5m2": NarrowFormat(2, 15, 7, 0x7B, 0x7C, 0x7F, saturates=True),
}


def value_dtype(dtype: str) -> type[np.float32] | type[np.float64]:
    """Return the type that arithmetic on `dtype` is done in."""
    return np.float64 if dtype == "f64" else np.float32


def as_storage(dtype: str, raw: Raw) -> Raw:
    """Return raw storage as its own NumPy type; unsigned arrays of the same width are viewed as bits."""
    storage = np.dtype(STORAGE[dtype])
    raw = np.asarray(raw)
    if raw.dtype == storage:
        return raw
    if raw.dtype.kind == "u" and raw.dtype.itemsize == storage.itemsize:
        return raw.view(storage)
    raise TypeError(f"`{dtype}` is stored as {storage.name}, got {raw.dtype.name}")


def canonical_nan(x: Raw) -> Raw:
    """Replace every NaN of a float32 or float64 array by the canonical one; other bits are kept."""
    x = np.asarray(x)
    nans = np.isnan(x)
    if not nans.any():
        return x
    if x.dtype == np.float32:
        return np.where(nans, F32_NAN, x.view(np.uint32)).view(np.float32)
    return np.where(nans, F64_NAN, x.view(np.uint64)).view(np.float64)


def decode(dtype: str, raw: Raw) -> Raw:
    """Return the values of raw storage: float64 for f64, float32 for every other float dtype."""
    raw = as_storage(dtype, raw)
    if dtype in ("f64", "f32", "tf32"):
        return canonical_nan(raw)
    if dtype == "bf16":
        return canonical_nan((raw.astype(np.uint32) << np.uint32(16)).view(np.float32))
    if dtype == "e8m0":
        powers = np.ldexp(np.float32(1), np.minimum(raw, E8M0_NAN - 1).astype(np.int32) - 127)
        return np.where(raw == E8M0_NAN, F32_NAN.view(np.float32), powers)
    codes = raw.view(np.uint16) if dtype == "f16" else raw
    return _decode_table(dtype)[codes]


def encode(dtype: str, x: Raw, *, rounding: Rounding = "nearest", saturate: bool | None = None) -> Raw:
    """Round float32 or float64 values once to `dtype` and return its raw storage.

    saturate: None takes the dtype's default (True for e4m3 and e5m2, infinities included).
    """
    x = np.asarray(x)
    if dtype == "f64":
        with np.errstate(invalid="ignore"):
            return canonical_nan(x.astype(np.float64))
    if dtype == "f32":
        return canonical_nan(x) if x.dtype == np.float32 else round_f64_to_f32(x, rounding)
    single = x if x.dtype == np.float32 else round_f64_to_f32(x, "odd")
    if dtype == "tf32":
        return _encode_tf32(single, rounding)
    if dtype == "e8m0":
        return _encode_e8m0(single, rounding, saturate=saturate is not False)
    fmt = NARROW[dtype]
    clamp = fmt.saturates if saturate is None else saturate
    bits = single.view(np.uint32)
    if fmt.sign_shift == 7:
        # rounding to odd on 16 bits keeps everything that rounding to at most 4 bits can see
        odd = (bits >> np.uint32(16)) | ((bits & np.uint32(0xFFFF)) != 0)
        return _encode_table(dtype, rounding, clamp)[odd]
    if dtype == "bf16" and rounding == "nearest" and not clamp:
        return _round_to_bf16(bits)
    codes = in_pieces(lambda piece: _round_to_format(piece, fmt, rounding, saturate=clamp), np.uint16, bits)
    return codes.view(np.float16) if dtype == "f16" else codes


PIECE_ELEMS = 1 << 15
"""Elements worked on at once where a function makes many temporaries: they stay in the cache."""


def in_pieces(function: Callable[..., Raw], result: type[np.generic], *arrays: Raw) -> Raw:
    """Apply an element function piece by piece; all arrays have one shape."""
    shape = arrays[0].shape
    flat = [np.ascontiguousarray(array).reshape(-1) for array in arrays]
    out = np.empty(flat[0].size, result)
    for start in range(0, out.size, PIECE_ELEMS):
        stop = start + PIECE_ELEMS
        out[start:stop] = function(*(array[start:stop] for array in flat))
    return out.reshape(shape)


def _round_to_bf16(bits: Raw) -> NDArray[np.uint16]:
    """Round float32 bit patterns to the nearest upper half, ties to even."""
    rounded = (bits >> np.uint32(16)) & np.uint32(1)
    rounded += bits
    rounded += np.uint32(0x7FFF)
    rounded >>= np.uint32(16)
    codes = rounded.astype(np.uint16)
    nans = np.isnan(bits.view(np.float32))
    if nans.any():
        codes = np.where(nans, np.uint16(NARROW["bf16"].nan_code), codes)
    return codes


def round_f64_to_f32(x: Raw, rounding: Rounding | Literal["odd"]) -> Raw:
    """Round float64 to float32; `odd` keeps a set last bit wherever the result is inexact.

    Rounding an odd result to a format with at least two bits less is rounding x itself.
    """
    with np.errstate(all="ignore"):
        nearest = np.asarray(x.astype(np.float32))
    if rounding == "nearest":
        return canonical_nan(nearest)
    finite = np.isfinite(x)
    bits = nearest.view(np.uint32)
    # a magnitude that was rounded up steps down; an overflow steps to the largest finite value
    rounded_up = finite & (np.abs(nearest.astype(np.float64)) > np.abs(x))
    truncated = np.where(rounded_up, bits - np.uint32(1), bits)
    below = truncated.view(np.float32).astype(np.float64)
    inexact = finite & (below != x)
    if rounding == "odd":
        truncated = truncated | inexact
    if rounding == "nearest_away":
        largest = (truncated & np.uint32(0x7FFFFFFF)) == np.uint32(0x7F7FFFFF)
        next_value = (truncated + np.uint32(1)).view(np.float32).astype(np.float64)
        above = np.where(largest, 2.0**128, np.abs(next_value))
        up = inexact & (np.abs(x) - np.abs(below) >= above - np.abs(x))
        truncated = truncated + up.astype(np.uint32)
    return canonical_nan(truncated.astype(np.uint32, copy=False).view(np.float32))


def _encode_tf32(x: Raw, rounding: Rounding) -> Raw:
    """Round float32 to ten mantissa bits."""
    bits = x.view(np.uint32)
    if rounding == "nearest":
        bits = bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))
    elif rounding == "nearest_away":
        bits = bits + np.uint32(0x1000)
    return np.where(np.isnan(x), F32_NAN, bits & np.uint32(0xFFFFE000)).view(np.float32)


def _encode_e8m0(x: Raw, rounding: Rounding, *, saturate: bool) -> NDArray[np.uint8]:
    """Exponents of the nearest powers of two of the magnitudes, biased by 127; halfway goes up."""
    fraction, exponent = np.frexp(np.abs(x))
    exponent = exponent - 1  # of a significand that is twice the fraction
    up = fraction >= 0.75 if rounding != "toward_zero" else np.zeros(x.shape, bool)
    power = np.where(np.isinf(x), 128, np.where(x == 0, -127, exponent + up))
    past = 127 if saturate else 128
    codes = np.clip(power, -127, past) + 127
    return np.where(np.isnan(x), E8M0_NAN, codes).astype(np.uint8)


def _round_to_format(bits: Raw, fmt: NarrowFormat, rounding: Rounding, *, saturate: bool) -> NDArray[np.uint16]:
    """Round float32 bit patterns to codes of a narrow format, sign included."""
    magnitude = (bits & np.uint32(0x7FFFFFFF)).astype(np.int32)
    exponent = np.maximum(magnitude >> 23, 1)
    significand = (magnitude & 0x7FFFFF) | ((magnitude >= 0x800000).astype(np.int32) << 23)
    biased = exponent - 127 + fmt.bias
    drop = np.minimum(23 - fmt.mantissa_bits + np.maximum(1 - biased, 0), 25)
    quotient = significand >> drop
    rest = significand - (quotient << drop)
    half = np.int32(1) << (drop - 1)
    if rounding == "nearest":
        quotient += (rest > half) | ((rest == half) & ((quotient & 1) == 1))
    elif rounding == "nearest_away":
        quotient += rest >= half
    code = ((np.maximum(biased, 1) - 1) << fmt.mantissa_bits) + quotient
    past = fmt.max_code if saturate else fmt.overflow_code
    past_finite = fmt.max_code if rounding == "toward_zero" else past
    infinite = magnitude == 0x7F800000
    code = np.where(code > fmt.max_code, np.where(infinite, past, past_finite), code)
    sign = (bits >> np.uint32(31)).astype(np.int32) << fmt.sign_shift
    code = np.where((magnitude > 0x7F800000) | (code == fmt.nan_code), fmt.nan_code, code | sign)
    return code.astype(np.uint16)


@cache
def _encode_table(dtype: str, rounding: Rounding, saturate: bool) -> NDArray[np.uint8]:
    """Codes of an 8-bit format by the upper half of a float32 whose last bit is sticky."""
    bits = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    return _round_to_format(bits, NARROW[dtype], rounding, saturate=saturate).astype(np.uint8)


@cache
def _decode_table(dtype: str) -> F32:
    """Values of every code of a narrow format."""
    fmt = NARROW[dtype]
    codes = np.arange(1 << (fmt.sign_shift + 1), dtype=np.int64)
    code = codes & ((1 << fmt.sign_shift) - 1)
    exponent = code >> fmt.mantissa_bits
    fraction = code & ((1 << fmt.mantissa_bits) - 1)
    hidden = np.where(exponent > 0, 1 << fmt.mantissa_bits, 0)
    scale = np.maximum(exponent, 1) - fmt.bias - fmt.mantissa_bits
    value = np.ldexp((fraction + hidden).astype(np.float64), scale)
    value = np.where(code > fmt.max_code, np.nan, value)
    has_infinity = fmt.overflow_code != fmt.nan_code
    value = np.where(has_infinity & (code == fmt.overflow_code), np.inf, value)
    value = np.where(codes >> fmt.sign_shift == 1, -value, value)
    return np.asarray(canonical_nan(value.astype(np.float32)), dtype=np.float32)
