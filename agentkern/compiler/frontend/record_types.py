"""`ak.Record(...)` at module level: names of fields, their dtypes and extents."""

from __future__ import annotations

import ast
from typing import NoReturn

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import Extent, FrontValue, Number, RecordName, Tuple, TypeName, describe
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.records import Field, Record
from agentkern.dsl.dtypes import DType

UNNAMED = "record"


def declare_record(lw: Lowering, node: ast.Call) -> RecordName:
    """A record, still without a name. Errors: AK109, AK228."""
    if not lw.in_module:
        lw.fail("AK109", node, name="ak.Record", instead="`KV = ak.Record(...)` stands at module level")
    if node.args or not node.keywords or any(keyword.arg is None for keyword in node.keywords):
        _wrong(lw, node, "fields are given by name")
    values = lw.need(*(keyword.value for keyword in node.keywords))
    fields = [
        _field(lw, keyword.arg or "", keyword.value, value)
        for keyword, value in zip(node.keywords, values, strict=True)
    ]
    return RecordName(Record(UNNAMED, tuple(fields)))


def _wrong(lw: Lowering, node: ast.expr, reason: str) -> NoReturn:
    lw.fail("AK228", node, reason=reason)


def _field(lw: Lowering, name: str, node: ast.expr, value: FrontValue) -> Field:
    items = value.items if isinstance(value, Tuple) else (value,)
    nodes = node.elts if isinstance(node, ast.Tuple) and len(node.elts) == len(items) else [node] * len(items)
    if not name.isascii():
        _wrong(lw, node, f"`{name}` is not ASCII")
    if not items:
        _wrong(lw, node, f"field `{name}` has no dtype")
    item = _item(lw, name, nodes[0], items[0])
    return Field(name, item, tuple(_extent(lw, name, at, v) for at, v in zip(nodes[1:], items[1:], strict=True)))


def _item(lw: Lowering, name: str, node: ast.expr, value: FrontValue) -> DType | Record:
    match value:
        case TypeName(dtype) if dtype.bits % 8 == 0:
            return dtype
        case TypeName(dtype):
            _wrong(lw, node, f"field `{name}` is of {dtype}, which is packed: use the bytes, `ak.u8`")
        case RecordName(record):
            return record
        case other:
            _wrong(lw, node, f"field `{name}` is of a dtype or a record, not {describe(other)}")


def _extent(lw: Lowering, name: str, node: ast.expr, value: FrontValue) -> int | Dim:
    match value:
        case Number(int() as number) if not isinstance(number, bool) and number >= 0:
            return number
        case Extent(extent, static=True):
            return extent
        case other:
            _wrong(lw, node, f"the extents of field `{name}` are fixed at compile time, and {describe(other)} is not")
