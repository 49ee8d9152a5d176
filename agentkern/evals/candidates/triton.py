"""A submission in Triton: its host function runs in the isolated process on a GPU. Without one there is no verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from agentkern.evals.candidates.confine import Limits
from agentkern.evals.candidates.isolated import Isolation
from agentkern.evals.candidates.protocol import CandidateUnavailable, Refusal
from agentkern.evals.candidates.results import is_answer
from agentkern.evals.candidates.triton_jobs import MISSING
from agentkern.evals.candidates.triton_text import ENTRY, entry_arguments, problem_of
from agentkern.evals.records import Language
from agentkern.runtime.driver import DriverError, NoDriver, driver
from agentkern.runtime.worker import JobFailed
from agentkern.tools.verify_buffers import GuardedArray, inspect, lay_out, outputs_of
from agentkern.tools.verify_model import Call, ExecutionError, Run, RunOptions, Signature

_JOB = "agentkern.evals.candidates.triton_jobs:run_on_gpu"
_LIMITS = Limits(seconds=180.0, memory_bytes=64 << 30, file_bytes=1 << 30, may_execute=True, uses_gpu=True)
_SCRATCH = "scratch"


@dataclass(frozen=True)
class TritonCandidate:
    """One text for one task: `signature` and `sizes` are the task's."""

    signature: Signature
    sizes: tuple[str, ...]
    source: str
    device: Literal["cpu", "cuda"] = "cpu"
    isolation: Isolation = field(default_factory=Isolation)
    language: Language = "triton"
    finds_races: bool = False
    permutes: bool = False

    def prepare(self) -> Refusal | None:
        """Hold the text and its parameters against what they may be. Errors: CandidateUnavailable."""
        problem = problem_of(self.source)
        if problem is not None:
            return Refusal("compile", problem)
        known = (*self._tensors, *(s.name for s in self.signature.scalars), *self.sizes, _SCRATCH)
        for name in entry_arguments(self.source):
            if name not in known:
                return Refusal("signature", f"`{ENTRY}` takes `{name}`, which is none of {', '.join(known)}")
        if self.device == "cpu":
            raise CandidateUnavailable("Triton needs a GPU")
        try:
            driver().info(0)
        except (NoDriver, DriverError) as e:
            raise CandidateUnavailable(str(e)) from e
        return None

    @property
    def _tensors(self) -> tuple[str, ...]:
        return tuple(tensor.name for tensor in self.signature.tensors)

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError; CandidateUnavailable."""
        buffers = lay_out(self.signature, call, replace(options, strided=False))
        images = [self._image(name, buffer) for name, buffer in buffers.items()]
        argument = {
            "source": self.source,
            "device": 0,
            "images": images,
            "numbers": {**call.scalars, **call.sizes},
            "parameters": list(entry_arguments(self.source)),
        }
        wanted = [len(image["memory"]) for image in images]
        found = self.isolation.run(_JOB, argument, _LIMITS, sum(wanted))
        if isinstance(found, JobFailed):
            raise ExecutionError(found.detail.splitlines()[-1])
        if not is_answer(found, wanted):
            raise ExecutionError("what came back is not the memory of the buffers")
        self._look(found)
        for buffer, memory in zip(buffers.values(), found["images"], strict=True):
            buffer.memory[...] = np.frombuffer(memory, np.uint8)
        return Run(outputs_of(self.signature, buffers), (), inspect(self.signature, buffers))

    def _look(self, found: Mapping[str, Any]) -> None:
        said = [str(text)[:200] for text in found["findings"]]
        missing = [text for text in said if text.startswith(MISSING)]
        if missing:
            raise CandidateUnavailable(f"the package `{missing[0].removeprefix(MISSING)}` is not installed")
        if not found["completed"]:
            raise ExecutionError(said[0] if said else "the host function did not end")

    def _image(self, name: str, buffer: GuardedArray) -> dict[str, Any]:
        param = next(tensor for tensor in self.signature.tensors if tensor.name == name)
        offset = buffer.array.ctypes.data - buffer.memory.ctypes.data if math.prod(buffer.array.shape) else 0
        return {
            "name": name,
            "dtype": param.dtype.name,
            "shape": list(buffer.array.shape),
            "memory": buffer.memory.tobytes(),
            "offset": offset,
        }

    def close(self) -> None:
        """End the isolated process; another run starts another."""
        self.isolation.close()
