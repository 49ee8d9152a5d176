"""Which build of a kernel fits given tensors: by class only, never by value.

A build assumes that rows of tensors with run-time extents begin at multiples of `alignment` bytes, and that tensors not
in `strided` are contiguous. There are five alignments, so few builds per kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from agentkern.compiler.abi import KernelAbi, ScalarParam, TensorParam, Variant
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TensorType

MAX_ALIGNMENT = 16


def fitting_variant(
    kernel: Kernel | KernelAbi,
    sizes: Mapping[str, int],
    strided: tuple[str, ...] = (),
    address_alignment: int = MAX_ALIGNMENT,
) -> Variant:
    """The variant for a call: `address_alignment` is what every tensor's address is a multiple of, in bytes."""
    alignment = gcd(address_alignment, MAX_ALIGNMENT)
    for name, nbytes, shape in _tensors(kernel):
        if name in strided:
            continue
        for axis in range(1, len(shape)):
            stride = dims.product(shape[axis:])
            if not isinstance(stride, int):
                alignment = gcd(alignment, nbytes * dims.evaluate(stride, sizes))
    return Variant(strided, alignment)


def _tensors(kernel: Kernel | KernelAbi) -> list[tuple[str, int, tuple[int | Dim, ...]]]:
    found: list[tuple[str, int, tuple[int | Dim, ...]]] = []
    for param in kernel.params:
        if isinstance(param, TensorParam):
            found.append((param.name, param.dtype.nbytes, param.shape))
        elif not isinstance(param, ScalarParam) and isinstance(param.type, TensorType):
            found.append((param.name or "", param.type.dtype.nbytes, param.type.shape))
    return found
