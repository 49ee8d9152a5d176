"""Compile a kernel: text to CUDA to cubin, with resources, proofs, roofline, and every text that was asked for.

A default schedule that does not fit the registers is replaced (`runtime/fitting_build.py`). Answers are cached whole.
"""

from __future__ import annotations

import dataclasses
import os
import time
from dataclasses import dataclass
from pathlib import Path

from agentkern.compiler.driver import MODES, pass_names
from agentkern.compiler.driver import CompileRequest as DriverRequest
from agentkern.compiler.driver import CompileResult as Compiled
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.compiler.schedule import ScheduleError, schedule_from_json
from agentkern.diagnostics import Diagnostic, Span, error, status_of
from agentkern.runtime.build import Build
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.cache_keys import ProgramRequest, loaded_digest, program_key
from agentkern.runtime.fitting_build import Fit, build_fitting
from agentkern.runtime.nvrtc import NvrtcError
from agentkern.runtime.nvrtc_library import NvrtcMissing, find_nvrtc
from agentkern.runtime.programs import compile_ir, compile_program
from agentkern.runtime.sass import DisassemblyFailed, NvdisasmMissing
from agentkern.tools.artifacts import ArtifactStore, default_store
from agentkern.tools.check import signature_text
from agentkern.tools.emit import emit_text
from agentkern.tools.nondeterminism import said_of
from agentkern.tools.progress import Report, silent
from agentkern.tools.requests import CompileRequest, Emit
from agentkern.tools.results import Artifact, CompileResult, Estimate, ProofCounts, Resources, diagnostic_record
from agentkern.tools.roofline import roofline
from agentkern.tools.sources import usage_error

_OTHER_SCHEDULES = 6
_FILE_ENDINGS = {
    "cuda": "cu", "ir": "ir", "placed": "placed.ir", "gpu": "gpu.ir", "ptx": "ptx", "sass": "sass",
    "layouts": "layouts.txt", "proofs": "proofs.json", "host": "host.json", "cubin": "cubin",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel and its cubin, None where the compiler stopped early or there is no NVRTC."""

    compiled: Compiled
    build: Build | None
    diagnostics: tuple[Diagnostic, ...] = ()
    fit: Fit | None = None


@dataclass(frozen=True, slots=True)
class CompileAnswer:
    """The result, and the emitted texts in the order asked."""

    result: CompileResult
    texts: dict[Emit, str]


def compile(request: CompileRequest, report: Report = silent, folder: Path | None = None) -> CompileAnswer:
    """Compile; artifacts are written to `folder` too if one is given. Never raises for a wrong kernel.

    Errors: UsageError for an unknown pass or a folder that cannot be written.
    """
    started = time.perf_counter()
    cache = Cache(cache_folder(os.environ))
    store = default_store()
    is_plain = not request.emit and folder is None and request.stop_after is None and not request.is_ir
    key = _key(request, cache) if is_plain else None
    known = cache.get(key) if key is not None else None
    if known is not None:
        result = CompileResult.model_validate_json(known["result"])
        artifacts = tuple(store.put(kind, known[kind]) for kind in ("cuda", "cubin"))
        timings = {"cache": round((time.perf_counter() - started) * 1e3, 2)}
        result = result.model_copy(update={"timings_ms": timings, "cache": "hit", "artifacts": artifacts})
        return CompileAnswer(result, {})
    built = build_kernel(request, cache, report)
    answer = _answer(request, built, store, _writable(folder))
    if key is not None and answer.result.status == "ok" and built.build is not None:
        stored = answer.result.model_copy(update={"artifacts": ()}).model_dump_json().encode()
        cache.put(key, {"result": stored, "cuda": built.compiled.cuda.encode(), "cubin": built.build.cubin})
    return answer


def build_kernel(request: CompileRequest, cache: Cache | None, report: Report = silent) -> Built:
    """Compile and build; where the default schedule does not fit the registers as expected, with another one.

    Errors: UsageError for an unknown pass.
    """
    if request.stop_after is not None and request.stop_after not in pass_names():
        raise usage_error("--stop-after", f"there is no pass `{request.stop_after}`; {', '.join(pass_names())}")
    if request.numerics not in MODES:
        instead = f"leave it out, or write `--numerics {MODES[0]}`"
        later = error("AK601", Span(request.path), what=f"`--numerics {request.numerics}`", instead=instead)
        return Built(Compiled(status_of((later,)), (later,)), None)
    report(None, "compile")
    try:
        asked = _driver_request(request)
    except ScheduleError as e:
        wrong = error("AK613", Span(request.path), reason=str(e))
        return Built(Compiled(status_of((wrong,)), (wrong,)), None)
    if request.is_ir:
        compiled = compile_ir(request.source, asked, stop_after=request.stop_after)
        if compiled.abi is not None and request.stop_after is not None:
            raise usage_error("--stop-after", f"the text is past `{request.stop_after}`; {', '.join(pass_names())}")
    else:
        compiled = compile_program(asked, cache, stop_after=request.stop_after)
    if compiled.status != "ok" or compiled.abi is None:
        return Built(compiled, None)
    report(None, f"assemble for {request.target}")
    # A text of a later stage has its schedule inside, and is built as it is.
    fixed = dataclasses.replace(asked, schedule=compiled.schedule) if request.is_ir else asked
    try:
        made = build_fitting(fixed, compiled, cache, with_ptx="ptx" in request.emit)
        remarks = made.build.performance_remarks
        if remarks:
            serialised = error("AK904", Span(request.path), reason=remarks[0].text)
            return Built(made.compiled, made.build, (*made.diagnostics, serialised), made.fit)
        return Built(made.compiled, made.build, made.diagnostics, made.fit)
    except NvrtcMissing as e:
        return Built(compiled, None, (error("AK807", Span(request.path), reason=str(e)),))
    except NvrtcError as e:
        return Built(compiled, None, (error("AK902", Span(request.path), reason=e.summary),))


def _driver_request(request: CompileRequest) -> DriverRequest:
    schedule = schedule_from_json(request.schedule) if request.schedule is not None else None
    return DriverRequest(
        source=request.source,
        path=request.path,
        kernel=request.kernel,
        target=request.target,
        dims=request.dims,
        settings=request.settings,
        schedule=schedule,
        numerics=request.numerics,
    )


def _answer(request: CompileRequest, built: Built, store: ArtifactStore, folder: Path | None) -> CompileAnswer:
    compiled = built.compiled
    diagnostics = [*compiled.diagnostics, *built.diagnostics]
    texts: dict[Emit, str] = {}
    for kind in request.emit:
        try:
            text = emit_text(kind, compiled, built.build)
        except (NvdisasmMissing, DisassemblyFailed) as e:
            diagnostics.append(error("AK807", Span(request.path), reason=str(e)))
            continue
        if text is not None:
            texts[kind] = text
    if request.stop_after is not None and request.stop_after in compiled.texts:
        texts["ir"] = compiled.texts[request.stop_after]
    status = status_of(tuple(diagnostics))
    timings = dict(compiled.timings_ms)
    if built.build is not None:
        timings["assemble"] = built.build.build_ms
    result = CompileResult(
        status=status,
        summary=_summary(request, built, tuple(diagnostics)),
        diagnostics=tuple(diagnostic_record(diagnostic) for diagnostic in diagnostics),
        artifacts=_keep(built, texts, store, folder),
        nondeterministic=compiled.kernel is not None and is_nondeterministic(compiled.kernel),
        kernel_id=compiled.kernel_id or None,
        target=request.target,
        signature=signature_text(compiled.kernel) if compiled.kernel is not None else None,
        schedule=compiled.schedule.to_json() if compiled.schedule is not None else None,
        resources=_resources(built),
        estimate=_estimate(built),
        roofline=roofline(compiled.kernel, request.dims, request.target) if compiled.kernel is not None else None,
        proofs=ProofCounts(**compiled.proofs.counts()) if compiled.kernel is not None else None,
        timings_ms={phase: round(ms, 2) for phase, ms in timings.items()},
        cache="hit" if built.build is not None and built.build.from_cache else "miss",
    )
    return CompileAnswer(result, texts)


def _keep(built: Built, texts: dict[Emit, str], store: ArtifactStore, folder: Path | None) -> tuple[Artifact, ...]:
    """Keep the CUDA text, the cubin and what was emitted."""
    contents: dict[str, bytes] = {}
    if built.compiled.cuda:
        contents["cuda"] = built.compiled.cuda.encode()
    if built.build is not None:
        contents["cubin"] = built.build.cubin
    contents |= {kind: text.encode() for kind, text in texts.items()}
    name = built.compiled.kernel.name if built.compiled.kernel is not None else "kernel"
    return tuple(
        store.put(kind, data, path=folder / f"{name}.{_FILE_ENDINGS[kind]}" if folder is not None else None)
        for kind, data in contents.items()
    )


def _resources(built: Built) -> Resources | None:
    """Return the largest of what the launches use, and the least of their occupancies."""
    if built.build is None or built.fit is None or built.compiled.abi is None:
        return None
    pairs = [(launch, built.build.resources_of(launch.function)) for launch in built.compiled.abi.launches]
    if not pairs:
        return None
    return Resources(
        registers=max(used.registers for _, used in pairs),
        spill_bytes=max(used.spill_bytes for _, used in pairs),
        shared_bytes=max(launch.shared_bytes + used.static_shared_bytes for launch, used in pairs),
        barriers=max(used.barriers for _, used in pairs),
        threads=max(launch.threads for launch, _ in pairs),
        occupancy=round(built.fit.occupancy, 3),
    )


def _estimate(built: Built) -> Estimate | None:
    """Return what the schedule was chosen by."""
    if built.fit is None:
        return None
    return Estimate(registers=built.fit.expected_registers, occupancy=round(built.fit.expected_occupancy, 3))


def _summary(request: CompileRequest, built: Built, diagnostics: tuple[Diagnostic, ...]) -> str:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if errors:
        first = errors[0]
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        next_step = first.hint or "change the kernel and compile again"
        return f"{first.code}, line {first.span.start[0]}: {first.message}{more}; {next_step}"
    assert built.compiled.kernel is not None
    name, said = built.compiled.kernel.name, said_of(built.compiled.kernel)
    if built.build is None:
        return f"`{name}` stopped after `{request.stop_after}`{said}; next: --from with what it printed"
    resources = _resources(built)
    used = f": {resources.registers} registers, {resources.spill_bytes} bytes spilled" if resources is not None else ""
    # what verifies starts from a kernel's text, so an IR text is held to a model by whoever wrote it
    step = "its text is in the artifacts; `verify` takes kernels, not IR" if request.is_ir else "next: verify"
    return f"`{name}` is compiled for {request.target}{used}{said}; {step}"


def _key(request: CompileRequest, cache: Cache) -> str:
    values: dict[str, int | float | bool | str] = {f"dim {name}": size for name, size in request.dims.items()}
    values |= {f"set {name}": value for name, value in request.settings.items()}
    values["path"] = request.path
    schedule = str(sorted(request.schedule.items())) if request.schedule is not None else "default"
    try:
        toolchain = find_nvrtc().identity
    except NvrtcMissing:
        toolchain = "no nvrtc"
    return program_key(
        ProgramRequest(
            text=request.source,
            kernel=request.kernel or "",
            values=values | {"toolchain": toolchain},
            target=request.target,
            schedule=schedule,
            numerics=request.numerics,
            package=loaded_digest(cache),
        )
    )


def _writable(folder: Path | None) -> Path | None:
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise usage_error("-o", f"`{folder}` cannot be made: {e.strerror}") from e
    return folder
