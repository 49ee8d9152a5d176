"""Launches run in a worker over images of host memory; a fault or a hang there is a reason, and the next run works."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentkern.compiler.abi import Argument, KernelAbi, Launch, TensorParam, Variant
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.driver import NoDriver
from agentkern.runtime.gpu_job import JOBS
from agentkern.runtime.gpu_run import GpuProgram, GpuRunFailed, HostImage, image_of, run_on_gpu
from agentkern.runtime.layouts import spread
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.runtime.worker import Worker
from tests.runtime.gpu_kernels import REVERSE, REVERSE_ABI, SCALE, SCALE_ABI

AMPLE_S = 120.0


@pytest.fixture(scope="module")
def fake_gpu(fake_driver_folder: Path) -> Iterator[Worker]:
    worker = Worker(JOBS, {**os.environ, "LD_LIBRARY_PATH": str(fake_driver_folder)})
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def gpu() -> Iterator[Worker]:
    worker = Worker(JOBS, os.environ)
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def scale() -> GpuProgram:
    return GpuProgram(SCALE_ABI, compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin)


def run(worker: Worker, program: GpuProgram, x: np.ndarray, factor: float, timeout_s: float = AMPLE_S) -> np.ndarray:
    out = np.full_like(x, np.nan)
    images = {"x": image_of(x), "out": image_of(out)}
    run_on_gpu(worker, program, images, {"N": len(x)}, {"factor": factor}, timeout_s=timeout_s)
    return out


@pytest.mark.toolchain
def test_outputs_are_written_in_place(fake_gpu: Worker, scale: GpuProgram):
    x = np.arange(1000, dtype=np.float32)
    assert np.array_equal(run(fake_gpu, scale, x, 3.0), x * 3)


@pytest.mark.toolchain
def test_call_of_no_blocks_runs_nothing(fake_gpu: Worker, scale: GpuProgram):
    assert len(run(fake_gpu, scale, np.zeros(0, np.float32), 3.0)) == 0


@pytest.mark.toolchain
def test_memory_around_an_array_travels_with_it(fake_gpu: Worker, scale: GpuProgram):
    memory = np.full(256 + 40 + 256, 0xC7, np.uint8)
    out = memory[256:296].view(np.float32)
    images = {"x": image_of(np.ones(10, np.float32)), "out": HostImage(out, memory)}
    run_on_gpu(fake_gpu, scale, images, {"N": 10}, {"factor": 2.0}, timeout_s=AMPLE_S)
    assert (out == 2).all()
    assert (memory[:256] == 0xC7).all()
    assert (memory[296:] == 0xC7).all()
    # One element more than the array has lands in the band behind it, and comes back to be seen.
    images["x"] = image_of(np.ones(11, np.float32))
    run_on_gpu(fake_gpu, scale, images, {"N": 11}, {"factor": 2.0}, timeout_s=AMPLE_S)
    assert (memory[296:300] != 0xC7).any()


@pytest.mark.toolchain
def test_an_array_with_gaps_travels_as_the_memory_from_its_first_element_on(fake_gpu: Worker, scale: GpuProgram):
    padded = spread(np.arange(12, dtype=np.float32).reshape(3, 4), (8, 1))
    image = image_of(padded)
    assert image.offset == 0
    assert image.memory.view(np.float32).reshape(3, 8)[:, :4].tolist() == padded.tolist()
    turned = spread(np.zeros((2, 5), np.float32), (1, 2))
    images = {"x": image_of(np.ones(10, np.float32)), "out": image_of(turned)}
    run_on_gpu(fake_gpu, scale, images, {"N": 10}, {"factor": 2.0}, timeout_s=AMPLE_S)
    assert (turned == 2).all()


@pytest.mark.toolchain
def test_fault_is_reported_and_the_next_run_works(fake_gpu: Worker, scale: GpuProgram):
    x = np.ones(4, np.float32)
    with pytest.raises(GpuRunFailed, match="CUDA_ERROR_ILLEGAL_ADDRESS") as caught:
        run(fake_gpu, scale, x, 666.0)
    assert caught.value.kind == "raised"
    assert (run(fake_gpu, scale, x, 2.0) == 2).all()


@pytest.mark.toolchain
def test_hang_is_ended_and_the_next_run_works(fake_gpu: Worker, scale: GpuProgram):
    x = np.ones(4, np.float32)
    run(fake_gpu, scale, x, 2.0)
    with pytest.raises(GpuRunFailed, match="in time") as caught:
        run(fake_gpu, scale, x, 777.0, timeout_s=1.0)
    assert caught.value.kind == "timed_out"
    assert (run(fake_gpu, scale, x, 2.0) == 2).all()


def test_machine_without_a_driver_says_so(scale: GpuProgram, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    # A file that is no library stands in the way of any real driver.
    for name in ("libcuda.so.1", "libcuda.so"):
        (tmp_path / name).write_bytes(b"not a library")
    worker = Worker(JOBS, {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})
    with pytest.raises(NoDriver, match="no CUDA driver"):
        run(worker, scale, np.ones(4, np.float32), 2.0)
    worker.close()


@pytest.mark.gpu
@pytest.mark.parametrize("n", [0, 1, 127, 129, 100_003])
def test_kernel_computes_in_a_worker_on_the_gpu(gpu: Worker, scale: GpuProgram, n: int):
    x = np.random.default_rng(n).standard_normal(n, np.float32)
    assert np.array_equal(run(gpu, scale, x, 3.0), x * np.float32(3))


@pytest.mark.gpu
def test_kernel_with_much_shared_memory_computes_in_a_worker_on_the_gpu(gpu: Worker):
    program = GpuProgram(REVERSE_ABI, compile_cuda(REVERSE, NvrtcOptions("sm_90a")).cubin)
    x = np.random.default_rng(0).standard_normal(25_000, np.float32)
    assert np.array_equal(run(gpu, program, x, 1.0), x[::-1])


@pytest.mark.gpu
def test_fault_on_the_gpu_is_reported_and_the_next_run_works(gpu: Worker, scale: GpuProgram):
    wild = SCALE.replace("out[i] =", "*(float*)(out + i + (1ll << 40)) =")
    program = GpuProgram(SCALE_ABI, compile_cuda(wild, NvrtcOptions("sm_90a")).cubin)
    x = np.ones(4, np.float32)
    with pytest.raises(GpuRunFailed, match="CUDA_ERROR"):
        run(gpu, program, x, 2.0)
    assert (run(gpu, scale, x, 2.0) == 2).all()


@pytest.mark.gpu
def test_hang_on_the_gpu_is_ended_and_the_next_run_works(gpu: Worker, scale: GpuProgram):
    endless = SCALE.replace("if (i < n)", "while (*(volatile const float*)x == 1.0f) {}\n  if (i < n)")
    program = GpuProgram(SCALE_ABI, compile_cuda(endless, NvrtcOptions("sm_90a")).cubin)
    with pytest.raises(GpuRunFailed, match="in time"):
        run(gpu, program, np.ones(4, np.float32), 2.0, timeout_s=20.0)
    assert (run(gpu, scale, np.full(4, 2, np.float32), 2.0) == 4).all()


class _Recording(Worker):
    """Keeps what a job is asked, and leaves memory as it is."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def run_job(self, name: str, payload: Any, **_: object) -> Any:
        self.asked.append(payload)
        return payload["images"]


def test_a_list_travels_as_a_table_of_places_and_one_of_strides():
    f32, i64 = DTYPES["f32"], DTYPES["i64"]
    entries = ("xs[0]", "xs[1]")
    arguments = (
        Argument("table", "xs", f32, entries=entries),
        Argument("stride_table", "xs", i64, axis=1, entries=entries),
        Argument("table", "none", f32),
    )
    params = tuple(TensorParam(name, f32, (4,), "inout") for name in entries)
    abi = KernelAbi("k", params, (), (), (Launch("k", 1, 32, 0, arguments),), Variant(strided=entries))
    memory = np.zeros(40, np.uint8)
    images = {"xs[0]": image_of(np.zeros(4, np.float32)), "xs[1]": HostImage(memory[8:].view(np.float32)[::2], memory)}
    worker = _Recording()
    run_on_gpu(worker, GpuProgram(abi, b""), images, {}, {}, timeout_s=AMPLE_S)
    (launch,) = worker.asked[0]["launches"]
    pointers, strides, none = launch["arguments"]
    assert pointers == {"table": [{"image": 0, "offset": 0}, {"image": 1, "offset": 8}]}
    assert strides == (1).to_bytes(8, "little") + (2).to_bytes(8, "little")
    assert none == {"table": [bytes(8)]}
