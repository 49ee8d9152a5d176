"""Digests of the thread-level kernels of `tests/gpu_stage` on the CPU simulator, to compare with a GPU's.

    python -m evals.exactness.stage_texts FOLDER [--cases 240]

Every case runs with the earliest and the latest legal completion of its asynchronous operations, which must agree. The
folder is a pack: `python -m evals.exactness.digests check FOLDER RESULT.json` compares it on a GPU.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from agentkern.compiler.driver import CompileResult
from agentkern.compiler.ir.order import ORDER_VERSION
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import Completion, SimulatorModule, SimulatorOptions, build
from agentkern.tools.inputs import KINDS, digest
from agentkern.tools.verify_model import concrete
from agentkern.tools.verify_simulator import abi_signature
from evals.exactness.digests import SEED, call_of
from evals.kernel_packs import write_pack
from evals.product_builds import TARGET, build_stage_text, compile_stage_text

PRODUCT_SIZES: tuple[tuple[int, int, int], ...] = (
    (1, 8, 8), (64, 256, 64), (128, 256, 64), (128, 256, 256), (130, 264, 72), (127, 248, 320), (256, 512, 256),
    (200, 24, 520), (384, 768, 128),
)  # fmt: skip
ATTENTION_SIZES: tuple[tuple[int, int], ...] = ((1, 1), (64, 100), (128, 128), (129, 257), (300, 640))
SCALE = 0.12751743

Case = dict[str, Any]


def cases(count: int) -> Iterator[Case]:
    """Cases in turn over kernels, sizes, kinds of input and seeds."""
    products = [
        {"kernel": "product_bf16", "sizes": dict(zip("MNK", size, strict=True)), "kind": kind}
        for size, kind in itertools.product(PRODUCT_SIZES, KINDS)
    ]
    attention = [
        {"kernel": "attention_tile", "sizes": {"M": m, "N": n}, "kind": kind, "scalars": {"scale": SCALE}}
        for (m, n), kind in itertools.product(ATTENTION_SIZES, KINDS)
    ]
    for number, case in zip(range(count), itertools.cycle(products + attention), strict=False):
        yield case | {"schedules": 1, "seed": SEED + number // len(products + attention)}


def wanted(result: CompileResult, module: SimulatorModule, case: Mapping[str, Any]) -> Case:
    """The case with digests of its inputs and outputs. Errors: RuntimeError for a finding, or bits that differ."""
    assert result.abi is not None
    signature = abi_signature(result.abi)
    call = call_of(signature, case)
    outputs: list[dict[str, str]] = []
    for completion in (Completion.EARLIEST, Completion.LATEST):
        tensors = dict(call.tensors)
        for param in signature.outputs:
            storage = np.dtype(f"u{param.dtype.nbytes}")
            tensors[param.name] = np.full(concrete(param.shape, call.sizes), 0xA5, storage)
        options = SimulatorOptions(line_map=result.lines, completion=completion)
        reports = simulate(result.abi, module, tensors, call.sizes, call.scalars, options)
        findings = [finding.message for report in reports for finding in report.findings]
        if findings:
            raise RuntimeError(f"{case}: {findings[0]}")
        outputs.append({param.name: digest(tensors[param.name]) for param in signature.outputs})
    if outputs[0] != outputs[1]:
        raise RuntimeError(f"{case}: bits depend on when asynchronous operations complete")
    inputs = {name: digest(raw) for name, raw in call.tensors.items()}
    return {**case, "inputs": inputs, "outputs": outputs[0]}


def make(folder: Path, count: int) -> None:
    """Write the pack."""
    names = ("product_bf16", "attention_tile")
    results = {name: compile_stage_text(name) for name in names}
    modules = {name: build(results[name].cuda, folder / "simulator") for name in names}
    start = time.perf_counter()
    done = [wanted(results[case["kernel"]], modules[case["kernel"]], case) for case in cases(count)]
    print(f"{len(done)} cases, {time.perf_counter() - start:.1f} s")
    table = {"cases": done, "target": TARGET, "order_version": ORDER_VERSION, "seed": SEED, "judge": "the simulator"}
    write_pack(folder, [build_stage_text(name) for name in names], table)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cases", type=int, default=350)
    arguments = parser.parse_args()
    make(arguments.folder, arguments.cases)


if __name__ == "__main__":
    main()
