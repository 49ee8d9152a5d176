"""Elements of a tile at positions that only the run knows: the operation `take`, and subscripts that name such."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.conversion import Shape, broadcast, cast, reshaped
from agentkern.compiler.frontend.entries import Entry
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.values import Tile
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType


def with_extent(shape: Shape, axis: int, extent: int | Dim) -> Shape:
    """A shape with another extent on one axis."""
    return (*shape[:axis], extent, *shape[axis + 1 :])


def taken(lw: Lowering, tile: Tile, places: Tile, axis: int, node: Located) -> Tile:
    """Along one axis, the elements at places; the shapes agree on all others. Errors: AK403."""
    block = lw.free_block(tile.shape[axis])
    if block is not None:
        lw.fail("AK403", node, operation="ak.take_along_axis", axis=axis, block=block.name)
    type_ = TileType(tile.dtype, places.shape)
    return Tile(lw.emit("take", (tile.value, cast(lw, places, I64, node).value), type_, node, {"axis": axis}))


def is_place(entry: Entry) -> bool:
    """Whether a subscript of a tile names positions that only the run knows."""
    return entry.kind in ("scalar", "gather") and entry.block is None


def at_places(lw: Lowering, tile: Tile, entry: Entry, axis: int, node: ast.expr) -> Tile:
    """The tile at the positions that a subscript names, whose axes stand in the place of one; a scalar's is of 1."""
    places = entry.scalar or entry.tile
    assert places is not None
    before, after = tile.shape[:axis], tile.shape[axis + 1 :]
    if not places.shape:
        line = broadcast(lw, places, (*before, 1, *after), entry.node)
        return taken(lw, tile, line, axis, node)
    repeated = (*before, *(1 for _ in places.shape[1:]), tile.shape[axis], *after)
    line = reshaped(lw, places, (*places.shape, *(1 for _ in after)), entry.node)
    line = broadcast(lw, line, (*before, *places.shape, *after), entry.node)
    return taken(lw, reshaped(lw, tile, repeated, node), line, axis + len(places.shape) - 1, node)
