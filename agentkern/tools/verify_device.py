"""Run compiled kernels on a GPU, with poisoned outputs and guard bands. Imports torch: load it where a GPU is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from agentkern.compiler.abi import KernelAbi
from agentkern.compiler.ir.reference_formats import Raw
from agentkern.runtime.build import build
from agentkern.runtime.cache import Cache
from agentkern.runtime.device import GpuKernel
from agentkern.runtime.driver import DriverError
from agentkern.runtime.nvrtc import NvrtcOptions
from agentkern.runtime.signature import signature_of
from agentkern.runtime.tensor_view import FOREIGN_NAMES
from agentkern.runtime.tensors import bind_call
from agentkern.tools.verify_buffers import GUARD_BYTES, GuardedArray, inspect, lay_out, outputs_of
from agentkern.tools.verify_model import Call, ExecutionError, Run, RunOptions
from agentkern.tools.verify_simulator import Compiles, abi_signature


@dataclass(frozen=True, slots=True)
class DeviceExecutor:
    """Builds each text once and runs it on one GPU."""

    program: Compiles
    target: str
    cache: Cache | None
    index: int = 0
    device: str = "cuda"
    cubins: dict[str, bytes] = field(default_factory=dict)

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError; BuildError; NvrtcMissing; NvrtcError."""
        result = self.program.compiled(call.sizes, options.schedule)
        assert result.abi is not None
        if result.cuda not in self.cubins:
            self.cubins[result.cuda] = build(result.cuda, NvrtcOptions(self.target), self.cache).cubin
        return run_on_gpu(result.abi, self.cubins[result.cuda], call, options.poison, self.index)


def run_on_gpu(abi: KernelAbi, cubin: bytes, call: Call, which: int, index: int = 0) -> Run:
    """Run one call on GPU `index` with poison `which` in the outputs. Errors: ExecutionError."""
    signature = abi_signature(abi)
    guarded = lay_out(signature, call, which)
    place = torch.device("cuda", index)
    memory = {name: torch.from_numpy(buffer.memory).to(place) for name, buffer in guarded.items()}
    tensors = {p.name: _view(memory[p.name], guarded[p.name].array, p.dtype.name) for p in signature.tensors}
    try:
        kernel = GpuKernel(abi, cubin, index)
        arguments: Mapping[str, object] = {**tensors, **_sizes(abi, call), **call.scalars}
        kernel.launch(bind_call(signature_of(abi), (), arguments, device=kernel.device))
        torch.cuda.synchronize(place)
    except DriverError as e:
        raise ExecutionError(str(e)) from e
    after = {name: _after(guarded[name], memory[name]) for name in guarded}
    return Run(outputs_of(signature, after), (), inspect(signature, after))


def _sizes(abi: KernelAbi, call: Call) -> dict[str, int]:
    """Return the run-time sizes: a call names those that no tensor shows."""
    return {size.name: call.sizes[size.name] for size in abi.sizes}


def _view(memory: torch.Tensor, array: Raw, dtype: str) -> torch.Tensor:
    """Return the tensor between the guard bands."""
    inner = memory[GUARD_BYTES : GUARD_BYTES + array.nbytes]
    return inner.view(getattr(torch, FOREIGN_NAMES[dtype])).reshape(array.shape)


def _after(buffer: GuardedArray, memory: torch.Tensor) -> GuardedArray:
    """Return the buffer as it is on the device now."""
    found = memory.cpu().numpy()
    inner = found[GUARD_BYTES : GUARD_BYTES + buffer.array.nbytes]
    array = np.ascontiguousarray(inner).view(buffer.array.dtype).reshape(buffer.array.shape)
    return GuardedArray(buffer.name, found, array, buffer.before)
