"""Whether a compile-time number fits a dtype, and the value it then has. Pure functions over numbers."""

from __future__ import annotations

import math

from agentkern.dsl.dtypes import DType

# e4m3 of OFP8 and the formats made like it have no infinity.
_WITHOUT_INFINITY = frozenset({"e4m3", "e8m0"})


def round_to(dtype: DType, value: float) -> float:
    """`value` rounded to nearest, ties to even, into a float dtype; overflow gives infinity."""
    if not dtype.has_sign and value > 0 and math.isfinite(value):
        fraction, exponent = math.frexp(value)
        power = max(exponent - (fraction < 0.75), -127)  # there is no even one: halfway goes up
        return math.ldexp(1.0, power) if power <= 127 else math.inf
    if dtype.bits == 64 or value == 0.0 or math.isinf(value) or math.isnan(value):
        return value
    bias = (1 << (dtype.exponent_bits - 1)) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    quantum = exponent - dtype.mantissa_bits
    # Scaling a double by a power of two is exact here: the quantum is far above double's own.
    rounded = math.ldexp(round(math.ldexp(abs(value), -quantum)), quantum)
    return math.copysign(rounded if rounded <= dtype.max_finite else math.inf, value)


def _misfit_of_float(dtype: DType, value: float) -> str | None:
    if math.isnan(value):
        return None
    if not dtype.has_sign and value <= 0:
        return "it has powers of two only"
    if math.isinf(value):
        return "it has no infinity" if dtype.name in _WITHOUT_INFINITY else None
    if math.isinf(round_to(dtype, value)):
        return f"the largest value is {dtype.max_finite!r}"
    return None


def _misfit_of_integer(dtype: DType, value: int) -> str | None:
    if not dtype.is_float:
        low, high = dtype.integer_range
        return None if low <= value <= high else f"the range is {low} to {high}"
    if not dtype.has_sign and value <= 0:
        return "it has powers of two only"
    if value.bit_length() > 1024 or math.isinf(round_to(dtype, float(value))):
        return f"the largest value is {dtype.max_finite!r}"
    if int(round_to(dtype, float(value))) != value:
        return f"it rounds to {round_to(dtype, float(value))!r}"
    return None


def misfit(dtype: DType, value: int | float | bool) -> str | None:
    """Why a number does not fit a dtype, or None. Floats may round; integers must be exact.

    Numbers of another kind (a float for an integer dtype, bool and the rest) are not asked for here.
    """
    if isinstance(value, bool):
        return None
    return _misfit_of_float(dtype, value) if isinstance(value, float) else _misfit_of_integer(dtype, value)


def converted(dtype: DType, value: int | float | bool) -> int | float | bool:
    """The number that a dtype holds for a value that fits."""
    if dtype.is_float:
        return round_to(dtype, float(value))
    return bool(value) if dtype.kind == "bool" else int(value)
