"""Estimate how many registers a thread needs, from the PLACED stage. A fact to compare schedules by, not a promise.

Counts tiles that outlive the loop that makes them: loads, conversions, reductions, and element values that are read by
more than their neighbour. Shorter-lived ones are scalars of an unrolled loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentkern.compiler.analysis.liveness import last_uses, users
from agentkern.compiler.ir.core import Kernel, Op, Region, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import parse_layout

FIXED_REGISTERS = 24  # addresses, sizes, lane and warp: seen in kernels that keep no tile (sm_90a, CUDA 13.0)
_REGISTER_BITS = 32
_FUSED = ("broadcast", "reshape", "transpose")


def estimated_registers(kernel: Kernel) -> int:
    """Registers of one thread in the grid that needs most."""
    assert kernel.stage == "placed"
    grids = [op.regions[0] for op in kernel.body if op.name == "grid"]
    return FIXED_REGISTERS + max((_peak(region) for region in grids), default=0)


def _peak(region: Region) -> int:
    """Most registers that live tiles take at once, loops inside included."""
    kept = _kept(region.ops)
    last = last_uses(region.ops)
    ends: dict[int, int] = {}
    for value, words in kept.items():
        ends[last[value]] = ends.get(last[value], 0) + words
    live = peak = 0
    for position, op in enumerate(region.ops):
        live += sum(kept.get(value, 0) for value in op.results)
        peak = max(peak, live + max((_peak(inner) for inner in op.regions), default=0))
        live -= ends.get(position, 0)
    return peak


def _kept(ops: Sequence[Op]) -> Mapping[Value, int]:
    """Registers of each value that is held as an array."""
    readers = users(ops)
    return {value: _words(value) for op in ops for value in _arrays(op, readers)}


def _arrays(op: Op, readers: Mapping[Value, tuple[Op, ...]]) -> Iterator[Value]:
    for value in op.results:
        uses = readers.get(value, ())
        is_fused = _is_fused(op) and len(uses) == 1 and (_is_fused(uses[0]) or uses[0].name == "store")
        if isinstance(value.type, TileType) and not is_fused and op.name not in _FUSED:
            yield value


def _is_fused(op: Op) -> bool:
    return "elementwise" in op.spec.traits or op.name in _FUSED


def _words(value: Value) -> int:
    assert isinstance(value.type, TileType)
    if value.type.layout is None:
        return 1
    count = parse_layout(value.type.layout).register_count
    return -(-count * value.type.dtype.bits // _REGISTER_BITS)
