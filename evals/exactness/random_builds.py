"""Build random kernels for a pack, several to a translation unit. Needs the compiler and NVRTC, no GPU."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from agentkern.compiler.abi import KernelAbi, TensorParam, params_of
from agentkern.runtime.build import build
from agentkern.runtime.nvrtc import NvrtcOptions
from tests.properties.grammar.kernels import random_program
from tests.properties.inputs import arrays
from tests.properties.programs import Program
from tests.properties.run_kernels import Compiled, compile_program, ends, joined_texts


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
    made = ((found.result.cuda, _made(found)) for found in compiled if isinstance(found, Compiled))
    ready = ((cuda, kernel) for cuda, kernel in made if kernel is not None)
    for group in iter(lambda: tuple(itertools.islice(ready, count)), ()):
        text = joined_texts([cuda for cuda, _ in group])
        cubin = build(text, NvrtcOptions(target), None).cubin
        yield Unit(cubin, text, tuple(kernel for _, kernel in group))


def _made(found: Compiled) -> Made | None:
    """A kernel with its arrays; None where a requirement stops it, which on a GPU ends the process."""
    program, kernel, abi = found.program, found.result.kernel, found.result.abi
    assert kernel is not None
    assert abi is not None
    before, after = arrays(kernel, program, gaps=False), arrays(kernel, program, gaps=False)
    if not ends(kernel, program, after):
        return None
    outputs = [p.name for p in params_of(kernel) if isinstance(p, TensorParam) and p.access in ("out", "inout")]
    return Made(program, abi, before, after, tuple(outputs))
