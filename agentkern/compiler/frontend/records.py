"""Tensors of records: `kv[rows].nope` reads a field, `kv[rows]` a whole record, `out[t].nope = v` stores a field.

Below the front end there are bytes only: a field is a range of the last axis, its bits in elements of its own dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.frontend.conversion import Mismatch, Shape, broadcast, broadcast_shape, constant, weak_tile
from agentkern.compiler.frontend.entries import Entry, entries
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.selection import Selection, select
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.values import FrontValue, Number, Records, RecordTile, Tile
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Region, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.records import Field, Record
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DTYPES, DType

BOOL, U8 = DTYPES["bool"], DTYPES["u8"]
Extent = int | Dim


@dataclass(frozen=True, slots=True)
class Rows:
    """Records that a subscript selects: the subscript's entries, and what it selects of the leading axes."""

    records: Records
    node: ast.Subscript
    entries: tuple[Entry, ...]
    selection: Selection

    @property
    def shape(self) -> Shape:
        """The extents over records."""
        return self.selection.shape

    def bytes_of(self, lw: Lowering, low: Extent, high: Extent) -> Selection:
        """The selection of a range of each record's bytes."""
        whole = low == 0 and high == self.records.record.nbytes
        last = Entry(self.node, ":") if whole else Entry(self.node, "slice", low=low, high=high)
        return select(lw, self.records.tensor, [*self.entries, last])


def rows_read(lw: Lowering, records: Records, node: ast.Subscript) -> Rows:
    """What a subscript that is read selects. Errors: AK110, AK208, AK221, AK222, AK226, AK312, AK603."""
    found = entries(lw, node, records.name, records.shape)
    if lw.grid is None:
        lw.fail("AK110", node, what=f"reading `{records.name}`")
    if records.tensor.type.access in ("out", "scratch"):
        lw.grid.reads.setdefault(records.name, []).append(node)
    return Rows(records, node, tuple(found), select(lw, records.tensor, found))


def rows_written(lw: Lowering, records: Records, node: ast.Subscript) -> Rows:
    """What a subscript that is stored to selects. Errors: AK110, AK208, AK221, AK222, AK226, AK311, AK603."""
    found = entries(lw, node, records.name, records.shape)
    if records.tensor.type.access == "in":
        lw.fail("AK311", node, name=records.name)
    if lw.grid is None:
        lw.fail("AK110", node, what=f"storing to `{records.name}`")
    lw.grid.writes.add(records.name)
    return Rows(records, node, tuple(found), select(lw, records.tensor, found))


@dataclass(frozen=True, slots=True)
class Guard:
    """Where records are read, over their rows or a scalar, and what fields hold elsewhere."""

    mask: Tile | None = None
    fill: Number | None = None


UNGUARDED = Guard()


def read_records(lw: Lowering, rows: Rows, guard: Guard = UNGUARDED) -> RecordTile:
    """Read whole records. Fields that nobody uses are dropped at the kernel's end. Errors: AK501, AK502 of a fill."""
    first = len(lw.builder.ops)
    items: list[FrontValue] = []
    for field, offset in rows.records.record.placed():
        selection = rows.bytes_of(lw, offset, dims.add(offset, field.nbytes))
        type_ = TileType(U8, selection.shape)
        operands: tuple[Value, ...] = (rows.records.tensor.value, *selection.operands)
        attrs: dict[str, object] = {"index": selection.index}
        if guard.mask is not None:
            operands = (*operands, over_bytes(lw, guard.mask, selection.shape, rows.node).value)
            attrs["masked"] = True
        found = Tile(lw.emit("load", operands, type_, rows.node, attrs))
        items.append(_decoded(lw, found, field, rows, guard))
    lw.unused_allowed.update(id(op) for op in lw.builder.ops[first:])
    return RecordTile(rows.records.record, tuple(items))


def over_bytes(lw: Lowering, mask: Tile, shape: Shape, node: Located) -> Tile:
    """A mask over rows as one over rows and further axes."""
    if not mask.shape:
        return mask
    wide = (*mask.shape, *[1] * (len(shape) - len(mask.shape)))
    return broadcast(lw, _reshaped(lw, mask, wide, node), shape, node)


def _reshaped(lw: Lowering, tile: Tile, shape: Shape, node: Located) -> Tile:
    if tile.shape == shape:
        return tile
    return Tile(lw.emit("reshape", (tile.value,), tile.type.with_shape(shape), node))


def _decoded(lw: Lowering, tile: Tile, field: Field, rows: Rows, guard: Guard) -> FrontValue:
    """The value of a field from its bytes, the last axis."""
    node = rows.node
    shape = (*tile.shape[:-1], *field.shape)
    if isinstance(field.item, Record):
        each = _reshaped(lw, tile, (*shape, field.item.nbytes), node)
        return RecordTile(
            field.item,
            tuple(
                _decoded(lw, _cut(lw, each, offset, dims.add(offset, inner.nbytes), node), inner, rows, guard)
                for inner, offset in field.item.placed()
            ),
        )
    found = _reshaped(lw, _as_elements(lw, tile, field.item, node), shape, node)
    if guard.mask is None or guard.fill is None or guard.fill.value == 0:
        return found
    fill = Number(guard.fill.value != 0) if field.item is BOOL else guard.fill
    other = broadcast(lw, weak_tile(lw, fill, field.item, node), found.shape, node)
    mask = broadcast(lw, over_bytes(lw, guard.mask, found.shape, node), found.shape, node)
    return Tile(lw.emit("where", (mask.value, found.value, other.value), found.type, node))


def _cut(lw: Lowering, tile: Tile, low: Extent, high: Extent, node: Located) -> Tile:
    """A range of the last axis."""
    shape = (*tile.shape[:-1], dims.add(high, dims.mul(low, -1)))
    if shape == tile.shape:
        return tile
    starts, stops = (*[0] * (len(shape) - 1), low), (*shape[:-1], high)
    attrs = {"starts": starts, "stops": stops}
    return Tile(lw.emit("slice", (tile.value,), tile.type.with_shape(shape), node, attrs))


def _as_elements(lw: Lowering, tile: Tile, dtype: DType, node: Located) -> Tile:
    """Bytes as elements of a dtype along the last axis."""
    if dtype is BOOL:
        zero = broadcast(lw, constant(lw, U8, 0, node), tile.shape, node)
        return Tile(lw.emit("ne", (tile.value, zero.value), tile.type.with_dtype(BOOL), node))
    if dtype.bits == U8.bits:
        type_ = tile.type.with_dtype(dtype)
        return tile if dtype is U8 else Tile(lw.emit("bitcast", (tile.value,), type_, node))
    count = dims.floordiv(tile.shape[-1], dtype.nbytes)
    type_ = TileType(dtype, (*tile.shape[:-1], count))
    return Tile(lw.emit("bitcast_axis", (tile.value,), type_, node))


def as_bytes(lw: Lowering, tile: Tile, rows: Shape, node: Located) -> Tile:
    """The values of a field as bytes: the rows, and one axis of bytes."""
    dtype = tile.dtype
    count = dims.product(tile.shape[len(rows) :])
    flat = _reshaped(lw, tile, (*rows, count), node)
    if dtype is U8:
        return flat
    type_ = TileType(U8, (*rows, dims.mul(count, dtype.nbytes)))
    name = "cast" if dtype is BOOL else "bitcast" if dtype.bits == U8.bits else "bitcast_axis"
    return Tile(lw.emit(name, (flat.value,), type_, node))


@dataclass(frozen=True, slots=True)
class Part:
    """A field of selected records that is stored to."""

    rows: Rows
    field: Field
    offset: Extent
    path: str

    @property
    def text(self) -> str:
        """The field as messages call it."""
        return f"{self.rows.records.name}.{self.path}" if self.path else self.rows.records.name

    @property
    def shape(self) -> Shape:
        """The extents of what is stored."""
        return (*self.rows.shape, *self.field.shape)

    def inner(self, field: Field, offset: Extent) -> Part:
        """A field of this one, a single record."""
        path = f"{self.path}.{field.name}" if self.path else field.name
        return Part(self.rows, field, dims.add(self.offset, offset), path)


def whole_part(rows: Rows) -> Part:
    """All of selected records."""
    record = rows.records.record
    return Part(rows, Field(record.name, record), 0, "")


def part_of(lw: Lowering, part: Part, name: str, node: ast.Attribute) -> Part:
    """The part's field of a name. Errors: AK204, AK601."""
    record = part.field.item
    if not isinstance(record, Record):
        lw.fail("AK204", node, kind=f"field `{part.path}`", name=f".{name}", hint_text="it is no record")
    if part.field.shape:
        instead = f"store all of `{part.path}`, or keep an array for each field in the record"
        lw.fail("AK601", node, name=f"a store to `.{name}` of an array of records", instead=instead)
    for field, offset in record.placed():
        if field.name == name:
            return part.inner(field, offset)
    lw.fail("AK204", node, kind=f"the record `{record.name}`", name=f".{name}", hint_text=fields_text(record))


def fields_text(record: Record) -> str:
    """What a record's fields are, for hints."""
    return f"its fields are {', '.join(f'`{field.name}`' for field in record.fields)}"


def field_value(lw: Lowering, value: RecordTile, node: ast.Attribute) -> FrontValue:
    """`record.nope`. Errors: AK204."""
    for field, item in zip(value.record.fields, value.items, strict=True):
        if field.name == node.attr:
            return item
    hint = fields_text(value.record)
    lw.fail("AK204", node, kind=f"the record `{value.record.name}`", name=f".{node.attr}", hint_text=hint)


def fits(tile: Tile, shape: Shape) -> str | None:
    """Why a value does not broadcast to a shape, or None."""
    both = broadcast_shape([tile.shape, shape])
    if isinstance(both, Mismatch):
        return both.reason
    return None if both == shape else "the value is larger"


def without_unused(ops: Sequence[Op], droppable: set[int], live: set[Value] | None = None) -> list[Op]:
    """The operations without those of `droppable`, by identity, whose results nobody uses."""
    live = set() if live is None else live
    kept: list[Op] = []
    for op in reversed(ops):
        if id(op) in droppable and live.isdisjoint(op.results):
            continue
        if op.regions:
            regions = tuple(Region(r.args, tuple(without_unused(r.ops, droppable, live))) for r in op.regions)
            op = Op(op.spec, op.operands, op.attrs, op.results, regions, op.location)
        live.update(op.operands)
        kept.append(op)
    return kept[::-1]
