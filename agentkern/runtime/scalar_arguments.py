"""Turn a caller's number into the bits of a scalar parameter, or say why it does not fit.

Integers must be in range; a float is rounded once, half to even, from the f64 that Python has. Formats are those of
`agentkern/dsl/dtypes.py`. Works on Python numbers alone: no NumPy import.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import SupportsFloat, SupportsIndex

from agentkern.dsl.dtypes import DType
from agentkern.runtime.call_errors import CallError

Number = int | float | bool


@dataclass(frozen=True, slots=True)
class BoundScalar:
    """A scalar argument: `value` as rounded, `data` its little-endian bytes."""

    name: str
    dtype: DType
    value: Number
    data: bytes


def bind_scalar(name: str, dtype: DType, given: object) -> BoundScalar:
    """Bind `given` to the scalar parameter `name` of `dtype`.

    Errors: AK707.
    """
    number = _plain_number(given)
    if number is None:
        raise _misfit(name, dtype, type(given).__name__, "no number")
    if dtype.kind == "bool":
        if not isinstance(number, bool):
            raise _misfit(name, dtype, repr(given), "no bool")
        return BoundScalar(name, dtype, number, bytes([number]))
    if isinstance(number, bool):
        raise _misfit(name, dtype, repr(given), "a bool")
    if dtype.is_float:
        return _bind_float(name, dtype, number)
    if isinstance(number, float):
        raise _misfit(name, dtype, repr(given), "no integer")
    low, high = dtype.integer_range
    if not low <= number <= high:
        raise _misfit(name, dtype, repr(number), f"outside {low} to {high}")
    return BoundScalar(name, dtype, number, number.to_bytes(dtype.nbytes, "little", signed=dtype.kind == "signed"))


def round_to(value: float, dtype: DType) -> float:
    """Round `value` to the nearest number of `dtype`, ties to even; infinite when that is past the largest."""
    if value == 0.0 or not math.isfinite(value):
        return value
    if not dtype.has_sign:
        fraction, exponent = math.frexp(value)
        power = max(exponent - (fraction < 0.75), -127)
        return math.ldexp(1.0, power) if power <= 127 else math.inf
    if abs(value) >= 2 * dtype.max_finite:
        return math.copysign(math.inf, value)
    _, exponent = math.frexp(value)
    bias = (1 << (dtype.exponent_bits - 1)) - 1
    # frexp's mantissa is in [1/2, 1): a normal number has its leading bit at exponent - 1; denormals at most 1 - bias.
    last_bit = max(exponent - 1, 1 - bias) - dtype.mantissa_bits
    rounded = math.ldexp(round(math.ldexp(value, -last_bit)), last_bit)
    if abs(rounded) > dtype.max_finite:
        return math.copysign(math.inf, value)
    return math.copysign(rounded, value)


def _plain_number(given: object) -> Number | None:
    if isinstance(given, bool | int | float):
        return given
    # NumPy's scalars: a bool says so by its type's name, an integer has __index__.
    if type(given).__module__ != "numpy" or getattr(given, "shape", None) != ():
        return None
    if type(given).__name__ in ("bool", "bool_"):
        return bool(given)
    if isinstance(given, SupportsIndex):
        return given.__index__()
    return float(given) if isinstance(given, SupportsFloat) else None


def _bind_float(name: str, dtype: DType, number: float) -> BoundScalar:
    try:
        value = float(number)
    except OverflowError as e:
        raise _misfit(name, dtype, repr(number), "too large") from e
    if dtype.name in ("e4m3", "e8m0") and math.isinf(value):
        raise _misfit(name, dtype, repr(number), f"infinite, which {dtype} has not")
    if not dtype.has_sign and value <= 0:
        raise _misfit(name, dtype, repr(number), "no power of two")
    rounded = value if dtype.name == "f64" else round_to(value, dtype)
    if math.isinf(rounded) and not math.isinf(value):
        raise _misfit(name, dtype, repr(number), f"past the largest, {dtype.max_finite!r}")
    return BoundScalar(name, dtype, rounded, _float_bits(rounded, dtype))


def _float_bits(value: float, dtype: DType) -> bytes:
    """Encode a value that `dtype` has; a NaN is all ones but the sign."""
    if not dtype.has_sign:
        return bytes([255 if math.isnan(value) else math.frexp(value)[1] + 126])
    if math.isnan(value):
        return ((1 << (dtype.bits - 1)) - 1).to_bytes(dtype.bits // 8, "little")
    if dtype.name in ("f64", "f32", "tf32", "f16"):
        return struct.pack({"f64": "<d", "f16": "<e"}.get(dtype.name, "<f"), value)
    if dtype.name == "bf16":
        return struct.pack("<f", value)[2:]
    return bytes([_float8_code(value, dtype)])


def _float8_code(value: float, dtype: DType) -> int:
    sign = 0x80 if math.copysign(1.0, value) < 0 else 0
    magnitude, bias = abs(value), (1 << (dtype.exponent_bits - 1)) - 1
    if math.isinf(magnitude):
        return sign | ((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits
    exponent = max(math.frexp(magnitude)[1] - 1, 1 - bias) if magnitude else 1 - bias
    # In units of the last bit: a denormal's code is its significand; a normal one's begins with 1 << mantissa_bits.
    significand = int(math.ldexp(magnitude, dtype.mantissa_bits - exponent))
    return sign | (significand + ((exponent + bias - 1) << dtype.mantissa_bits))


def _misfit(name: str, dtype: DType, got: str, why: str) -> CallError:
    return CallError("AK707", name=name, value=f"{got} ({why})", expected=dtype.name)
