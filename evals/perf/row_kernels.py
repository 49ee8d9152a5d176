"""Time the corpus's kernels on one GPU beside a copy, PyTorch eager and torch.compile, in one run.

    python -m evals.perf.row_kernels build FOLDER [--processes 8]       compiler and NVRTC: cubins, no GPU
    python -m evals.perf.row_kernels run FOLDER RESULT.json             a GPU and torch; writes RESULT.md beside it
    python -m evals.perf.row_kernels record RESULT.json                 into the meta.toml of each kernel

The protocol is `agentkern/runtime/timing.py`: every subject once a round in an order drawn anew, L2 flushed, fresh
inputs, outputs poisoned and compared after timing. `of_copy` is the time of a device copy of as many bytes over the
kernel's. Sizes are those of `[shapes] bench` in each meta.toml; the static ones, named in `[dims]`, make a build each.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.dims import evaluate
from agentkern.compiler.variants import fitting_variant
from agentkern.runtime.statistics import median_estimate
from agentkern.runtime.timing import (
    Budget,
    Ceilings,
    SubjectTiming,
    Timer,
    Work,
    floor_us,
    impossible_below_us,
    measure,
    speedup,
)
from evals.kernel_packs import (
    ENTRIES,
    Built,
    PackedKernel,
    promises_from_json,
    promises_to_json,
    read_pack,
    write_pack,
)

KERNELS = tuple(ENTRIES)
GOAL = 0.95
"""Of copy that a kernel must reach at sizes well above the L2 cache's."""
GOALS: Mapping[tuple[str, str], float] = {("cross_entropy", "4096x131072"): 0.93}
"""Other goals, by kernel and shape."""
FILL_BYTES, FILL_RUNS = 1 << 30, 20
SMALL_RATIO, SMALL_US = 1.08, 1.0
"""At smaller sizes a kernel may take this many times as long as the copy, or this much longer."""


def shape_text(sizes: Mapping[str, int]) -> str:
    """Name a shape by its sizes in the order of meta.toml: `8192x7168`."""
    return "x".join(map(str, sizes.values()))


def statics_of(kernel: str, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes that a build fixes."""
    return {name: sizes[name] for name in ENTRIES[kernel].dims}


def build(folder: Path, target: str, schedules: int, processes: int) -> None:
    made: list[Built] = []
    work, promises = {}, {}
    with ProcessPoolExecutor(processes) as pool:
        for built, counted, promised in pool.map(partial(_made, target, schedules), KERNELS):
            made += built
            work |= counted
            promises |= promised
    write_pack(folder, made, {"work": work, "promises": promises, "target": target})


def _made(target: str, schedules: int, kernel: str) -> tuple[list[Built], dict[str, Any], dict[str, Any]]:
    """Return a kernel's builds for its shapes, and by shape its work and promises."""
    made: list[Built] = []
    work, promises = {}, {}
    for sizes in ENTRIES[kernel].shapes["bench"]:
        tile, case = lowered(kernel, statics_of(kernel, sizes)), f"{kernel}/{shape_text(sizes)}"
        if not _rows([row.packed for row in made], kernel, sizes, every=False):
            made += _built(kernel, tile, sizes, target, schedules)
        work[case] = _work(tile, sizes)
        promises[case] = promises_to_json(tile.attrs.get("promises", ()))
    return made, work, promises


def _built(kernel: str, tile: Kernel, sizes: Mapping[str, int], target: str, schedules: int) -> tuple[Built, ...]:
    """Return the builds of a kernel that fit some sizes."""
    from evals.kernel_builds import builds  # needs what the GPU machine may lack  # noqa: PLC0415

    statics = statics_of(kernel, sizes)
    _, rows = builds(kernel, statics, target, schedules, fitting_variant(tile, sizes))
    used = {name: r["registers"] for name, r in rows[0].packed.resources.items()}
    spilled = sum(r["spill_bytes"] for row in rows for r in row.packed.resources.values())
    print(f"{kernel} {statics}: {len(rows)} builds, registers {used}, {spilled} bytes spilled in all", flush=True)
    return rows


def _work(tile: Kernel, sizes: Mapping[str, int]) -> list[float]:
    from agentkern.tools.roofline import kernel_work  # needs what the GPU machine may lack  # noqa: PLC0415

    found = kernel_work(tile, sizes)
    assert found is not None
    return [found.bytes_read, found.bytes_written, found.flops, found.bytes_maybe_read, found.bytes_maybe_written]


def lowered(kernel: str, statics: Mapping[str, int]) -> Kernel:
    """Return a corpus kernel at some static sizes."""
    from agentkern.compiler.frontend import lower_source  # needs what the GPU machine may lack  # noqa: PLC0415

    entry = ENTRIES[kernel]
    found = lower_source(entry.source, entry.path, kernel, statics, {}).kernel
    assert found is not None, kernel
    return found


def run(folder: Path, result: Path, seconds: float, every_schedule: bool, kernels: Sequence[str]) -> int:
    import torch  # noqa: PLC0415

    from agentkern.runtime.driver import driver  # noqa: PLC0415
    from agentkern.runtime.gpu_timer import (  # noqa: PLC0415
        GpuTimer,
        QueueDrained,
        measure_ceilings,
        read_clocks,
    )
    from agentkern.tools.profile_measure import (  # noqa: PLC0415
        Timed,
        load_peer,
        load_prepare,
        subjects_of,
        usable_peers,
    )

    packed, table = read_pack(folder)
    info, clocks_before = driver().info(0), read_clocks()
    timer, ceilings = GpuTimer(), measure_ceilings()
    machine = {
        "what": "kernels of the corpus beside a copy, PyTorch eager and torch.compile, interleaved in one run",
        "gpu": info.name,
        "driver_cuda": ".".join(map(str, info.driver_version)),
        "torch": torch.__version__,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": table["commit"],
        "target": table["target"],
        "copy_gbytes_per_s": round(ceilings.copy_bytes_per_s * 1e-9, 1),
        "fill_gbytes_per_s": round(fill_bytes_per_s(timer) * 1e-9, 1),
        "clocks_before": _clocks(clocks_before),
    }
    rows: list[dict[str, Any]] = []
    for kernel in kernels:
        peers_file = ENTRIES[kernel].folder / "peers.py"
        peer, prepare = load_peer(peers_file, kernel), load_prepare(peers_file)
        for sizes in ENTRIES[kernel].shapes["bench"]:
            shape = shape_text(sizes)
            work = Work(*table["work"][f"{kernel}/{shape}"])
            promises = promises_from_json(table["promises"][f"{kernel}/{shape}"])
            torch.compiler.reset()
            peers = {"torch": peer, "torch.compile": torch.compile(peer, dynamic=False)}
            for build_row in _rows(packed, kernel, sizes, every_schedule):
                cubin = build_row.cubin(folder)
                timed = Timed(kernel, build_row.abi, cubin, sizes, {}, promises=promises, prepare=prepare)
                first = build_row.schedule_number == 0
                usable, left_out = usable_peers(timed, peers) if first else ({}, {})
                for name, why in left_out.items():
                    print(f"{kernel} {shape}: {name} does not run here: {why}", file=sys.stderr, flush=True)
                try:
                    timings = measure(subjects_of(timed, work.bytes_moved, usable), timer, Budget(seconds=seconds))
                except QueueDrained as e:  # a rival that waits for the GPU cannot be timed there
                    print(f"{kernel} {shape}: timed without rivals: {e}", file=sys.stderr, flush=True)
                    timings = measure(subjects_of(timed, work.bytes_moved, {}), timer, Budget(seconds=seconds))
                rows.append(_row(kernel, sizes, build_row, work, ceilings, timings))
                print(_line(rows[-1]), flush=True)
                write_report(result, machine | {"clocks_after": _clocks(read_clocks()), "rows": rows})
    return 0 if all(row["reached"] and not row["failures"] for row in rows if row["schedule_number"] == 0) else 1


def fill_bytes_per_s(timer: Timer) -> float:
    """Measure how fast memory is written when nothing is read."""
    import torch  # noqa: PLC0415

    target = torch.empty(FILL_BYTES // 4, dtype=torch.float32, device="cuda")
    samples = tuple(timer.time_us(lambda: target.fill_(1.0)) for _ in range(FILL_RUNS))
    return FILL_BYTES / (median_estimate(samples[3:]).median * 1e-6)


def write_report(result: Path, report: Mapping[str, Any]) -> None:
    """Write what has been measured so far: a run that is cut short keeps its rows."""
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(json.dumps(report, indent=1) + "\n")
    result.with_suffix(".md").write_text(markdown(report))


def _rows(packed: list[PackedKernel], kernel: str, sizes: Mapping[str, int], every: bool) -> list[PackedKernel]:
    """Return the builds that fit some sizes, the default schedule's first, or that one alone."""
    same = [p for p in packed if p.kernel == kernel and all(sizes[name] == n for name, n in p.statics.items())]
    same = [p for p in same if p.abi.variant == fitting_variant(p.abi, sizes)]
    return same if every else same[:1]


def reached(kernel: str, sizes: Mapping[str, int], of_copy: float, median_us: float, copy_us: float | None) -> bool:
    """Say whether a time reaches its goal; `copy_us` is given at sizes that the L2 cache plays a part in."""
    if copy_us is not None and median_us <= max(SMALL_RATIO * copy_us, copy_us + SMALL_US):
        return True
    return of_copy >= GOALS.get((kernel, shape_text(sizes)), GOAL)


def _row(
    kernel: str,
    sizes: Mapping[str, int],
    packed: PackedKernel,
    work: Work,
    ceilings: Ceilings,
    timings: tuple[SubjectTiming, ...],
) -> dict[str, Any]:
    ours, copy, empty, *others = timings
    estimate, of_copy = ours.estimate_us, speedup(ours, copy)
    copy_us = copy.estimate_us.median
    failures = [failure for timing in (ours, copy, *others) for failure in timing.failures]
    if estimate.median < impossible_below_us(work, ceilings):
        failures.append("below what any correct program can take")
    small = work.bytes_moved < 4 * ceilings.l2_bytes
    blocks = [evaluate(launch.blocks, sizes) for launch in packed.abi.launches]
    return {
        "kernel": kernel,
        "shape": list(sizes.values()),
        "sizes": dict(sizes),
        "median_us": _us(estimate.median),
        "ci_us": [_us(estimate.low), _us(estimate.high)],
        "runs": len(ours.samples_us),
        "copy_us": _us(copy_us),
        "of_copy": round(of_copy.median, 4),
        "of_copy_ci": [round(of_copy.low, 4), round(of_copy.high, 4)],
        "empty_us": _us(empty.estimate_us.median),
        "gbytes_per_s": round(work.bytes_moved / estimate.median * 1e-3, 1),
        "floor_us": _us(floor_us(work, ceilings)),
        "bytes_written": work.bytes_written,
        "peers": {
            other.name: {
                "median_us": _us(other.estimate_us.median),
                "speedup": round(speedup(ours, other).median, 3),
            }
            for other in others
        },
        "reached": reached(kernel, sizes, of_copy.median, estimate.median, copy_us if small else None),
        "failures": failures[:3],
        "schedule_number": packed.schedule_number,
        "schedule": packed.schedule,
        "blocks": blocks,
        "resources": packed.resources,
    }


def _us(number: float) -> float:
    return round(number, 3)


def _clocks(clocks: Any) -> dict[str, Any] | None:
    return None if clocks is None else {name: getattr(clocks, name) for name in clocks.__slots__}


def _line(row: Mapping[str, Any]) -> str:
    peers = ", ".join(f"{name} {peer['median_us']} us" for name, peer in row["peers"].items())
    state = "" if row["reached"] else " BELOW GOAL"
    number = row["schedule_number"]
    times = f"{row['median_us']} us, of copy {row['of_copy']}"
    return f"{row['kernel']} {row['shape']} schedule {number}: {times}{state}; {peers} {row['failures'] or ''}"


def markdown(report: Mapping[str, Any]) -> str:
    """Print the default schedules' rows as a table."""
    machine = f"{report['gpu']}, driver CUDA {report['driver_cuda']}, torch {report['torch']}"
    lines = [
        f"# Row kernels, {report['date']}",
        "",
        f"{machine}; commit {report['commit']}; a copy moves {report['copy_gbytes_per_s']} GB/s "
        f"(read and written), a fill {report['fill_gbytes_per_s']} GB/s.",
        "Written by `evals/perf/row_kernels.py`; medians of interleaved rounds with 95% bootstrap intervals.",
        "",
        "| kernel | shape | us | interval | of copy | GB/s | eager us | compiled us | rounds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in report["rows"]:
        if row["schedule_number"] == 0:
            low, high = row["ci_us"]
            eager, compiled = (row["peers"].get(name, {}).get("median_us", "") for name in ("torch", "torch.compile"))
            shape = "x".join(map(str, row["shape"]))
            lines.append(
                f"| {row['kernel']} | {shape} | {row['median_us']} | {low} to {high} | {row['of_copy']} | "
                f"{row['gbytes_per_s']} | {eager} | {compiled} | {row['runs']} |"
            )
    return "\n".join(lines) + "\n"


def record(result: Path) -> int:
    from agentkern.tools.corpus import record_performance  # needs what the GPU machine may lack  # noqa: PLC0415

    print(", ".join(record_performance(json.loads(result.read_text()))))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build")
    building.add_argument("folder", type=Path)
    building.add_argument("--target", default="sm_90a")
    building.add_argument("--processes", type=int, default=1)
    building.add_argument("--schedules", type=int, default=1, help="builds of each kernel, to compare schedules")
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("result", type=Path)
    running.add_argument("--seconds", type=float, default=2.0, help="for one kernel at one shape")
    running.add_argument("--kernels", nargs="+", choices=KERNELS, default=list(KERNELS))
    running.add_argument("--every-schedule", action="store_true")
    recording = commands.add_parser("record")
    recording.add_argument("result", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "record":
        return record(arguments.result)
    if arguments.command == "build":
        build(arguments.folder, arguments.target, arguments.schedules, arguments.processes)
        return 0
    return run(arguments.folder, arguments.result, arguments.seconds, arguments.every_schedule, arguments.kernels)


if __name__ == "__main__":
    raise SystemExit(main())
