"""On the GPU, whatever the language has gives the interpreter's bits, under several schedules.

Without a GPU the comparison itself is tried on the simulator, with one case of each kind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileResult
from agentkern.runtime.driver import driver
from agentkern.runtime.gpu_job import JOBS
from agentkern.runtime.gpu_run import GpuProgram, image_of, run_on_gpu
from agentkern.runtime.layouts import laid_out
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions, build
from agentkern.runtime.worker import Worker
from tests.gpu.language_cases import CASES, SAMPLE, LanguageCase
from tests.gpu.language_runs import Arrays, Execute, Scalars, differences

pytestmark = pytest.mark.toolchain
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(JOBS, os.environ)
    yield made
    made.close()


@pytest.mark.gpu
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_gpu_has_the_interpreters_bits(case: LanguageCase, worker: Worker) -> None:
    target = driver().info(0).target
    assert target is not None

    def prepare(result: CompileResult) -> Execute:
        assert result.abi is not None
        program = GpuProgram(result.abi, compile_cuda(result.cuda, NvrtcOptions(target)).cubin)

        def execute(result: CompileResult, given: Arrays, sizes: Mapping[str, int], scalars: Scalars) -> list[str]:
            assert result.abi is not None
            with laid_out(result.abi, given, sizes) as placed:
                images = {name: image_of(array) for name, array in placed.items()}
                run_on_gpu(worker, program, images, sizes, scalars, timeout_s=PATIENCE_S)
            return []

        return execute

    assert differences(case, target, prepare) == []


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_the_simulator_has_the_interpreters_bits(case: LanguageCase, simulator_cache: Path) -> None:
    assert on_simulator(case, simulator_cache) == []


def on_simulator(case: LanguageCase, cache: Path) -> list[str]:
    """The same comparison with the CPU simulator in the GPU's place."""

    def prepare(result: CompileResult) -> Execute:
        module = build(result.cuda, cache)

        def execute(result: CompileResult, given: Arrays, sizes: Mapping[str, int], scalars: Scalars) -> list[str]:
            assert result.abi is not None
            options = SimulatorOptions(line_map=result.lines)
            reports = simulate(result.abi, module, given, sizes, scalars, options)
            return [finding.message for report in reports for finding in report.findings]

        return execute

    return differences(case, "sm_90a", prepare)
