"""XOR swizzles of shared memory: bits of a byte address that a few higher bits flip. An F2-linear bijection.

The 32-, 64- and 128-byte forms are those of TMA and wgmma descriptors: PTX ISA, "Shared memory layout" and "Swizzling
modes" of tensor maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.layout.linear import LinearMap


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Address bits base .. base + bits - 1 are flipped by the `bits` bits that stand `shift` places higher."""

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or self.shift < self.bits:
            raise ValueError(f"impossible swizzle {self}")

    def __call__(self, address: int) -> int:
        """The swizzled byte address; applied twice it gives the address back."""
        return address ^ ((address >> self.shift) & (((1 << self.bits) - 1) << self.base))

    @property
    def period_bytes(self) -> int:
        """Bytes after which the pattern repeats; buffers are aligned to it."""
        return 1 << (self.base + self.shift + self.bits) if self.bits else 1

    @property
    def granule_bytes(self) -> int:
        """Bytes that stay neighbours."""
        return 1 << self.base

    def map(self, address_bits: int) -> LinearMap:
        """The swizzle as a matrix on addresses of so many bits."""
        return LinearMap(tuple(self(1 << bit) for bit in range(address_bits)), address_bits)


NO_SWIZZLE = Swizzle(0, 4, 3)

HARDWARE_SWIZZLES: Mapping[int, Swizzle] = {
    0: NO_SWIZZLE,  # rows of 16-byte pieces as they are
    32: Swizzle(1, 4, 3),
    64: Swizzle(2, 4, 3),
    128: Swizzle(3, 4, 3),  # eight 16-byte pieces of a 128-byte row, permuted by the row's number modulo eight
}
"""TMA and wgmma swizzles by the width in bytes of the rows that they permute."""
