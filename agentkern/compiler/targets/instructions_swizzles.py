"""What names the swizzles of shared memory: in tensor maps, and in matrix descriptors. Data only.

The permutations themselves are `layout/swizzle.py`'s. Source: CUDA Driver API, CUtensorMapSwizzle; PTX ISA, Matrix
Descriptor Format.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.layout.swizzle import HARDWARE_SWIZZLES, Swizzle


@dataclass(frozen=True, slots=True)
class HardwareSwizzle:
    """One mode, by the width in bytes of the rows that it permutes (0: none)."""

    width_bytes: int
    map_code: int
    descriptor_code: int
    """Bits 62 and 63 of a matrix descriptor."""

    @property
    def permutation(self) -> Swizzle:
        """Where bytes go; tiles are aligned to its period."""
        return HARDWARE_SWIZZLES[self.width_bytes]


SWIZZLES: dict[int, HardwareSwizzle] = {
    mode.width_bytes: mode
    for mode in (
        HardwareSwizzle(0, map_code=0, descriptor_code=0),
        HardwareSwizzle(32, map_code=1, descriptor_code=3),
        HardwareSwizzle(64, map_code=2, descriptor_code=2),
        HardwareSwizzle(128, map_code=3, descriptor_code=1),
    )
}
"""Modes by width in bytes."""
