"""Subscripts in the IR's form: index operands, and the shape of the tile that they select."""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.frontend.conversion import (
    Mismatch,
    Shape,
    broadcast,
    broadcast_hint,
    broadcast_shape,
    cast,
    constant,
    size_tile,
)
from agentkern.compiler.frontend.entries import Entry
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.values import Extent, Tensor, Tile, shape_text
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.subscripts import subscript_shape


@dataclass(frozen=True, slots=True)
class Selection:
    """A tensor subscript as the IR has it; `shape` counts new axes, `stored` does not.

    `indices` has the index of every entry that is a tile or a scalar; `axes` has each entry's axes of the tile, which
    tiles of indices share.
    """

    entries: tuple[Entry, ...]
    index: tuple[str, ...]
    operands: tuple[Value, ...]
    indices: tuple[Tile | None, ...]
    axes: tuple[tuple[int, ...], ...]
    shape: Shape
    stored: Shape


def select(lw: Lowering, tensor: Tensor, found: list[Entry]) -> Selection:
    """Put subscripts into the IR's form. Errors: AK207, AK226."""
    _check_apart(lw, found)
    indices = _indices(lw, found)
    index: list[str] = []
    operands: list[Value] = []
    for entry, tile in zip(found, indices, strict=True):
        if entry.kind in ("+", ":"):
            index.append(entry.kind)
        elif entry.kind == "slice":
            index.append(f"{entry.low}:{entry.high}")
        else:
            index.append(f"{'@' if entry.kind == 'window' else '$'}{len(operands)}")
            assert tile is not None or entry.block is not None
            operands.append(tile.value if tile is not None else entry.block.value)  # pyright: ignore[reportOptionalMemberAccess]: one of the two
    types = tuple(value.type for value in operands)
    shape = _extents(subscript_shape(tensor.type, tuple(index), types))
    stored = _extents(subscript_shape(tensor.type, tuple(text for text in index if text != "+"), types))
    if tensor.entry is not None:  # the table's own subscript comes first
        index = ["$0", *(f"{text[0]}{int(text[1:]) + 1}" if text[0] in "$@" else text for text in index)]
        operands = [tensor.entry, *operands]
    return Selection(tuple(found), tuple(index), tuple(operands), indices, _axes(found, indices), shape, stored)


def _extents(shape: tuple[object, ...]) -> Shape:
    return tuple(extent for extent in shape if isinstance(extent, int | Dim))


def _indices(lw: Lowering, found: list[Entry]) -> tuple[Tile | None, ...]:
    """The index of each entry that is no block, slice or new axis; tiles that gather are broadcast to one shape."""
    tiles = [entry.tile for entry in found if entry.kind == "gather" and entry.tile is not None]
    shape = broadcast_shape([tile.shape for tile in tiles]) if tiles else ()
    if isinstance(shape, Mismatch):
        left, right = tiles[0].shape, tiles[-1].shape
        node = next(entry.node for entry in found if entry.tile is tiles[-1])
        lw.fail("AK207", node, left=shape_text(left), right=shape_text(right), reason=shape.reason,
                hint_text=broadcast_hint(left, right))  # fmt: skip
    made: list[Tile | None] = []
    for entry in found:
        if entry.kind == "gather" and entry.tile is not None:
            made.append(broadcast(lw, entry.tile, shape, entry.node))
        elif entry.kind == "window":
            made.append(entry.tile)
        elif entry.kind in ("scalar", "position"):
            made.append(_scalar(lw, entry))
        else:
            made.append(None)
    return tuple(made)


def _scalar(lw: Lowering, entry: Entry) -> Tile:
    if entry.scalar is not None:
        return cast(lw, entry.scalar, I64, entry.node)
    if isinstance(entry.position, int):
        return constant(lw, I64, entry.position, entry.node)
    return size_tile(lw, Extent(entry.position, static=False), entry.node)


def _check_apart(lw: Lowering, found: list[Entry]) -> None:
    """Reject a tile of indices over a block that is an axis too, and a free block as two axes. Errors: AK226."""
    seen: set[str] = set()
    for entry in found:
        block = entry.block if entry.kind in ("block", "window") else None
        if block is not None and block.type.block is None and block.type.name in seen:
            lw.fail("AK226", entry.node, text=lw.source.text_of(entry.node), block=block.name)
        seen |= {block.type.name} if block is not None else set()
    for entry in found:
        names = {name for extent in entry.tile.shape for name in dims.symbols(extent)} if entry.tile is not None else ()
        for other in found:
            if entry.kind == "gather" and other.block is not None and other.block.type.name in names:
                name = other.block.name
                fixes = (lw.source.insert_after(other.node, ".index", "take one element for each index"),)
                fixes = fixes if other.kind == "block" else ()
                text = lw.source.text_of(entry.node)
                lw.fail("AK226", entry.node, text=text, block=name, fixes=fixes)


def _axes(found: list[Entry], indices: tuple[Tile | None, ...]) -> tuple[tuple[int, ...], ...]:
    axes: list[tuple[int, ...]] = []
    shared: tuple[int, ...] | None = None
    rank = 0
    for entry, tile in zip(found, indices, strict=True):
        own = len(tile.shape) if tile is not None else 1
        mine = tuple(range(rank, rank + own))
        if entry.kind == "gather":
            if shared is not None:
                axes.append(shared)
                continue
            shared = mine
        axes.append(mine)
        rank += own
    return tuple(axes)
