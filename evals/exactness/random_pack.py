"""Random kernels for a GPU machine: cubins, inputs and the interpreter's digests made here, run and compared there.

    python -m evals.exactness.random_pack make FOLDER --first 0 --count 500 [--processes 8]    compiler, NVRTC, CPU
    python -m evals.exactness.random_pack check FOLDER RESULT.json                               a GPU and NumPy
    python -m evals.exactness.random_pack check FOLDER RESULT.json --device cpu                  the CPU simulator

Kernels are those of `tests/properties`, several to a translation unit. `check` runs each on poisoned outputs between
guard bands.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.order import ORDER_VERSION
from agentkern.runtime.driver import driver
from agentkern.runtime.gpu_job import JOBS
from agentkern.runtime.gpu_run import GpuProgram, GpuRunFailed, HostImage, run_on_gpu
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions
from agentkern.runtime.simulator import build as build_simulator
from agentkern.runtime.worker import Worker
from agentkern.tools.inputs import digest
from evals.kernel_packs import Built, PackedKernel, cubin_name, read_pack, write_pack

UNIT = 16
"""Kernels to a translation unit."""
SHARD = 32
"""Seeds that one process takes at a time."""
MOST_BYTES = 1 << 20
GUARD_BYTES = 512
GUARD = 0xC7
TIMEOUT_S = 60.0
Arrays = Mapping[str, np.ndarray]


def make(folder: Path, seeds: Sequence[int], target: str, *, processes: int) -> None:
    """Write the pack; each process makes the kernels of some seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    packed: list[Built] = []
    cases: list[dict[str, Any]] = []
    shards = [seeds[first : first + SHARD] for first in range(0, len(seeds), SHARD)]
    with ProcessPoolExecutor(processes) as pool:
        for rows, found in pool.map(partial(_shard, folder, target), shards):
            cases += [{**case, "row": case["row"] + len(packed)} for case in found]
            packed += rows
            print(f"{len(cases)} kernels", flush=True)
    write_pack(folder, packed, {"cases": cases, "target": target, "order_version": ORDER_VERSION})


def _shard(folder: Path, target: str, seeds: Sequence[int]) -> tuple[list[Built], list[dict[str, Any]]]:
    """The builds and cases of some seeds; their arrays are in the folder."""
    from evals.exactness.random_builds import units  # the compiler, which `check` does without  # noqa: PLC0415

    packed: list[Built] = []
    cases: list[dict[str, Any]] = []
    for unit in units(seeds, target, UNIT):
        for made in unit.kernels:
            if sum(a.nbytes for a in made.before.values()) > MOST_BYTES:
                continue
            name = f"inputs_{made.program.seed}.npz"
            np.savez_compressed(folder / name, **made.before)
            outputs = {n: digest(made.after[n]) for n in made.compared}
            program = made.program
            scalars = program.scalar_values()
            case = {"row": len(packed), "seed": program.seed, "sizes": program.sizes, "scalars": scalars}
            cases.append({**case, "arrays": name, "outputs": outputs})
            row = PackedKernel(program.name, program.numbers(), 0, {}, made.abi, cubin_name(unit.cubin), {})
            packed.append(Built(row, unit.cubin, unit.text))
    return packed, cases


Runner = Callable[[PackedKernel, Arrays, Mapping[str, Any]], list[str]]
"""Runs a kernel in place and returns what went wrong."""


def gpu_runner(folder: Path) -> tuple[Runner, dict[str, Any]]:
    """Run cubins on GPU 0, in a worker process."""
    info, worker = driver().info(0), Worker(JOBS, os.environ)

    def run(row: PackedKernel, arrays: Arrays, case: Mapping[str, Any]) -> list[str]:
        images = {name: HostImage(array, _memory(array)) for name, array in arrays.items()}
        try:
            program = GpuProgram(row.abi, row.cubin(folder))
            run_on_gpu(worker, program, images, case["sizes"], case["scalars"], timeout_s=TIMEOUT_S)
        except GpuRunFailed as e:
            return [f"{e.kind}: {e}"]
        return []

    return run, {"gpu": info.name, "driver_cuda": ".".join(map(str, info.driver_version))}


def simulator_runner(folder: Path) -> tuple[Runner, dict[str, Any]]:
    """Run the same texts on the CPU simulator."""

    def run(row: PackedKernel, arrays: Arrays, case: Mapping[str, Any]) -> list[str]:
        module = build_simulator(row.text(folder), folder / "simulator")
        reports = simulate(row.abi, module, dict(arrays), case["sizes"], case["scalars"], SimulatorOptions())
        return [finding.message for report in reports for finding in report.findings[:2]]

    return run, {}


def _memory(array: np.ndarray) -> np.ndarray:
    """The bytes of an array and its guard bands."""
    return array.base if isinstance(array.base, np.ndarray) else array.reshape(-1).view(np.uint8)


def guarded(array: np.ndarray) -> np.ndarray:
    """A copy between two guard bands; its base is the bytes of all."""
    room = np.full(array.nbytes + 2 * GUARD_BYTES, GUARD, np.uint8)
    room[GUARD_BYTES : GUARD_BYTES + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return np.ndarray(array.shape, array.dtype, room, GUARD_BYTES) if array.size else array


def _damage(arrays: Arrays, before: Arrays, inputs: frozenset[str]) -> list[str]:
    found: list[str] = []
    for name, array in arrays.items():
        if not array.size:
            continue
        room = _memory(array)
        ends = np.concatenate([room[:GUARD_BYTES], room[GUARD_BYTES + array.nbytes :]])
        found += [f"written outside `{name}`"] if (ends != GUARD).any() else []
        changed = name in inputs and array.tobytes() != before[name].tobytes()
        found += [f"input `{name}` was written"] if changed else []
    return found


def check(folder: Path, result: Path, device: str) -> int:
    """Run every case and write what differs; 0 where nothing does."""
    packed, table = read_pack(folder)
    run, machine = gpu_runner(folder) if device == "cuda" else simulator_runner(folder)
    started, failures = time.time(), []
    for number, case in enumerate(table["cases"]):
        row = packed[case["row"]]
        with np.load(folder / case["arrays"]) as stored:
            before = {name: stored[name] for name in stored.files}
        arrays = {name: guarded(array) for name, array in before.items()}
        wrong = run(row, arrays, case)
        wrong += [f"`{n}` differs" for n, wanted in case["outputs"].items() if digest(arrays[n]) != wanted]
        tensors = [p for p in row.abi.params if isinstance(p, TensorParam)]
        wrong += _damage(arrays, before, frozenset(p.name for p in tensors if p.access == "in"))
        failures += [{"seed": case["seed"], "what": wrong}] if wrong else []
        if number % 50 == 0:
            print(f"{number}/{len(table['cases'])}, {len(failures)} failures", flush=True)
    report = {
        "what": f"outputs of random kernels on {device} compared by SHA-256 with the interpreter's",
        "verdict": "wrong" if failures else "bit_exact",
        "kernels": len(table["cases"]),
        "failed": len(failures),
        **{name: table[name] for name in ("commit", "order_version", "target")},
        **machine,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "seconds": round(time.time() - started, 1),
        "failures": failures,
    }
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))
    return 1 if failures else 0


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("folder", type=Path)
    making.add_argument("--first", type=int, default=0)
    making.add_argument("--count", type=int, default=500)
    making.add_argument("--target", default="sm_90a")
    making.add_argument("--processes", type=int, default=1)
    checking = commands.add_parser("check")
    checking.add_argument("folder", type=Path)
    checking.add_argument("result", type=Path)
    checking.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    asked = parser.parse_args()
    if asked.command == "check":
        return check(asked.folder, asked.result, asked.device)
    make(asked.folder, range(asked.first, asked.first + asked.count), asked.target, processes=asked.processes)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
