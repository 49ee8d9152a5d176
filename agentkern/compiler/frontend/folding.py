"""Compile-time arithmetic: integers exactly, floats in f64, sizes as expressions. Pure functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

from agentkern.compiler.frontend.values import Extent, Number, extent_value
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim

MAX_BITS = 1024
Scalar = int | float | bool
FoldNumbers = Callable[[Scalar, Scalar], Scalar]
FoldExtents = Callable[["int | Dim", "int | Dim"], "int | Dim"]


class FoldError(Exception):
    """Compile-time arithmetic without a result; the text says why."""


@dataclass(frozen=True, slots=True)
class Fold:
    """How one operator works on numbers and on sizes (None: not on sizes)."""

    numbers: FoldNumbers
    extents: FoldExtents | None = None


def _power(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, int) and isinstance(b, int):
        if b < 0:
            return float(a) ** b
        if a.bit_length() * b > MAX_BITS:
            raise FoldError("the result is too large")
        return a**b
    result = a**b
    if isinstance(result, complex):
        raise FoldError("a power of a negative number is not real")
    return result


def _shift_left(a: Scalar, b: Scalar) -> Scalar:
    if not isinstance(a, int) or not isinstance(b, int):
        raise FoldError("shifts take integers")
    if not 0 <= b <= MAX_BITS:
        raise FoldError(f"a shift by {b}")
    return a << b


def _integers(function: Callable[[int, int], int]) -> FoldNumbers:
    def fold(a: Scalar, b: Scalar) -> Scalar:
        if not isinstance(a, int) or not isinstance(b, int):
            raise FoldError("the operation takes integers")
        return function(a, b)

    return fold


FOLDS: dict[str, Fold] = {
    "+": Fold(operator.add, dims.add),
    "-": Fold(operator.sub, lambda a, b: dims.add(a, dims.mul(b, -1))),
    "*": Fold(operator.mul, dims.mul),
    "/": Fold(operator.truediv),
    "//": Fold(operator.floordiv, dims.floordiv),
    "%": Fold(operator.mod, dims.mod),
    "**": Fold(_power),
    "&": Fold(_integers(operator.and_)),
    "|": Fold(_integers(operator.or_)),
    "^": Fold(_integers(operator.xor)),
    "<<": Fold(_shift_left),
    ">>": Fold(_integers(operator.rshift)),
    "<": Fold(operator.lt),
    "<=": Fold(operator.le),
    ">": Fold(operator.gt),
    ">=": Fold(operator.ge),
    "==": Fold(operator.eq),
    "!=": Fold(operator.ne),
    "cdiv": Fold(lambda a, b: -(-a // b), dims.cdiv),
    "align": Fold(lambda a, b: -(-a // b) * b, dims.align),
    "maximum": Fold(max),
    "trunc_div": Fold(_integers(lambda a, b: a // b if (a < 0) == (b < 0) else -(-a // b))),
    "trunc_mod": Fold(_integers(lambda a, b: (abs(a) % abs(b)) * (-1 if a < 0 else 1))),
    "minimum": Fold(min),
}


def fold_numbers(symbol: str, a: Scalar, b: Scalar) -> Scalar:
    """The value of an operator on two numbers. Errors: FoldError."""
    try:
        result = FOLDS[symbol].numbers(a, b)
    except ZeroDivisionError:
        raise FoldError("division by zero") from None
    except (OverflowError, ValueError) as e:
        raise FoldError(str(e)) from None
    if isinstance(result, int) and result.bit_length() > MAX_BITS:
        raise FoldError("the result is too large")
    if isinstance(result, float) and math.isinf(result) and all(math.isfinite(x) for x in (a, b)):
        raise FoldError("the result is too large for f64")
    return result


def as_extent(value: Number | Extent) -> int | Dim | None:
    """The size expression of a compile-time integer or size."""
    if isinstance(value, Extent):
        return value.extent
    number = value.value
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def fold(symbol: str, a: Number | Extent, b: Number | Extent) -> Number | Extent | None:
    """The value of an operator on compile-time integers, floats and sizes.

    None when it has a value only once the sizes have numbers. Errors: FoldError.
    """
    if isinstance(a, Number) and isinstance(b, Number):
        return Number(fold_numbers(symbol, a.value, b.value))
    left, right = as_extent(a), as_extent(b)
    if left is None or right is None:
        return None
    row = FOLDS[symbol]
    if row.extents is not None:
        try:
            found = row.extents(left, right)
        except ZeroDivisionError:
            raise FoldError("division by zero") from None
        static = all(not isinstance(value, Extent) or value.static for value in (a, b))
        result = extent_value(found, static=static)
        assert isinstance(result, Number | Extent)
        return result
    if left == right and symbol in ("==", "<=", ">=", "!=", "<", ">"):
        return Number(symbol in ("==", "<=", ">="))
    return None
