"""Make tensors of the library that the caller uses, for outputs that were not given and for scratch.

Their elements are undefined. torch and NumPy are imported here, when first needed, for neither is when only compiling.
"""

from __future__ import annotations

import importlib

from agentkern.compiler.abi import TensorParam
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.layouts import aligned_memory, contiguous, span
from agentkern.runtime.tensor_view import FOREIGN_NAMES, RAW_IN_NUMPY, Device, Library

TORCH_ALIGNED = 64
"""Bytes that every address of torch's is a multiple of, on the host too."""


def allocate(
    param: TensorParam, shape: tuple[int, ...], strides: tuple[int, ...] | None, device: Device, library: Library | None
) -> object:
    """Return an uninitialised tensor: a NumPy array on the host unless the caller uses torch, else torch's.

    Contiguous, or with the given strides, in elements.

    Errors: AK702 when torch is needed and not installed.
    """
    dtype = param.dtype
    if device.kind == "cpu" and library != "torch":
        name = dtype.storage if dtype.name in RAW_IN_NUMPY else FOREIGN_NAMES[dtype.name]
        numpy = importlib.import_module("numpy")
        if strides is None and max(param.aligned, param.granule * param.dtype.nbytes) == param.dtype.nbytes:
            return numpy.empty(shape, dtype=name)
        taken = contiguous(shape) if strides is None else strides
        array = aligned_memory(span(shape, taken), numpy.dtype(name))
        return numpy.lib.stride_tricks.as_strided(array, shape, tuple(stride * array.itemsize for stride in taken))
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as e:
        raise CallError(
            "AK702",
            name=param.name,
            got="left out, and torch, which would allocate it, is not installed",
            expected="a tensor",
        ) from e
    kind = getattr(torch, FOREIGN_NAMES[dtype.name])
    if strides is None and param.aligned <= TORCH_ALIGNED:
        return torch.empty(shape, dtype=kind, device=str(device))
    taken = contiguous(shape) if strides is None else strides
    tensor = torch.empty(span(shape, taken) + param.aligned // dtype.nbytes, dtype=kind, device=str(device))
    return tensor[-tensor.data_ptr() % param.aligned // dtype.nbytes :].as_strided(shape, taken)
