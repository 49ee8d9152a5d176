"""Which build of a kernel fits given tensors: by class only, never by value.

A build assumes that rows of tensors with run-time extents begin at multiples of `alignment` bytes, and that tensors not
in `strided` are contiguous. There are five alignments, so few builds per kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from agentkern.compiler.abi import KernelAbi, TensorParam, Variant, params_of
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.views import contiguous_strides

MAX_ALIGNMENT = 16


def fitting_variant(
    kernel: Kernel | KernelAbi,
    sizes: Mapping[str, int],
    strided: tuple[str, ...] = (),
    address_alignment: int = MAX_ALIGNMENT,
    shared: tuple[tuple[str, str], ...] = (),
) -> Variant:
    """The variant for a call: `address_alignment` is what every tensor's address is a multiple of, in bytes.

    `shared`: outputs with the inputs that they are.
    """
    alignment = gcd(address_alignment, MAX_ALIGNMENT)
    tensors = _tensors(kernel)
    fixed = {tensor.name for tensor in tensors if tensor.strides is not None}
    strided = tuple(name for name in strided if name not in fixed)
    for tensor in tensors:
        if tensor.name in strided:
            continue
        for stride in tensor.strides or contiguous_strides(tensor.shape)[:-1]:
            if not isinstance(stride, int):
                alignment = gcd(alignment, tensor.dtype.nbytes * dims.evaluate(stride, sizes))
    return Variant(strided, alignment, shared)


def _tensors(kernel: Kernel | KernelAbi) -> list[TensorParam]:
    params = kernel.params if isinstance(kernel, KernelAbi) else params_of(kernel)
    return [param for param in params if isinstance(param, TensorParam)]
