"""What a compiled kernel uses of an SM, and how many of its blocks fit there.

Reads the log of `ptxas -v`, the only place that has spills; `cubin` checks it. Does no judging.
Occupancy follows the arithmetic of CUDA 13's `cuda_occupancy.h`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentkern.compiler.targets.limits import ArchLimits

_ENTRY = re.compile(r"Compiling entry function '(?P<name>[^']+)' for '(?P<arch>[^']+)'")
_FRAME = re.compile(
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
_USED = re.compile(r"Used (?P<registers>\d+) registers(?:, used (?P<barriers>\d+) barriers)?")
_SHARED = re.compile(r"(\d+) bytes smem")
_ASSEMBLE = re.compile(r"Compile time = ([\d.]+) ms")


@dataclass(frozen=True, slots=True)
class KernelResources:
    """Resources of one `__global__` function: registers, spills and stack per thread, the rest per block."""

    name: str
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    static_shared_bytes: int
    barriers: int
    ptxas_ms: float

    @property
    def spill_bytes(self) -> int:
        """Bytes moved to and from local memory because registers ran out."""
        return self.spill_store_bytes + self.spill_load_bytes


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Resident blocks of one SM. `limited_by` names every resource that allows no more."""

    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    limited_by: tuple[str, ...]


def parse_resources(log: str) -> tuple[KernelResources, ...]:
    """Return the resources of each kernel of a `ptxas -v` log, in the order of their names."""
    parts = re.split(r"(?=Compiling entry function ')", log)
    return tuple(sorted((_parse_entry(part) for part in parts[1:]), key=lambda r: r.name))


def occupancy(limits: ArchLimits, *, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """How many blocks of `threads` threads with `registers` each and `shared_bytes` (static and dynamic) fit on one SM.

    Zero blocks where a block of this kind cannot be launched at all.
    """
    assert threads > 0
    warps = _round_up(threads, limits.warp_threads) // limits.warp_threads
    blocks = {
        "threads": 0 if threads > limits.threads_per_block_max else limits.warps_per_sm // warps,
        "blocks": limits.blocks_per_sm,
        "registers": _blocks_by_registers(limits, warps, registers),
        "shared": _blocks_by_shared(limits, shared_bytes),
    }
    fit = min(blocks.values())
    limited_by = tuple(resource for resource, count in blocks.items() if count == fit)
    return Occupancy(fit, fit * warps, fit * warps / limits.warps_per_sm, limited_by)


def _parse_entry(part: str) -> KernelResources:
    entry, frame, used = _ENTRY.search(part), _FRAME.search(part), _USED.search(part)
    if not (entry and frame and used):
        raise ValueError(f"not an entry of ptxas -v: {part}")
    shared, assemble = _SHARED.search(part), _ASSEMBLE.search(part)
    return KernelResources(
        name=entry["name"],
        registers=int(used["registers"]),
        spill_store_bytes=int(frame["stores"]),
        spill_load_bytes=int(frame["loads"]),
        stack_bytes=int(frame["stack"]),
        static_shared_bytes=int(shared[1]) if shared else 0,
        barriers=int(used["barriers"] or 0),
        ptxas_ms=float(assemble[1]) if assemble else 0.0,
    )


def _blocks_by_registers(limits: ArchLimits, warps: int, registers: int) -> int:
    if registers == 0:
        return limits.blocks_per_sm
    if registers > limits.registers_per_thread_max:
        return 0
    per_warp = _round_up(registers * limits.warp_threads, limits.register_unit_per_warp)
    if per_warp * _round_up(warps, limits.warp_unit) > limits.registers_per_block_max:
        return 0
    # Each of the SM's four schedulers has its own quarter of the registers.
    warps_that_fit = (limits.registers_per_sm // limits.warp_unit) // per_warp * limits.warp_unit
    return warps_that_fit // warps


def _blocks_by_shared(limits: ArchLimits, shared_bytes: int) -> int:
    if shared_bytes > limits.shared_bytes_per_block_optin:
        return 0
    per_block = _round_up(shared_bytes + limits.shared_bytes_reserved_per_block, limits.shared_unit_bytes)
    return limits.shared_bytes_per_sm // per_block


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
