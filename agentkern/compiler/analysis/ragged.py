"""The segments of a ragged axis as symbols: where the current one starts, how long it is. Facts only.

Segments of one tensor of offsets follow one another: two of them that hold one index are one segment. That, and that
they end where the offsets do, is known only where the tensor promises it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.analysis.extents import SymbolFact
from agentkern.compiler.analysis.promises import Promise
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.segments import length_name, segment_axes, segment_bounds, start_name
from agentkern.compiler.ir.types import BlockType

START_RANK = 1
LENGTH_RANK = 2


@dataclass(frozen=True, slots=True)
class Ragged:
    """The block that numbers segments, that of their rows where there is one, and where they end, if that is promised.

    Where there are blocks of rows, an empty segment has none.
    """

    segment: BlockType
    rows: BlockType | None
    offsets: str
    end: int | Dim | None

    @property
    def bounds(self) -> tuple[int | Dim, int | Dim]:
        """The first index of the current segment, and one past its last."""
        return segment_bounds(self.segment.name)

    @property
    def names(self) -> tuple[str, str]:
        """The symbols of the current segment."""
        return start_name(self.segment.name), length_name(self.segment.name)

    def facts(self) -> dict[str, SymbolFact]:
        """Bounds of the symbols; none without a promise."""
        if self.end is None:
            return {}
        start, length = self.names
        rest = dims.add(self.end, dims.mul(dims.symbol(start), -1))
        return {
            start: SymbolFact(0, highs=(self.end,), rank=START_RANK),
            length: SymbolFact(0, highs=(rest,), rank=LENGTH_RANK),
        }


def ragged_axes(grid: Op, promises: Mapping[str, Promise]) -> tuple[Ragged, ...]:
    """The ragged axes of a grid, under promises that hold in it."""
    found: list[Ragged] = []
    for axis in segment_axes(grid):
        name = axis.offsets.name or ""
        promised = promises.get(name, Promise()).end == axis.end
        rows = axis.rows.type if axis.rows is not None else None
        assert rows is None or isinstance(rows, BlockType)
        found.append(Ragged(axis.type, rows, name, axis.end if promised else None))
    return tuple(found)
