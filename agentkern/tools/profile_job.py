"""The job of `profile`: compile, build and time on the GPU of this process. Imports torch; load it in a worker."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from agentkern.compiler.analysis.promises import Form, Promise, promises_of
from agentkern.compiler.driver import CompileResult
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.dims import evaluate, parse
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.compiler.schedule import schedule_from_json
from agentkern.compiler.targets.limits import LIMITS
from agentkern.compiler.variants import fitting_variant
from agentkern.runtime.build import Build
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.driver import driver
from agentkern.runtime.fitting_build import build_fitting
from agentkern.runtime.gpu_timer import GpuTimer, measure_ceilings, read_clocks
from agentkern.runtime.programs import compile_program
from agentkern.runtime.resources import occupancy
from agentkern.runtime.timing import (
    Budget,
    SubjectTiming,
    floor_us,
    impossible_below_us,
    measure,
    speedup,
)
from agentkern.tools.nondeterminism import said_of
from agentkern.tools.profile import ProfileRequest, compile_request
from agentkern.tools.profile_judge import Measured, bound_of, levers_of
from agentkern.tools.profile_measure import Peer, Timed, load_peer, load_prepare, subjects_of, usable_peers
from agentkern.tools.requests import InputValues
from agentkern.tools.results import Baseline, ProfileResult
from agentkern.tools.roofline import kernel_work, roofline

WARMUP_SHARE = 0.1


def run(payload: dict[str, Any], report: Callable[[Any], None]) -> dict[str, Any]:
    """Profile the request of `payload`; return the result's fields."""
    request = ProfileRequest.model_validate(payload)
    report([0.0, "compile"])
    lowered = lower_source(request.source, request.path, request.kernel, {}, request.settings)
    assert lowered.outline is not None
    asked = compile_request(request, lowered.outline.sizes)
    if request.schedule is not None:
        asked = replace(asked, schedule=schedule_from_json(request.schedule))
    tile = lower_source(request.source, request.path, request.kernel, asked.dims, request.settings).kernel
    assert tile is not None
    cache = Cache(cache_folder(os.environ))
    fitting = replace(asked, variant=fitting_variant(tile, request.dims))
    compiled = compile_program(fitting, cache)
    assert compiled.abi is not None, compiled.diagnostics[0].message
    made = build_fitting(fitting, compiled, cache)
    report([0.1, "measure"])
    result = measured_result(request, made.compiled, made.build)
    return result.model_dump(mode="json")


def measured_result(request: ProfileRequest, compiled: CompileResult, made: Build) -> ProfileResult:
    """Time the kernel and say what the time is worth."""
    assert compiled.abi is not None
    assert compiled.kernel is not None
    sizes = request.dims
    work = kernel_work(compiled.kernel, sizes)
    assert work is not None
    timed = Timed(
        compiled.abi.name,
        compiled.abi,
        made.cubin,
        sizes,
        request.scalars,
        request.seed,
        promises=promises_of(compiled.kernel),
        values={name: promise_of(values) for name, values in request.values.items()},
        nondeterministic=is_nondeterministic(compiled.kernel),
        prepare=load_prepare(Path(request.peers)) if request.peers is not None else None,
    )
    peers, left_out = usable_peers(timed, _peers(request, request.peer or compiled.abi.name))
    ceilings = replace(measure_ceilings(), flops_per_s=_flops_per_s())
    subjects = subjects_of(timed, work.bytes_moved, peers)
    ours, copy, empty, *others = measure(subjects, GpuTimer(), Budget(seconds=request.seconds), request.seed)
    floor = floor_us(work, ceilings)
    measured = Measured(
        median_us=ours.estimate_us.median,
        floor_us=floor,
        least_us=impossible_below_us(work, ceilings),
        empty_us=empty.estimate_us.median,
        work=work,
        ceilings=ceilings,
        blocks=sum(evaluate(launch.blocks, sizes) for launch in compiled.abi.launches),
        sm_count=driver().info(0).sm_count,
        spill_bytes=sum(r.spill_bytes for r in made.resources),
        occupancy=_occupancy(request.target, compiled, made),
        schedule=compiled.schedule.to_json() if compiled.schedule is not None else {},
    )
    failures = [failure for timing in (ours, copy, *others) for failure in timing.failures]
    too_fast = measured.median_us < measured.least_us
    if too_fast:
        failures.append(f"{measured.median_us:.2f} us is below what any correct program can take")
    result = _result(request, compiled, measured, (ours, copy, others), failures)
    missing = "".join(f"; {name} does not run here: {why}" for name, why in left_out.items())
    return result.model_copy(update={"summary": result.summary + missing})


def _result(
    request: ProfileRequest,
    compiled: CompileResult,
    measured: Measured,
    timings: tuple[SubjectTiming, SubjectTiming, list[SubjectTiming]],
    failures: list[str],
) -> ProfileResult:
    ours, copy, others = timings
    assert compiled.kernel is not None
    estimate, clocks = ours.estimate_us, read_clocks()
    of_copy = speedup(ours, copy).median
    bound, levers = bound_of(measured), levers_of(measured)
    work, median = measured.work, measured.median_us
    return ProfileResult(
        status="failed" if failures else "ok",
        summary=_summary(measured, of_copy, f"{bound}{said_of(compiled.kernel)}", levers, failures),
        nondeterministic=is_nondeterministic(compiled.kernel),
        kernel_id=compiled.kernel_id,
        median_us=round(median, 3),
        ci_us=(round(estimate.low, 3), round(estimate.high, 3)),
        runs=len(ours.samples_us),
        gbytes_per_s=round(work.bytes_moved / median * 1e-3, 1),
        tflops=round(work.flops / median * 1e-6, 4),
        floor_us=round(measured.floor_us, 3),
        least_us=round(measured.least_us, 3),
        percent_of_floor=round(measured.percent_of_floor, 1),
        of_copy=round(of_copy, 4),
        bound=bound,
        baselines=tuple(_baseline(ours, other) for other in others),
        levers=levers,
        gpu=torch.cuda.get_device_name(0),
        clocks={"sm_mhz": float(clocks.sm_mhz), "memory_mhz": float(clocks.memory_mhz)} if clocks else None,
        roofline=roofline(compiled.kernel, request.dims, request.target),
    )


def _baseline(ours: SubjectTiming, other: SubjectTiming) -> Baseline:
    ratio = speedup(ours, other)
    return Baseline(
        name=other.name,
        median_us=round(other.estimate_us.median, 3),
        speedup=round(ratio.median, 3),
        ci=(round(ratio.low, 3), round(ratio.high, 3)),
    )


def _summary(measured: Measured, of_copy: float, bound: str, levers: tuple[str, ...], failures: list[str]) -> str:
    if failures:
        return f"the time cannot be trusted: {failures[0]}; verify the kernel"
    percent = f"{measured.percent_of_floor:.0f}% of the floor, {of_copy:.3f} of copy"
    return f"{measured.median_us:.2f} us, {percent}, bound by {bound}; next: {levers[0]}"


def promise_of(values: InputValues) -> Promise:
    """Return what a request says of an input's values as a promise."""
    low, high, end = (_form(extent) for extent in (values.low, values.high, values.end))
    return Promise(low, high, values.ignore, values.distinct, values.ignore_same, end)


def _form(extent: int | str | None) -> Form | None:
    return parse(extent) if isinstance(extent, str) else extent


def _peers(request: ProfileRequest, name: str) -> Mapping[str, Peer]:
    if request.peers is None or not request.against:
        return {}
    function = load_peer(Path(request.peers), name)
    made: dict[str, Callable[[], Peer]] = {
        "torch": lambda: function,
        "torch.compile": lambda: torch.compile(function, dynamic=False),
    }
    return {against: made[against]() for against in request.against}


def _flops_per_s() -> float:
    """Return the plain units' rate at the highest clock: 128 lanes an SM, two operations each."""
    info = driver().info(0)
    return 2.0 * 128 * info.sm_count * info.clock_hz


def _occupancy(target: str, compiled: CompileResult, made: Build) -> float:
    assert compiled.abi is not None
    shares = [1.0]
    for launch in compiled.abi.launches:
        used = made.resources_of(launch.function)
        shared = launch.shared_bytes + used.static_shared_bytes
        found = occupancy(LIMITS[target], threads=launch.threads, registers=used.registers, shared_bytes=shared)
        shares.append(found.fraction)
    return min(shares)
