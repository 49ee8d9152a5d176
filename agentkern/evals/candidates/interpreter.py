"""A kernel in agentkern run by the reference interpreter: the simulator's bits without compiling, for the gate.

What a writer hands in goes to `candidates.agentkern`. A null kernel or a mutant is of the task's own making: its
parameters and promises are not held against it here, its values are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from agentkern.compiler.driver import CompileRequest
from agentkern.evals.candidates.protocol import Refusal
from agentkern.evals.records import Language
from agentkern.evals.task_model import Task
from agentkern.tools.check import check
from agentkern.tools.requests import CheckRequest
from agentkern.tools.verify_executors import InterpreterExecutor
from agentkern.tools.verify_model import Call, Run, RunOptions
from agentkern.tools.verify_program import CompiledProgram, program_of

PATH = "kernel.py"


@dataclass(slots=True)
class _Prepared:
    executor: InterpreterExecutor | None = None
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class InterpreterCandidate:
    """One text for one task; every run is remembered, so that comparing and judging cost one."""

    task: Task
    source: str
    kernel: str
    language: Language = "agentkern"
    device: Literal["cpu", "cuda"] = "cpu"
    finds_races: bool = False
    permutes: bool = False
    _prepared: _Prepared = field(default_factory=_Prepared)
    _runs: dict[tuple[int, RunOptions], tuple[Call, Run]] = field(default_factory=dict)

    def prepare(self) -> Refusal | None:
        """Check the text at the first shown sizes."""
        known = self._prepared
        if known.executor is None and known.refusal is None:
            known.refusal = self._refusal()
        return known.refusal

    def _refusal(self) -> Refusal | None:
        first = self.task.shapes.shown[0]
        static = {name: first[name] for name in self.task.static}
        settings = dict(self.task.settings)
        found = check(CheckRequest(source=self.source, path=PATH, kernel=self.kernel, dims=static, settings=settings))
        errors = [d for d in found.diagnostics if d.severity == "error"]
        if errors:
            return Refusal("compile", f"{errors[0].code}: {errors[0].message}", tuple(d.code for d in errors))
        program = program_of(CompileRequest(self.source, PATH, self.kernel, settings=settings))
        assert isinstance(program, CompiledProgram), "what was checked has no errors"
        self._prepared.executor = InterpreterExecutor(program)
        return None

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once for each call and options. Errors: ExecutionError, BuildError."""
        assert self._prepared.executor is not None, "prepare() comes first"
        # orders of threads and blocks are nothing to the interpreter, whose own pieces are slow when small
        options = replace(options, order=0)
        key = (id(call), options)
        if key not in self._runs:
            # the call is kept: an id is only unique while its object lives
            self._runs[key] = (call, self._prepared.executor.run(call, options))
        return self._runs[key][1]

    def close(self) -> None:
        """Hold nothing."""
