"""Build the thread-level kernels of `tests/gpu_stage` for packs. Needs the compiler and NVRTC, no GPU."""

from __future__ import annotations

from pathlib import Path

from agentkern.compiler.driver import CompileRequest, CompileResult, compile_text
from agentkern.runtime.build import build
from agentkern.runtime.nvrtc import NvrtcOptions
from evals.kernel_packs import Built, PackedKernel, cubin_name

TEXTS = Path(__file__).resolve().parents[1] / "tests" / "gpu_stage"
TARGET = "sm_90a"


def compile_stage_text(name: str) -> CompileResult:
    """Compile `tests/gpu_stage/NAME.ir`. Errors: RuntimeError if it is refused."""
    path = TEXTS / f"{name}.ir"
    result = compile_text(path.read_text(), CompileRequest("", str(path), target=TARGET))
    if result.abi is None:
        raise RuntimeError(f"{name}: {[d.message for d in result.diagnostics]}")
    return result


def build_stage_text(name: str) -> Built:
    """Build it. Errors: RuntimeError if the assembler serialised products or spilled registers."""
    result = compile_stage_text(name)
    assert result.abi is not None
    made = build(result.cuda, NvrtcOptions(TARGET), None, name=f"{name}.cu")
    resources = made.resources_of(result.abi.launches[0].function)
    if made.performance_remarks or resources.spill_bytes:
        raise RuntimeError(f"{name}: {made.performance_remarks}, {resources.spill_bytes} bytes spilled")
    packed = PackedKernel(
        name, {}, 0, {}, result.abi, cubin_name(made.cubin), {name: {"registers": resources.registers}}
    )
    return Built(packed, made.cubin, result.cuda)
