"""Run GPU-stage text in the simulator on small sizes, with the earliest and the latest completion of what is asynchronous.

The product walks tiles 132 blocks apart; here one block does all of them, so that few tiles turn its rings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agentkern.compiler.abi import Argument, KernelAbi, Launch, TensorParam, Variant
from agentkern.compiler.codegen.cuda import kernel_arguments, print_cuda
from agentkern.compiler.driver import ARCHITECTURES
from agentkern.compiler.ir.core import Kernel, Op
from agentkern.compiler.ir.dims import Dim, evaluate
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.runtime.simulator import (
    Buffer,
    Completion,
    SimulatorModule,
    SimulatorOptions,
    SimulatorReport,
    TensorMapArgument,
    build,
)
from agentkern.runtime.tensor_map import TensorMap
from tests.gpu_stage.faults import ATTENTION, PRODUCT

# Two tiles of six and five k steps; two blocks of five key blocks, the last short.
SIZES: Mapping[str, Mapping[str, int]] = {
    PRODUCT: {"M": 200, "N": 256, "K": 328},
    ATTENTION: {"M": 100, "N": 328},
}
POISON = 0x7F81
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did: the output's bits, and what the simulator says."""

    bits: np.ndarray
    reports: tuple[SimulatorReport, ...]

    @property
    def messages(self) -> list[str]:
        """Findings, in words."""
        return [finding.message for report in self.reports for finding in report.findings]


def on_one_block(text: str) -> str:
    """The product's text for a launch of one block."""
    return text.replace("blocks = 132", "blocks = 1").replace("value = 132}", "value = 1}")


def _inputs(abi: KernelAbi, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Seeded bf16 numbers between -1 and 1 as bits; outputs poisoned."""
    generator = np.random.default_rng(5)
    found: dict[str, np.ndarray] = {}
    for param in abi.params:
        if isinstance(param, TensorParam):
            shape = tuple(evaluate(extent, sizes) for extent in param.shape)
            numbers = generator.uniform(-1, 1, shape).astype(np.float32).view(np.uint32)
            found[param.name] = (numbers >> 16).astype(np.uint16)
            if param.access == "out":
                found[param.name][...] = POISON
    return found


def _map(argument: Argument, array: np.ndarray) -> TensorMap:
    swizzle = argument.swizzle
    return TensorMap(argument.dtype, array.shape, array.strides, argument.box, swizzle)


def _launch(abi: KernelAbi, module: SimulatorModule, sizes: Mapping[str, int], options: SimulatorOptions) -> Outcome:
    arrays = _inputs(abi, sizes)
    outputs = {p.name for p in abi.params if isinstance(p, TensorParam) and p.access == "out"}
    buffers = {
        name: Buffer(name, array, writable=name in outputs, initialised=name not in outputs)
        for name, array in arrays.items()
    }

    def value(argument: Argument) -> Buffer | TensorMapArgument | int | float:
        if argument.kind == "pointer":
            return buffers[argument.name]
        if argument.kind == "size":
            return sizes[argument.name]
        if argument.kind == "tensor_map":
            words = _map(argument, arrays[argument.tensor]).simulator_words
            return TensorMapArgument(buffers[argument.tensor], words)
        return 0.125

    reports = [
        module.launch(
            launch.function,
            evaluate(launch.blocks, sizes),
            launch.threads,
            launch.shared_bytes,
            [value(argument) for argument in launch.arguments],
            options,
        )
        for launch in abi.launches
    ]
    return Outcome(arrays[min(outputs)], tuple(reports))


def _abi(kernel: Kernel) -> KernelAbi:
    """How to call a kernel of tensors."""
    tensors = [(value.name or "", value.type) for value in kernel.params]
    params = tuple(TensorParam(n, t.dtype, t.shape, t.access) for n, t in tensors if isinstance(t, TensorType))
    arguments = kernel_arguments(kernel, ())
    launches = tuple(_launch_of(function, arguments) for function in kernel.body)
    return KernelAbi(kernel.name, params, kernel.sizes, (), launches, Variant())


def _launch_of(function: Op, arguments: tuple[Argument, ...]) -> Launch:
    name, blocks, threads, nbytes = (function.attrs[k] for k in ("name", "blocks", "threads", "shared_bytes"))
    assert isinstance(name, str) and isinstance(blocks, int | Dim)
    assert isinstance(threads, int) and isinstance(nbytes, int)
    return Launch(name, blocks, threads, nbytes, arguments)


def run_text(text: str, kernel: str, cache: Path, completions: tuple[Completion, ...]) -> list[Outcome]:
    """One outcome for each completion mode, of a text that the checker may reject: the driver is left out.

    Errors: IrError.
    """
    read = parse_kernel(on_one_block(text) if kernel == PRODUCT else text)
    verify_kernel(read)
    abi, module = _abi(read), build(print_cuda(read, ARCHITECTURES["sm_90a"]).text, cache)
    return [
        _launch(abi, module, SIZES[kernel], SimulatorOptions(completion=completion, time_limit_s=SECONDS))
        for completion in completions
    ]
