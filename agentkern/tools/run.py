"""Run a kernel once on given or seeded inputs: on the CPU simulator, a GPU, or the reference interpreter."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from agentkern.compiler.abi import ListParam, ScalarParam, TensorParam, Variant
from agentkern.compiler.analysis.promises import promises_of
from agentkern.compiler.driver import CompileRequest, CompileResult
from agentkern.compiler.ir.core import Kernel, Location, walk
from agentkern.compiler.ir.interpreter import BrokenPromise, InterpreterError, RequirementError, interpret
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.compiler.ir.reference_formats import FLOATS, Raw, decode
from agentkern.compiler.schedule import ScheduleError, schedule_from_json
from agentkern.compiler.variants import fitting_variant
from agentkern.diagnostics import Diagnostic, Span, error, status_of
from agentkern.runtime.build import build as build_cubin
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.driver import DriverError, NoDriver, gpu_target
from agentkern.runtime.gpu_job import JOBS
from agentkern.runtime.gpu_run import GpuProgram, GpuRunFailed, image_of, run_on_gpu
from agentkern.runtime.launch_findings import failure_of
from agentkern.runtime.layouts import fitting, laid_out
from agentkern.runtime.nvrtc import NvrtcOptions
from agentkern.runtime.nvrtc_library import NvrtcMissing
from agentkern.runtime.programs import compile_program
from agentkern.runtime.promises import broken_promise
from agentkern.runtime.signature import Signature
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import (
    Checks,
    SimulatorBuildError,
    SimulatorOptions,
    SimulatorUnavailableError,
    build,
)
from agentkern.runtime.sizes import shape_of, solve_sizes
from agentkern.runtime.tensor_view import Device
from agentkern.runtime.tensors import BoundCall, bind_call
from agentkern.runtime.worker import Worker
from agentkern.tools.arrays import GivenInputs, Number
from agentkern.tools.inputs import digest, generate, generate_for
from agentkern.tools.memory_needs import NotEnoughMemory, check_tensors, check_values
from agentkern.tools.nondeterminism import said_of
from agentkern.tools.progress import Report, silent
from agentkern.tools.promised_inputs import ImpossiblePromise, keep_promises
from agentkern.tools.requests import ON_CPU, RunRequest
from agentkern.tools.results import OutputRecord, RunResult, diagnostic_record
from agentkern.tools.verify_model import signature_of

CPU = Device("cpu")
_GPU_TIMEOUT_S = 60.0
_CONTIGUOUS = Variant()


class Failed(Exception):
    """The run ends here, with a diagnostic."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The result and every output's raw storage."""

    result: RunResult
    outputs: Mapping[str, Raw]


def run(request: RunRequest, inputs: GivenInputs, report: Report = silent) -> RunAnswer:
    """Run once. Never raises for a wrong kernel or wrong inputs."""
    started = time.perf_counter()
    try:
        report(None, "compile")
        compiled = _compile(request)
        compiled_at = time.perf_counter()
        assert compiled.kernel is not None
        report(None, "prepare inputs")
        call = _bind(compiled.kernel, request, inputs)
        compiled = _fit(compiled, call, request)
        outputs = _outputs(call)
        bound_at = time.perf_counter()
        report(None, f"run on {request.device}")
        _RUN[request.device](compiled, call, request)
    except CallError as e:
        return RunAnswer(_failure((e.diagnostic(Span(request.path)),), request.device), {})
    except Failed as e:
        return RunAnswer(_failure(e.diagnostics, request.device), {})
    assert compiled.kernel is not None
    ended = time.perf_counter()
    timings = {"compile": compiled_at - started, "inputs": bound_at - compiled_at, "run": ended - bound_at}
    result = RunResult(
        status="ok",
        summary=f"`{compiled.kernel.name}` ran on {_DEVICES[request.device]}{said_of(compiled.kernel)}; next: verify",
        nondeterministic=is_nondeterministic(compiled.kernel),
        device=request.device,
        kernel_id=compiled.kernel_id or None,
        outputs=tuple(
            _record(bound.param, outputs[bound.param.name]) for bound in call.tensors if bound.param.name in outputs
        ),
        timings_ms={phase: round(seconds * 1e3, 2) for phase, seconds in timings.items()},
    )
    return RunAnswer(result, outputs)


def preview(param_dtype: str, raw: Raw) -> str:
    """Return the first values and what is unusual among all, for people."""
    values = _values(param_dtype, raw)
    first = ", ".join(f"{value:.6g}" for value in values.reshape(-1)[:4])
    more = ", ..." if values.size > 4 else ""
    n_nans = int(np.count_nonzero(np.isnan(values)))
    nans = f"; {n_nans} NaN" if n_nans else ""
    return f"[{first}{more}]{nans}"


def _compile(request: RunRequest, variant: Variant = _CONTIGUOUS) -> CompileResult:
    try:
        schedule = schedule_from_json(request.schedule) if request.schedule is not None else None
    except ScheduleError as e:
        raise Failed(error("AK613", Span(request.path), reason=str(e))) from e
    target = _gpu_target(request.path) if request.device == "cuda" else request.target
    asked = CompileRequest(
        request.source, request.path, request.kernel, target, request.dims, request.settings, schedule, variant=variant
    )
    # The interpreter runs what the front end made: nothing below it may matter.
    cache = Cache(cache_folder(os.environ))
    compiled = compile_program(asked, cache, stop_after="simplify" if request.device == "interp" else None)
    if compiled.status != "ok" or compiled.kernel is None:
        raise Failed(*compiled.diagnostics)
    return compiled


def _fit(compiled: CompileResult, call: BoundCall, request: RunRequest) -> CompileResult:
    """Compile once more where the tensors need a build with other assumptions than the first one made."""
    if compiled.abi is None:
        return compiled
    variant = fitting_variant(compiled.abi, call.sizes, call.strided, call.alignment)
    return compiled if variant == compiled.abi.variant else _compile(request, variant)


def _bind(kernel: Kernel, request: RunRequest, inputs: GivenInputs) -> BoundCall:
    """Check the inputs and make those that are missing."""
    described = signature_of(kernel)
    statics = _statics(kernel)
    inputs = _by_entry(described.lists, inputs, request.path)
    _check_names([param.name for param in (*described.inputs, *described.scalars)], inputs, request.path)
    signature = Signature(kernel.name, (*described.tensors, *described.scalars), kernel.sizes, statics, described.lists)
    fixed = {name for name, _ in statics}
    dims = {name: size for name, size in request.dims.items() if name not in fixed}
    try:
        shapes = {name: array.shape for name, array in inputs.arrays.items() if name in _names(described.tensors)}
        sizes = solve_sizes(described.tensors, shapes, kernel.sizes, dict(statics) | dims)
        check_tensors(described.tensors, sizes)
        if request.device == "interp":
            check_values(kernel, sizes)
        made: dict[str, Raw | Number] = {}
        for param in described.inputs:
            if param.name not in inputs.arrays:
                shape = shape_of(param, sizes)
                array = generate_for("random", param, shape, request.seed)
                made.update(keep_promises(promises_of(kernel), {param.name: array}, sizes))
        for scalar in described.scalars:
            if scalar.default is None and scalar.name not in inputs.numbers:
                made[scalar.name] = _random_scalar(scalar, request.seed)
        broken = broken_promise(promises_of(kernel), inputs.arrays, sizes)
        if broken is not None:
            raise CallError("AK715", name=broken[0], reason=broken[1])
        given = {**made, **_writable_copies(described.tensors, inputs), **inputs.numbers, **dims}
        for param in described.tensors:
            array = given.get(param.name)
            given |= {param.name: fitting(param, array, sizes)} if isinstance(array, np.ndarray) else {}
        return bind_call(signature, (), given, device=CPU)
    except CallError as e:
        found = e.diagnostic(Span(request.path))
        if e.code == "AK710":
            found = replace(found, hint=f"give it: `--dim {e.field('name')}=...`")
        raise Failed(found) from e
    except NotEnoughMemory as e:
        raise Failed(error("AK812", Span(request.path), reason=str(e))) from e
    except ImpossiblePromise as e:
        raise Failed(CallError("AK715", name=kernel.name, reason=str(e)).diagnostic(Span(request.path))) from e


def _check_names(known: list[str], inputs: GivenInputs, path: str) -> None:
    for name in (*inputs.arrays, *inputs.numbers):
        if name not in known:
            reason = f"the kernel has no input of that name; it has {', '.join(known)}"
            raise Failed(error("AK805", Span(path), option=f"--input {name}", reason=reason))


def _by_entry(lists: tuple[ListParam, ...], inputs: GivenInputs, path: str) -> GivenInputs:
    """Inputs with each tensor of a list under its own name: `pre.0` is `pre[0]`, an array for `pre` all in a stack."""
    arrays = dict[str, Raw]()
    spelled = {entry.replace("[", ".").rstrip("]"): entry for listed in lists for entry in listed.entries}
    by_name = {listed.name: listed for listed in lists}
    for name, array in inputs.arrays.items():
        if name not in by_name:
            arrays[spelled.get(name, name)] = array
            continue
        entries = by_name[name].entries
        if array.ndim == 0 or array.shape[0] != len(entries):
            reason = f"the array has shape {list(array.shape)}; a stack of {len(entries)} tensors is needed"
            raise Failed(error("AK805", Span(path), option=f"--input {name}", reason=reason))
        arrays |= {entry: np.ascontiguousarray(part) for entry, part in zip(entries, array, strict=True)}
    return GivenInputs(arrays, inputs.numbers)


def _names(params: tuple[TensorParam, ...]) -> set[str]:
    return {param.name for param in params}


def _statics(kernel: Kernel) -> tuple[tuple[str, int], ...]:
    pairs = kernel.attrs.get("statics", ())
    assert isinstance(pairs, tuple)
    return tuple(
        (str(name), int(value)) for name, value in pairs if isinstance(value, int) and not isinstance(value, bool)
    )


def _writable_copies(params: tuple[TensorParam, ...], inputs: GivenInputs) -> dict[str, Raw]:
    """Arrays that a kernel writes are copied: a file's content stays the caller's."""
    written = {param.name for param in params if param.access != "in"}
    return {name: array.copy() if name in written else array for name, array in inputs.arrays.items()}


def _random_scalar(param: ScalarParam, seed: int) -> Number:
    raw = generate("random", param.dtype, (), seed, param.name)
    return _values(param.dtype.name, raw).item()


def _values(dtype: str, raw: Raw) -> Raw:
    return decode(dtype, raw) if dtype in FLOATS else raw


def _outputs(call: BoundCall) -> dict[str, Raw]:
    found: dict[str, Raw] = {}
    for name, owner in call.outputs.items():
        assert isinstance(owner, np.ndarray)
        found[name] = owner
    return found


def _arrays(call: BoundCall) -> dict[str, Raw]:
    arrays: dict[str, Raw] = {}
    for bound in call.tensors:
        assert isinstance(bound.view.owner, np.ndarray)
        arrays[bound.param.name] = bound.view.owner
    return arrays


def _run_interpreter(compiled: CompileResult, call: BoundCall, request: RunRequest) -> None:
    assert compiled.kernel is not None
    scalars = {scalar.name: scalar.value for scalar in call.scalars}
    try:
        interpret(compiled.kernel, _arrays(call), call.sizes, scalars)
    except BrokenPromise as e:
        raise Failed(CallError("AK715", name=e.tensor, reason=e.reason).diagnostic(_place(request, e.location))) from e
    except RequirementError as e:
        raise Failed(error("AK716", _place(request, e.location), reason=str(e))) from e
    except InterpreterError as e:
        raise Failed(error("AK901", Span(request.path), reason=str(e))) from e


def _run_simulator(compiled: CompileResult, call: BoundCall, request: RunRequest) -> None:
    assert compiled.abi is not None
    try:
        module = build(compiled.cuda, cache_folder(os.environ))
    except SimulatorUnavailableError as e:
        raise Failed(error("AK808", Span(request.path), reason=str(e))) from e
    except SimulatorBuildError as e:
        raise Failed(error("AK902", Span(request.path), reason=e.log.strip()[:200])) from e
    scalars = {scalar.name: scalar.value for scalar in call.scalars}
    options = SimulatorOptions(checks=Checks.FAST, line_map=compiled.lines)
    assert compiled.kernel is not None
    reports = simulate(compiled.abi, module, _arrays(call), call.sizes, scalars, options)
    wrong = failure_of(reports, compiled.kernel, request.path)
    if wrong is not None:
        raise Failed(wrong)


def _place(request: RunRequest, location: Location | None) -> Span:
    """Where something stands in the kernel's text."""
    if location is None:
        return Span(request.path)
    return Span(request.path, location[:2], location[2:])


def _run_gpu(compiled: CompileResult, call: BoundCall, request: RunRequest) -> None:
    assert compiled.abi is not None
    span = Span(request.path)
    worker = Worker(JOBS, os.environ)
    try:
        options = NvrtcOptions(_gpu_target(request.path))
        built = build_cubin(compiled.cuda, options, Cache(cache_folder(os.environ)))
        scalars = {scalar.name: scalar.value for scalar in call.scalars}
        program = GpuProgram(compiled.abi, built.cubin)
        with laid_out(compiled.abi, _arrays(call), call.sizes) as placed:
            images = {name: image_of(array) for name, array in placed.items()}
            run_on_gpu(worker, program, images, call.sizes, scalars, timeout_s=_GPU_TIMEOUT_S)
    except (NoDriver, DriverError) as e:
        raise Failed(error("AK806", span, reason=str(e), instead=ON_CPU)) from e
    except NvrtcMissing as e:
        raise Failed(error("AK807", span, reason=str(e))) from e
    except GpuRunFailed as e:
        late = error("AK810", span, seconds=_GPU_TIMEOUT_S)
        stopped = compiled.kernel is not None and any(op.name == "require" for op in walk(compiled.kernel.body))
        other = error("AK716" if stopped else "AK901", span, reason=str(e))
        raise Failed(late if e.kind == "timed_out" else other) from e
    finally:
        worker.close()


def _gpu_target(path: str) -> str:
    """The architecture of the first GPU, which decides what is compiled."""
    try:
        return gpu_target()
    except (NoDriver, DriverError) as e:
        raise Failed(error("AK806", Span(path), reason=str(e), instead=ON_CPU)) from e


_RUN: Mapping[str, Callable[[CompileResult, BoundCall, RunRequest], None]] = {
    "interp": _run_interpreter,
    "cpu": _run_simulator,
    "cuda": _run_gpu,
}
_DEVICES = {"interp": "the reference interpreter", "cpu": "the CPU simulator", "cuda": "the GPU"}


def _record(param: TensorParam, raw: Raw) -> OutputRecord:
    return OutputRecord(name=param.name, dtype=param.dtype.name, shape=raw.shape, digest=digest(raw))


def _failure(diagnostics: tuple[Diagnostic, ...], device: str) -> RunResult:
    first = diagnostics[0]
    return RunResult(
        status=status_of(diagnostics),
        summary=f"{first.code}: {first.message}{f'; {first.hint}' if first.hint else ''}",
        diagnostics=tuple(diagnostic_record(diagnostic) for diagnostic in diagnostics),
        device=device,
    )
