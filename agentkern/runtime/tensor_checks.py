"""Check one tensor against its parameter: everything that needs neither the other tensors nor the sizes."""

from __future__ import annotations

from agentkern.compiler.abi import TensorParam
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.overlap import names_an_element_twice
from agentkern.runtime.tensor_view import TensorView, holds


def check_tensor(param: TensorParam, view: TensorView) -> None:
    """Check dtype, memory, alignment of elements and strides.

    Errors: AK703, AK707, AK709, AK710, AK713.
    """
    name, written = param.name, param.access != "in"
    if not holds(view, param.dtype):
        raise CallError(
            "AK703",
            f"`{name}` has dtype {view.dtype_text}, expected {param.dtype.name}",
            parameter=name,
            got=view.dtype_text,
            expected=param.dtype.name,
        )
    if written and view.read_only:
        raise CallError("AK713", f"`{name}` is read-only, and the kernel writes it", parameter=name, got="read-only")
    if view.elements == 0:
        return
    if view.pointer == 0:
        raise CallError(
            "AK710", f"`{name}` of shape {view.shape} has a null address", parameter=name, got="null address"
        )
    if view.pointer % param.dtype.nbytes:
        raise CallError(
            "AK709",
            f"`{name}` lies at an address that is no multiple of its {param.dtype.nbytes}-byte elements",
            parameter=name,
            got=hex(view.pointer),
            expected=f"a multiple of {param.dtype.nbytes}",
        )
    strides = [stride for stride, extent in zip(view.strides, view.shape, strict=True) if extent > 1]
    if any(stride < 0 for stride in strides):
        raise CallError(
            "AK707",
            f"`{name}` has strides {view.strides}, expected none below 0: pass a copy",
            parameter=name,
            got=str(view.strides),
            expected="strides of at least 0",
        )
    if written and names_an_element_twice(view):
        raise CallError(
            "AK707",
            f"`{name}` has shape {view.shape} and strides {view.strides}, so that two indices write one element",
            parameter=name,
            got=str(view.strides),
            expected="one place for each element",
        )
