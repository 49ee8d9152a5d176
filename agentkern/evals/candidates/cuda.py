"""A submission in CUDA C++: its kernels run on a GPU, or, where there is none, on the CPU simulator where it can.

Compiled and run in the isolated process; what comes back is the memory of the buffers, which the judge compares. The
simulator runs a submission's plain loads and stores unchecked but for pages and guard bands around the buffers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from agentkern.compiler.ir.reference_formats import STORAGE
from agentkern.evals.candidates import cuda_text
from agentkern.evals.candidates.confine import Limits
from agentkern.evals.candidates.cuda_plan import (
    MAX_BLOCKS,
    MAX_SCRATCH_BYTES,
    MAX_SHARED_BYTES,
    MAX_THREADS,
    BadPlan,
    CudaLaunch,
    CudaPlan,
    evaluate,
    read_plan,
)
from agentkern.evals.candidates.isolated import Isolation
from agentkern.evals.candidates.protocol import CandidateUnavailable, Refusal
from agentkern.evals.candidates.results import is_answer
from agentkern.evals.candidates.targets import target_of
from agentkern.evals.records import Language
from agentkern.runtime.cache import cache_folder
from agentkern.runtime.nvrtc_library import NvrtcMissing, find_nvrtc
from agentkern.runtime.scalar_arguments import bind_scalar
from agentkern.runtime.simulator import SimulatorUnavailableError, host_compiler, kernel_names
from agentkern.runtime.simulator.binding import load_engine
from agentkern.runtime.worker import JobFailed
from agentkern.tools.verify_buffers import GuardedArray, inspect, lay_out, outputs_of
from agentkern.tools.verify_model import Call, ExecutionError, Run, RunOptions, Signature, Sizes

TIME_LIMIT_S = 20.0
_COMPILE_S = 90.0
_MAX_OBJECT_BYTES = 64 << 20
_JOBS = "agentkern.evals.candidates.cuda_jobs"


@dataclass(slots=True)
class _Built:
    """What compilation left: machine code for the device that is used, and the widths of each kernel's parameters."""

    plan: CudaPlan | None = None
    cubin: bytes = b""
    host_object: bytes = b""
    widths: Mapping[str, list[int]] = field(default_factory=dict[str, list[int]])


@dataclass(frozen=True)
class CudaCandidate:
    """One text for one task: `signature` and `sizes` are the task's."""

    signature: Signature
    sizes: tuple[str, ...]
    source: str
    isolation: Isolation = field(default_factory=Isolation)
    device: Literal["cpu", "cuda"] = "cpu"
    language: Language = "cuda"
    finds_races: bool = False
    _built: _Built = field(default_factory=_Built)

    @property
    def permutes(self) -> bool:
        """Return whether orders of threads and blocks can be chosen."""
        return self.device == "cpu"

    def prepare(self) -> Refusal | None:
        """Read the plan, compile, and compare the kernels' parameters with it. Errors: CandidateUnavailable."""
        known = (*(t.name for t in self.signature.tensors), *(s.name for s in self.signature.scalars), *self.sizes)
        try:
            plan = read_plan(self.source)
            plan.check_names(known, tuple(t.name for t in self.signature.outputs))
        except BadPlan as e:
            return Refusal("signature", str(e))
        unknown = cuda_text.unknown_headers(self.source)
        if unknown:
            return Refusal("compile", f"`{unknown[0]}` cannot be included; headers are {', '.join(cuda_text.HEADERS)}")
        present = kernel_names(self.source)
        for launch in plan.launches:
            if launch.kernel not in present:
                return Refusal("signature", f"the text has no kernel `{launch.kernel}`; it has {', '.join(present)}")
        self._built.plan = plan
        refused = self._compile_for_device()
        if refused is None and self.device == "cpu":
            self._compile_for_host(plan)
        return refused or self._wrong_count(plan)

    def _compile_for_device(self) -> Refusal | None:
        """Compile with NVRTC where it and the headers are; on the CPU that is a check only."""
        include = cuda_text.cuda_include_folder()
        missing = cuda_text.cuda_headers_of(self.source) if include is None else ()
        try:
            find_nvrtc()
        except NvrtcMissing as e:
            return self._cannot_compile(str(e))
        if missing:
            return self._cannot_compile(f"`{missing[0]}` is not installed")
        argument = {
            "text": cuda_text.device_text(self.source),
            "arch": target_of(self.device),
            "include": str(include) if include is not None else "",
        }
        readable = [] if include is None else [include]
        limits = Limits(seconds=_COMPILE_S)
        found = self.isolation.run(f"{_JOBS}:compile_device", argument, limits, _MAX_OBJECT_BYTES, readable=readable)
        if isinstance(found, JobFailed):
            return Refusal("compile", f"the CUDA compiler did not end well: {found.detail.splitlines()[-1]}")
        if "error" in found:
            return Refusal("compile", found["error"])
        self._built.cubin, self._built.widths = found["cubin"], found["kernels"]
        return None

    def _cannot_compile(self, reason: str) -> None:
        if self.device == "cuda":
            raise CandidateUnavailable(f"the text cannot be compiled for a GPU: {reason}")

    def _compile_for_host(self, plan: CudaPlan) -> None:
        try:
            host_compiler()
        except SimulatorUnavailableError as e:
            raise CandidateUnavailable(str(e)) from e
        argument = {
            "text": cuda_text.host_text(self.source),
            "constants": cuda_text.CONSTANTS,
            "kernels": list(dict.fromkeys(launch.kernel for launch in plan.launches)),
        }
        limits = Limits(seconds=_COMPILE_S, may_execute=True)
        found = self.isolation.run(f"{_JOBS}:compile_host", argument, limits, _MAX_OBJECT_BYTES)
        if isinstance(found, JobFailed) or "error" in found:
            said = found.detail if isinstance(found, JobFailed) else found["error"]
            raise CandidateUnavailable(f"the CPU simulator cannot run this text, a GPU may: {_first_error(said)}")
        self._built.host_object = found["object"]

    def _wrong_count(self, plan: CudaPlan) -> Refusal | None:
        for launch in plan.launches:
            taken, given = self._built.widths.get(launch.kernel), len(launch.arguments)
            if taken is not None and len(taken) != given:
                return Refusal("signature", f"`{launch.kernel}` has {len(taken)} parameters, the plan gives {given}")
        return None

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError; CandidateUnavailable."""
        plan = self._built.plan
        assert plan is not None, "prepare() comes first"
        buffers = lay_out(self.signature, call, replace(options, strided=False))
        try:
            images = _images(plan, buffers, call.sizes)
            names = list(images)
            launches = [self._launch(launch, call, names) for launch in plan.launches]
        except BadPlan as e:
            raise ExecutionError(str(e)) from e
        launches = [launch for launch in launches if 0 not in launch["grid"]]
        if not launches:
            return Run(outputs_of(self.signature, buffers), (), inspect(self.signature, buffers))
        argument = {"images": list(images.values()), "launches": launches, "order": options.order}
        found = self._on_gpu(argument) if self.device == "cuda" else self._on_simulator(argument)
        findings = tuple(str(text)[:200] for text in found.get("findings", ()))[:16]
        if not found["completed"]:
            raise ExecutionError(findings[0] if findings else "a launch did not end")
        for buffer, memory in zip(buffers.values(), found["images"], strict=False):
            buffer.memory[...] = np.frombuffer(memory, np.uint8)
        return Run(outputs_of(self.signature, buffers), findings, inspect(self.signature, buffers))

    def _on_simulator(self, argument: dict[str, Any]) -> dict[str, Any]:
        folder = cache_folder(os.environ) / "simulator"
        load_engine(folder)  # built here once, so that the isolated process only loads it
        argument |= {"object": self._built.host_object, "engine": str(folder), "seconds": TIME_LIMIT_S}
        before = (f"{_JOBS}:load", str(folder))
        return self._isolated("simulate", argument, Limits(seconds=TIME_LIMIT_S * 2), [folder], before)

    def _on_gpu(self, argument: dict[str, Any]) -> dict[str, Any]:
        argument |= {"cubin": self._built.cubin, "device": 0}
        limits = Limits(seconds=60.0, memory_bytes=32 << 30, uses_gpu=True)
        return self._isolated("run_on_gpu", argument, limits, [], None)

    def _isolated(
        self,
        job: str,
        argument: dict[str, Any],
        limits: Limits,
        readable: list[Path],
        before: tuple[str, Any] | None,
    ) -> dict[str, Any]:
        wanted = [len(image["memory"]) for image in argument["images"]]
        found = self.isolation.run(f"{_JOBS}:{job}", argument, limits, sum(wanted), readable=readable, before=before)
        if isinstance(found, JobFailed):
            raise ExecutionError(found.detail.splitlines()[-1])
        if not is_answer(found, wanted):
            raise ExecutionError("what came back is not the memory of the buffers")
        return found

    def _launch(self, launch: CudaLaunch, call: Call, images: list[str]) -> dict[str, Any]:
        grid, block = ([evaluate(n, call.sizes) for n in extents] for extents in (launch.grid, launch.block))
        shared = evaluate(launch.shared_bytes, call.sizes)
        _check_shape(launch.kernel, grid, block, shared)
        widths = self._built.widths.get(launch.kernel, [])
        given = [
            self._argument(name, call, images, widths[at] if widths else None)
            for at, name in enumerate(launch.arguments)
        ]
        return {
            "kernel": launch.kernel,
            "grid": grid,
            "block": block,
            "shared_bytes": shared,
            "arguments": given,
            "widths": widths,
        }

    def _argument(self, name: str, call: Call, images: list[str], width: int | None) -> dict[str, Any]:
        if name in images:
            if width not in (None, 8):
                raise BadPlan(f"`{name}` is a tensor, and the kernel's parameter has {width} bytes")
            return {"image": images.index(name)}
        if name in call.sizes:
            value = call.sizes[name]
            if width is not None and (width not in (4, 8) or value >= 1 << (8 * width - 1)):
                raise BadPlan(f"the size `{name}` is {value}, which does not fit a parameter of {width} bytes")
            return {"integer": value}
        scalar = next(s for s in self.signature.scalars if s.name == name)
        bound = bind_scalar(name, scalar.dtype, call.scalars[name])
        if width not in (None, len(bound.data)):
            raise BadPlan(f"`{name}` is {scalar.dtype}, and the kernel's parameter has {width} bytes")
        number = {"float": float(bound.value)} if scalar.dtype.name in ("f32", "f64") else {}
        return {"bytes": bound.data, "integer": int.from_bytes(bound.data, "little"), **number}

    def close(self) -> None:
        """End the isolated process; another run starts another."""
        self.isolation.close()


def _images(plan: CudaPlan, buffers: Mapping[str, GuardedArray], sizes: Sizes) -> dict[str, dict[str, Any]]:
    """Return each buffer's memory and where its first element lies in it, scratch after the parameters."""
    images = {name: {"memory": b.memory.tobytes(), "offset": _offset(b)} for name, b in buffers.items()}
    left = MAX_SCRATCH_BYTES
    for scratch in plan.scratch:
        n_bytes = np.dtype(STORAGE[scratch.dtype]).itemsize
        for extent in scratch.shape:
            n_bytes *= max(0, evaluate(extent, sizes))
        if n_bytes > left:
            raise BadPlan(
                f"scratch `{scratch.name}` needs {_short(n_bytes)} bytes; {left} of {MAX_SCRATCH_BYTES} are left"
            )
        left -= n_bytes
        images[scratch.name] = {"memory": b"\xa5" * n_bytes, "offset": 0}
    return images


def _offset(buffer: GuardedArray) -> int:
    return buffer.array.ctypes.data - buffer.memory.ctypes.data if buffer.array.size else 0


def _check_shape(kernel: str, grid: list[int], block: list[int], shared: int) -> None:
    blocks, threads = int(np.prod(grid, dtype=object)), int(np.prod(block, dtype=object))
    if any(extent < 0 for extent in grid) or blocks > MAX_BLOCKS:
        raise BadPlan(f"`{kernel}` would run on a grid of {', '.join(map(_short, grid))} blocks")
    if any(extent < 1 for extent in block) or threads > MAX_THREADS or threads % 32:
        raise BadPlan(
            f"a block of `{kernel}` has {_short(threads)} threads; 32 to {MAX_THREADS} in whole warps are possible"
        )
    if not 0 <= shared <= MAX_SHARED_BYTES:
        raise BadPlan(f"`{kernel}` asks for {_short(shared)} bytes of shared memory; {MAX_SHARED_BYTES} are possible")


def _short(number: int) -> str:
    """A number in words that stay short."""
    return str(number) if abs(number) < 10**18 else f"{'-' if number < 0 else ''}10^18 or more"


def _first_error(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if "error" in line]
    return (lines or log.strip().splitlines() or ["no message"])[0][:300]
