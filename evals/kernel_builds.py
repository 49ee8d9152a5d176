"""Build corpus kernels for packs. Needs the compiler and NVRTC, no GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from agentkern.compiler.abi import Variant
from agentkern.compiler.driver import CompileRequest, CompileResult, compile_kernel, schedules
from agentkern.compiler.schedule import Schedule
from agentkern.runtime.build import build
from agentkern.runtime.nvrtc import NvrtcOptions
from evals.kernel_packs import CORPUS, ENTRIES, Built, PackedKernel, cubin_name


def request_of(kernel: str, statics: Mapping[str, int], target: str) -> CompileRequest:
    """Return the request for one corpus kernel."""
    path = ENTRIES[kernel].folder / "kernel.py"
    shown = str(Path("corpus") / path.relative_to(CORPUS))
    return CompileRequest(path.read_text(), shown, kernel, target, statics)


def builds(
    kernel: str, statics: Mapping[str, int], target: str, count: int, variant: Variant | None = None
) -> tuple[CompileResult, tuple[Built, ...]]:
    """Return the default compilation, and up to `count` builds of it, the default schedule first.

    Errors: RuntimeError if one is refused.
    """
    request = request_of(kernel, statics, target)
    request = request if variant is None else replace(request, variant=variant)
    first = _compiled(request)
    assert first.kernel is not None
    found: tuple[Schedule | None, ...] = schedules(first.kernel, request.variant, count) if count > 1 else (None,)
    results = [first if k == 0 else _compiled(replace(request, schedule=s)) for k, s in enumerate(found)]
    return first, tuple(_build(kernel, statics, target, k, result) for k, result in enumerate(results))


def _build(kernel: str, statics: Mapping[str, int], target: str, number: int, result: CompileResult) -> Built:
    made = build(result.cuda, NvrtcOptions(target), None)
    assert result.abi is not None
    assert result.schedule is not None
    resources = {r.name: {"registers": r.registers, "spill_bytes": r.spill_bytes} for r in made.resources}
    name, schedule = cubin_name(made.cubin), result.schedule.to_json()
    packed = PackedKernel(kernel, dict(statics), number, schedule, result.abi, name, resources)
    return Built(packed, made.cubin, result.cuda)


def _compiled(request: CompileRequest) -> CompileResult:
    result = compile_kernel(request)
    if result.status != "ok":
        raise RuntimeError(f"{request.kernel} {dict(request.dims)}: {'; '.join(d.message for d in result.diagnostics)}")
    return result
