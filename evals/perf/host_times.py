"""Time the tools on the CPU: check, text to cubin, cache hit, cold command line, simulator. Writes its own record.

    python -m evals.perf.host_times RESULT.json

Wall-clock time; of several runs the median and the least. Run it on an idle machine: the record has the load of others
before it began. A bar is held where the least time is below it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from agentkern.compiler.driver import CompileRequest, CompileResult, compile_kernel, compile_text
from agentkern.runtime.build import build as build_cubin
from agentkern.runtime.nvrtc import NvrtcOptions
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions
from agentkern.runtime.simulator import build as build_host
from agentkern.tools import api
from agentkern.tools.inputs import generate_all
from agentkern.tools.verify_model import concrete
from agentkern.tools.verify_simulator import abi_signature
from evals.kernel_packs import commit
from evals.product_builds import compile_stage_text

ROOT = Path(__file__).resolve().parents[2]
KERNELS: tuple[tuple[str, dict[str, int]], ...] = (
    ("corpus/elementwise/vector_add/kernel.py", {}),
    ("corpus/norm/rms_norm/kernel.py", {"H": 7168}),
    ("corpus/quant/per_token_cast_e4m3/kernel.py", {"H": 7168}),
    ("corpus/softmax/softmax/kernel.py", {"H": 7168}),
    ("corpus/activation/silu_and_mul/kernel.py", {"H": 7168}),
)
BARS_MS = {
    "check_warm": 100.0, "text_to_cubin_warm": 400.0, "text_to_cubin_cold_command": 1300.0, "cache_hit": 10.0,
    "simulator_first": 1500.0, "simulator_again": 200.0,
}  # fmt: skip
PRODUCT_BARS_MS = {"stage_text_to_cubin": 800.0, "simulator_256x512x256": 5000.0}
PRODUCT_SIZES = {"M": 256, "N": 512, "K": 256}
Times = dict[str, float]


def milliseconds(run: Callable[[int], object], runs: int) -> Times:
    """Median and least of several runs; each gets its number."""
    times: list[float] = []
    for number in range(runs):
        start = time.perf_counter()
        run(number)
        times.append(1000 * (time.perf_counter() - start))
    return {"median": round(statistics.median(times), 2), "least": round(min(times), 2)}


def text_to_cubin(source: str, path: str, dims: dict[str, int], number: int) -> None:
    """Compile a text that no cache has seen: a comment tells the runs apart."""
    result = compile_kernel(CompileRequest(f"{source}\n# {number}\n", path, dims=dims))
    build_cubin(f"{result.cuda}\n// {number}\n", NvrtcOptions("sm_90a"), None)


def cold_command(path: str, dims: dict[str, int]) -> None:
    """`agentkern compile` in a new process over an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        options = [f"--dim={name}={value}" for name, value in dims.items()]
        command = [sys.executable, "-m", "agentkern", "compile", path, *options, "--json"]
        environment = {**os.environ, "AGENTKERN_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def simulator_times(source: str, path: str, dims: dict[str, int]) -> tuple[Times, Times]:
    """Compiled and run at 64 rows for the first time, and run again; the engine itself was built before."""
    result = compile_kernel(CompileRequest(source, path, dims=dims))
    sizes = {"T": 64} if dims else {"N": 64 * 7168}
    scalars = {"eps": 1e-6} if "norm" in path else {}
    with tempfile.TemporaryDirectory() as folder:
        build_host("// nothing\n", Path(folder))
        again = simulated(result, Path(folder), sizes, scalars)

        def first(number: int) -> None:
            new = replace(result, texts={**result.texts, "cuda": f"{result.cuda}\n// {number}\n"})
            simulated(new, Path(folder), sizes, scalars)(number)

        return milliseconds(first, 3), milliseconds(again, 6)


def simulated(
    result: CompileResult, folder: Path, sizes: dict[str, int], scalars: dict[str, float]
) -> Callable[[int], None]:
    """Build for the simulator where the folder lacks it, and run on random inputs."""
    assert result.abi is not None
    abi, signature = result.abi, abi_signature(result.abi)
    inputs = generate_all("random", {p.name: (p.dtype, concrete(p.shape, sizes)) for p in signature.inputs}, 1)
    outputs = {p.name: np.zeros(concrete(p.shape, sizes), f"u{p.dtype.nbytes}") for p in signature.outputs}

    def once(_: int) -> None:
        simulate(abi, build_host(result.cuda, folder), {**inputs, **outputs}, sizes, scalars, SimulatorOptions())

    return once


def measure_product() -> dict[str, Any]:
    """The product's text of the GPU stage: to a cubin, and simulated, built for the simulator before."""
    result = compile_stage_text("product_bf16")
    text = result.texts["gpu"]

    def to_cubin(number: int) -> None:
        made = compile_text(text, CompileRequest("", "product_bf16.ir"))
        build_cubin(f"{made.cuda}\n// {number}\n", NvrtcOptions("sm_90a"), None)

    with tempfile.TemporaryDirectory() as folder:
        run = simulated(result, Path(folder), PRODUCT_SIZES, {})
        run(0)
        ran = milliseconds(run, 3)
    return {"kernel": "product_bf16", "stage_text_to_cubin": milliseconds(to_cubin, 5), "simulator_256x512x256": ran}


def measure(path: str, dims: dict[str, int]) -> dict[str, Any]:
    """Every time of one kernel."""
    source = (ROOT / path).read_text()
    check = api.CheckRequest(source=source, path=path, dims=dims)
    compile_ = api.CompileRequest(source=source, path=path, dims=dims)
    api.check(check)
    api.compile(compile_)
    text_to_cubin(source, path, dims, -1)
    first, again = simulator_times(source, path, dims)
    return {
        "kernel": path.split("/")[2],
        "check_warm": milliseconds(lambda n: api.check(check.model_copy(update={"source": f"{source}\n# {n}\n"})), 9),
        "text_to_cubin_warm": milliseconds(lambda n: text_to_cubin(source, path, dims, n), 5),
        "text_to_cubin_cold_command": milliseconds(lambda _: cold_command(path, dims), 5),
        "cache_hit": milliseconds(lambda _: api.compile(compile_.model_copy()), 9),
        "simulator_first": first,
        "simulator_again": again,
    }


def main() -> int:
    """Measure, print, write. Returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    path = parser.parse_args().result
    load = round(os.getloadavg()[0], 1)
    rows = [*(measure(kernel, dims) for kernel, dims in KERNELS), measure_product()]
    bars = BARS_MS | PRODUCT_BARS_MS
    report = {
        "what": "milliseconds of the tools on the CPU, wall clock",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "load_of_others": load,
        "bars_ms": bars,
        "rows": rows,
        "missed": [
            f"{row['kernel']}: {name}"
            for row in rows
            for name, bar in bars.items()
            if name in row and row[name]["least"] > bar
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))
    return 1 if report["missed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
