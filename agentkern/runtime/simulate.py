"""Run a compiled kernel's launches on the CPU simulator, on raw storage arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agentkern.compiler.abi import Argument, KernelAbi, TensorParam
from agentkern.runtime.launch_blocks import blocks_of
from agentkern.runtime.layouts import laid_out
from agentkern.runtime.scalar_arguments import bind_scalar
from agentkern.runtime.scratch import scratch_arrays
from agentkern.runtime.simulator import (
    Buffer,
    SimulatorModule,
    SimulatorOptions,
    SimulatorReport,
    TableArgument,
    TensorMapArgument,
)
from agentkern.runtime.tensor_map import TensorMap

Scalar = int | float | bool


def simulate(
    abi: KernelAbi,
    module: SimulatorModule,
    tensors: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    scalars: Mapping[str, Scalar],
    options: SimulatorOptions,
) -> tuple[SimulatorReport, ...]:
    """Run every launch in order; outputs are written in place. One report per launch that ran.

    `tensors` hold raw storage of each parameter's shape, laid out as prescribed or copied so. Outputs count as
    uninitialised until written. Scratch may be left out.
    Errors: AK714 for more blocks than a grid can have.
    """
    with laid_out(abi, {**scratch_arrays(abi, sizes, tensors), **tensors}, sizes) as placed:
        return _run(abi, module, placed, sizes, scalars, options)


def _run(
    abi: KernelAbi,
    module: SimulatorModule,
    tensors: Mapping[str, np.ndarray],
    sizes: Mapping[str, int],
    scalars: Mapping[str, Scalar],
    options: SimulatorOptions,
) -> tuple[SimulatorReport, ...]:
    buffers = {
        param.name: Buffer(
            param.name,
            tensors[param.name],
            writable=param.access != "in",
            initialised=param.access in ("in", "inout"),
        )
        for param in abi.params
        if isinstance(param, TensorParam)
    }

    def value(argument: Argument) -> Buffer | TensorMapArgument | TableArgument | int | float:
        if argument.kind == "pointer":
            return buffers[argument.name]
        if argument.kind == "size":
            return sizes[argument.name]
        if argument.kind == "stride":
            array = tensors[argument.name]
            return array.strides[argument.axis] // array.itemsize
        if argument.kind == "tensor_map":
            array = tensors[argument.tensor]
            map_ = TensorMap(argument.dtype, array.shape, array.strides, argument.box, argument.swizzle)
            return TensorMapArgument(buffers[argument.tensor], map_.simulator_words)
        if argument.kind == "table":
            return TableArgument(buffers=tuple(buffers[name] for name in argument.entries))
        if argument.kind == "stride_table":
            arrays = [tensors[name] for name in argument.entries]
            return TableArgument(numbers=tuple(s // array.itemsize for array in arrays for s in array.strides))
        scalar = scalars[argument.name]
        if argument.dtype.is_float and argument.dtype.bits <= 16:
            return int.from_bytes(bind_scalar(argument.name, argument.dtype, scalar).data, "little")
        return scalar

    reports: list[SimulatorReport] = []
    for launch in abi.launches:
        blocks = blocks_of(launch, sizes)
        if blocks > 0:
            arguments = [value(argument) for argument in launch.arguments]
            reports.append(
                module.launch(launch.function, blocks, launch.threads, launch.shared_bytes, arguments, options)
            )
    return tuple(reports)
