"""Machine code of the instruction runs, built once for each text; `python -m tests.gpu.instruction_pack` builds all.

Cubins lie in `build/instruction_pack/`, named by the digest of target and text, so that a machine with a GPU need not
build them again.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path

from agentkern.compiler.targets.instructions_index import find_instruction, instruction_names
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from tests.gpu.barrier_cases import (
    cluster_and_fence_cases,
    mbarrier_cases,
    named_barrier_cases,
    register_cases,
    wgmma_order_cases,
)
from tests.gpu.copy_cases import bulk_cases, cp_async_cases, tensor_cases
from tests.gpu.instruction_case import Case, Kernel, module_text
from tests.gpu.matrix_move_cases import matrix_move_cases
from tests.gpu.product_cases import mma_cases, wgmma_cases, wgmma_kernel, wgmma_rows

PACK = Path(__file__).resolve().parents[2] / "build" / "instruction_pack"
GROUPS = {
    "mma": mma_cases,
    "matrix moves": matrix_move_cases,
    "cp.async": cp_async_cases,
    "bulk copies": bulk_cases,
    "tensor copies": tensor_cases,
    "mbarriers": mbarrier_cases,
    "named barriers": named_barrier_cases,
    "clusters and fences": cluster_and_fence_cases,
    "registers": register_cases,
    "order of products": wgmma_order_cases,
}


@lru_cache(maxsize=1)
def grouped_cases() -> Mapping[str, tuple[Case, ...]]:
    """Runs of all rows but products of warpgroups, by group."""
    return {group: tuple(cases()) for group, cases in GROUPS.items()}


def cases_of(name: str) -> list[Case]:
    """Runs of a row."""
    row = find_instruction(name)
    assert row is not None
    if row.family == "wgmma":
        return list(wgmma_cases(row))
    return [case for cases in grouped_cases().values() for case in cases if case.row == name]


def exists_on(name: str, target: str) -> bool:
    """Whether a prelude function can be built for a target; functions on values always can."""
    row = find_instruction(name)
    return row is None or row.exists_on(target)


def grouped_kernels(target: str) -> Mapping[str, tuple[Kernel, ...]]:
    """Kernels of each text: one text for a group, one for each width of a warpgroup's products."""
    found: dict[str, tuple[Kernel, ...]] = {}
    for group, cases in grouped_cases().items():
        kernels = {case.kernel.name: case.kernel for case in cases}.values()
        found[group] = tuple(k for k in kernels if all(exists_on(name, target) for name in k.functions))
    rows = sorted((row for row in wgmma_rows() if row.exists_on(target)), key=_width)
    for width, of_width in groupby(rows, _width):
        found[f"wgmma n{width}"] = tuple(map(wgmma_kernel, of_width))
    return {group: kernels for group, kernels in found.items() if kernels}


def _width(row: object) -> int:
    shape = getattr(row, "shape_mnk", None)
    assert shape is not None
    return shape[1]


def cubins(target: str, groups: Iterable[str] | None = None) -> Mapping[str, tuple[bytes, tuple[Kernel, ...]]]:
    """Machine code with its kernels, by group; what the pack lacks is built, in as many processes as there are cores."""
    kernels = grouped_kernels(target)
    wanted = {group: module_text(kernels[group]) for group in (groups or kernels)}
    missing = sorted({text for text in wanted.values() if not _place(target, text).exists()}, key=len, reverse=True)
    if missing:
        PACK.mkdir(parents=True, exist_ok=True)
        with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
            for text, cubin in zip(missing, pool.map(_build, [target] * len(missing), missing), strict=True):
                _place(target, text).write_bytes(cubin)
    return {group: (_place(target, text).read_bytes(), kernels[group]) for group, text in wanted.items()}


def _place(target: str, text: str) -> Path:
    digest = hashlib.sha256(f"{target}\n{text}".encode()).hexdigest()
    return PACK / f"{digest[:32]}.cubin"


def _build(target: str, text: str) -> bytes:
    built = compile_cuda(text, NvrtcOptions(target))
    assert built.performance_remarks == ()
    return built.cubin


def main() -> None:
    """Build all for a target, `sm_90a` unless one is named."""
    target = sys.argv[1] if len(sys.argv) > 1 else "sm_90a"
    built = cubins(target)
    count, n_bytes = sum(len(k) for _, k in built.values()), sum(len(c) for c, _ in built.values())
    sys.stdout.write(f"{count} kernels for {len(list(instruction_names()))} rows, {n_bytes} bytes in {PACK}\n")


if __name__ == "__main__":
    main()
