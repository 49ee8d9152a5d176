"""Memory for scratch that a caller does not give: a build may have more than the kernel's text names."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.abi import KernelAbi, TensorParam
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.reference_formats import STORAGE

POISON = 0x5A
"""What scratch holds before a kernel writes it, byte by byte where an element is one."""


def scratch_arrays(abi: KernelAbi, sizes: Mapping[str, int], given: Container[str]) -> dict[str, NDArray[Any]]:
    """Arrays of raw storage for the scratch of `abi` that is not among the names `given`."""
    params = [p for p in abi.params if isinstance(p, TensorParam) and p.access == "scratch" and p.name not in given]
    numbers = dict(abi.statics) | dict(sizes)
    return {
        p.name: np.full([dims.evaluate(e, numbers) for e in p.shape], POISON, STORAGE[p.dtype.name]) for p in params
    }
