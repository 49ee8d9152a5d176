"""Stores to tensors of records: `out[t].nope = v`, `out[t] = record`, `ak.store(out[rows].nope, v, where=ok)`."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.conversion import broadcast
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.records import (
    Part,
    Rows,
    fits,
    part_of,
    rows_written,
    spread,
    to_bytes,
    whole_part,
)
from agentkern.compiler.frontend.subscripts import PLAIN, Effect, stored_value, write, wrong_shape
from agentkern.compiler.frontend.values import Records, RecordTile, TensorList, describe
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


Target = tuple[Rows, Part]


def part_written(lw: Lowering, target: tuple[Records, ast.Subscript, list[ast.Attribute]]) -> Target:
    """The rows and the part of records that a store writes. Errors: AK204 and those of a store."""
    records, node, fields = target
    rows, part = rows_written(lw, records, node), whole_part(records)
    for field in fields:
        part = part_of(lw, part, field.attr, field)
    return rows, part


def store_part(lw: Lowering, target: Target, stored: Argument, effect: Effect = PLAIN) -> None:
    """Write a field, or records. Errors: AK210, AK211 and those of a store."""
    rows, part = target
    item = part.field.item
    if not isinstance(item, Record):
        _store_field(lw, rows, part, stored, effect)
        return
    value = stored.value
    if not isinstance(value, RecordTile) or value.record.fields != item.fields:
        hint = f"store a field: `{lw.source.text_of(rows.node)}.{item.fields[0].name} = ...`"
        lw.fail("AK210", stored.node, got=describe(value), name=part.text, expected=f"`{item.name}`", hint=hint)
    for inner, given in zip(part.parts, value.items, strict=True):
        store_part(lw, (rows, inner), Argument(given, stored.node), effect)


def _store_field(lw: Lowering, rows: Rows, part: Part, stored: Argument, effect: Effect) -> None:
    dtype, node, wanted = part.field.item, stored.node, rows.selected(part)
    assert not isinstance(dtype, Record)
    tile = stored_value(lw, part.text, dtype, stored.value, node)
    reason = fits(tile, wanted)
    if reason is not None:
        wrong_shape(lw, list(rows.entries), tile, wanted, rows.node, reason)
    tile = broadcast(lw, tile, wanted, node)
    tensor = part.typed
    if tensor is None:
        tensor = part.tensor
        tile = to_bytes(lw, tile, rows.select(lw, tensor).shape, node)
    selection = rows.select(lw, tensor)
    mask = spread(lw, effect.mask, selection.shape, rows.node) if effect.mask is not None else None
    write(lw, tensor, selection, rows.node, Argument(tile, node), Effect("store", mask, effect.attrs))
