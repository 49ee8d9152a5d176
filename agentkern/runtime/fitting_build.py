"""Build a program; where what ptxas made of it misses the estimate, build another schedule instead.

A schedule is missed when it spills or when fewer than half of the warps that were expected fit an SM. At most two
others are tried, those that are estimated to need fewer registers. Bits do not depend on the choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentkern.compiler.abi import KernelAbi
from agentkern.compiler.driver import CompileRequest, CompileResult, leaner_schedules
from agentkern.compiler.targets.limits import LIMITS
from agentkern.diagnostics import Diagnostic, Span, error
from agentkern.runtime.build import Build, build
from agentkern.runtime.cache import Cache
from agentkern.runtime.nvrtc import NvrtcOptions
from agentkern.runtime.programs import compile_program
from agentkern.runtime.resources import occupancy

RETRIES = 2
_MISSED = 0.5  # share of the expected occupancy; estimates are within a factor of two of ptxas (the corpus, sm_90a)


@dataclass(frozen=True, slots=True)
class Fit:
    """What a schedule was estimated to use and what ptxas reports, the worst launch of each."""

    expected_registers: int
    registers: int
    spill_bytes: int
    expected_occupancy: float
    occupancy: float

    @property
    def is_missed(self) -> bool:
        """Whether another schedule is worth a try."""
        return self.spill_bytes > 0 or self.occupancy < _MISSED * self.expected_occupancy


@dataclass(frozen=True, slots=True)
class FittingBuild:
    """The program that was taken, its build, how well it fits, and AK612 as a warning if every one tried spills."""

    compiled: CompileResult
    build: Build
    fit: Fit
    diagnostics: tuple[Diagnostic, ...] = ()


def build_fitting(
    request: CompileRequest, compiled: CompileResult, cache: Cache | None, *, with_ptx: bool = False
) -> FittingBuild:
    """Build what `compile_program` returned for `request`; only a default schedule is ever replaced.

    Errors: NvrtcMissing; NvrtcError.
    """
    best = _built(request, compiled, cache, with_ptx)
    if request.schedule is not None or not best.fit.is_missed:
        return best
    assert compiled.kernel is not None
    for schedule in leaner_schedules(compiled.kernel, request.variant, compiled.registers, RETRIES):
        other = compile_program(replace(request, schedule=schedule), cache)
        if other.abi is None:
            continue
        candidate = _built(request, other, cache, with_ptx)
        if _order(candidate.fit) < _order(best.fit):
            best = candidate
        if not best.fit.is_missed:
            return best
    if best.fit.spill_bytes == 0:
        return best
    spilled = error("AK612", Span(request.path), spilled=best.fit.spill_bytes)
    return replace(best, diagnostics=(replace(spilled, severity="warning"),))


def _built(request: CompileRequest, compiled: CompileResult, cache: Cache | None, with_ptx: bool) -> FittingBuild:
    made = build(compiled.cuda, NvrtcOptions(request.target), cache, with_ptx=with_ptx)
    assert compiled.abi is not None
    return FittingBuild(compiled, made, fit_of(compiled.abi, compiled.registers, made, request.target))


def fit_of(abi: KernelAbi, expected_registers: int, made: Build, target: str) -> Fit:
    """Compare the estimate with ptxas's report."""
    limits = LIMITS[target]
    expected = min(expected_registers, limits.registers_per_thread_max)
    found = [(launch, made.resources_of(launch.function)) for launch in abi.launches]

    def share(threads: int, registers: int, shared_bytes: int) -> float:
        return occupancy(limits, threads=threads, registers=registers, shared_bytes=shared_bytes).fraction

    return Fit(
        expected_registers=expected_registers,
        registers=max((used.registers for _, used in found), default=0),
        spill_bytes=sum(used.spill_bytes for _, used in found),
        expected_occupancy=min((share(one.threads, expected, one.shared_bytes) for one, _ in found), default=1.0),
        occupancy=min(
            (share(one.threads, used.registers, one.shared_bytes + used.static_shared_bytes) for one, used in found),
            default=1.0,
        ),
    )


def _order(fit: Fit) -> tuple[int, float]:
    """Less spilled first, then more warps."""
    return fit.spill_bytes, -fit.occupancy
