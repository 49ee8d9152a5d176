"""What one SM and one block may use on each architecture, and the device we reckon with for it.

Data only: the arithmetic over it is `agentkern/runtime/resources.py`. Limits are those of the CUDA C++ Programming
Guide 13.0, "Compute Capabilities", table "Technical Specifications per Compute Capability"; allocation granularities
are those of the CUDA 13 header `cuda_occupancy.h`.
"""

from __future__ import annotations

from dataclasses import dataclass

ARGUMENT_BYTES = 32_764
"""Arguments of one launch, of every architecture from 7.0 on (CUDA 12.1 and newer)."""
TENSOR_MAP_BYTES = 128


@dataclass(frozen=True, slots=True)
class ArchLimits:
    """Limits of an architecture that decide how many blocks are resident on one SM."""

    arch: str
    compute_capability: tuple[int, int]
    warp_threads: int
    threads_per_block_max: int
    threads_per_sm: int
    blocks_per_sm: int
    registers_per_sm: int
    registers_per_block_max: int
    registers_per_thread_max: int
    register_unit_per_warp: int
    """Registers of a warp are handed out in multiples of this number."""
    warp_unit: int
    """Warps that registers can hold come in multiples of this number: one for each of the four schedulers."""
    shared_bytes_per_sm: int
    shared_bytes_per_block_optin: int
    """The most one block may ask for, static and dynamic together, once the function attribute allows it."""
    shared_bytes_per_block_default: int
    """The most one block may ask for without the function attribute."""
    shared_bytes_reserved_per_block: int
    """What the driver takes for itself out of the SM's shared memory for each resident block."""
    shared_unit_bytes: int
    barriers_per_block: int
    cluster_blocks_portable: int
    """Largest cluster that every device of the architecture can schedule; 1 where there are none."""
    tensor_memory_bytes_per_sm: int

    def __post_init__(self) -> None:
        assert self.threads_per_sm % self.warp_threads == 0
        reserved = self.shared_bytes_reserved_per_block
        assert self.shared_bytes_per_block_optin + reserved <= self.shared_bytes_per_sm

    @property
    def warps_per_sm(self) -> int:
        """Resident warps of a full SM."""
        return self.threads_per_sm // self.warp_threads


@dataclass(frozen=True, slots=True)
class ReferenceDevice:
    """The product that estimates for an architecture are made for, when no device is at hand to ask."""

    name: str
    arch: str
    sm_count: int
    l2_bytes: int
    memory_bytes_per_s: float
    """The vendor's figure."""
    copy_bytes_per_s: float | None
    """Bytes read and written by a device copy per second, measured; None where nobody measured it for us."""
    clock_hz: float
    """Highest SM clock."""
    fp32_lanes_per_sm: int
    bf16_flops_dense: float
    """The vendor's figure for the matrix units, without sparsity."""
    source: str

    @property
    def fp32_flops(self) -> float:
        """Fused multiply-adds on the plain units, counted as two operations."""
        return 2.0 * self.sm_count * self.fp32_lanes_per_sm * self.clock_hz


_KIB = 1024
_MIB = 1024 * 1024

LIMITS: dict[str, ArchLimits] = {
    limits.arch: limits
    for limits in (
        ArchLimits(
            arch="sm_80",
            compute_capability=(8, 0),
            warp_threads=32,
            threads_per_block_max=1024,
            threads_per_sm=2048,
            blocks_per_sm=32,
            registers_per_sm=65536,
            registers_per_block_max=65536,
            registers_per_thread_max=255,
            register_unit_per_warp=256,
            warp_unit=4,
            shared_bytes_per_sm=164 * _KIB,
            shared_bytes_per_block_optin=163 * _KIB,
            shared_bytes_per_block_default=48 * _KIB,
            shared_bytes_reserved_per_block=1 * _KIB,
            shared_unit_bytes=128,
            barriers_per_block=16,
            cluster_blocks_portable=1,
            tensor_memory_bytes_per_sm=0,
        ),
        ArchLimits(
            arch="sm_90a",
            compute_capability=(9, 0),
            warp_threads=32,
            threads_per_block_max=1024,
            threads_per_sm=2048,
            blocks_per_sm=32,
            registers_per_sm=65536,
            registers_per_block_max=65536,
            registers_per_thread_max=255,
            register_unit_per_warp=256,
            warp_unit=4,
            shared_bytes_per_sm=228 * _KIB,
            shared_bytes_per_block_optin=227 * _KIB,
            shared_bytes_per_block_default=48 * _KIB,
            shared_bytes_reserved_per_block=1 * _KIB,
            shared_unit_bytes=128,
            barriers_per_block=16,
            cluster_blocks_portable=8,
            tensor_memory_bytes_per_sm=0,
        ),
        ArchLimits(
            arch="sm_100a",
            compute_capability=(10, 0),
            warp_threads=32,
            threads_per_block_max=1024,
            threads_per_sm=2048,
            blocks_per_sm=32,
            registers_per_sm=65536,
            registers_per_block_max=65536,
            registers_per_thread_max=255,
            register_unit_per_warp=256,
            warp_unit=4,
            shared_bytes_per_sm=228 * _KIB,
            shared_bytes_per_block_optin=227 * _KIB,
            shared_bytes_per_block_default=48 * _KIB,
            shared_bytes_reserved_per_block=1 * _KIB,
            shared_unit_bytes=128,
            barriers_per_block=16,
            cluster_blocks_portable=8,
            # 128 lanes of 512 columns of 4 bytes: PTX ISA 9.0, "Tensor Memory".
            tensor_memory_bytes_per_sm=256 * _KIB,
        ),
    )
}

REFERENCE_DEVICES: dict[str, ReferenceDevice] = {
    device.arch: device
    for device in (
        ReferenceDevice(
            name="A100-SXM4-80GB",
            arch="sm_80",
            sm_count=108,
            l2_bytes=40 * _MIB,
            memory_bytes_per_s=2.039e12,
            copy_bytes_per_s=None,
            clock_hz=1.41e9,
            fp32_lanes_per_sm=64,
            bf16_flops_dense=312e12,
            source="NVIDIA A100 datasheet and Ampere architecture white paper",
        ),
        ReferenceDevice(
            name="H200-SXM-141GB",
            arch="sm_90a",
            sm_count=132,
            l2_bytes=60 * _MIB,
            memory_bytes_per_s=4.8e12,
            # torch device-to-device copy of 4 GiB, read and written bytes counted, driver 580.
            copy_bytes_per_s=4.27e12,
            clock_hz=1.98e9,
            fp32_lanes_per_sm=128,
            bf16_flops_dense=989e12,
            source="NVIDIA H200 datasheet; SM count, L2 and clock as the driver reports them",
        ),
        ReferenceDevice(
            name="B200-SXM-180GB",
            arch="sm_100a",
            sm_count=148,
            l2_bytes=126 * _MIB,
            memory_bytes_per_s=8.0e12,
            copy_bytes_per_s=None,
            clock_hz=1.965e9,
            fp32_lanes_per_sm=128,
            bf16_flops_dense=2250e12,
            source="NVIDIA DGX B200 datasheet (eight GPUs, divided); SM count, L2 and clock read on no device",
        ),
    )
}

TARGETS: tuple[str, ...] = tuple(LIMITS)
"""Names that `--target` accepts."""


def limits_of(arch: str) -> ArchLimits:
    """Limits of `arch`.

    Errors: KeyError when `arch` is not one of `TARGETS`; the caller has checked it against them.
    """
    return LIMITS[arch]
