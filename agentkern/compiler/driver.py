"""Text to CUDA text: the front end, proofs, the passes, the printer; diagnostics and times of each. No toolchain here.

Pure and re-entrant: no globals, no environment. `runtime/build.py` turns the result into a cubin.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from agentkern.compiler.abi import KernelAbi, Launch, Variant, lists_of, params_of
from agentkern.compiler.analysis.register_pressure import estimated_registers
from agentkern.compiler.codegen.cuda import kernel_arguments, print_cuda
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel, SizeInfo, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.parser import IrSyntaxError, parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.verifier import IrError, verify_kernel
from agentkern.compiler.passes.place_layouts import place_layouts
from agentkern.compiler.passes.plan import candidate_schedules, check_schedule, default_schedule
from agentkern.compiler.passes.share_memory import share_memory
from agentkern.compiler.passes.simplify import share_repeated
from agentkern.compiler.passes.stream_rows import stream_rows
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.compiler.pipeline import LEGALISE, LOWER, VERIFIED, Pass, PassContext
from agentkern.compiler.proofs import ProofReport, diagnose, prove_kernel
from agentkern.compiler.schedule import Schedule, ScheduleError
from agentkern.compiler.targets.limits import ARGUMENT_BYTES, LIMITS, TENSOR_MAP_BYTES
from agentkern.diagnostics import Diagnostic, Span, error, status_of

Scalar = int | float | bool

ARCHITECTURES: Mapping[str, int] = {"sm_80": 80, "sm_90a": 90, "sm_100a": 100}
MODES = ("portable",)
MOST_FINDINGS = 8
CANDIDATES = 16
"""Schedules that are looked at, for those that fit or need fewer registers."""


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """What to compile. `dims` gives static sizes their numbers, `settings` compile-time parameters their values."""

    source: str
    path: str
    kernel: str | None = None
    target: str = "sm_90a"
    dims: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Scalar] = field(default_factory=dict)
    schedule: Schedule | None = None
    numerics: str = "portable"
    variant: Variant = field(default_factory=Variant)


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What came of it. `texts` holds the stages by name: `ir`, `legal`, `placed`, `gpu`, `cuda`.

    `kernel` is the TILE kernel as the front end made it, `lines` maps lines of the CUDA text to the kernel's. `abi` and
    `schedule` are None unless the status is `ok` and nothing stopped the compiler early. `registers` is the estimate
    for one thread; `legal` is None in a result that comes from a cache.
    """

    status: str
    diagnostics: tuple[Diagnostic, ...]
    kernel: Kernel | None = None
    legal: Kernel | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[int, int] = field(default_factory=dict)
    abi: KernelAbi | None = None
    schedule: Schedule | None = None
    proofs: ProofReport = field(default_factory=lambda: ProofReport(()))
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    kernel_id: str = ""
    registers: int = 0

    @property
    def cuda(self) -> str:
        """The CUDA text; empty when there is none."""
        return self.texts.get("cuda", "")


class _Clock:
    """Milliseconds by phase."""

    def __init__(self) -> None:
        self.times: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.times[name] = self.times.get(name, 0.0) + 1000 * (time.perf_counter() - start)


def pass_names() -> tuple[str, ...]:
    """Names that `stop_after` takes, in order."""
    return tuple(dict.fromkeys(p.name for p in (*LEGALISE, *LOWER)))


def compile_kernel(request: CompileRequest, *, stop_after: str | None = None) -> CompileResult:
    """Compile one kernel of a text. Never raises on any text; `stop_after` names a pass."""
    clock = _Clock()
    with clock.phase("frontend"):
        found = lower_source(request.source, request.path, request.kernel, request.dims, request.settings)
    if found.kernel is None:
        return CompileResult(status_of(found.diagnostics), found.diagnostics, timings_ms=clock.times)
    with clock.phase("proofs"):
        report = prove_kernel(share_repeated(found.kernel))
    diagnostics = (*found.diagnostics, *diagnose(report, request.path))
    if status_of(diagnostics) != "ok":
        return CompileResult(status_of(diagnostics), diagnostics, found.kernel, proofs=report, timings_ms=clock.times)
    result = compile_tile(found.kernel, request, clock, stop_after)
    return _with_front(result, diagnostics, report)


def compile_text(text: str, request: CompileRequest, *, stop_after: str | None = None) -> CompileResult:
    """Compile IR text of any stage (`--from`), with proofs for TILE; `request.source` is ignored."""
    clock = _Clock()
    try:
        with clock.phase("parse"):
            kernel = parse_kernel(text)
            verify_kernel(kernel)
    except (IrSyntaxError, IrError) as e:
        wrong = error("AK106", Span(request.path), what=f"IR text ({e})", instead="text that `--emit ir` prints")
        return CompileResult("rejected", (wrong,), timings_ms=clock.times)
    with clock.phase("proofs"):
        report = prove_kernel(share_repeated(kernel)) if kernel.stage == "tile" else ProofReport(())
    diagnostics = diagnose(report, request.path)
    if status_of(diagnostics) != "ok":
        return CompileResult(status_of(diagnostics), diagnostics, kernel, proofs=report, timings_ms=clock.times)
    return _with_front(compile_tile(kernel, request, clock, stop_after), diagnostics, report)


def _with_front(result: CompileResult, diagnostics: tuple[Diagnostic, ...], report: ProofReport) -> CompileResult:
    return replace(result, diagnostics=(*diagnostics, *result.diagnostics), proofs=report)


def legalise(kernel: Kernel) -> Kernel:
    """The kernel after every pass above the schedule."""
    context = PassContext(Schedule(()), Variant())
    for step in LEGALISE:
        kernel = step.run(kernel, context)
    return kernel


def schedules(kernel: Kernel, variant: Variant, count: int) -> tuple[Schedule, ...]:
    """Up to `count` different schedules of a TILE kernel, the default first; of the others those whose values fit."""
    legal = legalise(share_memory(kernel, variant.shared))
    first, *others = candidate_schedules(legal, variant, CANDIDATES + count if count > 1 else 1)
    fitting = (schedule for schedule in others if _placed(legal, schedule) is not None)
    return (first, *islice(fitting, count - 1))


def _placed(legal: Kernel, schedule: Schedule) -> Kernel | None:
    """A kernel with layouts by a schedule; None where a value does not fit the registers."""
    try:
        return place_layouts(stream_rows(legal, schedule), schedule)
    except UnsupportedError:
        return None


def leaner_schedules(kernel: Kernel, variant: Variant, than: int, count: int) -> tuple[Schedule, ...]:
    """Up to `count` legal schedules that are estimated to need fewer registers than `than`, the largest estimate first.

    In that order because a schedule near the default loses least: the first that fits is the one to take.
    """
    legal = legalise(share_memory(kernel, variant.shared))
    found: list[tuple[int, Schedule]] = []
    first, *others = candidate_schedules(legal, variant, CANDIDATES)
    for schedule in others:
        if _adds_idle_warps(schedule, first):
            continue
        placed = _placed(legal, schedule)
        if placed is not None:
            found.append((estimated_registers(placed), schedule))
    leaner = sorted((pair for pair in found if pair[0] < than), key=lambda pair: -pair[0])
    step = max(len(leaner) // count, 1)
    return tuple(schedule for _, schedule in leaner[step - 1 :: step][:count])


def _adds_idle_warps(schedule: Schedule, default: Schedule) -> bool:
    """Whether a grid gets more warps than the default gives it, and nothing that they could do."""
    pairs = zip(schedule.grids, default.grids, strict=True)
    return any(g.warps > d.warps and g.fast_warps <= d.fast_warps and g.tile == d.tile for g, d in pairs)


def compile_tile(kernel: Kernel, request: CompileRequest, clock: _Clock, stop_after: str | None) -> CompileResult:
    """Compile a TILE kernel that was found safe, or go on from a later stage."""
    unset = [size for size in kernel.sizes if size.static]
    if unset:
        missing = tuple(error("AK803", Span(request.path), name=size.name) for size in unset)
        return CompileResult(status_of(missing), missing, kernel, timings_ms=clock.times)
    try:
        result = _compile(kernel, request, clock, stop_after)
        too_large = _too_much_shared(result.abi, request) or _too_many_arguments(result.abi, request)
        if too_large is None:
            return result
        wrong = too_large
    except UnsupportedError as e:
        span = Span(request.path) if e.location is None else Span(request.path, e.location[:2], e.location[2:])
        wrong = error("AK610", span, what=e.message, target=request.target, instead=e.hint)
    except ScheduleError as e:
        wrong = error("AK613", Span(request.path), reason=str(e))
    return CompileResult(status_of((wrong,)), (wrong,), kernel, timings_ms=clock.times)


def _too_much_shared(abi: KernelAbi | None, request: CompileRequest) -> Diagnostic | None:
    """The diagnostic of a launch that asks for more shared memory than a block may have."""
    needed = max((launch.shared_bytes for launch in abi.launches), default=0) if abi is not None else 0
    limit = LIMITS[request.target].shared_bytes_per_block_optin
    if needed <= limit:
        return None
    return error("AK611", Span(request.path), needed=needed, target=request.target, limit=limit)


def _too_many_arguments(abi: KernelAbi | None, request: CompileRequest) -> Diagnostic | None:
    """The diagnostic of launches with more arguments than a GPU takes."""
    arguments = abi.launches[0].arguments if abi is not None and abi.launches else ()
    needed = sum(TENSOR_MAP_BYTES if argument.kind == "tensor_map" else 8 * argument.words for argument in arguments)
    if needed <= ARGUMENT_BYTES:
        return None
    what = f"{needed} bytes of launch arguments, of which there are at most {ARGUMENT_BYTES},"
    instead = "use a shorter list, or one tensor with a leading axis"
    return error("AK610", Span(request.path), what=what, target=request.target, instead=instead)


def _compile(kernel: Kernel, request: CompileRequest, clock: _Clock, stop_after: str | None) -> CompileResult:
    """Run the passes that a kernel of its stage still needs, verified after each stage, and print."""
    current = kernel
    texts: dict[str, str] = {"ir": print_kernel(kernel)} if kernel.stage == "tile" else {}
    if kernel.stage == "tile":
        current = share_memory(kernel, request.variant.shared)
    legal, schedule, registers = current, request.schedule, 0
    context = PassContext(schedule or Schedule(()), request.variant)
    for step in _passes_from(kernel.stage, stop_after):
        if step is LOWER[0]:
            legal = current
            with clock.phase("schedule"):
                schedule = schedule or default_schedule(legal, request.variant)
                check_schedule(legal, schedule)
            context = PassContext(schedule, request.variant)
        with clock.phase(step.name):
            current = step.run(current, context)
        if step in VERIFIED:
            with clock.phase("verify"):
                verify_kernel(current)
        if current.stage == "placed":
            texts["placed"] = print_kernel(current)
            registers = estimated_registers(current)
        if stop_after == step.name:
            texts[step.name] = print_kernel(current)
            return CompileResult("ok", (), kernel, legal, texts, timings_ms=clock.times)
    with clock.phase("synchronisation"):
        unsafe = _unsynchronised(current, request.path)
    with clock.phase("print"):
        texts["gpu"] = print_kernel(current)
    if unsafe:
        return CompileResult(status_of(unsafe), unsafe, kernel, legal, texts, timings_ms=clock.times)
    with clock.phase("print"):
        source = request.source.split("\n")
        printed = print_cuda(current, ARCHITECTURES[request.target], source, request.variant.strided)
        texts["cuda"] = printed.text
    return CompileResult(
        status="ok",
        diagnostics=(),
        kernel=kernel,
        legal=legal,
        texts=texts,
        lines=printed.lines,
        abi=_abi(current, request.variant),
        schedule=schedule,
        timings_ms=clock.times,
        kernel_id=_kernel_id(kernel.name, printed.text),
        registers=registers,
    )


def _unsynchronised(kernel: Kernel, path: str) -> tuple[Diagnostic, ...]:
    """What the independent checker finds in a kernel whose threads share memory."""
    if not any(op.name in ("shared", "mbarriers") for op in walk(kernel.body)):
        return ()
    # NumPy is loaded only for kernels that need the check
    from agentkern.compiler.analysis.synchronisation import check_synchronisation  # noqa: PLC0415

    found = check_synchronisation(kernel)
    return tuple(error("AK903", Span(path), reason=str(finding)) for finding in found[:MOST_FINDINGS])


def _passes_from(stage: str, stop_after: str | None) -> tuple[Pass, ...]:
    """Passes that a kernel of this stage still needs. A GPU text is printed as it is unless a pass is asked for."""
    if stage == "gpu":
        return tuple(step for step in LOWER[3:] if step.name == stop_after)
    return {"tile": (*LEGALISE, *LOWER), "placed": LOWER[2:]}[stage]


def _kernel_id(name: str, text: str) -> str:
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _abi(kernel: Kernel, variant: Variant) -> KernelAbi:
    """The calling convention of a GPU-stage kernel."""
    arguments = kernel_arguments(kernel, variant.strided)
    launches: list[Launch] = []
    for op in kernel.body:
        name, blocks = op.attrs["name"], op.attrs["blocks"]
        threads, shared = op.attrs["threads"], op.attrs["shared_bytes"]
        assert isinstance(name, str) and isinstance(blocks, int | Dim)
        assert isinstance(threads, int) and isinstance(shared, int)
        launches.append(Launch(name, blocks, threads, shared, arguments))
    sizes: tuple[SizeInfo, ...] = kernel.sizes
    statics = tuple((name, value) for name, value in _pairs(kernel, "statics").items() if isinstance(value, int))
    return KernelAbi(kernel.name, params_of(kernel), sizes, statics, tuple(launches), variant, lists_of(kernel))


def _pairs(kernel: Kernel, name: str) -> dict[str, object]:
    """An attribute of (name, value) pairs."""
    pairs = kernel.attrs.get(name, ())
    assert isinstance(pairs, tuple)
    found: dict[str, object] = {}
    for pair in pairs:
        assert isinstance(pair, tuple)
        key, value = pair
        found[str(key)] = value
    return found
