"""Run compiled kernels on the CPU simulator, with poisoned outputs, guard bands and permuted orders."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from agentkern.compiler.abi import KernelAbi, ScalarParam, TensorParam
from agentkern.compiler.driver import CompileResult
from agentkern.compiler.ir.interpreter_ops import constant
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import (
    BlockOrder,
    Checks,
    Completion,
    Finding,
    FindingKind,
    LaunchError,
    SimulatorBuildError,
    SimulatorModule,
    SimulatorOptions,
    ThreadOrder,
    build,
)
from agentkern.tools.verify_buffers import inspect, lay_out, outputs_of
from agentkern.tools.verify_model import (
    BuildError,
    Call,
    ExecutionError,
    Run,
    RunOptions,
    Signature,
    Sizes,
    TimeLimitError,
)

_ORDERS: tuple[tuple[ThreadOrder, BlockOrder], ...] = (
    (ThreadOrder.FORWARD, BlockOrder.FORWARD),
    (ThreadOrder.REVERSE, BlockOrder.REVERSE),
    (ThreadOrder.WARP_INTERLEAVED, BlockOrder.SEEDED),
    (ThreadOrder.SEEDED, BlockOrder.SEEDED),
)
TIME_LIMIT_S = 120.0


class Compiles(Protocol):
    """A program that can be built for a GPU."""

    def compiled(self, sizes: Sizes, options: RunOptions) -> CompileResult:
        """Return the kernel compiled for the schedule, the strides and the shared memory that are asked for.

        Errors: BuildError.
        """
        ...


@dataclass(frozen=True, slots=True)
class SimulatorExecutor:
    """Builds each text once and runs its launches in order."""

    program: Compiles
    cache_dir: Path
    device: str = "cpu"
    time_limit_s: float = TIME_LIMIT_S
    modules: dict[str, SimulatorModule] = field(default_factory=dict)

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError; TimeLimitError; BuildError; SimulatorUnavailableError."""
        result = self.program.compiled(call.sizes, options)
        assert result.abi is not None
        signature = abi_signature(result.abi)
        guarded = lay_out(signature, call, options)
        arrays = {name: buffer.array for name, buffer in guarded.items()}
        settings = replace(_settings(options, result.lines), time_limit_s=self.time_limit_s)
        try:
            reports = simulate(
                result.abi, self._module(result), arrays, call.sizes, _scalars(signature, call), settings
            )
        except (CallError, LaunchError) as e:
            raise ExecutionError(f"cannot be launched: {e}") from e
        findings = tuple(_finding_text(finding) for report in reports for finding in report.findings)
        if any(finding.kind == FindingKind.TIME_LIMIT for report in reports for finding in report.findings):
            raise TimeLimitError(self.time_limit_s)
        if not all(report.completed for report in reports):
            raise ExecutionError(findings[0] if findings else "a launch did not end")
        return Run(outputs_of(signature, guarded), findings, inspect(signature, guarded))

    def build_ahead(self, wanted: Sequence[tuple[Sizes, RunOptions]]) -> None:
        """Build what these runs need, several texts at once: this thread compiles, the host's compilers follow.

        What cannot be built is left to the run that meets it.
        """
        building: dict[str, Future[SimulatorModule]] = {}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for sizes, options in wanted:
                try:
                    text = self.program.compiled(sizes, options).cuda
                except BuildError:
                    continue
                if text not in self.modules and text not in building:
                    building[text] = pool.submit(build, text, self.cache_dir)
        made = {text: future.result() for text, future in building.items() if future.exception() is None}
        self.modules.update(made)

    def _module(self, result: CompileResult) -> SimulatorModule:
        text = result.cuda
        if text not in self.modules:
            try:
                self.modules[text] = build(text, self.cache_dir)
            except SimulatorBuildError as e:
                raise ExecutionError(f"the host compiler refused the text: {e}") from e
        return self.modules[text]


def abi_signature(abi: KernelAbi) -> Signature:
    """Return the parameters of a compiled kernel, scratch included."""
    tensors = tuple(p for p in abi.params if isinstance(p, TensorParam))
    return Signature(tensors, tuple(p for p in abi.params if isinstance(p, ScalarParam)))


def _settings(options: RunOptions, lines: Mapping[int, int]) -> SimulatorOptions:
    threads, blocks = _ORDERS[min(options.order, len(_ORDERS) - 1)]
    checks = Checks.FULL if options.tracked else Checks.FAST
    completion = Completion.LATEST if options.order % 2 else Completion.EARLIEST
    return SimulatorOptions(checks, threads, blocks, completion, seed=options.order, line_map=lines)


def _scalars(signature: Signature, call: Call) -> dict[str, int | float | bool]:
    """Return scalars as C takes them: floats that C lacks as their bits."""
    return {p.name: _scalar(p, call) for p in signature.scalars}


def _scalar(param: ScalarParam, call: Call) -> int | float | bool:
    raw = constant(param.dtype.name, call.scalars[param.name])
    if param.dtype.name in ("f32", "f64"):
        return float(raw)
    return int(raw.view(f"u{raw.dtype.itemsize}")) if param.dtype.is_float else int(raw)


def _finding_text(finding: Finding) -> str:
    line = f", line {finding.kernel_line}" if finding.kernel_line is not None else ""
    return f"{finding.message}{line} (block {finding.block}, thread {finding.thread})"
