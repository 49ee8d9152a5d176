"""Swizzles of shared memory: how tensor copies permute 16-byte pieces, and what names them. Data only.

The bits of an address from 4 on take the exclusive or with its bits from 7 on: one bit for 32 bytes, two for 64, three
for 128. So the 16-byte pieces of a tile row change places by the number of the 128-byte line that they lie in.
Source: PTX ISA, Swizzling Modes; matrix descriptors; CUDA Driver API, CUtensorMapSwizzle.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Swizzle:
    """One mode.

    span_bytes: width of the innermost box dimension that it takes at most, 0 for none. bits: how many address bits it
    changes. map_code: CUtensorMapSwizzle. descriptor_code: bits 62 and 63 of a matrix descriptor. repeat_bytes: the
    pattern's period, to which tiles are aligned.
    """

    name: str
    span_bytes: int
    bits: int
    map_code: int
    descriptor_code: int
    repeat_bytes: int

    def address(self, offset: int) -> int:
        """Where the byte at `offset` of the plain tile lies, the tile starting at a multiple of repeat_bytes."""
        return offset ^ ((offset >> 7 & (1 << self.bits) - 1) << 4)


SWIZZLES: dict[str, Swizzle] = {
    swizzle.name: swizzle
    for swizzle in (
        Swizzle("none", 0, 0, 0, 0, 128),
        Swizzle("32B", 32, 1, 1, 3, 256),
        Swizzle("64B", 64, 2, 2, 2, 512),
        Swizzle("128B", 128, 3, 3, 1, 1024),
    )
}
"""Modes by name."""
