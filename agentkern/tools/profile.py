"""Profile a kernel: how long it takes on the GPU here, beside its floor and its rivals. Without a GPU: the floor.

The measurement runs in a worker process (`profile_job.py`); this file only asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from agentkern.compiler.driver import CompileRequest
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.diagnostics import Diagnostic, Span, error, status_of
from agentkern.runtime.driver import DriverError, NoDriver, gpu_target
from agentkern.runtime.programs import compile_program
from agentkern.runtime.worker import JobFailed, Worker
from agentkern.tools.nondeterminism import said_of
from agentkern.tools.progress import Report, silent
from agentkern.tools.requests import InputValues, KernelRequest, Target, Value
from agentkern.tools.results import ProfileResult, Roofline, diagnostic_record
from agentkern.tools.roofline import kernel_work, roofline
from agentkern.tools.sources import UsageError

JOBS = {"profile": "agentkern.tools.profile_job:run"}
TIMEOUT_S = 600.0
_WHERE = "profile where there is a GPU"
DEFAULT_BYTES = 1 << 28
"""Bytes that a call moves where a run-time size is left to us: several times the L2 of any GPU."""


class ProfileRequest(KernelRequest):
    """Profile. `dims` gives every static size; run-time ones that are absent are chosen large.

    `against`: `torch` and `torch.compile` time the function `peer` (None: of the kernel's name) in `peers`, a Python
    file that is executed and never to be taken from an agent. It gets inputs and scalars in order, and the sizes that
    it has parameters for by name. `values`: what integer inputs hold, beside what the kernel's own promises say.
    `seconds` bounds the measurement.
    """

    target: Target = "sm_90a"
    schedule: dict[str, object] | None = None
    against: tuple[Literal["torch", "torch.compile"], ...] = ()
    peers: str | None = None
    peer: str | None = None
    scalars: dict[str, Value] = Field(default_factory=dict)
    values: dict[str, InputValues] = Field(default_factory=dict)
    seconds: float = 10.0
    seed: int = 0


def profile(
    request: ProfileRequest, report: Report = silent, environment: Mapping[str, str] | None = None
) -> ProfileResult:
    """Return the time, or without a GPU the roofline on the target's reference device.

    Errors: UsageError for an unknown size.
    """
    lowered = lower_source(request.source, request.path, request.kernel, {}, request.settings)
    if lowered.outline is None:
        return _without_time(lowered.diagnostics, None)
    _check_sizes(request, lowered.outline.sizes)
    static = {info.name: request.dims[info.name] for info in lowered.outline.sizes if info.name in request.dims}
    missing = [info.name for info in lowered.outline.sizes if info.static and info.name not in static]
    if missing:
        unset = tuple(error("AK803", Span(request.path), name=name) for name in missing)
        return _without_time(unset, None, lowered.outline)
    compiled = compile_program(compile_request(request, lowered.outline.sizes), None, stop_after="simplify")
    if compiled.kernel is None or compiled.status != "ok":
        return _without_time(compiled.diagnostics, None)
    sizes = complete_sizes(compiled.kernel, lowered.outline.sizes, request.dims)
    limits = roofline(compiled.kernel, sizes, request.target)
    try:
        target = gpu_target()
    except (NoDriver, DriverError) as e:
        return _without_time(
            (error("AK806", Span(request.path), reason=str(e), instead=_WHERE),), limits, compiled.kernel
        )
    asked = request.model_dump(mode="json") | {"target": target, "dims": dict(sizes)}
    environment = os.environ if environment is None else environment
    return _measure(asked, compiled.kernel, limits, report, environment)


def _measure(
    asked: Mapping[str, Any], kernel: Kernel, limits: Roofline, report: Report, environment: Mapping[str, str]
) -> ProfileResult:
    worker = Worker(JOBS, environment)
    try:
        found = worker.run_job("profile", asked, timeout_s=TIMEOUT_S, on_progress=lambda said: report(said[0], said[1]))
    finally:
        worker.close()
    if not isinstance(found, JobFailed):
        return ProfileResult.model_validate(found)
    path = str(asked["path"])
    late = error("AK810", Span(path), seconds=TIMEOUT_S)
    broken = error("AK901", Span(path), reason=found.detail.strip().rpartition("\n")[2])
    return _without_time((late if found.kind == "timed_out" else broken,), limits, kernel)


def compile_request(request: ProfileRequest, sizes: tuple[SizeInfo, ...]) -> CompileRequest:
    """Return what to compile: static sizes only."""
    static = {info.name: request.dims[info.name] for info in sizes if info.static}
    return CompileRequest(request.source, request.path, request.kernel, request.target, static, request.settings)


def complete_sizes(kernel: Kernel, sizes: tuple[SizeInfo, ...], given: Mapping[str, int]) -> dict[str, int]:
    """Return every size, those that are absent all alike and so large that a call moves DEFAULT_BYTES."""
    absent = [info for info in sizes if info.name not in given]
    number, found = 1, dict(given)
    while absent and number < 1 << 40:
        found = {**given, **{info.name: _legal(info, number) for info in absent}}
        work = kernel_work(kernel, found)
        if work is None or work.bytes_moved >= DEFAULT_BYTES:
            break
        number *= 2
    return found


def _legal(info: SizeInfo, number: int) -> int:
    step = max(info.multiple_of, 1)
    wanted = min(number, info.maximum) if info.maximum is not None else number
    return max(wanted // step * step, info.minimum, step if wanted else 0)


def _check_sizes(request: ProfileRequest, sizes: tuple[SizeInfo, ...]) -> None:
    known = [info.name for info in sizes]
    for name in request.dims:
        if name not in known:
            available, reason = ", ".join(known) or "none", "the kernel has no such size"
            raise UsageError(error("AK802", Span("command line"), name=name, reason=reason, available=available))


def _without_time(
    diagnostics: tuple[Diagnostic, ...], limits: Roofline | None, kernel: Kernel | None = None
) -> ProfileResult:
    first = next((d for d in diagnostics if d.severity == "error"), diagnostics[0])
    floor = "" if limits is None or limits.floor_us is None else f"; the floor is {limits.floor_us:g} us"
    status = status_of(diagnostics)
    step = _WHERE if status == "unavailable" else first.hint or "correct it and profile again"
    return ProfileResult(
        status=status,
        summary=f"not timed: {first.message}{floor}{said_of(kernel)}; {step}",
        nondeterministic=kernel is not None and is_nondeterministic(kernel),
        diagnostics=tuple(diagnostic_record(d) for d in diagnostics),
        floor_us=limits.floor_us if limits is not None else None,
        roofline=limits,
    )
