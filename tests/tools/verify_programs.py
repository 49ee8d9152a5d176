"""Programs and executors that tests of verify run: TILE texts, right and deliberately broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.reference_formats import Raw
from agentkern.compiler.schedule import GridSchedule, Schedule
from agentkern.tools.verify_executors import InterpreterExecutor
from agentkern.tools.verify_model import BuildError, Call, Run, RunOptions, Sizes

Break = Callable[[Call, RunOptions, dict[str, Raw]], dict[str, Raw]]


@dataclass(frozen=True, slots=True)
class TextProgram:
    """A TILE text whose static sizes take any number."""

    text: str
    rejected: tuple[int, ...] = ()

    def tile(self, sizes: Sizes) -> Kernel:
        kernel = parse_kernel(self.text)
        if any(sizes.get(info.name) in self.rejected for info in kernel.sizes if info.static):
            raise BuildError("rejected size")
        return kernel

    def schedules(self, sizes: Sizes, count: int) -> tuple[Schedule | None, ...]:
        return tuple(Schedule((GridSchedule((2**k,), 4, 1, 1),)) for k in range(count))

    @property
    def sizes(self) -> tuple[SizeInfo, ...]:
        return parse_kernel(self.text).sizes


@dataclass(frozen=True, slots=True)
class BrokenExecutor:
    """The interpreter, with its outputs spoiled."""

    program: TextProgram
    spoil: Break
    device: str = "cpu"

    def run(self, call: Call, options: RunOptions) -> Run:
        run = InterpreterExecutor(self.program).run(call, replace(options, order=0))
        return replace(run, outputs=self.spoil(call, options, {k: v.copy() for k, v in run.outputs.items()}))


def flip_last_bit(raw: Raw) -> Raw:
    """The array with the lowest bit of its last element flipped."""
    bits = np.ascontiguousarray(raw).view(f"u{raw.dtype.itemsize}").copy()
    if bits.size:
        bits.reshape(-1)[-1] ^= 1
    return bits.view(raw.dtype)
