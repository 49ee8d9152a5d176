"""Memory that keeps whole values of a grid's blocks: scratch tensors that the compiler adds to a kernel.

Every block has a place of its own, by the indices of the grid. Rows are padded so that wide accesses are aligned.
"""

from __future__ import annotations

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Region, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.passes.spill.extents import Extents
from agentkern.compiler.passes.spill.parts import I64, Kept, Parts
from agentkern.compiler.passes.spill.places import tile

ROW_ELEMS = 16
"""Rows begin at multiples of this many elements, of the narrowest type 16 bytes; tensors at as many bytes."""


class Memory:
    """Gives values memory; `tensors` are the scratch parameters made so far."""

    def __init__(self, grid: Region, extents: Extents, parts: Parts, prefix: str) -> None:
        self.args = grid.args
        self.extents = extents
        self.parts = parts
        self.prefix = prefix
        self.tensors: list[Value] = []
        self.slots: dict[Value, Op] = {}

    def keep(self, value: Value, *, versions: int = 1, exact: bool = False) -> Kept:
        """Memory for a value; with `versions`, so many of them, numbered before all else. `exact` does not pad."""
        type_ = tile(value)
        extents = [self._room(extent) for extent in type_.shape]
        if not exact and extents:
            extents[-1] = dims.align(extents[-1], ROW_ELEMS)
        lead, shape = self._own(type_)
        shape = (*((versions,) if versions > 1 else ()), *shape, *extents)
        name = f"{self.prefix}{len(self.tensors)}"
        tensor = Value(TensorType(type_.dtype, shape, "scratch", aligned=ROW_ELEMS), name)
        self.tensors.append(tensor)
        return Kept(tensor, lead, tuple(extents))

    def _room(self, extent: int | Dim) -> int | Dim:
        """The extent of an axis in memory: a free block's is the grid's."""
        block = self.extents.grid_block(extent)
        if block is None:
            return self.extents.bound(extent)
        assert isinstance(block.type, BlockType)
        return block.type.extent

    def _own(self, type_: TileType) -> tuple[tuple[Value, ...], tuple[int | Dim, ...]]:
        """What tells apart the blocks of the grid, where the value's axes do not: scalars, and extents for them."""
        present = {self.extents.grid_block(extent) for extent in type_.shape}
        lead: list[Value] = []
        shape: list[int | Dim] = []
        for arg in self.args:
            assert isinstance(arg.type, BlockType)
            if arg in present:
                continue
            written = arg.type.block
            if arg not in self.slots:
                name = "slot" if written is None else "ordinal"
                self.slots[arg] = Op(OPS[name], (arg,), None, (Value(TileType(I64), f"{arg.name}_slot"),))
            lead.append(self.slots[arg].result)
            shape.append(arg.type.extent if written is None else dims.cdiv(arg.type.length, written))
        return tuple(lead), tuple(shape)

    def slot_ops(self) -> tuple[Op, ...]:
        """What computes the places of blocks, for the beginning of the grid."""
        return tuple(self.slots.values())

    def view(self, kept: Kept, source: TileType, result: TileType) -> Kept | None:
        """The same memory under a regrouping of the value's axes; None where a block that is clipped stands inside."""
        groups = reshape_groups(source.shape, result.shape)
        inner = [source.shape[axis] for old, _ in groups for axis in old[1:]]
        inner += [result.shape[axis] for _, new in groups for axis in new[1:]]
        if not all(map(self.extents.is_exact, inner)):
            return None
        assert isinstance(kept.tensor.type, TensorType)
        extents = tuple(map(self._room, result.shape))
        lead = kept.tensor.type.shape[: kept.tensor.type.rank - source.rank]
        return Kept(kept.tensor, kept.lead, extents, (("reshape", (*lead, *extents)),))
