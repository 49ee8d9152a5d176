"""What each TILE operation on tiles means, as a table from its name to a NumPy function.

Arrays are raw storage (`reference_formats.py`). A broadcast tile is a view with zero strides; element operations work
on its distinct part only, so a row's scale costs one element a row. Shares no code with the lowering and must not
import it. The arithmetic is `reference_math.py` and `reference_reductions.py`.
"""

from collections.abc import Callable

import numpy as np

from agentkern.compiler.ir import (
    reference_casts,
    reference_functions,
    reference_math,
    reference_orders,
    reference_reductions,
    reference_scans,
)
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.function_table import FUNCTIONS
from agentkern.compiler.ir.reference_formats import FLOATS, STORAGE, Raw, canonical_nan, decode, encode
from agentkern.compiler.ir.types import TileType

ElementFunction = Callable[[Op, tuple[Raw, ...]], Raw]
ScanFunction = Callable[..., tuple[Raw, Raw]]
ReduceFunction = Callable[[str, Raw, tuple[int, ...], tuple[int | None, ...]], Raw]


def tile_type(op: Op, k: int = 0) -> TileType:
    """Return the type of operand k, a tile."""
    type_ = op.operands[k].type
    assert isinstance(type_, TileType)
    return type_


def result_type(op: Op) -> TileType:
    """Return the type of the only result, a tile."""
    type_ = op.result.type
    assert isinstance(type_, TileType)
    return type_


def bits_of(raw: Raw) -> Raw:
    """Return the same storage as unsigned integers, so that moves keep every NaN's bits."""
    return raw.view(np.dtype(f"u{raw.dtype.itemsize}"))


def distinct(raw: Raw) -> Raw:
    """Shrink every axis of stride 0 to one element; NumPy's broadcasting restores it."""
    if 0 not in raw.strides:
        return raw
    return raw[
        tuple(slice(0, 1) if s == 0 and n > 1 else slice(None) for s, n in zip(raw.strides, raw.shape, strict=True))
    ]


def _unary(function: Callable[[str, Raw], Raw]) -> ElementFunction:
    return lambda op, x: function(tile_type(op).dtype.name, x[0])


def _binary(function: Callable[[str, Raw, Raw], Raw]) -> ElementFunction:
    return lambda op, x: function(tile_type(op).dtype.name, x[0], x[1])


def _fma(op: Op, x: tuple[Raw, ...]) -> Raw:
    return reference_math.fma(tile_type(op).dtype.name, x[0], x[1], x[2])


def _reciprocal(op: Op, x: tuple[Raw, ...]) -> Raw:
    one = np.ones((), np.float32)
    return reference_math.div(tile_type(op).dtype.name, one, x[0])


def _compare(name: str) -> ElementFunction:
    return lambda op, x: reference_math.compare(name, tile_type(op).dtype.name, x[0], x[1])


def _integer(function: Callable[[Raw, Raw], Raw]) -> ElementFunction:
    """Bitwise operations. Shifts by the width or more give 0, or -1 of a negative value shifted right, as NumPy's."""
    return lambda op, x: np.asarray(function(x[0], x[1])).astype(STORAGE[result_type(op).dtype.name], copy=False)


def _not(op: Op, x: tuple[Raw, ...]) -> Raw:
    return np.asarray(np.invert(x[0]))


def _canonical(op: Op, x: tuple[Raw, ...]) -> Raw:
    dtype = tile_type(op).dtype.name
    if dtype in ("f32", "f64", "tf32"):
        return canonical_nan(x[0])
    return encode(dtype, decode(dtype, x[0]), saturate=False)


def _where(op: Op, x: tuple[Raw, ...]) -> Raw:
    return np.where(x[0], bits_of(x[1]), bits_of(x[2])).view(x[1].dtype)


def _cast(op: Op, x: tuple[Raw, ...]) -> Raw:
    saturate, rounding = op.attrs.get("saturate"), op.attrs.get("rounding", "nearest")
    assert saturate is None or isinstance(saturate, bool)
    source, target = tile_type(op).dtype.name, result_type(op).dtype.name
    if rounding == "stochastic":
        return reference_casts.cast_stochastic(source, target, x[0], x[1], saturate=saturate)
    assert rounding in ("nearest", "toward_zero", "nearest_away")
    return reference_casts.cast(source, target, x[0], rounding=rounding, saturate=saturate)


def _bitcast(op: Op, x: tuple[Raw, ...]) -> Raw:
    return x[0].view(STORAGE[result_type(op).dtype.name])


def constant(dtype: str, value: object) -> Raw:
    """Return a number as a rank-0 array: floats go from f64 to the dtype in one rounding."""
    assert isinstance(value, int | float)
    if dtype in FLOATS:
        return np.asarray(encode(dtype, np.asarray(value, dtype=np.float64)))
    return np.asarray(value, dtype=STORAGE[dtype])


ELEMENT: dict[str, ElementFunction] = {
    "add": _binary(reference_math.add),
    "sub": _binary(reference_math.sub),
    "mul": _binary(reference_math.mul),
    "div": _binary(reference_math.div),
    "reciprocal": _reciprocal,
    "divide_by": _binary(reference_math.div),
    "floor_div": _binary(reference_math.floor_div),
    "mod": _binary(reference_math.floor_mod),
    "trunc_div": _binary(reference_math.trunc_div),
    "trunc_mod": _binary(reference_math.trunc_mod),
    "maximum": _binary(reference_math.maximum),
    "minimum": _binary(reference_math.minimum),
    "copysign": _binary(reference_math.copysign),
    "fma": _fma,
    "neg": _unary(reference_math.neg),
    "abs": _unary(reference_math.absolute),
    "sign": _unary(reference_math.sign),
    "sqrt": _unary(reference_math.sqrt),
    "rsqrt": _unary(reference_math.rsqrt),
    "floor": _unary(reference_math.floor),
    "ceil": _unary(reference_math.ceil),
    "round": _unary(reference_math.round_half_even),
    "trunc": _unary(reference_math.trunc),
    **{name: _unary(reference_functions.unary_function(name)) for name in FUNCTIONS},
    "canonical_nan": _canonical,
    "isnan": _unary(reference_math.isnan),
    "isinf": _unary(reference_math.isinf),
    "and": _integer(np.bitwise_and),
    "or": _integer(np.bitwise_or),
    "xor": _integer(np.bitwise_xor),
    "shl": _integer(np.left_shift),
    "shr": _integer(np.right_shift),
    "not": _not,
    "where": _where,
    "cast": _cast,
    "bitcast": _bitcast,
    **{name: _compare(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
}


def _any(dtype: str, raw: Raw, axes: tuple[int, ...], extents: tuple[int | None, ...]) -> Raw:
    return np.asarray(np.any(reference_casts.cast(dtype, "bool", raw), axis=axes))


def _all(dtype: str, raw: Raw, axes: tuple[int, ...], extents: tuple[int | None, ...]) -> Raw:
    return np.asarray(np.all(reference_casts.cast(dtype, "bool", raw), axis=axes))


def _order_free(function: Callable[[str, Raw, tuple[int, ...]], Raw]) -> ReduceFunction:
    return lambda dtype, raw, axes, extents: function(dtype, raw, axes)


REDUCE: dict[str, ReduceFunction] = {
    "sum": reference_reductions.sum_in_order,
    "prod": reference_reductions.prod_in_order,
    "mean": reference_reductions.mean_in_order,
    "max": _order_free(reference_reductions.max_over),
    "min": _order_free(reference_reductions.min_over),
    "absmax": _order_free(reference_reductions.absmax_over),
    "any": _any,
    "all": _all,
    "argmax": reference_orders.argmax_over,
    "argmin": reference_orders.argmin_over,
}

SCANS: dict[str, ScanFunction] = {"cumsum": reference_scans.cumsum, "cummax": reference_scans.cummax}
