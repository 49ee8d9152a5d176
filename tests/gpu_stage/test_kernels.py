"""The two thread-level kernels: text, assembler, and the bits of the NumPy models in the simulator."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileResult
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import Completion, SimulatorModule, SimulatorOptions, build
from agentkern.tools.inputs import Kind, generate
from evals.product_builds import build_stage_text, compile_stage_text
from tests.gpu_stage.models import attention, product

FOLDER = Path(__file__).parent
NAMES = ("product_bf16", "attention_tile")
SCALE = 0.12751743
Loaded = dict[str, tuple[CompileResult, SimulatorModule]]


@pytest.fixture(scope="module")
def loaded(simulator_cache: Path) -> Loaded:
    results = {name: compile_stage_text(name) for name in NAMES}
    return {name: (result, build(result.cuda, simulator_cache)) for name, result in results.items()}


def run(
    loaded: Loaded, name: str, tensors: dict[str, np.ndarray], sizes: dict[str, int], completion: Completion
) -> list[str]:
    """Run in place; returns what was found."""
    result, module = loaded[name]
    assert result.abi is not None
    scalars = {"scale": SCALE} if name == "attention_tile" else {}
    options = SimulatorOptions(completion=completion, blocks=tuple(range(8)) if name == "product_bf16" else None)
    reports = simulate(result.abi, module, tensors, sizes, scalars, options)
    return [finding.message for report in reports for finding in report.findings]


def bf16(kind: Kind, shape: tuple[int, int], name: str) -> np.ndarray:
    return generate(kind, DTYPES["bf16"], shape, 11, name)


@pytest.mark.parametrize("name", NAMES)
def test_text_prints_as_it_reads(name: str) -> None:
    text = (FOLDER / f"{name}.ir").read_text()
    kernel = parse_kernel(text)
    verify_kernel(kernel)
    assert print_kernel(kernel) == text


@pytest.mark.toolchain
@pytest.mark.parametrize("name", NAMES)
def test_assembler_neither_serialises_products_nor_spills(name: str) -> None:
    start = time.process_time()
    built = build_stage_text(name)
    assert time.process_time() - start < 3.0
    assert built.packed.resources[name]["registers"] == 168


@pytest.mark.toolchain
@pytest.mark.parametrize("kind", ["random", "wide", "integers", "special", "edge"])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 256, 64), (130, 264, 72), (1, 8, 8), (64, 24, 200)])
def test_product_has_the_bits_of_the_model(loaded: Loaded, kind: Kind, m: int, n: int, k: int) -> None:
    a, b = bf16(kind, (m, k), "a"), bf16(kind, (n, k), "b")
    wanted = product(a, b)
    for completion in (Completion.EARLIEST, Completion.LATEST):
        c = np.full((m, n), 0xA5A5, np.uint16)
        assert run(loaded, "product_bf16", {"a": a, "b": b, "c": c}, {"M": m, "N": n, "K": k}, completion) == []
        assert np.array_equal(c, wanted)


@pytest.mark.toolchain
def test_product_of_256_by_512_by_256_is_simulated_within_five_seconds(loaded: Loaded) -> None:
    a, b = bf16("random", (256, 256), "a"), bf16("random", (512, 256), "b")
    c = np.zeros((256, 512), np.uint16)
    start = time.process_time()
    assert (
        run(loaded, "product_bf16", {"a": a, "b": b, "c": c}, {"M": 256, "N": 512, "K": 256}, Completion.LATEST) == []
    )
    assert time.process_time() - start < 5.0
    assert np.array_equal(c, product(a, b))


@pytest.mark.toolchain
@pytest.mark.parametrize("kind", ["random", "wide", "integers", "special"])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (64, 100), (129, 257)])
def test_attention_has_the_bits_of_the_model(loaded: Loaded, kind: Kind, m: int, n: int) -> None:
    q, k, v = (bf16(kind, (rows, 128), name) for rows, name in ((m, "q"), (n, "k"), (n, "v")))
    wanted = attention(q, k, v, SCALE)
    for completion in (Completion.EARLIEST, Completion.LATEST):
        o = np.full((m, 128), 0xA5A5, np.uint16)
        assert run(loaded, "attention_tile", {"q": q, "k": k, "v": v, "o": o}, {"M": m, "N": n}, completion) == []
        assert np.array_equal(o, wanted)
