"""Tensors of records: `kv[rows].nope` reads a field, `kv[rows]` a whole record; `kv.nope` is a field of every record.

Below the front end there are bytes only: a field is a view of them, of its own dtype where every one of its elements
lies at a multiple of its size, else of bytes, whose bits are then put together.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentkern.compiler.frontend.conversion import Mismatch, Shape, broadcast, broadcast_shape, constant, weak_tile
from agentkern.compiler.frontend.entries import Entry, entries
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.selection import Selection, select
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.values import FrontValue, Number, Records, RecordTile, Tensor, Tile
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Region, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.records import Field, Record, is_aligned
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.ir.views import Step, View, strided
from agentkern.dsl.dtypes import DTYPES, DType

BOOL, U8 = DTYPES["bool"], DTYPES["u8"]
Extent = int | Dim


@dataclass(frozen=True, slots=True)
class Part:
    """A field of every record, or the records themselves: a view of their bytes, of which the last axis is the field's.

    `axes`: the extents over records, and over arrays of records that the field stands in.
    """

    records: Records
    field: Field
    path: str
    axes: Shape
    view: View

    @property
    def text(self) -> str:
        """The field as messages call it."""
        return f"{self.records.name}.{self.path}" if self.path else self.records.name

    @property
    def shape(self) -> Shape:
        """The extents of the field in every record."""
        return (*self.axes, *self.field.shape)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The fields of a part that is of records."""
        record = self.field.item
        assert isinstance(record, Record)
        view = _reshaped_to(self.view, (*self.axes, self.field.nbytes), (*self.shape, record.nbytes))
        return tuple(self._inner(view, record, field, offset) for field, offset in record.placed())

    def _inner(self, view: View, record: Record, field: Field, offset: Extent) -> Part:
        end = dims.add(offset, field.nbytes)
        cut: Step = ("slice", (*[0] * len(self.shape), offset), (*self.shape, end))
        path = f"{self.path}.{field.name}" if self.path else field.name
        whole = offset == 0 and end == record.nbytes
        return Part(self.records, field, path, self.shape, view if whole else (*view, cut))

    @property
    def tensor(self) -> Tensor:
        """The bytes of a field."""
        return replace(self.records.tensor, view=(*self.view, ("field", self.path)))

    @property
    def typed(self) -> Tensor | None:
        """The field as a tensor of its dtype; None where it does not lie so."""
        dtype, base = self.field.item, self.records.tensor.base
        assert isinstance(dtype, DType)
        place = strided(base, self.view)
        bounds = (place.offset, *place.strides[:-1], self.records.record.nbytes)
        if dtype is BOOL or not is_aligned(dtype, bounds):
            return None
        view = self.view if dtype is U8 else (*self.view, ("bitcast", dtype.name))
        view = _reshaped_to(view, (*self.axes, self.field.count), self.shape)
        return replace(self.records.tensor, view=(*view, ("field", self.path)))


def _reshaped_to(view: View, have: Shape, shape: Shape) -> View:
    return view if have == shape else (*view, ("reshape", shape))


def whole_part(records: Records) -> Part:
    """The records of a tensor."""
    record = records.record
    return Part(records, Field(record.name, record), "", records.shape, ())


def part_of(lw: Lowering, part: Part, name: str, node: ast.Attribute) -> Part:
    """The part's field of a name. Errors: AK204."""
    record = part.field.item
    if not isinstance(record, Record):
        lw.fail("AK204", node, kind=f"field `{part.path}`", name=f".{name}", hint_text="it is no record")
    for inner in part.parts:
        if inner.field.name == name:
            return inner
    lw.fail("AK204", node, kind=f"the record `{record.name}`", name=f".{name}", hint_text=fields_text(record))


def fields_text(record: Record) -> str:
    """What a record's fields are, for hints."""
    return f"its fields are {', '.join(f'`{field.name}`' for field in record.fields)}"


def field_tensor(lw: Lowering, records: Records, node: ast.Attribute) -> Tensor:
    """`kv.nope`, a field of every record as a tensor. Errors: AK204, AK601."""
    part = part_of(lw, whole_part(records), node.attr, node)
    found = part.typed if isinstance(part.field.item, DType) else None
    if found is None:
        instead = f"subscript the records first: `{records.name}[...].{node.attr}`"
        lw.fail("AK601", node, what=f"`{part.text}` as a tensor", instead=instead)
    return found


def field_value(lw: Lowering, value: RecordTile, node: ast.Attribute) -> FrontValue:
    """`record.nope`. Errors: AK204."""
    for field, item in zip(value.record.fields, value.items, strict=True):
        if field.name == node.attr:
            return item
    hint = fields_text(value.record)
    lw.fail("AK204", node, kind=f"the record `{value.record.name}`", name=f".{node.attr}", hint_text=hint)


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

    def select(self, lw: Lowering, tensor: Tensor) -> Selection:
        """The selection of a field of them, a view of the tensor."""
        further = tensor.type.rank - len(self.records.shape)
        return select(lw, tensor, [*self.entries, *(Entry(self.node, ":") for _ in range(further))])

    def selected(self, part: Part) -> Shape:
        """The extents of a field of them."""
        return (*self.shape, *part.shape[len(self.records.shape) :])


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
    found = _read(lw, rows, whole_part(rows.records), guard)
    lw.unused_allowed.update(id(op) for op in lw.builder.ops[first:])
    assert isinstance(found, RecordTile)
    return found


def _read(lw: Lowering, rows: Rows, part: Part, guard: Guard) -> Tile | RecordTile:
    if isinstance(part.field.item, Record):
        return RecordTile(part.field.item, tuple(_read(lw, rows, inner, guard) for inner in part.parts))
    typed, node = part.typed, rows.node
    tensor = part.tensor if typed is None else typed
    selection = rows.select(lw, tensor)
    operands: tuple[Value, ...] = (tensor.value, *selection.operands)
    attrs: dict[str, object] = {"index": selection.index}
    if guard.mask is not None:
        operands = (*operands, spread(lw, guard.mask, selection.shape, node).value)
        attrs["masked"] = True
    type_ = TileType(tensor.type.dtype, selection.shape)
    found = Tile(lw.emit("load", operands, type_, node, {**attrs, **tensor.attrs}))
    if typed is None:
        found = _reshaped(lw, _from_bytes(lw, found, part.field.item, node), rows.selected(part), node)
    if guard.mask is None or guard.fill is None or guard.fill.value == 0:
        return found
    fill = Number(guard.fill.value != 0) if part.field.item is BOOL else guard.fill
    other = broadcast(lw, weak_tile(lw, fill, part.field.item, node), found.shape, node)
    mask = broadcast(lw, spread(lw, guard.mask, found.shape, node), found.shape, node)
    return Tile(lw.emit("where", (mask.value, found.value, other.value), found.type, node))


def spread(lw: Lowering, mask: Tile, shape: Shape, node: Located) -> Tile:
    """A mask over rows as one over rows and further axes; a scalar stays one."""
    if not mask.shape:
        return mask
    wide = (*mask.shape, *[1] * (len(shape) - len(mask.shape)))
    return broadcast(lw, _reshaped(lw, mask, wide, node), shape, node)


def _reshaped(lw: Lowering, tile: Tile, shape: Shape, node: Located) -> Tile:
    if tile.shape == shape:
        return tile
    return Tile(lw.emit("reshape", (tile.value,), tile.type.with_shape(shape), node))


def _from_bytes(lw: Lowering, tile: Tile, dtype: DType, node: Located) -> Tile:
    """Bytes as elements of a dtype along the last axis."""
    if dtype is BOOL:
        zero = broadcast(lw, constant(lw, U8, 0, node), tile.shape, node)
        return Tile(lw.emit("ne", (tile.value, zero.value), tile.type.with_dtype(BOOL), node))
    count = dims.floordiv(tile.shape[-1], dtype.nbytes)
    type_ = TileType(dtype, (*tile.shape[:-1], count))
    return Tile(lw.emit("bitcast_axis", (tile.value,), type_, node))


def to_bytes(lw: Lowering, tile: Tile, shape: Shape, node: Located) -> Tile:
    """Elements as bytes, of which the last axis of `shape` is those of one field."""
    if tile.dtype is BOOL:
        return Tile(lw.emit("cast", (_reshaped(lw, tile, shape, node).value,), TileType(U8, shape), node))
    flat = _reshaped(lw, tile, (*shape[:-1], dims.floordiv(shape[-1], tile.dtype.nbytes)), node)
    return Tile(lw.emit("bitcast_axis", (flat.value,), TileType(U8, shape), node))


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
