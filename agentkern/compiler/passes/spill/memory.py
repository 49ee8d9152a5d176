"""Memory that keeps whole values of a grid's blocks: scratch tensors that the compiler adds to a kernel.

Every block has a place of its own, by the indices of the grid. Rows are padded so that wide accesses are aligned.
"""

from __future__ import annotations

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.segments import SegmentAxis, segment_axes, segment_bounds
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.passes.spill.extents import Extents
from agentkern.compiler.passes.spill.parts import I64, Kept, Parts
from agentkern.compiler.passes.spill.places import tile
from agentkern.compiler.passes.unsupported import UnsupportedError

ROW_ELEMS = 16
"""Rows begin at multiples of this many elements, of the narrowest type 16 bytes; tensors at as many bytes."""


class Memory:
    """Gives values memory; `tensors` are the scratch parameters made so far."""

    def __init__(self, grid: Op, extents: Extents, parts: Parts, prefix: str) -> None:
        self.args = grid.regions[0].args
        self.segments = segment_axes(grid)
        self.extents = extents
        self.parts = parts
        self.prefix = prefix
        self.tensors: list[Value] = []
        self.slots: dict[Value, Value] = {}
        self.slot_makers: list[Op] = []

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
        return Kept(tensor, lead, tuple(extents), tuple(map(self._base, type_.shape)))

    def _room(self, extent: int | Dim) -> int | Dim:
        """The extent of an axis in memory: a free block's is the grid's, a segment's that of all. Errors: Unsupported.

        Segments share an axis as they share that of the tensors.
        """
        block, ragged = self.extents.grid_block(extent), self.extents.ragged(extent)
        if block is not None:
            assert isinstance(block.type, BlockType)
            return next((axis.end for axis in self.segments if axis.rows is block), block.type.extent)
        room = self.extents.pieces.get(extent, self.extents.bound(extent)) if ragged is None else ragged.room
        if any(name.startswith("%") for name in dims.symbols(room)):
            hint = "write the value to an `ak.Out` tensor, and use it in a second grid"
            raise UnsupportedError("a value as long as a segment says, kept in memory", hint)
        return room

    def _base(self, extent: int | Dim) -> int | Dim:
        """Where an axis begins in memory: a segment's where the segment does."""
        ragged = self.extents.ragged(extent)
        return 0 if ragged is None else ragged.base

    def _own(self, type_: TileType) -> tuple[tuple[Value, ...], tuple[int | Dim, ...]]:
        """What tells apart the blocks of the grid, where the value's axes do not: scalars, and extents for them."""
        present = {self.extents.grid_block(extent) for extent in type_.shape}
        present |= {ragged.axis.block for e in type_.shape if (ragged := self.extents.ragged(e)) is not None}
        present |= {axis.block for axis in self.segments if axis.rows is not None}  # its rows tell them apart
        lead: list[Value] = []
        shape: list[int | Dim] = []
        for arg in self.args:
            assert isinstance(arg.type, BlockType)
            if arg in present or arg.type.is_whole:
                continue
            written = arg.type.block
            ragged = next((axis for axis in self.segments if axis.rows is arg), None)
            if arg not in self.slots:
                self.slots[arg] = self._number(arg, ragged)
            lead.append(self.slots[arg])
            if ragged is not None and written is not None:
                shape.append(dims.add(dims.floordiv(ragged.end, written), ragged.type.extent))
            elif ragged is not None:
                shape.append(ragged.end)
            else:
                shape.append(arg.type.extent if written is None else dims.cdiv(arg.type.length, written))
        return tuple(lead), tuple(shape)

    def _number(self, arg: Value, ragged: SegmentAxis | None) -> Value:
        """A number that no other block of the axis has: of written rows of a segment as the launch numbers them."""
        assert isinstance(arg.type, BlockType)
        written = arg.type.block
        if written is None or ragged is None:
            return self._made("slot" if written is None else "ordinal", (arg,), f"{arg.name}_slot")
        start = segment_bounds(ragged.type.name)[0]
        before = self._made("size", (), None, {"extent": dims.floordiv(start, written)})
        segment = self._made("ordinal", (ragged.block,), None)
        first = self._made("add", (before, segment), None)
        return self._made("add", (first, self._made("ordinal", (arg,), None)), f"{arg.name}_slot")

    def _made(
        self, name: str, operands: tuple[Value, ...], result: str | None, attrs: dict[str, object] | None = None
    ) -> Value:
        op = Op(OPS[name], operands, attrs, (Value(TileType(I64), result),))
        self.slot_makers.append(op)
        return op.result

    def slot_ops(self) -> tuple[Op, ...]:
        """What computes the places of blocks, for the beginning of the grid."""
        return tuple(self.slot_makers)

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
        bases = tuple(map(self._base, result.shape))
        return Kept(kept.tensor, kept.lead, extents, bases, (("reshape", (*lead, *extents)),))
