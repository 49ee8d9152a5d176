"""Decide whether two tensors share a byte, or one names an element twice. Looks at addresses only, never at memory.

Ranges that do not meet are apart; ranges that meet are decided exactly by NumPy's solver for strided views, which is
bounded: what it cannot decide counts as shared. Source: NumPy, "shares_memory".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from agentkern.runtime.tensor_view import TensorView

# NumPy's measure of work; one view of five axes against another takes well under a millisecond at this bound.
_MAX_WORK = 100_000


@dataclass(frozen=True, slots=True)
class _Placed:
    """What NumPy needs to take an address for an array."""

    __array_interface__: dict[str, object]


def byte_range(view: TensorView, element_bytes: int) -> tuple[int, int]:
    """Return first address and the one after the last; both equal for an empty tensor."""
    if view.elements == 0:
        return view.pointer, view.pointer
    low = high = view.pointer
    for extent, stride in zip(view.shape, view.strides, strict=True):
        reach = (extent - 1) * stride * element_bytes
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high + element_bytes


def share_memory(a: TensorView, a_bytes: int, b: TensorView, b_bytes: int) -> bool:
    """Whether elements of `a` and `b`, `a_bytes` and `b_bytes` wide, have a byte in common."""
    if a.device != b.device:
        return False
    a_low, a_high = byte_range(a, a_bytes)
    b_low, b_high = byte_range(b, b_bytes)
    if a_low >= b_high or b_low >= a_high or a_low == a_high or b_low == b_high:
        return False
    if a.contiguous and b.contiguous:
        return True
    try:
        # The stubs know only the two named amounts of work.
        return np.shares_memory(_array(a, a_bytes), _array(b, b_bytes), max_work=_MAX_WORK)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True


def same_elements(a: TensorView, b: TensorView) -> bool:
    """Whether both are the same memory seen alike, so that element `i` of one is element `i` of the other."""
    strides_alike = all(extent <= 1 or x == y for extent, x, y in zip(a.shape, a.strides, b.strides, strict=False))
    return (a.pointer, a.device, a.shape, a.dtype_text) == (
        b.pointer,
        b.device,
        b.shape,
        b.dtype_text,
    ) and strides_alike


def names_an_element_twice(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two indices may reach one element.

    False for whatever slicing, transposing and padding give: each stride passes all that the smaller ones reach.
    """
    if 0 in shape:
        return False
    reached = 0
    for stride, extent in sorted((abs(s), e) for s, e in zip(strides, shape, strict=True) if e > 1):
        if stride <= reached:
            return True
        reached += (extent - 1) * stride
    return False


def _array(view: TensorView, element_bytes: int) -> object:
    placed = _Placed(
        {
            "data": (view.pointer, True),
            "shape": view.shape,
            "strides": tuple(stride * element_bytes for stride in view.strides),
            "typestr": f"|V{element_bytes}",
            "version": 3,
        }
    )
    return np.asarray(placed)
