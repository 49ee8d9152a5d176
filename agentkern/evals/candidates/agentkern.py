"""A kernel in agentkern: compiled, held to the task's parameters, run by the CPU simulator or on a GPU."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.driver import CompileRequest
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.dims import Dim
from agentkern.diagnostics import Diagnostic
from agentkern.evals.candidates.protocol import CandidateUnavailable, Refusal
from agentkern.evals.candidates.targets import target_of
from agentkern.evals.interface import excess_alignment, excess_promise, excess_requirement, wrong_parameter
from agentkern.evals.records import Language, Timing
from agentkern.evals.task_model import Setting, Task
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.driver import NoDriver
from agentkern.runtime.gpu_job import JOBS
from agentkern.runtime.nvrtc_library import NvrtcMissing
from agentkern.runtime.simulator import SimulatorUnavailableError, host_compiler
from agentkern.runtime.worker import Worker
from agentkern.tools.profile import ProfileRequest, profile
from agentkern.tools.requests import InputValues
from agentkern.tools.verify_device import DeviceExecutor
from agentkern.tools.verify_model import (
    BuildsAhead,
    Call,
    ExecutionError,
    Executor,
    Run,
    RunOptions,
    Signature,
    Sizes,
    signature_of,
)
from agentkern.tools.verify_program import CompiledProgram, program_of
from agentkern.tools.verify_simulator import SimulatorExecutor

PATH = "kernel.py"
TIME_LIMIT_S = 20.0
"""A launch of a task's sizes takes far less in the simulator."""
SHOWN_ERRORS = 3
TIMING_S = 10.0
_NO_ORDER = (
    "`nondeterministic=True` says that bits may differ from run to run, and the task wants the same at every run: "
    "leave it out, and add floats up with `ak.sum` or in a loop"
)


@dataclass(slots=True)
class _Machine:
    """What was started to run a kernel."""

    executor: Executor | None = None
    worker: Worker | None = None


@dataclass(frozen=True)
class AgentkernCandidate:
    """One text for one task. `settings`: compile-time values of the kernel's own; the task's come before them."""

    task: Task
    source: str
    kernel: str | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    device: Literal["cpu", "cuda"] = "cpu"
    language: Language = "agentkern"
    _machine: _Machine = field(default_factory=_Machine)

    @property
    def finds_races(self) -> bool:
        """Return whether tracked runs find defects: those of the simulator do."""
        return self.device == "cpu"

    @property
    def permutes(self) -> bool:
        """Return whether orders of threads and blocks can be chosen."""
        return self.device == "cpu"

    def prepare(self) -> Refusal | None:
        """Compile at the first shown sizes, then compare parameters and promises. Errors: CandidateUnavailable."""
        settings = self._all_settings
        changed = next(
            (name for name in self.task.settings if self.settings.get(name, settings[name]) != settings[name]), None
        )
        if changed is not None:
            return Refusal("signature", f"the setting `{changed}` is the task's own: {self.task.settings[changed]}")
        lowered = lower_source(self.source, PATH, self.kernel, {}, settings)
        if len(lowered.kernels) > 1 and self.kernel is None:
            names = ", ".join(f"`{name}`" for name in lowered.kernels)
            return Refusal("signature", f"the text has several kernels, {names}: say which one with `kernel`")
        if lowered.outline is None:
            return _refused(lowered.diagnostics)
        request = CompileRequest(self.source, PATH, self.kernel, target=target_of(self.device), settings=settings)
        program = program_of(request)
        assert isinstance(program, CompiledProgram)
        outline = signature_of(lowered.outline)
        return self._refusal(program, outline) or self._start(program)

    @property
    def _all_settings(self) -> dict[str, Setting]:
        return {**self.settings, **self.task.settings}

    def _refusal(self, program: CompiledProgram, outline: Signature) -> Refusal | None:
        wrong = wrong_parameter(self.task, outline, program.sizes)
        first = self.task.shapes.shown[0]
        if wrong is not None and any(info.static and info.name not in first for info in program.sizes):
            return Refusal("signature", wrong)
        result = program.first_result({info.name: first.get(info.name, 0) for info in program.sizes})
        if result.status != "ok":
            return _refused(result.diagnostics)
        if wrong is not None:
            return Refusal("signature", wrong)
        if program.nondeterministic:
            return Refusal("promises", _NO_ORDER)
        kernel = program.tile(first)
        excess = (
            excess_promise(self.task, outline, program.sizes)
            or excess_alignment(signature_of(kernel))
            or excess_requirement(self.task, kernel)
        )
        return None if excess is None else Refusal("promises", excess)

    def _start(self, program: CompiledProgram) -> None:
        folder = cache_folder(os.environ)
        if self.device == "cuda":
            self._machine.worker = Worker(JOBS, os.environ)
            target = program.request.target
            self._machine.executor = DeviceExecutor(program, target, Cache(folder), self._machine.worker)
            return
        try:
            host_compiler()
        except SimulatorUnavailableError as e:
            raise CandidateUnavailable(str(e)) from e
        self._machine.executor = SimulatorExecutor(program, folder, time_limit_s=TIME_LIMIT_S)

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError, BuildError, CandidateUnavailable."""
        assert self._machine.executor is not None, "prepare() comes first"
        try:
            return self._machine.executor.run(call, options)
        except (NvrtcMissing, NoDriver, SimulatorUnavailableError) as e:
            raise CandidateUnavailable(str(e)) from e

    def build_ahead(self, wanted: Sequence[tuple[Sizes, RunOptions]]) -> None:
        """Build what these runs need, where that is faster than one after another."""
        if isinstance(self._machine.executor, BuildsAhead):
            self._machine.executor.build_ahead(wanted)

    def time(self, sizes: Sizes) -> Timing:
        """Time at given sizes beside the task's baseline. Errors: ExecutionError; CandidateUnavailable."""
        baseline = self.task.baselines.get("torch")
        request = ProfileRequest(
            source=self.source,
            path=PATH,
            kernel=self.kernel,
            dims=dict(sizes),
            settings=self._all_settings,
            against=("torch", "torch.compile") if baseline else (),
            peers=str(self.task.reference.path) if baseline else None,
            peer=baseline.partition(":")[2] if baseline else None,
            scalars={scalar.name: scalar.value for scalar in self.task.scalars},
            values=given_values(self.task),
            seconds=TIMING_S,
        )
        found = profile(request)
        if found.status == "unavailable":
            raise CandidateUnavailable(found.summary)
        if found.status != "ok" or found.median_us is None or found.ci_us is None:
            raise ExecutionError(found.summary)
        assert found.floor_us is not None and found.least_us is not None, "they come with the times"
        rivals = {rival.name: rival.median_us for rival in found.baselines}
        return Timing(
            sizes=dict(sizes),
            median_us=found.median_us,
            ci_us=found.ci_us,
            floor_us=found.floor_us,
            least_us=found.least_us,
            baselines=rivals,
        )

    def close(self) -> None:
        """End the GPU's worker, if there is one."""
        if self._machine.worker is not None:
            self._machine.worker.close()


def given_values(task: Task) -> dict[str, InputValues]:
    """Return what the task's integer inputs hold: indices that a baseline may look up without a mask."""
    given = {t.name: t.values.promise for t in task.tensors if t.access != "out"}
    return {name: _values(promise) for name, promise in given.items() if promise is not None}


def _values(promise: Promise) -> InputValues:
    low, high, end = (str(e) if isinstance(e, Dim) else e for e in (promise.low, promise.high, promise.end))
    return InputValues(
        low=low, high=high, ignore=promise.ignore, distinct=promise.distinct, ignore_same=promise.ignore_same, end=end
    )


def _refused(diagnostics: tuple[Diagnostic, ...]) -> Refusal:
    """Return the refusal of a text with errors: the first few in words, all by code."""
    errors = [d for d in diagnostics if d.severity == "error"] or list(diagnostics)
    shown = [f"{d.code}, line {d.span.start[0]}: {d.message}" for d in errors[:SHOWN_ERRORS]]
    more = f"; and {len(errors) - SHOWN_ERRORS} more" if len(errors) > SHOWN_ERRORS else ""
    return Refusal("compile", "; ".join(shown) + more, tuple(d.code for d in errors))
