"""Where boxes of the copy engine begin: coordinates that it refuses are illegal instructions on the GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from agentkern.compiler.analysis.synchronisation_findings import Report
from agentkern.compiler.analysis.synchronisation_trace import Event
from agentkern.compiler.ir.gpu_types import TensorMap
from agentkern.compiler.targets.instructions_copies import COORDINATE_BYTES

# By operation: the operand that is the map, and the first coordinate (outermost first).
_PLACES: Mapping[str, tuple[int, int]] = {"tma_load": (2, 5), "tma_store": (0, 3)}


def check_coordinates(events: Sequence[Event], report: Report) -> None:
    """Boxes begin at multiples of 16 bytes of a row; those stored begin before no extent. Unknown numbers pass."""
    for event in events:
        if event.op.name not in _PLACES:
            continue
        map_at, first = _PLACES[event.op.name]
        map_ = event.op.operands[map_at].type
        assert isinstance(map_, TensorMap)
        last = len(event.operands) - 1
        starts = _numbers(event, last) * map_.dtype.nbytes
        if (starts % COORDINATE_BYTES).any():
            byte = int(starts[np.argmax(starts % COORDINATE_BYTES != 0)])
            report.add(
                "coordinates", f"a box begins at byte {byte} of its row, not a multiple of {COORDINATE_BYTES}", event.op
            )
        for k in range(first, last + 1) if event.op.name == "tma_store" else ():
            numbers = _numbers(event, k)
            if (numbers < 0).any():
                report.add(
                    "coordinates", f"a store begins at {int(numbers.min())} along axis {k - first}, below 0", event.op
                )


def _numbers(event: Event, k: int) -> np.ndarray:
    """An operand as each thread that executes the operation passes it; none where it is unknown."""
    value = event.operands[k]
    if isinstance(value, np.ndarray):
        return value[event.mask]
    return np.array([value] if isinstance(value, int) else [], np.int64)
