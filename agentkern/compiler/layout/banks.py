"""Bank conflicts of shared memory, by simulating the phases of a warp's access.

32 banks of 4 bytes. An access of 1, 2 or 4 bytes per lane is served for 32 lanes at once, one of 8 bytes for 16, one of
16 bytes for 8 (a quarter warp). In a phase, lanes of one 4-byte word share it; different words of one bank go one after
the other. Source: CUDA C++ programming guide, "Shared memory" of compute capability 5.0 and later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BANKS = 32
BANK_BYTES = 4
LANES_PER_PHASE = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}
MAX_PITCH_PADDING = 8  # in accesses: a quarter warp's worth of 16-byte pieces spreads over all banks by then


@dataclass(frozen=True, slots=True)
class Access:
    """What a warp's access costs: `phases` that it needs at least, `wavefronts` that it takes."""

    phases: int
    wavefronts: int

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond those needed."""
        return self.wavefronts - self.phases


def access_cost(addresses: Sequence[int | None], width_bytes: int) -> Access:
    """The cost of one access of `width_bytes` per lane at byte addresses; None is a lane that does not take part."""
    if width_bytes not in LANES_PER_PHASE:
        raise ValueError(f"no access of {width_bytes} bytes")
    lanes = LANES_PER_PHASE[width_bytes]
    wavefronts, phases = 0, 0
    for first in range(0, len(addresses), lanes):
        words: set[int] = set()
        for address in addresses[first : first + lanes]:
            if address is None:
                continue
            if address % width_bytes:
                raise ValueError(f"address {address} of an access of {width_bytes} bytes is not aligned")
            words.update(range(address // BANK_BYTES, (address + width_bytes - 1) // BANK_BYTES + 1))
        if not words:
            continue
        loads = [0] * BANKS
        for word in words:
            loads[word % BANKS] += 1
        phases += 1
        wavefronts += max(loads)
    return Access(phases, wavefronts)


def pitch_paddings(unit_bytes: int) -> tuple[int, ...]:
    """Bytes to try to lengthen a row by, least first, all keeping accesses of `unit_bytes` aligned."""
    unit = max(unit_bytes, BANK_BYTES)
    return tuple(unit * count for count in range(MAX_PITCH_PADDING + 1))
