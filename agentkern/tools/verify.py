"""Verify a kernel's text: build it, choose where to run it, run every check, answer with the verdict."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Literal

from pydantic import Field

from agentkern.compiler.driver import CompileRequest, CompileResult
from agentkern.compiler.ir.core import SizeInfo
from agentkern.compiler.schedule import ScheduleError, schedule_from_json
from agentkern.diagnostics import Diagnostic, Span, error, status_of
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.driver import DriverError, NoDriver, gpu_target
from agentkern.runtime.gpu_job import JOBS
from agentkern.runtime.nvrtc_library import NvrtcMissing
from agentkern.runtime.simulator import SimulatorUnavailableError, host_compiler
from agentkern.runtime.worker import Worker
from agentkern.tools.progress import Report, silent
from agentkern.tools.promised_inputs import ImpossiblePromise
from agentkern.tools.reference_process import ReferenceFailure
from agentkern.tools.requests import ON_CPU, Device, KernelRequest, Numerics, Target, Value
from agentkern.tools.results import CheckRecord, VerifyResult, diagnostic_record
from agentkern.tools.sources import UsageError, usage_error
from agentkern.tools.verify_criterion import Criterion, CriterionError, criterion_beside, parse_criterion
from agentkern.tools.verify_device import DeviceExecutor
from agentkern.tools.verify_model import BuildError, Executor, TimeLimitError
from agentkern.tools.verify_program import CompiledProgram, program_of
from agentkern.tools.verify_reference import Reference, parse_reference
from agentkern.tools.verify_run import NAMES, VerifyOptions, make_subject, run_checks
from agentkern.tools.verify_simulator import SimulatorExecutor


class VerifyRequest(KernelRequest):
    """Verify. `dims` gives every static size; run-time ones that are absent are chosen.

    `reference`: FILE.py:FUNCTION, Python to execute, never to be taken from an agent. `reference_kernel`: text of a
    second kernel with the same parameters. `criterion`: None takes that of the meta.toml beside the reference, else
    bit_exact. `scalars`: values of scalar parameters by name.
    """

    target: Target = "sm_90a"
    numerics: Numerics = "portable"
    schedule: dict[str, object] | None = None
    device: Device = "cpu"
    level: Literal["quick", "full"] = "quick"
    reference: str | None = None
    reference_kernel: str | None = None
    criterion: str | None = None
    scalars: dict[str, Value] = Field(default_factory=dict)
    seed: int = 0


def verify(
    request: VerifyRequest, report: Report = silent, environment: Mapping[str, str] | None = None
) -> VerifyResult:
    """Return the verdict. `environment` says where the cache lies, the process's own by default.

    Errors: UsageError for an unknown size, a wrong criterion, schedule or reference.
    """
    environment = os.environ if environment is None else environment
    try:
        request = _on_gpu(request) if request.device == "cuda" else request
    except (NoDriver, DriverError) as e:
        return _without_verdict(request, (error("AK806", Span(request.path), reason=str(e), instead=ON_CPU),))
    program = program_of(_compile_request(request))
    if not isinstance(program, CompiledProgram):
        return _without_verdict(request, program)
    _check_sizes(request, program.sizes)
    result = _verified(request, program, report, environment)
    return result.model_copy(update={"nondeterministic": program.nondeterministic})


def _verified(
    request: VerifyRequest, program: CompiledProgram, report: Report, environment: Mapping[str, str]
) -> VerifyResult:
    missing = [info.name for info in program.sizes if info.static and info.name not in request.dims]
    if missing:
        return _without_verdict(request, tuple(error("AK803", Span(request.path), name=name) for name in missing))
    try:
        options = _options(request)
    except ReferenceFailure as e:
        return _without_verdict(request, (error("AK811", Span(request.path), reason=str(e)),))
    first = program.first_result(request.dims)
    if first.status != "ok":
        return _without_verdict(request, first.diagnostics)
    try:
        with _executors(request, program, environment) as (executor, tracker):
            subject = make_subject(program, executor, tracker, program.sizes, options)
            result = run_checks(subject, options, report)
    except _NO_VERDICT as e:
        return _without_verdict(request, (_reason(e, first, request.path),))
    return result.model_copy(update={"kernel_id": first.kernel_id})


_NO_VERDICT = (
    SimulatorUnavailableError,
    NvrtcMissing,
    NoDriver,
    CallError,
    ImpossiblePromise,
    MemoryError,
    TimeLimitError,
    BuildError,
)
"""What ends a verification that has nothing to do with whether the kernel is right."""


def _reason(e: Exception, compiled: CompileResult, path: str) -> Diagnostic:
    """Return the diagnostic of one of `_NO_VERDICT`."""
    name = "" if compiled.kernel is None else compiled.kernel.name
    match e:
        case CallError():
            return e.diagnostic(Span(path))
        case ImpossiblePromise():
            return CallError("AK715", name=name, reason=str(e)).diagnostic(Span(path))
        case TimeLimitError():
            return error("AK810", Span(path), seconds=f"{e.seconds:g}")
        case _:
            code = next((code for kind, code in _CODES.items() if isinstance(e, kind)), "AK901")
            return error(code, Span(path), reason=str(e), instead=ON_CPU)


_CODES = {SimulatorUnavailableError: "AK808", NvrtcMissing: "AK807", NoDriver: "AK806", MemoryError: "AK812"}


def _compile_request(request: VerifyRequest) -> CompileRequest:
    try:
        schedule = None if request.schedule is None else schedule_from_json(request.schedule)
    except ScheduleError as e:
        raise usage_error("--schedule", str(e)) from e
    return CompileRequest(
        source=request.source,
        path=request.path,
        kernel=request.kernel,
        target=request.target,
        settings=request.settings,
        schedule=schedule,
        numerics=request.numerics,
    )


def _check_sizes(request: VerifyRequest, sizes: tuple[SizeInfo, ...]) -> None:
    known = [info.name for info in sizes]
    for name in request.dims:
        if name not in known:
            reason = "the kernel has no such size"
            available = ", ".join(known) or "none"
            raise UsageError(error("AK802", Span("command line"), name=name, reason=reason, available=available))


def _options(request: VerifyRequest) -> VerifyOptions:
    reference, criterion = _reference(request), _criterion(request)
    return VerifyOptions(request.dims, request.level, reference, criterion, request.scalars, request.seed)


def _reference(request: VerifyRequest) -> Reference | CompiledProgram | None:
    if request.reference is not None:
        return parse_reference(request.reference)
    if request.reference_kernel is None:
        return None
    if request.reference_kernel.strip() == request.source.strip():
        reason = "it is the kernel's own text, which agrees with itself whatever it computes"
        raise UsageError(error("AK811", Span("reference.py"), reason=reason))
    text = CompileRequest(request.reference_kernel, "reference.py", settings=request.settings)
    program = program_of(text)
    if isinstance(program, CompiledProgram):
        return program
    raise UsageError(error("AK811", Span("reference.py"), reason=program[0].message))


def _criterion(request: VerifyRequest) -> Criterion:
    try:
        if request.criterion is not None:
            return parse_criterion(request.criterion)
        if request.reference is not None:
            return criterion_beside(parse_reference(request.reference).path) or Criterion()
    except CriterionError as e:
        raise usage_error("--criterion", str(e)) from e
    return Criterion()


@contextmanager
def _executors(
    request: VerifyRequest, program: CompiledProgram, environment: Mapping[str, str]
) -> Generator[tuple[Executor, Executor | None]]:
    """Give what runs the kernel, and what looks for races, as long as both are needed.

    Errors: SimulatorUnavailableError on the CPU; on a GPU the simulator may be missing.
    """
    folder = cache_folder(environment)
    simulator = SimulatorExecutor(program, folder)
    if request.device == "cpu":
        host_compiler()
        yield simulator, simulator
        return
    worker = Worker(JOBS, environment)
    try:
        yield DeviceExecutor(program, request.target, Cache(folder), worker), _tracker(simulator)
    finally:
        worker.close()


def _tracker(simulator: SimulatorExecutor) -> SimulatorExecutor | None:
    try:
        host_compiler()
    except SimulatorUnavailableError:
        return None
    return simulator


def _on_gpu(request: VerifyRequest) -> VerifyRequest:
    """Return the request for the architecture of the first GPU. Errors: NoDriver; DriverError."""
    return VerifyRequest.model_validate({**request.model_dump(), "target": gpu_target()})


def _without_verdict(request: VerifyRequest, diagnostics: tuple[Diagnostic, ...]) -> VerifyResult:
    """Return the answer of a kernel that cannot be run here."""
    first = next((d for d in diagnostics if d.severity == "error"), diagnostics[0])
    return VerifyResult(
        status=status_of(diagnostics),
        summary=f"no verdict: {first.message}; {first.hint or 'correct it and verify again'}",
        diagnostics=tuple(diagnostic_record(d) for d in diagnostics),
        verdict="not_run",
        device=request.device,
        checks=tuple(CheckRecord(name=name, status="not_run", detail="the kernel was not run") for name in NAMES),
    )
