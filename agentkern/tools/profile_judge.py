"""What a time is worth: what bounds a kernel, and which changes of the program or schedule could help. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentkern.runtime.timing import Ceilings, Work
from agentkern.tools.results import Bound

STOP_PERCENT = 95.0
"""A kernel this near to its floor is done: what is left is within the copy's own spread from run to run."""
BOUND_PERCENT = 60.0
"""Nearer to the floor than this, the floor's own resource is what binds."""
LAUNCH_FACTOR = 1.5
"""A kernel that takes at most this many times an empty launch is bound by the launch."""
MAX_LEVERS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """A kernel's time beside the floor, an empty launch and what the build uses."""

    median_us: float
    floor_us: float
    least_us: float
    empty_us: float
    work: Work
    ceilings: Ceilings
    blocks: int
    sm_count: int
    spill_bytes: int
    occupancy: float
    schedule: Mapping[str, Any]

    @property
    def percent_of_floor(self) -> float:
        """The floor's share of the time, in percent: 100 is the floor itself."""
        return 100.0 * self.floor_us / self.median_us


def bound_of(measured: Measured) -> Bound:
    """Return what binds: the launch, memory, arithmetic, or else latency."""
    if measured.median_us <= LAUNCH_FACTOR * measured.empty_us:
        return "launch"
    if measured.percent_of_floor < BOUND_PERCENT:
        return "latency"
    return "compute" if _arithmetic_us(measured) > _memory_us(measured) else "memory"


def _memory_us(measured: Measured) -> float:
    return measured.work.bytes_moved / measured.ceilings.copy_bytes_per_s * 1e6


def _arithmetic_us(measured: Measured) -> float:
    rate = measured.ceilings.flops_per_s
    return measured.work.flops / rate * 1e6 if rate else 0.0


def levers_of(measured: Measured) -> tuple[str, ...]:
    """Return at most three changes that exist in the language or the schedule, the likeliest first."""
    if measured.percent_of_floor >= STOP_PERCENT:
        return ("within 5% of the floor: stop",)
    found: list[str] = []
    if bound_of(measured) == "launch":
        found.append(
            "do more in one call: the launch itself takes most of the time; join this kernel with its neighbour"
        )
    grids = measured.schedule.get("grids", [])
    if measured.spill_bytes:
        tiles = ", ".join(str(grid["tile"]) for grid in grids)
        found.append(f"schedule: smaller `tile` (now {tiles}) or more `warps`; {measured.spill_bytes} bytes spill")
    if measured.blocks < measured.sm_count:
        found.append(
            f"more blocks: {measured.blocks} for {measured.sm_count} SMs; a smaller `tile` in the schedule, "
            "or `ak.parts` over a long axis"
        )
    if any(grid.get("chunk") for grid in grids):
        found.append("schedule: more `fast_warps`, so that a row stays in registers and is read once")
    if measured.occupancy < 0.5 and not measured.spill_bytes:
        found.append(
            f"schedule: smaller `tile` for fewer registers; {100 * measured.occupancy:.0f}% of the warps are resident"
        )
    vectors = [grid["vector"] for grid in grids if grid["vector"] == 1]
    if vectors:
        found.append("extents and rows that are multiples of 16 bytes (`multiple_of=`), so that accesses are wide")
    if not found:
        found.append("try other schedules: `agentkern tune`")
    return tuple(found[:MAX_LEVERS])
