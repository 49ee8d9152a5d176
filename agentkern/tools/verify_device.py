"""Run compiled kernels on a GPU in a worker process, with poisoned outputs and guard bands."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentkern.compiler.abi import KernelAbi
from agentkern.runtime.build import build
from agentkern.runtime.cache import Cache
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.gpu_run import GpuProgram, GpuRunFailed, HostImage, run_on_gpu
from agentkern.runtime.nvrtc import NvrtcError, NvrtcOptions
from agentkern.runtime.worker import Worker
from agentkern.tools.verify_buffers import inspect, lay_out, outputs_of
from agentkern.tools.verify_model import Call, ExecutionError, Run, RunOptions
from agentkern.tools.verify_simulator import Compiles, abi_signature

TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class DeviceExecutor:
    """Builds each text once and runs it on one GPU. `worker` has the jobs of `gpu_job`."""

    program: Compiles
    target: str
    cache: Cache | None
    worker: Worker
    index: int = 0
    device: str = "cuda"
    cubins: dict[str, bytes] = field(default_factory=dict)

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError; BuildError; NvrtcMissing; NoDriver."""
        result = self.program.compiled(call.sizes, options)
        assert result.abi is not None
        if result.cuda not in self.cubins:
            try:
                self.cubins[result.cuda] = build(result.cuda, NvrtcOptions(self.target), self.cache).cubin
            except NvrtcError as e:
                raise ExecutionError(f"the CUDA compiler refused the text: {e.summary}") from e
        return run_cubin(self.worker, result.abi, self.cubins[result.cuda], call, options, self.index)


def run_cubin(worker: Worker, abi: KernelAbi, cubin: bytes, call: Call, options: RunOptions, index: int = 0) -> Run:
    """Run one call; schedule and order are the cubin's. Errors: ExecutionError; NoDriver."""
    signature = abi_signature(abi)
    guarded = lay_out(signature, call, options)
    images = {name: HostImage(buffer.array, buffer.memory) for name, buffer in guarded.items()}
    try:
        program = GpuProgram(abi, cubin, index)
        run_on_gpu(worker, program, images, call.sizes, call.scalars, timeout_s=TIMEOUT_S)
    except (GpuRunFailed, CallError) as e:
        raise ExecutionError(str(e)) from e
    return Run(outputs_of(signature, guarded), (), inspect(signature, guarded))
