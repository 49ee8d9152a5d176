"""Time the bf16 product of `tests/gpu_stage` on one GPU beside cuBLAS (through torch.matmul), in one run.

    python -m evals.perf.products build FOLDER               compiler and NVRTC: the cubin, no GPU
    python -m evals.perf.products run FOLDER RESULT.json     a GPU and torch; writes RESULT.md beside it

c (M, N) = a (M, K) @ b (N, K) transposed. The protocol is `agentkern/runtime/timing.py`: interleaved, L2 flushed, fresh
random inputs each round, outputs poisoned and compared after timing. Integer-valued inputs are compared with cuBLAS bit
for bit before anything is timed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentkern.runtime.timing import Budget, SubjectTiming, measure, speedup
from evals.kernel_packs import PackedKernel, commit, read_pack, write_pack

SHAPES: tuple[tuple[int, int, int], ...] = ((4096, 4096, 4096), (8192, 8192, 8192), (4000, 4104, 1000))
GOAL = 0.95
"""Of cuBLAS's speed that the two large squares must reach."""
KERNEL = "product_bf16"


def build(folder: Path) -> None:
    """Write the pack."""
    from evals.product_builds import TARGET, build_stage_text  # the compiler, which `run` does without  # noqa: PLC0415

    times: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        built = build_stage_text(KERNEL)
        times.append(time.perf_counter() - start)
    table = {"commit": commit(), "target": TARGET, "text_to_cubin_s": round(min(times), 3)}
    write_pack(folder, [built], table)
    print(table)


def check_integers(packed: PackedKernel, cubin: bytes, shape: tuple[int, int, int]) -> int:
    """Count elements that differ from cuBLAS on small integers, whose every partial sum is exact."""
    import torch  # noqa: PLC0415

    from agentkern.runtime.device import GpuKernel, current_stream  # noqa: PLC0415
    from agentkern.runtime.signature import signature_of  # noqa: PLC0415
    from agentkern.runtime.tensors import bind_call  # noqa: PLC0415

    m, n, k = shape
    generator = torch.Generator("cuda").manual_seed(1)
    a, b = (
        torch.randint(-2, 3, size, device="cuda", generator=generator).to(torch.bfloat16) for size in ((m, k), (n, k))
    )
    c = torch.full((m, n), float("nan"), dtype=torch.bfloat16, device="cuda")
    kernel = GpuKernel(packed.abi, cubin, 0)
    stream = current_stream(0)
    arguments = {"a": a, "b": b, "c": c}
    kernel.launch(bind_call(signature_of(packed.abi), (), arguments, device=kernel.device, stream=stream), stream)
    torch.cuda.synchronize()
    wanted = (a.float() @ b.float().T).to(torch.bfloat16)
    return int((c.view(torch.int16) != wanted.view(torch.int16)).sum())


def run(folder: Path, result: Path, seconds: float) -> int:
    """Check, time and write. Returns 0 when every bar is reached."""
    import torch  # noqa: PLC0415

    from agentkern.runtime.driver import driver  # noqa: PLC0415
    from agentkern.runtime.gpu_timer import GpuTimer, read_clocks  # noqa: PLC0415
    from agentkern.tools.profile_measure import Timed, subjects_of  # noqa: PLC0415

    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    packed, table = read_pack(folder)
    kernel, cubin = packed[0], packed[0].cubin(folder)
    report: dict[str, Any] = {
        "what": "bf16 product from thread-level text beside cuBLAS, interleaved in one run",
        "gpu": driver().info(0).name,
        "torch": torch.__version__,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        **{name: table[name] for name in ("commit", "target", "text_to_cubin_s")},
        "clocks": str(read_clocks()),
        "rows": [],
    }
    timer = GpuTimer()
    for shape in SHAPES:
        m, n, k = shape
        wrong = check_integers(kernel, cubin, shape)
        timed = Timed(KERNEL, kernel.abi, cubin, dict(zip("MNK", shape, strict=True)), {})
        peers = {"cublas": lambda a, b: torch.matmul(a, b.T)}
        bytes_moved = 2 * (m * k + n * k + m * n)
        ours, _, _, cublas = measure(subjects_of(timed, bytes_moved, peers), timer, Budget(seconds=seconds))
        report["rows"].append(_row(shape, ours, cublas, wrong))
        print(report["rows"][-1], flush=True)
        result.parent.mkdir(parents=True, exist_ok=True)
        result.write_text(json.dumps(report, indent=1) + "\n")
        result.with_suffix(".md").write_text(markdown(report))
    return 0 if all(row["reached"] for row in report["rows"]) else 1


def _row(shape: tuple[int, int, int], ours: SubjectTiming, cublas: SubjectTiming, wrong: int) -> dict[str, Any]:
    estimate, ratio = ours.estimate_us, speedup(ours, cublas)
    flops = 2.0 * shape[0] * shape[1] * shape[2]
    large = min(shape) >= 4096
    return {
        "shape": list(shape),
        "median_us": round(estimate.median, 2),
        "ci_us": [round(estimate.low, 2), round(estimate.high, 2)],
        "tflops": round(flops / estimate.median * 1e-6, 1),
        "cublas_us": round(cublas.estimate_us.median, 2),
        "cublas_tflops": round(flops / cublas.estimate_us.median * 1e-6, 1),
        "of_cublas": round(ratio.median, 4),
        "of_cublas_ci": [round(ratio.low, 4), round(ratio.high, 4)],
        "runs": len(ours.samples_us),
        "integers_wrong": wrong,
        "failures": list(ours.failures[:3]),
        "reached": not wrong and not ours.failures and (ratio.median >= GOAL or not large),
    }


def markdown(report: Mapping[str, Any]) -> str:
    """Print the rows as a table."""
    lines = [
        f"# bf16 product, {report['date']}",
        "",
        f"{report['gpu']}, torch {report['torch']}; commit {report['commit']}. Written by `evals/perf/products.py`.",
        f"IR text to cubin: {report['text_to_cubin_s']} s (best of five, on the machine that built it).",
        "",
        "| M, N, K | us | interval | TFLOP/s | cuBLAS TFLOP/s | of cuBLAS | interval | rounds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {', '.join(map(str, row['shape']))} | {row['median_us']} | {row['ci_us'][0]} to {row['ci_us'][1]} | "
        f"{row['tflops']} | {row['cublas_tflops']} | {row['of_cublas']} | "
        f"{row['of_cublas_ci'][0]} to {row['of_cublas_ci'][1]} | {row['runs']} |"
        for row in report["rows"]
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build")
    building.add_argument("folder", type=Path)
    running = commands.add_parser("run")
    running.add_argument("folder", type=Path)
    running.add_argument("result", type=Path)
    running.add_argument("--seconds", type=float, default=4.0, help="for one shape")
    arguments = parser.parse_args()
    if arguments.command == "build":
        build(arguments.folder)
        return 0
    return run(arguments.folder, arguments.result, arguments.seconds)


if __name__ == "__main__":
    raise SystemExit(main())
