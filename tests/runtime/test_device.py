"""Launches reach the driver as the ABI says; on a GPU they compute."""

import ctypes

import pytest
import torch

from agentkern.compiler.abi import KernelAbi
from agentkern.runtime import device, driver
from agentkern.runtime.device import GpuKernel, WrongLayout, check_layout
from agentkern.runtime.driver import Driver, DriverError, GpuInfo, NoDriver
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.runtime.signature import signature_of
from agentkern.runtime.tensor_view import Device
from agentkern.runtime.tensors import bind_call
from tests.runtime.gpu_kernels import REVERSE, REVERSE_ABI, SCALE, SCALE_ABI, abi


@pytest.fixture
def fake(fake_library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> ctypes.CDLL:
    fake_library.fake_reset()
    for width in (8, 8, 8, 4):
        fake_library.fake_expect_argument(width)
    monkeypatch.setattr(driver, "_open", lambda: fake_library)
    started = Driver()
    monkeypatch.setattr(device, "driver", lambda: started)
    monkeypatch.setattr(device, "_modules", {})
    return fake_library


def log_of(library: ctypes.CDLL) -> list[str]:
    return library.fake_log().decode().splitlines()


@pytest.mark.toolchain
def test_loading_pushes_the_primary_context_and_pops_it(fake: ctypes.CDLL):
    GpuKernel(SCALE_ABI, compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin, 1)
    assert log_of(fake) == [
        "retain 41",
        "push 7f0000000029",
        "load ELF",
        "function 7e0000000001 scale",
        "pop",
    ]


@pytest.mark.toolchain
def test_context_that_is_current_already_is_left_alone(fake: ctypes.CDLL):
    fake.fake_set_current(0x7F0000000028)
    GpuKernel(SCALE_ABI, compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin, 0)
    assert [line for line in log_of(fake) if line.startswith(("push", "pop"))] == []


@pytest.mark.toolchain
def test_cubin_is_loaded_once_for_a_device(fake: ctypes.CDLL):
    cubin = compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin
    for index in (0, 0, 1):
        GpuKernel(SCALE_ABI, cubin, index)
    assert log_of(fake).count("load ELF") == 2


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("shared_bytes", "attribute"),
    [(48 * 1024 - 512, []), (48 * 1024 - 511, ["attribute 7d0000000002 8 48641"])],
)
def test_attribute_is_set_where_static_and_dynamic_shared_memory_pass_48_kib(
    fake: ctypes.CDLL, shared_bytes: int, attribute: list[str]
):
    kernel = abi("scale", "(N + 127) // 128", 128, shared_bytes)
    GpuKernel(kernel, compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin, 0)
    assert [line for line in log_of(fake) if line.startswith("attribute")] == attribute


@pytest.mark.toolchain
def test_launch_passes_grid_stream_and_every_argument(fake: ctypes.CDLL):
    arguments = (*tuple(v.to_bytes(8, "little") for v in (139711564956757, 1, 2**63 + 5)), b"\x00\x00\x80?")
    started = device.driver()
    with started.on_device(0):
        function = started.function(started.load_module(b"\x7fELF"), "scale", 0)
        started.launch(function, 2**31 - 1, 1024, 200_000, 0x7C0000000003, arguments)
    assert log_of(fake)[-2] == (
        "launch 7d0000000002 grid 2147483647 1 1 block 1024 1 1 shared 200000 stream 7c0000000003 extra (nil)"
        " 7f1122334455 1 8000000000000005 3f800000"
    )


@pytest.mark.toolchain
def test_failed_launch_carries_the_drivers_words(fake: ctypes.CDLL):
    started = device.driver()
    with started.on_device(0), pytest.raises(DriverError, match="CUDA_ERROR_LAUNCH_FAILED") as caught:
        started.launch(ctypes.c_void_p(1), 1, 32, 666, 0, (bytes(8),) * 4)
    assert (caught.value.call, caught.value.status) == ("cuLaunchKernel", 719)
    assert log_of(fake)[-1] == "pop"


@pytest.mark.toolchain
def test_gpu_is_described(fake: ctypes.CDLL):
    info = device.driver().info(1)
    assert (info.name, info.compute_capability, info.sm_count) == ("Fake 41", (9, 0), 132)
    assert (info.l2_bytes, info.memory_bytes, info.clock_hz) == (60 << 20, 141 << 30, 1_980_000_000)
    assert info.driver_version == (13, 0)
    with pytest.raises(DriverError, match="cuDeviceGet"):
        device.driver().info(2)


@pytest.mark.parametrize(
    ("capability", "target"),
    [((9, 0), "sm_90a"), ((8, 0), "sm_80"), ((8, 9), "sm_80"), ((10, 0), "sm_100a"), ((7, 5), None), ((12, 0), None)],
)
def test_target_of_a_gpu_is_code_that_it_runs(capability: tuple[int, int], target: str | None):
    assert GpuInfo(0, "", capability, 1, 1, 1, 1, (13, 0)).target == target


def test_machine_without_a_driver_gets_a_typed_error(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(driver, "_LIBRARIES", ("libnot-a-driver.so.1",))
    with pytest.raises(NoDriver, match="no CUDA driver"):
        Driver()


def test_driver_that_sees_no_gpu_gets_a_typed_error(fake_library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch):
    class NoGpu:
        def __getattr__(self, name: str) -> object:
            return (lambda _: 100) if name == "cuInit" else getattr(fake_library, name)

    monkeypatch.setattr(driver, "_open", NoGpu)
    with pytest.raises(NoDriver, match="does not start"):
        Driver()


def test_machine_code_with_other_parameters_is_refused():
    cubin = compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin
    check_layout(SCALE_ABI, cubin)
    with pytest.raises(WrongLayout, match="no kernel `reverse`"):
        check_layout(REVERSE_ABI, cubin)
    narrower = compile_cuda(SCALE.replace("long long n", "int n"), NvrtcOptions("sm_90a")).cubin
    with pytest.raises(WrongLayout, match=r"\[8, 8, 4, 4\]"):
        check_layout(SCALE_ABI, narrower)


def run_on_gpu(kernel: KernelAbi, text: str, x: torch.Tensor, **named: object) -> torch.Tensor:
    info = driver.driver().info(x.device.index)
    assert info.target is not None
    loaded = GpuKernel(kernel, compile_cuda(text, NvrtcOptions(info.target)).cubin, x.device.index)
    call = bind_call(signature_of(kernel), (x,), named, stream=device.current_stream(x.device.index))
    loaded.launch(call)
    out = call.outputs["out"]
    assert isinstance(out, torch.Tensor)
    return out


@pytest.mark.gpu
@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 1_000_003])
def test_kernel_computes_on_the_gpu(n: int):
    x = torch.randn(n, device="cuda")
    assert torch.equal(run_on_gpu(SCALE_ABI, SCALE, x, factor=3.0), x * 3.0)


@pytest.mark.gpu
def test_kernel_with_100_kib_of_shared_memory_computes_on_the_gpu():
    x = torch.randn(25_000, device="cuda")
    assert torch.equal(run_on_gpu(REVERSE_ABI, REVERSE, x), x.flip(0) * 2.0)


@pytest.mark.gpu
def test_kernel_runs_on_torchs_current_stream():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert device.current_stream(0) == stream.cuda_stream
        x = torch.randn(1 << 24, device="cuda")
        for _ in range(20):
            x = run_on_gpu(SCALE_ABI, SCALE, x, factor=1.0) + 1.0
        total = x.sum()
    stream.synchronize()
    assert torch.isfinite(total)


@pytest.mark.gpu
def test_launch_is_captured_in_a_cuda_graph():
    x = torch.randn(1000, device="cuda")
    loaded = GpuKernel(SCALE_ABI, compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin, 0)
    call = bind_call(signature_of(SCALE_ABI), (x,), {"factor": 2.0}, device=Device("cuda", 0))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loaded.launch(call)
    x.copy_(torch.arange(1000.0))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(call.outputs["out"], x * 2.0)


@pytest.mark.gpu
def test_machine_code_for_another_gpu_is_refused_by_the_driver():
    with pytest.raises(DriverError, match="NO_BINARY"):
        GpuKernel(SCALE_ABI, compile_cuda(SCALE, NvrtcOptions("sm_100a")).cubin, 0)
