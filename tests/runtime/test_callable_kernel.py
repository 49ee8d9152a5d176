"""A kernel is called like a function; each class of call has one build."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from agentkern.compiler.abi import Argument, KernelAbi, Launch, ScalarParam
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime import device, driver
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.callable_kernel import BuildClass, CallableKernel, DeviceBuild
from agentkern.runtime.driver import Driver
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.runtime.signature import signature_of
from tests.runtime.fake_cuda_array import FakeCudaArray
from tests.runtime.gpu_kernels import SCALE, SCALE_ABI
from tests.runtime.signatures import signature, tensor

F32, I64 = DTYPES["f32"], DTYPES["i64"]


@pytest.fixture
def fake(fake_driver_folder: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver whose `scale` computes: another copy of the library, which expects no arguments of a test."""
    library = ctypes.CDLL(f"{fake_driver_folder}/libcuda.so.1")
    library.fake_expect_nothing()
    monkeypatch.setattr(driver, "_open", lambda: library)
    started = Driver()
    monkeypatch.setattr(device, "driver", lambda: started)
    monkeypatch.setattr(device, "_modules", {})


class Builder:
    """Builds SCALE for every class, and writes the classes down."""

    def __init__(self, abi: KernelAbi = SCALE_ABI) -> None:
        self.abi = abi
        self.classes: list[BuildClass] = []

    def __call__(self, wanted: BuildClass) -> DeviceBuild:
        self.classes.append(wanted)
        abi = KernelAbi(
            self.abi.name, self.abi.params, self.abi.sizes, wanted.statics, self.abi.launches, wanted.variant
        )
        return DeviceBuild(abi, compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin)


def on_gpu(count: int, index: int = 0) -> FakeCudaArray:
    memory = np.zeros(count + 4, np.float32)
    start = -memory.ctypes.data // 4 % 4
    array = memory[start : start + count]
    array[...] = np.arange(count)
    return FakeCudaArray(array, index)


def scale(builder: Builder) -> CallableKernel:
    return CallableKernel(signature_of(builder.abi), builder.abi, builder)


@pytest.mark.toolchain
@pytest.mark.usefixtures("fake")
def test_call_computes_into_the_given_output_and_returns_nothing():
    x, out = on_gpu(1000), on_gpu(1000)
    assert scale(Builder())(x, out, 3.0) is None
    assert np.array_equal(out.array, x.array * 3)


@pytest.mark.toolchain
@pytest.mark.usefixtures("fake")
def test_calls_of_one_class_share_a_build_and_others_do_not():
    builder = Builder()
    kernel = scale(builder)
    for count in (4, 5, 1000):
        kernel(on_gpu(count), on_gpu(count))
    assert kernel.builds == 1
    shifted = FakeCudaArray(on_gpu(9).array[1:])
    kernel(shifted, on_gpu(8))
    kernel(on_gpu(4, index=1), on_gpu(4, index=1))
    assert [(b.variant.alignment, b.device_index) for b in builder.classes] == [(16, 0), (4, 0), (16, 1)]


@pytest.mark.toolchain
@pytest.mark.usefixtures("fake")
def test_each_value_of_a_static_size_has_its_build():
    sig = signature(
        tensor("x", "f32", "T, H"),
        tensor("out", "f32", "T, H", "out"),
        ScalarParam("factor", F32, 2.0),
        sizes=(SizeInfo("H", static=True), SizeInfo("T")),
    )
    arguments = (
        Argument("pointer", "x", F32),
        Argument("pointer", "out", F32),
        Argument("size", "T", I64),
        Argument("scalar", "factor", F32),
    )
    launch = Launch("scale", dims.parse("T"), 128, 0, arguments)
    builder = Builder(KernelAbi("scale", sig.params, sig.sizes, (), (launch,), SCALE_ABI.variant))
    kernel = CallableKernel(sig, builder.abi, builder)
    for rows, row in ((1, 8), (3, 8), (2, 16)):
        kernel(FakeCudaArray(np.zeros((rows, row), np.float32)), FakeCudaArray(np.zeros((rows, row), np.float32)))
    assert [build.statics for build in builder.classes] == [(("H", 8),), (("H", 16),)]


@pytest.mark.toolchain
@pytest.mark.usefixtures("fake")
def test_threads_that_want_the_same_build_make_it_once():
    builder = Builder()
    kernel = scale(builder)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: kernel(on_gpu(64), on_gpu(64)), range(8)))
    assert len(builder.classes) == 1


@pytest.mark.toolchain
@pytest.mark.usefixtures("fake")
def test_tensors_on_two_gpus_are_refused():
    with pytest.raises(CallError, match="AK701"):
        scale(Builder())(on_gpu(4), on_gpu(4, index=1))


def test_tensors_on_the_host_are_refused():
    with pytest.raises(CallError, match="AK701") as caught:
        scale(Builder())(torch.zeros(4))
    assert caught.value.field("expected") == "a GPU"


@pytest.mark.gpu
def test_outputs_are_allocated_and_returned_on_the_gpu():
    x = torch.randn(1000, device="cuda")
    out = scale(Builder())(x, factor=3.0)
    assert torch.equal(out, x * 3.0)


@pytest.mark.gpu
def test_tensor_of_another_library_is_taken_through_dlpack_on_the_gpu():
    class Other:
        def __init__(self, inner: torch.Tensor) -> None:
            self.__dlpack__, self.__dlpack_device__ = inner.__dlpack__, inner.__dlpack_device__

    x, out = torch.randn(1000, device="cuda"), torch.empty(1000, device="cuda")
    scale(Builder())(Other(x), Other(out), 3.0)
    assert torch.equal(out, x * 3.0)
