"""Stores to tensors of records: `out[t].nope = v`, `out[t] = record`, `ak.store(out[rows].nope, v, where=ok)`."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import broadcast
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.records import (
    Part,
    as_bytes,
    fits,
    over_bytes,
    part_of,
    rows_written,
    whole_part,
)
from agentkern.compiler.frontend.subscripts import PLAIN, Effect, stored_value, write, wrong_shape
from agentkern.compiler.frontend.values import FrontValue, Records, RecordTile, TensorList, describe
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.records import Record


def record_target(lw: Lowering, node: ast.expr) -> tuple[Records, ast.Subscript, list[ast.Attribute]] | None:
    """The records, the subscript and the fields of `out[t].nope`, outermost first; None of anything else."""
    fields: list[ast.Attribute] = []
    while isinstance(node, ast.Attribute):
        fields.insert(0, node)
        node = node.value
    if not isinstance(node, ast.Subscript):
        return None
    base = node.value
    while isinstance(base, ast.Subscript):
        base = base.value
    if not isinstance(base, ast.Name) or not isinstance(lw.lookup(base.id), Records | TensorList):
        return None
    records = lw.need_one(node.value)
    return (records, node, fields) if isinstance(records, Records) else None


def part_written(lw: Lowering, target: tuple[Records, ast.Subscript, list[ast.Attribute]]) -> Part:
    """The part of records that a store writes. Errors: AK204, AK601 and those of a store."""
    records, node, fields = target
    part = whole_part(rows_written(lw, records, node))
    for field in fields:
        part = part_of(lw, part, field.attr, field)
    return part


def store_part(lw: Lowering, part: Part, stored: Argument, effect: Effect = PLAIN) -> None:
    """Write a field, or records. Errors: AK210, AK211 and those of a store."""
    item = part.field.item
    if not isinstance(item, Record):
        _store_field(lw, part, stored, effect)
        return
    value = stored.value
    if not isinstance(value, RecordTile) or value.record.fields != item.fields:
        hint = f"store a field: `{lw.source.text_of(part.rows.node)}.{item.fields[0].name} = ...`"
        lw.fail("AK210", stored.node, got=describe(value), name=part.text, expected=f"`{item.name}`", hint=hint)
    if part.field.shape:
        lw.fail("AK601", stored.node, name="a store of an array of records", instead="store to a tensor of its own")
    for (field, offset), inner in zip(item.placed(), value.items, strict=True):
        store_part(lw, part.inner(field, offset), Argument(inner, stored.node), effect)


def _store_field(lw: Lowering, part: Part, stored: Argument, effect: Effect) -> None:
    field, rows, node = part.field, part.rows, stored.node
    assert not isinstance(field.item, Record)
    tile = stored_value(lw, part.text, field.item, stored.value, node)
    reason = fits(tile, part.shape)
    if reason is not None:
        wrong_shape(lw, list(rows.entries), tile, part.shape, rows.node, reason)
    whole = broadcast(lw, tile, part.shape, node)
    selection = rows.bytes_of(lw, part.offset, dims.add(part.offset, field.nbytes))
    mask = over_bytes(lw, effect.mask, selection.shape, rows.node) if effect.mask is not None else None
    value: FrontValue = as_bytes(lw, whole, rows.shape, node)
    write(lw, rows.records.tensor, selection, rows.node, Argument(value, node), Effect("store", mask, effect.attrs))
