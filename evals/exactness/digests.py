"""Compare the bits that a GPU computes with the interpreter's, by digests made on another machine.

    python -m evals.exactness.digests make FOLDER [--processes 8]     compiler, NVRTC, CPU: cubins and wanted digests
    python -m evals.exactness.digests check FOLDER RESULT.json          a GPU; neither NVRTC nor torch
    python -m evals.exactness.digests check FOLDER RESULT.json --device cpu      the CPU simulator

`make` runs the interpreter over every corpus kernel, shape and kind of input, and builds every schedule. `check` makes
the same inputs from the same seeds, runs every cubin on them over poisoned outputs, and compares.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from agentkern.compiler.driver import CompileResult
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.interpreter import RequirementError
from agentkern.compiler.ir.order import ORDER_VERSION
from agentkern.compiler.variants import fitting_variant
from agentkern.runtime.driver import driver
from agentkern.runtime.gpu_job import JOBS
from agentkern.runtime.simulator import host_compiler
from agentkern.runtime.worker import Worker
from agentkern.tools.inputs import KINDS, Kind, digest
from agentkern.tools.verify_cases import make_call
from agentkern.tools.verify_device import run_cubin
from agentkern.tools.verify_executors import run_interpreter
from agentkern.tools.verify_model import Call, ExecutionError, Run, RunOptions, Signature, signature_of
from agentkern.tools.verify_simulator import SimulatorExecutor, abi_signature
from evals.kernel_packs import (
    ENTRIES,
    Built,
    PackedKernel,
    promises_from_json,
    promises_to_json,
    read_pack,
    write_pack,
)

SEED = 2026
SCHEDULES = 8
BATCHES = (1, 7, 64)
IN_DEPTH = (
    "vector_add", "vector_add_bf16", "rms_norm", "layer_norm", "softmax", "silu_and_mul", "per_token_cast_e4m3",
    "cumsum",
)  # fmt: skip
"""Kernels that run at every pair of extents; the others at the sizes that their meta.toml shows and hides."""
MOST_SIMULATED = 1 << 22
EXTENTS = (0, 1, 3, 131, 576, 7168)
# Sizes that are benchmarked, with random inputs and the default schedule only.
LARGE: tuple[tuple[int, int], ...] = ((4001, 576), (8192, 7168))


@dataclass(frozen=True, slots=True)
class OneKernel:
    """A built TILE kernel as the interpreter's helpers want a program."""

    kernel: Kernel

    def tile(self, sizes: Mapping[str, int]) -> Kernel:
        return self.kernel

    def schedules(self, sizes: Mapping[str, int], count: int) -> tuple[None, ...]:
        return (None,)


def shapes_of(kernel: str) -> Iterator[tuple[dict[str, int], Kind, int]]:
    """Yield sizes, kind of input, and how many schedules to compare."""
    if kernel not in IN_DEPTH:
        listed = (*ENTRIES[kernel].shapes["shown"], *ENTRIES[kernel].shapes["hidden_style"])
        for sizes, kind in itertools.product(listed, KINDS):
            yield dict(sizes), kind, SCHEDULES
        return
    if kernel.startswith("vector_add"):
        small = [{"N": n} for n in (*EXTENTS, 64 * 7168 + 1)]
    else:
        small = [{"T": t, "H": h} for t, h in itertools.product((0, *BATCHES), EXTENTS)]
    for sizes, kind in itertools.product(small, KINDS):
        yield sizes, kind, SCHEDULES
    for rows, columns in LARGE:
        yield {"N": rows * columns} if kernel.startswith("vector_add") else {"T": rows, "H": columns}, "random", 1


def statics_of(kernel: str, sizes: Mapping[str, int]) -> dict[str, int]:
    return {name: sizes[name] for name in ENTRIES[kernel].dims}


Task = tuple[str, tuple[tuple[str, int], ...], tuple[tuple[dict[str, int], Kind, int], ...]]
"""A kernel, its static sizes, and the sizes, kinds of input and numbers of schedules to run it with."""


def tasks() -> list[Task]:
    """One for each build."""
    found: list[Task] = []
    for kernel in ENTRIES:
        wanted: dict[tuple[tuple[str, int], ...], list[tuple[dict[str, int], Kind, int]]] = {}
        for sizes, kind, count in shapes_of(kernel):
            wanted.setdefault(tuple(statics_of(kernel, sizes).items()), []).append((sizes, kind, count))
        found += [(kernel, statics, tuple(runs)) for statics, runs in wanted.items()]
    return found


def make(folder: Path, target: str, processes: int) -> None:
    packed: list[Built] = []
    cases: list[dict[str, Any]] = []
    with ProcessPoolExecutor(processes) as pool:
        for built, found, said in pool.map(partial(_made, target), tasks()):
            packed += built
            cases += found
            print(said, flush=True)
    write_pack(folder, packed, {"cases": cases, "target": target, "order_version": ORDER_VERSION, "seed": SEED})


def _made(target: str, task: Task) -> tuple[tuple[Built, ...], list[dict[str, Any]], str]:
    """The builds of a task, its cases with the digests of what is wanted, and a line of what was done."""
    from evals.kernel_builds import builds  # the compiler, which `check` does without  # noqa: PLC0415

    kernel, statics, runs = task
    start = time.perf_counter()
    first, made = builds(kernel, dict(statics), target, SCHEDULES)
    tile = first.kernel
    assert tile is not None
    others = {fitting_variant(tile, sizes) for sizes, _, _ in runs} - {made[0].packed.abi.variant}
    for variant in sorted(others, key=repr):
        made += builds(kernel, dict(statics), target, SCHEDULES, variant)[1]
    cases = [case for run in runs if (case := _case(kernel, tile, *run)) is not None]
    took = time.perf_counter() - start
    return made, cases, f"{kernel} {dict(statics)}: {len(made)} builds, {len(cases)} cases, {took:.1f} s"


def _case(kernel: str, tile: Kernel, sizes: Mapping[str, int], kind: Kind, count: int) -> dict[str, Any] | None:
    """One case; None where the kernel stops the launch for such inputs."""
    signature = signature_of(tile)
    call = _call(signature, kind, sizes)
    try:
        outputs = run_interpreter(OneKernel(tile), call)
    except RequirementError:
        return None
    return {
        "kernel": kernel,
        "sizes": dict(sizes),
        "kind": kind,
        "schedules": count,
        "promises": promises_to_json(tile.attrs.get("promises", ())),
        "inputs": {name: digest(raw) for name, raw in call.tensors.items()},
        "outputs": {name: digest(raw) for name, raw in outputs.items()},
    }


def _call(signature: Signature, kind: Kind, sizes: Mapping[str, int]) -> Call:
    return make_call(signature, kind, sizes, {}, SEED)


def call_of(signature: Signature, case: Mapping[str, Any]) -> Call:
    """The call of a case: its inputs from its seed, its scalars as they are."""
    signature = replace(signature, promises=promises_from_json(case.get("promises", ())))
    return make_call(signature, case["kind"], case["sizes"], case.get("scalars", {}), case.get("seed", SEED))


Runner = Callable[[PackedKernel, Call, int], Run]


def gpu_runner(folder: Path) -> tuple[Runner, dict[str, Any]]:
    """Run cubins on GPU 0, in a worker process."""
    info, worker = driver().info(0), Worker(JOBS, os.environ)
    machine = {"gpu": info.name, "driver_cuda": ".".join(map(str, info.driver_version))}
    return lambda row, call, which: run_cubin(
        worker, row.abi, row.cubin(folder), call, RunOptions(poison=which)
    ), machine


def simulator_runner(folder: Path) -> tuple[Runner, dict[str, Any]]:
    """Run the same CUDA texts on the CPU simulator, in permuted orders."""

    @dataclass(frozen=True)
    class One:
        row: PackedKernel

        def compiled(self, sizes: Mapping[str, int], schedule: object, *, strided: bool = False) -> CompileResult:
            return CompileResult("ok", (), texts={"cuda": self.row.text(folder)}, abi=self.row.abi)

    executors: dict[str, SimulatorExecutor] = {}

    def run(row: PackedKernel, call: Call, which: int) -> Run:
        executor = executors.setdefault(row.cubin_name, SimulatorExecutor(One(row), folder / "simulator"))
        return executor.run(call, RunOptions(poison=which, order=which))

    return run, {"simulator": host_compiler().version.partition("\n")[0]}


def check(folder: Path, result: Path, device: str) -> int:
    packed, table = read_pack(folder)
    run, machine = gpu_runner(folder) if device == "cuda" else simulator_runner(folder)
    started, failures, counts = time.time(), [], {"cases": 0, "cases_with_all_schedules": 0, "runs": 0}
    for number, case in enumerate(table["cases"]):
        rows = rows_of(packed, case)
        call = call_of(abi_signature(rows[0].abi), case)
        if device == "cpu" and max((raw.size for raw in call.tensors.values()), default=0) > MOST_SIMULATED:
            continue
        counts["cases"] += 1
        counts["cases_with_all_schedules"] += len(rows) >= SCHEDULES
        for name, raw in call.tensors.items():
            if digest(raw) != case["inputs"][name]:
                failures.append(_failure(case, -1, f"input {name} was made with other bytes"))
        for row in rows:
            counts["runs"] += 1
            try:
                done = run(row, call, number % 2)
            except ExecutionError as e:
                failures.append(_failure(case, row.schedule_number, str(e)))
                continue
            wrong = [name for name, raw in done.outputs.items() if digest(raw) != case["outputs"][name]]
            wrong += [*done.damage, *done.findings]
            if wrong:
                failures.append(_failure(case, row.schedule_number, ", ".join(wrong)))
        if number % 50 == 0:
            print(
                f"{number}/{len(table['cases'])}, {len(failures)} failures, {time.time() - started:.0f} s", flush=True
            )
    report = {
        "what": f"outputs of runs on {device} compared by SHA-256 with {table.get('judge', 'the interpreter')}'s",
        "verdict": "wrong" if failures else "bit_exact",
        **counts,
        "failed_runs": len(failures),
        **{name: table[name] for name in ("commit", "order_version", "seed", "target")},
        **machine,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "seconds": round(time.time() - started, 1),
        "by_kernel": _by_kernel(table["cases"], failures),
        "failures": failures[:50],
    }
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({k: v for k, v in report.items() if k not in ("failures", "by_kernel")}, indent=1))
    return 1 if failures else 0


def rows_of(packed: list[PackedKernel], case: Mapping[str, Any]) -> list[PackedKernel]:
    mine = (row for row in packed if row.kernel == case["kernel"])
    same = [row for row in mine if all(case["sizes"].get(name) == n for name, n in row.statics.items())]
    same = [row for row in same if row.abi.variant == fitting_variant(row.abi, case["sizes"])]
    return same[: case["schedules"]]


def _failure(case: Mapping[str, Any], schedule: int, what: str) -> dict[str, Any]:
    return {"kernel": case["kernel"], "sizes": case["sizes"], "kind": case["kind"], "schedule": schedule, "what": what}


def _by_kernel(cases: list[dict[str, Any]], failures: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for case in cases:
        row = found.setdefault(case["kernel"], {"cases": 0, "failed_runs": 0, "shapes": []})
        row["cases"] += 1
        if list(case["sizes"].values()) not in row["shapes"]:
            row["shapes"].append(list(case["sizes"].values()))
    for failure in failures:
        found[failure["kernel"]]["failed_runs"] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("folder", type=Path)
    making.add_argument("--target", default="sm_90a")
    making.add_argument("--processes", type=int, default=1)
    checking = commands.add_parser("check")
    checking.add_argument("folder", type=Path)
    checking.add_argument("result", type=Path)
    checking.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    arguments = parser.parse_args()
    if arguments.command == "check":
        return check(arguments.folder, arguments.result, arguments.device)
    make(arguments.folder, arguments.target, arguments.processes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
