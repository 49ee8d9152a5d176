"""Host tensors of any library as NumPy arrays of raw storage, over the same memory. Copies nothing."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentkern.runtime.tensors import BoundTensor


def raw_array(bound: BoundTensor) -> NDArray[Any]:
    """Return the memory of a host tensor in its storage type; the tensor must outlive the array."""
    view, dtype = bound.view, np.dtype(bound.param.dtype.storage)
    assert view.device.kind == "cpu", f"`{bound.param.name}` is on {view.device}"
    if view.elements == 0:
        return np.empty(view.shape, dtype)
    last = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True))
    memory = memoryview((ctypes.c_char * ((last + 1) * dtype.itemsize)).from_address(view.pointer))
    strides = tuple(stride * dtype.itemsize for stride in view.strides)
    return np.ndarray(view.shape, dtype, memory, strides=strides)
