"""Where the elements of a tensor, or of a view of one, lie in memory: by strides, or by the tensor's indices.

A view has strides on every tensor without gaps. On one with free strides it mostly has too: what a view permutes, parts
or cuts keeps the tensor's own strides. Axes that it joins do not: there an element's number is parted into the tensor's
own indices, by division.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.ir.views import Strided, ViewError, granule, strided, view_of
from agentkern.compiler.passes.lower.arithmetic import I64
from agentkern.compiler.passes.lower.function import FunctionLowering
from agentkern.compiler.passes.lower.tables import is_strided

Extent = int | Dim


@dataclass(frozen=True, slots=True)
class Parting:
    """Extents and strides of a tensor, in elements of a view's dtype."""

    extents: tuple[Extent, ...]
    strides: tuple[Extent, ...]


def lies_of(function: FunctionLowering, op: Op) -> tuple[Strided, Parting | None]:
    """Strides of what an access subscripts; with a parting, those of the same view of a tensor without gaps."""
    tensor, view = op.operands[0].type, view_of(op)
    assert isinstance(tensor, TensorType)
    name = op.operands[0].name or ""
    if not is_strided(function.variant, op.operands[0]) or tensor.strides is not None:
        return strided(tensor, view), None
    wide = granule(tensor, view)
    strides = [dims.symbol(f"{name}.stride{axis}") for axis in range(tensor.rank)]
    given = _rows_of_whole(strides, wide) if wide > 1 else tuple(strides)
    try:
        return strided(tensor, view, given), None
    except ViewError:
        found = strided(tensor, view)
        return found, _parting(tensor, given, found.dtype.bits)


def _rows_of_whole(strides: list[Dim], wide: int) -> tuple[Extent, ...]:
    """Strides of a tensor whose rows the host has found to be whole numbers of `wide` elements without gaps."""
    return (*(dims.mul(dims.floordiv(stride, wide), wide) for stride in strides[:-1]), 1)


def _parting(tensor: TensorType, strides: tuple[Extent, ...], bits: int) -> Parting:
    """The tensor's axes in elements of `bits`: parts of its own are one more axis, several of its own are one."""
    if bits <= tensor.dtype.bits:
        parts = tensor.dtype.bits // bits
        scaled = tuple(dims.mul(stride, parts) for stride in strides)
        return Parting((*tensor.shape, parts), (*scaled, 1))
    wide = bits // tensor.dtype.bits
    extents = (*tensor.shape[:-1], dims.floordiv(tensor.shape[-1], wide))
    return Parting(extents, (*(dims.floordiv(stride, wide) for stride in strides[:-1]), 1))


def parted(function: FunctionLowering, parting: Parting, number: int | Value) -> int | Value:
    """The offset of the element with a number in row-major order."""
    index = function.index
    rest = index.value(number, I64) if isinstance(number, Value) else number
    total: int | Value = 0
    for axis in reversed(range(len(parting.extents))):
        extent, stride = function.extent(parting.extents[axis]), function.extent(parting.strides[axis])
        digit = rest if axis == 0 else index.remainder(rest, extent)
        rest = index.quotient(rest, extent) if axis else rest
        total = index.add(total, wide_product(function, digit, stride))
    return total


def wide_product(function: FunctionLowering, number: int | Value, stride: int | Value) -> int | Value:
    """A product in 64 bits."""
    if isinstance(number, int) and isinstance(stride, int):
        return number * stride
    if number == 0 or stride == 0:
        return 0
    wide = function.index.value(number, I64) if isinstance(number, Value) else number
    return function.index.multiply(wide, stride)
