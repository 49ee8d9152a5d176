"""One run of one instruction row: a kernel, what goes in, and the bytes that must come out.

A kernel reads `in`, an array of 32-bit words, and writes `out`, which starts filled with FILL. Everything it does to
memory goes through the prelude, so that the same text runs in the simulator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.codegen.prelude import prelude_text
from agentkern.runtime.tensor_map import TensorMap

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]

FILL = 0xEE
SHARED = "extern __shared__ __align__(1024) unsigned char ak_smem[];"
_CALLED = re.compile(r"\b(ak_\w+)\(")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's body: statements that see `in`, `out`, `map`, `t` (the thread) and `ak_smem`."""

    name: str
    body: str
    threads: int = 32
    shared_bytes: int = 0
    attributes: str = ""
    has_map: bool = False
    registers: int = 0
    """Registers of each thread at the launch; 0 leaves them to the assembler."""

    @property
    def functions(self) -> list[str]:
        """Prelude functions that it calls."""
        return _CALLED.findall(self.body)

    @property
    def text(self) -> str:
        """The function."""
        map_ = ", const __grid_constant__ AkTensorMap map" if self.has_map else ""
        bounds = f"__maxnreg__({self.registers})" if self.registers else f"__launch_bounds__({self.threads})"
        attributes = f"{self.attributes} " if self.attributes else ""
        lines = [
            f'extern "C" __global__ void {attributes}{bounds}',
            f"{self.name}(const unsigned int* in, unsigned int* out{map_}) {{",
            *([f"  {SHARED}"] if self.shared_bytes else []),
            "  const int t = threadIdx.x;",
            *(f"  {line}" for line in self.body.strip("\n").splitlines()),
            "}",
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class MapPlace:
    """A tensor map and where its tensor begins: in which buffer, at which byte."""

    map: TensorMap
    buffer: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One launch and its outcome."""

    row: str
    label: str
    kernel: Kernel
    words: Words
    expected: Bytes
    blocks: int = 1
    map: MapPlace | None = None


def module_text(kernels: Iterable[Kernel]) -> str:
    """One text with several kernels and the prelude functions that they share."""
    kernels = list({kernel.name: kernel for kernel in kernels}.values())
    types = ["AkTensorMap"] if any(kernel.has_map for kernel in kernels) else []
    names = [*types, *(name for kernel in kernels for name in kernel.functions)]
    return "\n".join([prelude_text(names), *(kernel.text for kernel in kernels)])


def words_of(*pieces: Sequence[int] | NDArray[np.generic]) -> Words:
    """32-bit words of integers and arrays, one after the other; arrays are padded to whole words."""
    found: list[Words] = []
    for piece in pieces:
        if isinstance(piece, np.ndarray):
            raw = np.ascontiguousarray(piece).reshape(-1).view(np.uint8)
            found.append(np.concatenate([raw, np.zeros(-raw.size % 4, np.uint8)]).view(np.uint32))
        else:
            found.append(np.array([value & 0xFFFFFFFF for value in piece], np.uint32))
    return np.concatenate(found) if found else np.zeros(0, np.uint32)


def filled(n_bytes: int) -> Bytes:
    """Bytes as `out` has them before the kernel."""
    return np.full(n_bytes, FILL, np.uint8)


def as_bytes(array: NDArray[np.generic]) -> Bytes:
    """The bytes of an array."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
