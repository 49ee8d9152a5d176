"""Resources are read from the compiler's log, agree with the cubin, and give the occupancy."""

import ctypes

import pytest

from agentkern.compiler.targets.limits import LIMITS, REFERENCE_DEVICES, TARGETS
from agentkern.runtime.cubin import NotACubin, kernels_of
from agentkern.runtime.driver import driver
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.runtime.resources import occupancy, parse_resources
from tests.runtime.cuda_texts import SPILLING, TWO_KERNELS

HOPPER = LIMITS["sm_90a"]


@pytest.mark.parametrize("arch", TARGETS)
def test_each_kernel_of_a_text_has_its_own_resources(arch: str):
    flip, scale = parse_resources(compile_cuda(TWO_KERNELS, NvrtcOptions(arch)).log)
    assert (flip.name, flip.static_shared_bytes, flip.barriers) == ("flip", 512, 1)
    assert (scale.name, scale.static_shared_bytes, scale.barriers) == ("scale", 0, 0)
    assert (scale.spill_bytes, scale.stack_bytes) == (0, 0)


@pytest.mark.parametrize("arch", TARGETS)
def test_spills_are_reported(arch: str):
    (resources,) = parse_resources(compile_cuda(SPILLING, NvrtcOptions(arch)).log)
    assert resources.registers == 32
    assert min(resources.spill_store_bytes, resources.spill_load_bytes, resources.stack_bytes) > 0


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("text", [TWO_KERNELS, SPILLING])
def test_log_and_cubin_agree_on_registers_and_stack(arch: str, text: str):
    compiled = compile_cuda(text, NvrtcOptions(arch))
    from_log = [(r.name, r.registers, r.stack_bytes) for r in parse_resources(compiled.log)]
    from_cubin = [(k.name, k.registers, k.stack_bytes) for k in kernels_of(compiled.cubin)]
    assert from_log == from_cubin


def test_cubin_tells_where_its_parameters_lie():
    flip, scale = kernels_of(compile_cuda(TWO_KERNELS, NvrtcOptions("sm_90a")).cubin)
    assert flip.parameters == ((0, 8), (8, 8))
    assert scale.parameters == ((0, 8), (8, 8), (16, 8))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF" + bytes(60), b"not an ELF file"])
def test_bytes_that_are_no_cubin_are_refused(data: bytes):
    with pytest.raises(NotACubin):
        kernels_of(data)


def test_cut_off_cubin_is_refused():
    cubin = compile_cuda(TWO_KERNELS, NvrtcOptions("sm_90a")).cubin
    with pytest.raises(NotACubin):
        kernels_of(cubin[: len(cubin) // 2])


# Worked by hand from the limits: 65536 registers, 2048 threads, 32 blocks, 228 KiB of shared memory, of which 1 KiB a
# block is the driver's.
@pytest.mark.parametrize(
    ("threads", "registers", "shared_bytes", "blocks", "limited_by"),
    [
        (128, 32, 0, 16, ("threads", "registers")),
        (128, 33, 0, 12, ("registers",)),
        (32, 16, 0, 32, ("blocks",)),
        (1024, 64, 0, 1, ("registers",)),
        (1024, 65, 0, 0, ("registers",)),
        (128, 255, 0, 2, ("registers",)),
        (128, 256, 0, 0, ("registers",)),
        (256, 32, 56 * 1024, 4, ("shared",)),
        (256, 32, 227 * 1024, 1, ("shared",)),
        (256, 32, 227 * 1024 + 1, 0, ("shared",)),
        (1056, 16, 0, 0, ("threads",)),
        (96, 40, 0, 16, ("registers",)),
    ],
)
def test_occupancy_of_a_hopper_sm(
    threads: int, registers: int, shared_bytes: int, blocks: int, limited_by: tuple[str, ...]
):
    result = occupancy(HOPPER, threads=threads, registers=registers, shared_bytes=shared_bytes)
    assert (result.blocks_per_sm, result.limited_by) == (blocks, limited_by)
    assert result.warps_per_sm == blocks * -(-threads // 32)
    assert result.fraction == result.warps_per_sm / 64


def test_every_target_has_limits_and_a_reference_device():
    assert set(REFERENCE_DEVICES) == set(LIMITS) == set(TARGETS)


def test_plain_flops_of_the_reference_devices_are_the_datasheets():
    assert REFERENCE_DEVICES["sm_80"].fp32_flops == pytest.approx(19.5e12, rel=0.01)
    assert REFERENCE_DEVICES["sm_90a"].fp32_flops == pytest.approx(67e12, rel=0.01)


# Numbers of CUdevice_attribute for the fields of ArchLimits.
DEVICE_ATTRIBUTES = {
    "warp_threads": 10,
    "threads_per_block_max": 1,
    "threads_per_sm": 39,
    "blocks_per_sm": 106,
    "registers_per_sm": 82,
    "registers_per_block_max": 12,
    "shared_bytes_per_sm": 81,
    "shared_bytes_per_block_optin": 97,
    "shared_bytes_per_block_default": 8,
    "shared_bytes_reserved_per_block": 111,
}


@pytest.mark.gpu
@pytest.mark.parametrize("field", list(DEVICE_ATTRIBUTES))
def test_limits_are_those_that_the_gpu_reports(field: str):
    target = driver().info(0).target
    assert target is not None
    value = ctypes.c_int()
    driver().call("cuDeviceGetAttribute", ctypes.byref(value), DEVICE_ATTRIBUTES[field], 0)
    assert getattr(LIMITS[target], field) == value.value


@pytest.mark.gpu
@pytest.mark.parametrize("threads", [32, 96, 128, 256, 512, 1024])
@pytest.mark.parametrize("shared_bytes", [0, 1000, 16 * 1024, 100 * 1024])
@pytest.mark.parametrize("registers", [24, 40, 64])
def test_occupancy_is_that_which_the_driver_computes(threads: int, shared_bytes: int, registers: int):
    target = driver().info(0).target
    assert target is not None
    unbounded = SPILLING.replace("__launch_bounds__(1024, 2)", "")
    compiled = compile_cuda(unbounded, NvrtcOptions(target, extra=(f"-maxrregcount={registers}",)))
    (resources,) = parse_resources(compiled.log)
    with driver().on_device(0):
        function = driver().function(driver().load_module(compiled.cubin), "spill", shared_bytes)
        blocks = ctypes.c_int()
        driver().call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks), function, threads, ctypes.c_size_t(shared_bytes),
        )  # fmt: skip
    ours = occupancy(LIMITS[target], threads=threads, registers=resources.registers, shared_bytes=shared_bytes)
    assert ours.blocks_per_sm == blocks.value
