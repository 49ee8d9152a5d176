"""Plan grids of recurrences: each element goes through many steps, one after another. Changes nothing.

Nothing but the number of elements gives such a grid threads, and only loads of later steps keep its memory busy
(`load_together`): a thread takes as few neighbours as whole sectors allow, a block as few warps as there are.
"""

from __future__ import annotations

from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir.core import Region, walk
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.passes.grid_axes import accesses, contiguous_axis

LANE_BYTES = 4  # of neighbours that a thread reads: 128 a warp


def is_recurrence(region: Region) -> bool:
    """Whether a grid's elements each go through steps of one index, one after another, and through nothing else."""
    ops = tuple(walk(region.ops))
    loops = [loop_parts(op) for op in ops if op.name == "loop"]
    alone = not any(op.name in REDUCTIONS or op.name in SCANS for op in ops)
    return alone and any(parts.args and parts.type.block == 1 for parts in loops)


def recurring_neighbours(region: Region, classes: AxisClasses, fast: int | None, vector: int) -> int:
    """Neighbouring elements of a thread, at most `vector`."""
    sizes: list[int] = []
    for access in accesses(region):
        axis = contiguous_axis(access)
        if access.op.name == "load" and axis is not None and classes.of[access.tile, axis] == fast:
            sizes.append(access.tensor.dtype.nbytes)
    return max(min(vector, LANE_BYTES // max(sizes, default=LANE_BYTES)), 1)
