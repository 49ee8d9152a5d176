"""Time the corpus's row kernels on one GPU beside a copy, PyTorch eager and torch.compile, in one run.

    python -m evals.perf.row_kernels build FOLDER [--target sm_90a]     compiler and NVRTC: cubins, no GPU
    python -m evals.perf.row_kernels run FOLDER RESULT.json             a GPU and torch; writes RESULT.md beside it
    python -m evals.perf.row_kernels record RESULT.json                 into the meta.toml of each kernel

The protocol is `agentkern/runtime/timing.py`: every subject once a round in an order drawn anew, L2 flushed, fresh
inputs, outputs poisoned and compared after timing. `of_copy` is the time of a device copy of as many bytes over the
kernel's.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentkern.compiler.ir.dims import evaluate
from agentkern.runtime.timing import (
    Budget,
    Ceilings,
    SubjectTiming,
    Work,
    floor_us,
    impossible_below_us,
    measure,
    speedup,
)
from evals.kernel_packs import CORPUS, FOLDERS, PackedKernel, read_pack, write_pack

SHAPES: tuple[tuple[int, int], ...] = ((8192, 7168), (8001, 7168), (4001, 576))
KERNELS = tuple(FOLDERS)
GOAL = 0.93
"""Of copy that a kernel must reach at the large shapes; at 4001x576, or one microsecond above the copy."""


def sizes_of(kernel: str, rows: int, columns: int) -> dict[str, int]:
    return {"N": rows * columns} if kernel.startswith("vector_add") else {"T": rows, "H": columns}


def commit() -> str:
    def git(*arguments: str) -> str:
        found = subprocess.run(("git", *arguments), cwd=CORPUS.parent, capture_output=True, text=True, check=False)
        return found.stdout.strip()

    dirty = "-dirty" if git("status", "--porcelain", "--", "agentkern", "corpus") else ""
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + dirty


def build(folder: Path, target: str, schedules: int) -> None:
    from agentkern.tools.roofline import kernel_work  # needs what the GPU machine may lack  # noqa: PLC0415
    from evals.kernel_builds import builds  # noqa: PLC0415

    made, work = [], {}
    for kernel in KERNELS:
        for columns in sorted({columns for _, columns in SHAPES}):
            statics = {} if kernel.startswith("vector_add") else {"H": columns}
            if not statics and any(b.packed.kernel == kernel for b in made):
                continue
            first, rows = builds(kernel, statics, target, schedules)
            made += rows
            assert first.kernel is not None
            for shape in SHAPES:
                if statics.get("H", shape[1]) == shape[1] or not statics:
                    found = kernel_work(first.kernel, sizes_of(kernel, *shape))
                    assert found is not None
                    numbers = [found.bytes_read, found.bytes_written, found.flops]
                    work["/".join(map(str, (kernel, *shape)))] = numbers
            used = {name: r["registers"] for name, r in rows[0].packed.resources.items()}
            spilled = sum(r["spill_bytes"] for row in rows for r in row.packed.resources.values())
            print(f"{kernel} {statics}: {len(rows)} builds, registers {used}, {spilled} bytes spilled in all")
    write_pack(folder, made, {"work": work, "commit": commit(), "target": target})


def run(folder: Path, result: Path, seconds: float, every_schedule: bool, kernels: Sequence[str]) -> int:
    import torch  # noqa: PLC0415

    from agentkern.runtime.driver import driver  # noqa: PLC0415
    from agentkern.runtime.gpu_timer import GpuTimer, measure_ceilings, read_clocks  # noqa: PLC0415
    from agentkern.tools.profile_measure import Timed, load_peer, subjects_of, usable_peers  # noqa: PLC0415

    packed, table = read_pack(folder)
    info, clocks_before = driver().info(0), read_clocks()
    timer, ceilings = GpuTimer(), measure_ceilings()
    machine = {
        "what": "row kernels of the corpus beside a copy, PyTorch eager and torch.compile, interleaved in one run",
        "gpu": info.name,
        "driver_cuda": ".".join(map(str, info.driver_version)),
        "torch": torch.__version__,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": table["commit"],
        "target": table["target"],
        "copy_gbytes_per_s": round(ceilings.copy_bytes_per_s * 1e-9, 1),
        "clocks_before": _clocks(clocks_before),
    }
    rows: list[dict[str, Any]] = []
    for kernel in kernels:
        peer = load_peer(CORPUS / FOLDERS[kernel] / "peers.py", kernel)
        for shape in SHAPES:
            sizes = sizes_of(kernel, *shape)
            work = Work(*table["work"]["/".join(map(str, (kernel, *shape)))])
            torch.compiler.reset()
            peers = {"torch": peer, "torch.compile": torch.compile(peer, dynamic=False)}
            for build_row in _rows(packed, kernel, sizes, every_schedule):
                timed = Timed(kernel, build_row.abi, build_row.cubin(folder), sizes, {})
                first = build_row.schedule_number == 0
                usable, left_out = usable_peers(timed, peers) if first else ({}, {})
                for name, why in left_out.items():
                    print(f"{kernel} {shape}: {name} does not run here: {why}", file=sys.stderr, flush=True)
                subjects = subjects_of(timed, work.bytes_moved, usable)
                timings = measure(subjects, timer, Budget(seconds=seconds))
                rows.append(_row(kernel, shape, build_row, work, ceilings, timings))
                print(_line(rows[-1]), flush=True)
                write_report(result, machine | {"clocks_after": _clocks(read_clocks()), "rows": rows})
    return 0 if all(row["reached"] and not row["failures"] for row in rows if row["schedule_number"] == 0) else 1


def write_report(result: Path, report: Mapping[str, Any]) -> None:
    """Write what has been measured so far: a run that is cut short keeps its rows."""
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(json.dumps(report, indent=1) + "\n")
    result.with_suffix(".md").write_text(markdown(report))


def _rows(packed: list[PackedKernel], kernel: str, sizes: Mapping[str, int], every: bool) -> list[PackedKernel]:
    same = [p for p in packed if p.kernel == kernel and all(sizes[name] == n for name, n in p.statics.items())]
    return same if every else same[:1]


def _row(
    kernel: str,
    shape: tuple[int, int],
    packed: PackedKernel,
    work: Work,
    ceilings: Ceilings,
    timings: tuple[SubjectTiming, ...],
) -> dict[str, Any]:
    ours, copy, empty, *others = timings
    estimate, of_copy = ours.estimate_us, speedup(ours, copy)
    excess_us = estimate.median - copy.estimate_us.median
    failures = [failure for timing in (ours, copy, *others) for failure in timing.failures]
    if estimate.median < impossible_below_us(work, ceilings):
        failures.append("below what any correct program can take")
    small = work.bytes_moved < 4 * ceilings.l2_bytes
    blocks = [evaluate(launch.blocks, sizes_of(kernel, *shape)) for launch in packed.abi.launches]
    return {
        "kernel": kernel,
        "shape": list(shape),
        "median_us": _us(estimate.median),
        "ci_us": [_us(estimate.low), _us(estimate.high)],
        "runs": len(ours.samples_us),
        "copy_us": _us(copy.estimate_us.median),
        "of_copy": round(of_copy.median, 4),
        "of_copy_ci": [round(of_copy.low, 4), round(of_copy.high, 4)],
        "empty_us": _us(empty.estimate_us.median),
        "gbytes_per_s": round(work.bytes_moved / estimate.median * 1e-3, 1),
        "floor_us": _us(floor_us(work, ceilings)),
        "peers": {
            other.name: {
                "median_us": _us(other.estimate_us.median),
                "speedup": round(speedup(ours, other).median, 3),
            }
            for other in others
        },
        "reached": of_copy.median >= GOAL or (small and excess_us <= 1.0),
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
        f"{machine}; commit {report['commit']}; a copy moves {report['copy_gbytes_per_s']} GB/s (read and written).",
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
        build(arguments.folder, arguments.target, arguments.schedules)
        return 0
    return run(arguments.folder, arguments.result, arguments.seconds, arguments.every_schedule, arguments.kernels)


if __name__ == "__main__":
    raise SystemExit(main())
