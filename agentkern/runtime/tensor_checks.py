"""Check one tensor against its parameter: everything that needs neither the other tensors nor the sizes."""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.records import Layout
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.layouts import granule_of, prescribed, same_places
from agentkern.runtime.overlap import names_an_element_twice
from agentkern.runtime.tensor_view import TensorView, holds

BYTE = 8
"""Bits of one."""


def _check_records(name: str, record: Layout, view: TensorView) -> None:
    """Records are bytes of any one-byte type, those of one record without gaps. Errors: AK702, AK704."""
    if view.dtype is None or view.dtype.bits != BYTE or view.dtype.kind == "bool":
        expected = f"bytes (`uint8`), one row of {record.nbytes} for each record `{record.name}`"
        raise CallError("AK702", name=name, got=view.dtype_text, expected=expected)
    if view.elements and view.shape and view.shape[-1] > 1 and view.strides[-1] != 1:
        expected = f"the bytes of a record `{record.name}` one after another"
        raise CallError("AK704", name=name, got=view.strides, expected=expected)


def check_tensor(param: TensorParam, view: TensorView) -> None:
    """Check dtype, memory, alignment of elements and strides.

    Errors: AK702, AK704, AK711, AK712, AK713.
    """
    name, element_bytes, written = param.name, param.dtype.nbytes, param.access != "in"
    if param.record is not None:
        _check_records(name, param.record, view)
    elif not holds(view, param.dtype):
        raise CallError("AK702", name=name, got=view.dtype_text, expected=param.dtype.name)
    if written and view.read_only:
        raise CallError("AK713", name=name)
    if view.elements == 0:
        return
    if view.pointer == 0:
        raise CallError("AK712", name=name, shape=view.shape)
    if view.pointer % element_bytes:
        raise CallError("AK711", name=name, got=view.pointer & -view.pointer, expected=element_bytes)
    strides = [stride for stride, extent in zip(view.strides, view.shape, strict=True) if extent > 1]
    if any(stride < 0 for stride in strides):
        raise CallError("AK704", name=name, got=view.strides, expected="none below 0")
    if written and names_an_element_twice(view.shape, view.strides):
        raise CallError("AK704", name=name, got=view.strides, expected="a place of its own for each element")


def check_layout(param: TensorParam, view: TensorView, sizes: Mapping[str, int]) -> None:
    """Check what a parameter prescribes of its memory, once the sizes are known.

    Errors: AK704 other strides, or rows that are no whole number of a view's wider elements; AK711 its address.
    """
    if view.elements == 0:
        return
    strides = prescribed(param, sizes)
    if strides is not None and not same_places(view.shape, view.strides, strides):
        raise CallError("AK704", name=param.name, got=view.strides, expected=strides)
    granule = granule_of(param, sizes)
    aligned = max(param.aligned, granule * param.dtype.nbytes)
    if view.pointer % aligned:
        raise CallError("AK711", name=param.name, got=view.pointer & -view.pointer, expected=aligned)
    apart = [stride for stride, extent in zip(view.strides[:-1], view.shape[:-1], strict=True) if extent > 1]
    joined = not view.shape or view.shape[-1] <= 1 or view.strides[-1] == 1
    if granule > 1 and not (joined and all(stride % granule == 0 for stride in apart)):
        expected = f"rows without gaps that begin at multiples of {granule} elements"
        raise CallError("AK704", name=param.name, got=view.strides, expected=expected)
