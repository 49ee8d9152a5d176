"""Make tensors of the library that the caller uses, for outputs that were not given and for scratch.

Their elements are undefined. torch and NumPy are imported here, when first needed, for neither is when only compiling.
"""

from __future__ import annotations

import importlib

from agentkern.dsl.dtypes import DType
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.tensor_view import FOREIGN_NAMES, RAW_IN_NUMPY, Device, Library


def allocate(parameter: str, dtype: DType, shape: tuple[int, ...], device: Device, library: Library | None) -> object:
    """Return an uninitialised contiguous tensor: a NumPy array on the host unless the caller uses torch, else torch's.

    Errors: AK702 when torch is needed and not installed.
    """
    if device.kind == "cpu" and library != "torch":
        name = dtype.storage if dtype.name in RAW_IN_NUMPY else FOREIGN_NAMES[dtype.name]
        return importlib.import_module("numpy").empty(shape, dtype=name)
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as e:
        raise CallError(
            "AK702",
            name=parameter,
            got="left out, and torch, which would allocate it, is not installed",
            expected="a tensor",
        ) from e
    return torch.empty(shape, dtype=getattr(torch, FOREIGN_NAMES[dtype.name]), device=str(device))
