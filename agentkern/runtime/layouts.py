"""Memory with prescribed strides: what a parameter asks for, and host arrays laid out so. Gaps belong to no element."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.abi import KernelAbi, TensorParam
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.records import layout_at
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.overlap import names_an_element_twice

MOST_ALIGNED = 256
"""Bytes: the most that an annotation may prescribe."""


def prescribed(param: TensorParam, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """Return the strides, in elements, that every call must bring; None for any.

    Errors: AK704 for what is written, where two of its elements would lie in one place.
    """
    if param.strides is None:
        return None
    strides = tuple(dims.evaluate(stride, sizes) for stride in param.strides)
    shape = tuple(dims.evaluate(extent, sizes) for extent in param.shape)
    if param.access != "in" and names_an_element_twice(shape, strides):
        raise CallError("AK704", name=param.name, got=strides, expected="a place of its own for each element")
    return strides


def granule_of(param: TensorParam, sizes: Mapping[str, int]) -> int:
    """Return at multiples of how many elements the tensor and its rows begin: wider ones in them need that."""
    inside = 1 if param.record is None else layout_at(param.record, sizes).granule
    return max(param.granule, inside)


def span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return how many elements the memory holds, gaps behind the last row included; 0 for no element."""
    if 0 in shape:
        return 0
    reached = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    return max([reached, *(extent * stride for extent, stride in zip(shape, strides, strict=True))])


def same_places(shape: tuple[int, ...], have: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether strides lead to the same places: those of single elements lead nowhere."""
    return 0 in shape or all(n <= 1 or a == b for n, a, b in zip(shape, have, wanted, strict=True))


def aligned_memory(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return elements that begin at an address which every alignment that can be prescribed divides."""
    held = np.zeros(count * dtype.itemsize + MOST_ALIGNED, np.uint8)
    start = -held.ctypes.data % MOST_ALIGNED
    return held[start : start + count * dtype.itemsize].view(dtype)


def fitting(param: TensorParam, array: NDArray[Any], sizes: Mapping[str, int]) -> NDArray[Any]:
    """Return the array, or a copy where its memory is not as the parameter prescribes."""
    strides = prescribed(param, sizes)
    have = tuple(stride // array.itemsize for stride in array.strides)
    places = strides is None or same_places(array.shape, have, strides)
    if places and array.ctypes.data % max(param.aligned, granule_of(param, sizes) * param.dtype.nbytes) == 0:
        return array
    return spread(array, contiguous(array.shape) if strides is None else strides)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides without gaps, in elements."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def spread(array: NDArray[Any], strides: tuple[int, ...]) -> NDArray[Any]:
    """Return a copy of the elements in memory of its own with these strides."""
    memory = aligned_memory(span(array.shape, strides), array.dtype)
    found = np.ndarray(array.shape, array.dtype, memory, 0, tuple(s * array.itemsize for s in strides))
    found[...] = array
    return found


@contextmanager
def laid_out(
    abi: KernelAbi, tensors: Mapping[str, NDArray[Any]], sizes: Mapping[str, int]
) -> Generator[dict[str, NDArray[Any]]]:
    """Give the arrays as the kernel asks for them: copies where strides are prescribed, taken back at the end.

    Scratch may be left out.
    """
    found = dict(tensors)
    params = {param.name: param for param in abi.params if isinstance(param, TensorParam) and param.name in tensors}
    for name, param in params.items():
        found[name] = fitting(param, tensors[name], sizes)
    yield found
    for name, array in found.items():
        if array is not tensors[name] and params[name].access != "in":
            tensors[name][...] = array
