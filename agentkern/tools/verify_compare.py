"""Compare raw arrays bit for bit, and measure how far apart floats are in units in the last place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_formats import FLOATS, Raw, decode
from agentkern.dsl.dtypes import DType
from agentkern.tools.results import Mismatch
from agentkern.tools.verify_model import Arrays


def as_bits(raw: Raw) -> Raw:
    """Return the array as unsigned integers of its width."""
    return np.ascontiguousarray(raw).view(f"u{raw.dtype.itemsize}")


def ordinals(dtype: DType, raw: Raw) -> Raw:
    """Return integers in the order of the floats, neighbours one apart, both zeros 0."""
    shift = 13 if dtype.name == "tf32" else 0
    bits = as_bits(raw).astype(np.int64) >> shift
    if not dtype.has_sign:
        return bits
    width = dtype.nbytes * 8 - shift
    sign = (bits >> (width - 1)) & 1
    magnitude = bits & ((1 << (width - 1)) - 1)
    return np.where(sign == 1, -magnitude, magnitude)


def first_difference(params: Sequence[TensorParam], got: Arrays, want: Arrays) -> Mismatch | None:
    """Return the first element, in the order of outputs and rows, whose bits differ."""
    for param in params:
        different = as_bits(got[param.name]) != as_bits(want[param.name])
        if different.any():
            return describe(param, got, want, int(np.argmax(different)))
    return None


def describe(param: TensorParam, got: Arrays, want: Arrays, flat: int) -> Mismatch:
    """Return the record of one element by its row-major number."""
    shape = got[param.name].shape
    index = tuple(int(k) for k in np.unravel_index(flat, shape))
    a, b = got[param.name].reshape(-1)[flat : flat + 1], want[param.name].reshape(-1)[flat : flat + 1]
    return Mismatch(
        output=param.name,
        index=index,
        got=element_text(param.dtype, a),
        want=element_text(param.dtype, b),
        ulp=_ulp(param.dtype, a, b),
    )


def element_text(dtype: DType, raw: Raw) -> str:
    """Return one element's value with its bits."""
    bits = int(as_bits(raw)[0])
    if dtype.name not in FLOATS:
        return str(raw[0])
    return f"{float(decode(dtype.name, raw)[0])!r} (0x{bits:0{dtype.nbytes * 2}x})"


def _ulp(dtype: DType, a: Raw, b: Raw) -> int | None:
    if dtype.name not in FLOATS:
        return None
    if np.isnan(decode(dtype.name, a)).any() or np.isnan(decode(dtype.name, b)).any():
        return None
    if dtype.name == "f64":
        # ordinals of float64 reach 2**63: exact in Python's integers
        pair = [int(ordinals(dtype, x)[0]) for x in (a, b)]
        return abs(pair[0] - pair[1])
    return int(np.abs(ordinals(dtype, a) - ordinals(dtype, b))[0])


def ulp_distances(dtype: DType, got: Raw, want: Raw) -> Raw:
    """Return the distance of each element as float64: infinite where only one is NaN, 0 where both are.

    Integers: 0 where equal, else infinite.
    """
    if dtype.name not in FLOATS:
        return np.where(got == want, 0.0, np.inf)
    one, other = ordinals(dtype, got), ordinals(dtype, want)
    apart = np.abs(one.astype(np.float64) - other.astype(np.float64))
    # ordinals of f64 are exact as integers only; of one sign they do not overflow
    distance = np.where((one < 0) == (other < 0), np.abs(one - other).astype(np.float64), apart)
    a, b = np.isnan(decode(dtype.name, got)), np.isnan(decode(dtype.name, want))
    return np.where(a & b, 0.0, np.where(a | b, np.inf, distance))
