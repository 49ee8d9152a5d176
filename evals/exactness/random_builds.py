"""Build random kernels for a pack, several to a translation unit. Needs the compiler and NVRTC, no GPU."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from agentkern.compiler.abi import KernelAbi
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.types import TensorType
from agentkern.runtime.build import build
from agentkern.runtime.nvrtc import NvrtcOptions
from tests.properties.grammar.kernels import random_program
from tests.properties.inputs import arrays
from tests.properties.programs import Program
from tests.properties.run_kernels import Compiled, compile_program, joined_texts


@dataclass(frozen=True)
class Made:
    """A kernel with its arrays before the call and what the interpreter leaves of them; `compared`: the outputs."""

    program: Program
    abi: KernelAbi
    before: dict[str, np.ndarray]
    after: dict[str, np.ndarray]
    compared: tuple[str, ...]


@dataclass(frozen=True)
class Unit:
    """Kernels of one cubin."""

    cubin: bytes
    text: str
    kernels: tuple[Made, ...]


def units(seeds: Iterable[int], target: str, count: int) -> Iterator[Unit]:
    """Cubins of `count` kernels each; what the compiler cannot do yet is left out."""
    compiled = (compile_program(random_program(seed), target=target, gaps=False) for seed in seeds)
    ready = (found for found in compiled if isinstance(found, Compiled))
    for group in iter(lambda: tuple(itertools.islice(ready, count)), ()):
        text = joined_texts([found.result.cuda for found in group])
        cubin = build(text, NvrtcOptions(target), None).cubin
        yield Unit(cubin, text, tuple(map(_made, group)))


def _made(found: Compiled) -> Made:
    program, kernel, abi = found.program, found.result.kernel, found.result.abi
    assert kernel is not None
    assert abi is not None
    before, after = arrays(kernel, program, gaps=False), arrays(kernel, program, gaps=False)
    interpret(kernel, after, program.sizes, program.scalar_values())
    tensors = [p for p in kernel.params if isinstance(p.type, TensorType)]
    outputs = [p.name or "" for p in tensors if isinstance(p.type, TensorType) and p.type.access in ("out", "inout")]
    return Made(program, abi, before, after, tuple(outputs))
