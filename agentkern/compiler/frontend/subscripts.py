"""Subscripts: reading tensors, storing to them, selecting parts of tiles."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import (
    Mismatch,
    Shape,
    broadcast,
    broadcast_hint,
    broadcast_shape,
    cast,
    fix_cast,
    is_compile_time,
    joined,
    operand,
    reshaped,
    size_tile,
    weak_tile,
)
from agentkern.compiler.frontend.entries import Entry, entries
from agentkern.compiler.frontend.lists import list_item
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.positions import at_places, is_place
from agentkern.compiler.frontend.records import read_records, rows_read
from agentkern.compiler.frontend.selection import Selection, select
from agentkern.compiler.frontend.tuples import tuple_item
from agentkern.compiler.frontend.values import (
    Extent,
    FrontValue,
    Number,
    Records,
    RecordTile,
    Tensor,
    TensorList,
    Text,
    Tile,
    Tuple,
    describe,
    extent_text,
    extent_value,
    shape_text,
)
from agentkern.compiler.frontend.views import is_part, place, view_part
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DType


def load(lw: Lowering, tensor: Tensor, node: ast.Subscript) -> Tile:
    """Read a tile. Errors: AK110, AK208, AK221, AK222, AK226, AK312, AK603."""
    return read(lw, tensor, readable(lw, tensor, node), node, {})


def readable(lw: Lowering, tensor: Tensor, node: ast.Subscript) -> Selection:
    """What a subscript that is read selects. Errors: those of `load`."""
    found = entries(lw, node, tensor.name, tensor.type.shape)
    if lw.grid is None:
        lw.fail("AK110", node, what=f"reading `{tensor.name}`")
    if tensor.type.access in ("out", "scratch"):
        lw.grid.reads.setdefault(tensor.name, []).append(node)
    return select(lw, tensor, found)


def read(lw: Lowering, tensor: Tensor, selection: Selection, node: ast.expr, extra: Mapping[str, Value]) -> Tile:
    """Emit a load; `extra` are its mask (`masked`) and what is read where that does not hold (`filled`)."""
    type_ = TileType(tensor.type.dtype, selection.shape)
    operands = (tensor.value, *selection.operands, *extra.values())
    attrs = {"index": selection.index, **dict.fromkeys(extra, True), **tensor.attrs}
    return Tile(lw.emit("load", operands, type_, node, attrs))


def store(lw: Lowering, tensor: Tensor, node: ast.Subscript, value: FrontValue, value_node: ast.expr) -> None:
    """Write a tile with NumPy's broadcasting. Errors: AK110, AK210, AK211, AK226, AK311, AK407."""
    write(lw, tensor, writable(lw, tensor, node), node, Argument(value, value_node))


def writable(lw: Lowering, tensor: Tensor, node: ast.Subscript) -> Selection:
    """What a subscript that is stored to selects. Errors: those of `store`."""
    if lw.grid is not None:
        lw.grid.writes.add(tensor.name)  # first: of a subscript that is rejected no second error follows
    found = entries(lw, node, tensor.name, tensor.type.shape)
    if tensor.type.access == "in":
        lw.fail("AK311", node, name=tensor.name)
    if lw.grid is None:
        lw.fail("AK110", node, what=f"storing to `{tensor.name}`")
    return select(lw, tensor, found)


@dataclass(frozen=True, slots=True)
class Effect:
    """How a value is written: the operation, the mask over the selection, further attributes."""

    operation: str = "store"
    mask: Tile | None = None
    attrs: Mapping[str, object] = field(default_factory=dict[str, object])


PLAIN = Effect()


def write(
    lw: Lowering,
    tensor: Tensor,
    selection: Selection,
    node: ast.Subscript,
    stored: Argument,
    effect: Effect = PLAIN,
) -> None:
    """Emit a store, or an operation like it."""
    value, value_node, mask = stored.value, stored.node, effect.mask
    tile = stored_value(lw, tensor.name, tensor.type.dtype, value, value_node)
    shape = broadcast_shape([tile.shape, selection.shape])
    if isinstance(shape, Mismatch) or shape != selection.shape:
        reason = shape.reason if isinstance(shape, Mismatch) else "the value is larger"
        wrong_shape(lw, list(selection.entries), tile, selection.shape, node, reason)
    tile = broadcast(lw, tile, selection.shape, value_node)
    if selection.stored != selection.shape:
        tile = reshaped(lw, tile, selection.stored, value_node)
        mask = reshaped(lw, mask, selection.stored, value_node) if mask is not None and mask.shape else mask
    index = tuple(text for text in selection.index if text != "+")
    masked = {"masked": True} if mask is not None else {}
    operands = (tensor.value, tile.value, *selection.operands, *((mask.value,) if mask is not None else ()))
    lw.count_op()
    lw.builder.location = lw.source.location(node)
    lw.builder.emit(effect.operation, operands, (), {"index": index, **masked, **effect.attrs, **tensor.attrs})


def stored_value(lw: Lowering, name: str, dtype: DType, value: FrontValue, node: ast.expr) -> Tile:
    """A value that is stored, in the dtype of its place. Errors: AK210, AK223, AK501, AK502."""
    found = operand(lw, value, node, "a store")
    if is_compile_time(found):
        return weak_tile(lw, found, dtype, node)
    tile = size_tile(lw, found, node) if isinstance(found, Extent) else found
    assert isinstance(tile, Tile)
    if joined(tile.dtype, dtype) is not dtype:
        fixes = fix_cast(lw, node, dtype)
        lw.fail("AK210", node, got=tile.dtype.name, name=name, expected=dtype.name, fixes=fixes)
    return cast(lw, tile, dtype, node)


def wrong_shape(
    lw: Lowering, found: list[Entry], tile: Tile, wanted: Shape, node: ast.Subscript, reason: str
) -> NoReturn:
    """Reject a store of another shape. Errors: AK211, AK407, AK803."""
    waiting = lw.open_division((*tile.shape, *wanted))
    if waiting is not None:
        lw.fail("AK803", node, name=waiting)
    kept = [entry for entry in found if entry.kind in (":", "+", "slice", "block", "window")]
    for axis, entry in enumerate(kept):
        without = wanted[:axis] + wanted[axis + 1 :]
        if entry.kind == "block" and entry.block is not None and tile.shape == without:
            fixes = ()
            if entry.block.type.block is not None:
                fixes = (lw.source.insert_after(entry.node, ".ordinal", "store one value per block"),)
            lw.fail("AK407", entry.node, block=entry.block.name, fixes=fixes)
    lw.fail(
        "AK211",
        node,
        got=shape_text(tile.shape),
        target=lw.source.text_of(node),
        expected=shape_text(wanted),
        reason=reason,
        hint_text=_turn_hint(tile.shape, wanted) or broadcast_hint(tile.shape, wanted),
    )


def _turn_hint(shape: Shape, wanted: Shape) -> str:
    """What to write where a value has the axes that are wanted, in another order."""
    if shape == wanted or sorted(map(str, shape)) != sorted(map(str, wanted)):
        return ""
    return "turn the value: `.T`" if len(shape) == 2 else "turn the value: `.transpose(...)`"


def subscript_tile(lw: Lowering, tile: Tile, node: ast.Subscript) -> Tile:
    """`tile[...]`: slices, positions, new axes, a block's own axis. Errors: AK208, AK222, AK403, AK406, AK603."""
    found = entries(lw, node, lw.source.text_of(node.value), tile.shape)
    _refuse_several(lw, found)
    starts: list[int | Dim] = []
    stops: list[int | Dim] = []
    final: list[int | Dim] = []
    for entry in found:
        if entry.kind == "+":
            final.append(1)
            continue
        axis = len(starts)
        low, high = _tile_range(lw, entry, axis, tile.shape)
        starts.append(low)
        stops.append(high)
        if entry.kind != "position" and not is_place(entry):
            final.append(dims.add(high, dims.mul(low, -1)))
        elif is_place(entry):
            final += (entry.scalar or entry.tile or tile).shape
    shape = tuple(dims.add(high, dims.mul(low, -1)) for low, high in zip(starts, stops, strict=True))
    if shape != tile.shape:
        attrs = {"starts": tuple(starts), "stops": tuple(stops)}
        tile = Tile(lw.emit("slice", (tile.value,), tile.type.with_shape(shape), node, attrs))
    axis = 0
    for entry in (entry for entry in found if entry.kind != "+"):
        tile = at_places(lw, tile, entry, axis, node) if is_place(entry) else tile
        axis += max(len(entry.tile.shape), 1) if is_place(entry) and entry.tile is not None else 1
    return reshaped(lw, tile, tuple(final), node)


def _refuse_several(lw: Lowering, found: list[Entry]) -> None:
    """Tiles of positions on several axes of a tile have no operation. Errors: AK603."""
    places = [entry for entry in found if entry.kind == "gather"]
    if len(places) > 1:
        instead = "subscript the tensor with them, or reshape the axes into one"
        lw.fail("AK603", places[1].node, what="run-time positions on several axes of a tile", instead=instead)


def _tile_range(lw: Lowering, entry: Entry, axis: int, shape: Shape) -> tuple[int | Dim, int | Dim]:
    extent = shape[axis]
    if entry.kind == ":" or is_place(entry):
        return 0, extent
    if entry.block is not None and entry.tile is None:
        if entry.block.extent == extent:
            return 0, extent
        name = f"block `{entry.block.name}` on an axis of extent `{extent_text(extent)}`"
        lw.fail("AK221", entry.node, what=name)
    if entry.tile is not None:
        instead = "subscript the tensor with them"
        lw.fail("AK603", entry.node, what="a window in a tile", instead=instead)
    if lw.block_of(extent) is not None:
        lw.fail("AK406", entry.node, axis=axis, shape=shape_text(shape))
    if entry.kind == "slice":
        return entry.low, entry.high
    return entry.position, dims.add(entry.position, 1)


def _shape_item(lw: Lowering, node: ast.Subscript, attribute: ast.Attribute) -> FrontValue | None:
    """Report `x.shape[k]`, and read it as the size that is meant. Errors: AK204."""
    value = lw.need_one(attribute.value)
    if not isinstance(value, Tensor | Tile):
        return None
    shape = value.type.shape
    position = lw.evaluate(node.slice)
    if not isinstance(position, Number) or not isinstance(position.value, int):
        return None
    if not -len(shape) <= position.value < len(shape):
        return None
    text = extent_text(shape[position.value])
    fixes = (lw.source.replace(node, text, f"write `{text}`"),) if text.isidentifier() and lw.lookup(text) else ()
    hint = f"axis {position.value} has the extent `{text}`"
    found = lw.diagnostic("AK204", node, kind=describe(value), name=".shape", hint_text=hint, fixes=fixes)
    lw.diagnostics.append(found)
    extent = shape[position.value]
    block = lw.block_of(extent)
    if block is not None:
        return block
    static = all(name in lw.sizes and lw.sizes[name].static for name in dims.symbols(extent))
    return extent_value(extent, static=static)


def handle_subscript(lw: Lowering, node: ast.expr) -> FrontValue:
    """`a[...]` read."""
    assert isinstance(node, ast.Subscript)
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        extent = _shape_item(lw, node, node.value)
        if extent is not None:
            return extent
    match place(lw, node.value):
        case Tensor() as tensor if node in lw.places or (lw.grid is None and is_part(lw, tensor, node)):
            return view_part(lw, tensor, node)
        case Tensor() as tensor:
            return load(lw, tensor, node)
        case Tile() as tile:
            return subscript_tile(lw, tile, node)
        case Tuple(items):
            return tuple_item(lw, items, node)
        case TensorList() as tensors:
            return list_item(lw, tensors, node)
        case Records() as records:
            return read_records(lw, rows_read(lw, records, node))
        case RecordTile(record):
            hint = f"subscript a field: `.{record.fields[0].name}[...]`"
            lw.fail("AK223", node.value, what=f"a record `{record.name}`", operation="[...]", hint_text=hint)
        case other:
            hint = "tensors and tiles have subscripts"
            if isinstance(other, Text):
                hint = "strings have no use in kernels"
            lw.fail("AK223", node.value, what=describe(other), operation="[...]", hint_text=hint)
