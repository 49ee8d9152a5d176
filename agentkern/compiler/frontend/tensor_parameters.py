"""Tensors and lists of tensors as a kernel's parameters: what their annotations say."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass, replace

from agentkern.compiler.frontend.layouts import split_layouts, with_layout
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.promises import split_promises
from agentkern.compiler.frontend.values import (
    BlockVar,
    Extent,
    FrontValue,
    Function,
    Number,
    RecordName,
    Records,
    Tensor,
    TensorList,
    Tile,
    TypeName,
    describe,
    extent_text,
    number_text,
)
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import SizeInfo, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.records import Record
from agentkern.compiler.ir.types import MAX_LIST, Access, TensorType
from agentkern.diagnostics import Edit, Fix
from agentkern.dsl.dtypes import DTYPES

ACCESS: dict[str, Access] = {"In": "in", "Out": "out", "InOut": "inout"}
LIST_HINT = "write `ak.List[ak.In[ak.f32, T, H], L]`"


@dataclass(frozen=True, slots=True)
class TensorParameter:
    """What a parameter gives: its value, the tensors that a build has for it, and their promises as they are written.

    A list whose length is open stands in `params` as its first tensor. `table` holds the tensors of a list that a
    run-time number picks from.
    """

    value: Tensor | Records | TensorList
    params: tuple[Tensor, ...]
    promises: tuple[ast.Call, ...]
    access: Access
    record: Record | None = None
    table: Tensor | None = None


def tensor_parameter(
    lw: Lowering, node: ast.FunctionDef, name: str, annotation: ast.Subscript, promises: tuple[ast.Call, ...]
) -> TensorParameter:
    """Read `ak.In[...]` or `ak.List[ak.In[...], L]`. Errors: AK203, AK213, AK215."""
    if lw.need_one(annotation.value) != Function("List"):
        layouts, promises = split_layouts(promises)
        type_, record = _type(lw, node, name, annotation)
        tensor = Tensor(Value(_laid_out(lw, name, type_, record, layouts), name), name)
        _check_promises(lw, name, record, promises)
        return TensorParameter(_named(tensor, record), (tensor,), promises, type_.access, record)
    if promises:
        reason = "the tensor in a list makes promises, not the list"
        lw.fail("AK213", promises[0], name=name, reason=reason, hint="write them behind `ak.In[...]`")
    items = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else []
    inner, promises = split_promises(items[0]) if len(items) == 2 else (None, ())
    if not isinstance(inner, ast.Subscript) or lw.need_one(inner.value) == Function("List"):
        reason = "a list holds tensors, and says how many"
        lw.fail("AK213", annotation, name=name, reason=reason, hint=LIST_HINT)
    layouts, promises = split_layouts(promises)
    type_, record = _type(lw, node, name, inner)
    type_ = _laid_out(lw, name, type_, record, layouts)
    _check_promises(lw, name, record, promises)
    count = _count(lw, node, name, items[1])
    n_shown = count if isinstance(count, int) else 1
    shown = tuple(Tensor(Value(type_, entry), entry) for entry in (f"{name}[{k}]" for k in range(n_shown)))
    items = tuple(_named(tensor, record) for tensor in shown) if isinstance(count, int) else ()
    table = _table(lw, name, type_, count)
    named = None if table is None else _named(table, record)
    return TensorParameter(TensorList(name, count, items, named), shown, promises, type_.access, record, table)


def _table(lw: Lowering, name: str, type_: TensorType, count: int | Dim) -> Tensor | None:
    """A list as one value, where a run-time number picks from it."""
    if name not in lw.tables or not isinstance(count, int):
        return None
    strides = None if type_.strides is None else (0, *type_.strides)
    return Tensor(Value(replace(type_, shape=(count, *type_.shape), strides=strides, table=True), name), name)


def _named(tensor: Tensor, record: Record | None) -> Tensor | Records:
    return tensor if record is None else Records(tensor, record)


def _laid_out(
    lw: Lowering, name: str, type_: TensorType, record: Record | None, calls: tuple[ast.Call, ...]
) -> TensorType:
    """The type with what the annotation prescribes; strides of records count records, whose bytes have no gaps."""
    if record is None:
        return with_layout(lw, name, type_, calls)
    found = with_layout(lw, name, replace(type_, shape=type_.shape[:-1]), calls)
    strides = None if found.strides is None else (*(dims.mul(s, record.nbytes) for s in found.strides), 1)
    return replace(type_, strides=strides, aligned=found.aligned)


def _check_promises(lw: Lowering, name: str, record: Record | None, promises: tuple[ast.Call, ...]) -> None:
    """Records promise nothing about values."""
    for call in promises if record is not None else ():
        if isinstance(call.func, ast.Attribute) and call.func.attr != "partial":
            reason = f"`.{call.func.attr}(...)` is a promise about integers, not records"
            lw.fail("AK213", call, name=name, reason=reason, hint=f"leave `.{call.func.attr}(...)` out")


def _count(lw: Lowering, node: ast.FunctionDef, name: str, item: ast.expr) -> int | Dim:
    """How many tensors a list has."""
    _unknown_sizes(lw, node, [item], static=True)
    count = _extent(lw, item, lw.need_one(item))
    lw.use_sizes(count)
    open_names = [size for size in dims.symbols(count) if not lw.sizes[size].static]
    if open_names:
        reason = f"the number of tensors, `{extent_text(count)}`, is fixed at compile time"
        hint = f'declare it so: `{open_names[0]} = ak.static("{open_names[0]}")`'
        lw.fail("AK213", item, name=name, reason=reason, hint=hint)
    if isinstance(count, int) and count > MAX_LIST:
        lw.fail("AK213", item, name=name, reason=f"{count} tensors; at most {MAX_LIST}", hint="pass one stacked tensor")
    return count


def _type(
    lw: Lowering, node: ast.FunctionDef, name: str, annotation: ast.Subscript
) -> tuple[TensorType, Record | None]:
    """A tensor's type; of records, the type of their bytes, and the record."""
    access = lw.need_one(annotation.value)
    if not isinstance(access, Function) or access.name not in ACCESS:
        lw.fail("AK213", annotation, name=name, reason=f"{describe(access)} is not `ak.In`, `ak.Out` or `ak.InOut`")
    items = list(annotation.slice.elts) if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    dtype = lw.need_one(items[0]) if items else None
    if not isinstance(dtype, TypeName | RecordName):
        at = items[0] if items else annotation
        reason = "a dtype comes first" if dtype is None else f"a dtype comes first, not {describe(dtype)}"
        lw.fail("AK213", at, name=name, reason=reason)
    _unknown_sizes(lw, node, items[1:])
    shape = tuple(_extent(lw, item, value) for item, value in zip(items[1:], lw.need(*items[1:]), strict=True))
    for extent in shape:
        lw.use_sizes(extent)
    if isinstance(dtype, TypeName):
        return TensorType(dtype.dtype, shape, ACCESS[access.name]), None
    lw.use_sizes(dtype.record.nbytes)
    return TensorType(DTYPES["u8"], (*shape, dtype.record.nbytes), ACCESS[access.name]), dtype.record


def _extent(lw: Lowering, node: ast.expr, value: FrontValue) -> int | Dim:
    match value:
        case Number(int() as number) if not isinstance(number, bool) and number >= 0:
            return number
        case Extent(extent):
            return extent
        case Number(number):
            lw.fail("AK215", node, reason=number_text(number))
        case Tile() | BlockVar():
            lw.fail("AK215", node, reason=f"`{lw.source.text_of(node)}`")
        case other:
            lw.fail("AK215", node, reason=describe(other))


def _unknown_sizes(lw: Lowering, node: ast.FunctionDef, items: list[ast.expr], *, static: bool = False) -> None:
    """Report names that no size has, once each, and go on as if they were defined."""
    for item in items:
        for child in ast.walk(item):
            if not isinstance(child, ast.Name) or lw.lookup(child.id) is not None or not lw.prefix:
                continue
            fixes = _define(lw, node, child.id, "static" if static else "dim")
            lw.diagnostics.append(lw.diagnostic("AK203", child, name=child.id, fixes=fixes))
            lw.sizes[child.id] = SizeInfo(child.id, static)
            lw.scopes[0][child.id] = Extent(dims.symbol(child.id), static)


def _define(lw: Lowering, node: ast.FunctionDef, name: str, kind: str) -> tuple[Fix, ...]:
    line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    text = f'{name} = {lw.prefix}{kind}("{name}")\n\n\n'
    fixes = [Fix(f"define `{name}`", (Edit((line, 1), (line, 1), text),))]
    near = difflib.get_close_matches(name, list(lw.sizes), 1, 0.6)
    if near:
        fixes[0] = Fix(f"define `{name}` (or write `{near[0]}`)", fixes[0].edits)
    return tuple(fixes)
