"""Run compiled kernels on the CPU simulator, with poisoned outputs, guard bands and permuted orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agentkern.compiler.abi import Argument, KernelAbi, ScalarParam, TensorParam
from agentkern.compiler.driver import CompileResult
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.interpreter_ops import constant
from agentkern.runtime.simulator import (
    BlockOrder,
    Buffer,
    Checks,
    Finding,
    LaunchError,
    SimulatorModule,
    SimulatorOptions,
    ThreadOrder,
    build,
)
from agentkern.tools.verify_buffers import inspect, lay_out, outputs_of
from agentkern.tools.verify_model import Call, ExecutionError, Run, RunOptions, Signature
from agentkern.tools.verify_program import CompiledProgram

_ORDERS: tuple[tuple[ThreadOrder, BlockOrder], ...] = (
    (ThreadOrder.FORWARD, BlockOrder.FORWARD),
    (ThreadOrder.REVERSE, BlockOrder.REVERSE),
    (ThreadOrder.WARP_INTERLEAVED, BlockOrder.SEEDED),
    (ThreadOrder.SEEDED, BlockOrder.SEEDED),
)
TIME_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class SimulatorExecutor:
    """Builds each text once and runs its launches in order."""

    program: CompiledProgram
    cache_dir: Path
    device: str = "cpu"
    modules: dict[str, SimulatorModule] = field(default_factory=dict)

    def run(self, call: Call, options: RunOptions) -> Run:
        """Run once. Errors: ExecutionError; BuildError."""
        result = self.program.compiled(call.sizes, options.schedule)
        assert result.abi is not None
        signature = abi_signature(result.abi)
        guarded = lay_out(signature, call, options.poison)
        buffers = {
            p.name: Buffer(p.name, guarded[p.name].array, p.access != "in", p.access in ("in", "inout"))
            for p in signature.tensors
        }
        findings = self._launch_all(result, buffers, call, options)
        return Run(outputs_of(signature, guarded), findings, inspect(signature, guarded))

    def _launch_all(
        self, result: CompileResult, buffers: Mapping[str, Buffer], call: Call, options: RunOptions
    ) -> tuple[str, ...]:
        assert result.abi is not None
        module = self._module(result)
        settings = _settings(options, result.lines)
        findings: list[str] = []
        for launch in result.abi.launches:
            arguments = [_argument(a, buffers, call) for a in launch.arguments]
            blocks = dims.evaluate(launch.blocks, call.sizes)
            try:
                report = module.launch(
                    launch.function, blocks, launch.threads, launch.shared_bytes, arguments, settings
                )
            except LaunchError as e:
                raise ExecutionError(f"`{launch.function}` cannot be launched: {e}") from e
            findings += [_finding_text(finding) for finding in report.findings]
            if not report.completed:
                raise ExecutionError(findings[0] if findings else f"`{launch.function}` did not end")
        return tuple(findings)

    def _module(self, result: CompileResult) -> SimulatorModule:
        text = result.cuda
        if text not in self.modules:
            self.modules[text] = build(text, self.cache_dir)
        return self.modules[text]


def abi_signature(abi: KernelAbi) -> Signature:
    """Return the parameters of a compiled kernel, scratch included."""
    tensors = tuple(p for p in abi.params if isinstance(p, TensorParam))
    return Signature(tensors, tuple(p for p in abi.params if isinstance(p, ScalarParam)))


def _settings(options: RunOptions, lines: Mapping[int, int]) -> SimulatorOptions:
    threads, blocks = _ORDERS[min(options.order, len(_ORDERS) - 1)]
    checks = Checks.FULL if options.tracked else Checks.FAST
    return SimulatorOptions(checks, threads, blocks, options.order, line_map=lines, time_limit_s=TIME_LIMIT_S)


def _argument(argument: Argument, buffers: Mapping[str, Buffer], call: Call) -> Buffer | int | float:
    if argument.kind == "pointer":
        return buffers[argument.name]
    if argument.kind == "size":
        return call.sizes[argument.name]
    if argument.kind == "stride":
        array = buffers[argument.name].array
        return array.strides[argument.axis] // array.itemsize
    raw = constant(argument.dtype.name, call.scalars[argument.name])
    # types that C lacks travel as their bits
    if argument.dtype.name in ("f32", "f64"):
        return float(raw)
    return int(raw.view(f"u{raw.dtype.itemsize}")) if argument.dtype.is_float else int(raw)


def _finding_text(finding: Finding) -> str:
    line = f", line {finding.kernel_line}" if finding.kernel_line is not None else ""
    return f"{finding.message}{line} (block {finding.block}, thread {finding.thread})"
