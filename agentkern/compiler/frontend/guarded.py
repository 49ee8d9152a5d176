"""Accesses with conditions: `ak.load(x[...], where=, fill=)`, `ak.store(y[...], v, where=, distinct=)`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from agentkern.compiler.frontend.arguments import Argument, Form, bind, form
from agentkern.compiler.frontend.conversion import (
    Mismatch,
    Shape,
    as_tile,
    broadcast,
    broadcast_hint,
    broadcast_shape,
    cast,
    constant,
    is_compile_time,
    operand,
    size_tile,
    together,
    weak_tile,
)
from agentkern.compiler.frontend.decorators import allowing_fix
from agentkern.compiler.frontend.lists import list_item
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.record_stores import part_written, record_target, store_part
from agentkern.compiler.frontend.record_types import declare_record
from agentkern.compiler.frontend.records import Guard, Rows, read_records, rows_read
from agentkern.compiler.frontend.requirements import require
from agentkern.compiler.frontend.selection import Selection
from agentkern.compiler.frontend.subscripts import Effect, read, readable, reshaped, writable, write
from agentkern.compiler.frontend.values import (
    NOTHING,
    Extent,
    FrontValue,
    Nothing,
    Number,
    Records,
    RecordTile,
    Tensor,
    TensorList,
    Tile,
    describe,
    shape_text,
)
from agentkern.compiler.frontend.views import place
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.nondeterminism import ATOMIC_FLOATS, has_atomics
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DTYPES, DType

BOOL = DTYPES["bool"]
LOAD = form("ak.load(x[...], where=None, fill=0)")
STORE = form("ak.store(y[...], value, where=None, distinct=False)")
Arguments = dict[str, Argument]


def _tensor(lw: Lowering, name: str, form_: Form, node: ast.Call) -> tuple[Tensor | Records, ast.Subscript]:
    """The tensor and the subscript that a call names first. Errors: AK122."""
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Subscript):
        value = place(lw, first.value)
        if isinstance(value, TensorList):
            list_item(lw, value, first)
        if isinstance(value, Tensor | Records):
            return value, first
    reason = "the first argument is a tensor's subscript"
    lw.fail("AK122", first or node, name=name, reason=reason, form=form_.text)


def _bound(lw: Lowering, name: str, form_: Form, node: ast.Call) -> Arguments:
    """The arguments after the subscript."""
    rest = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
    names = form_.names[1:]
    return bind(lw, name, Form(form_.text, names, form_.required - 1), rest)


def _given(arguments: Arguments, name: str) -> Argument | None:
    """An argument that is given and not `None`."""
    found = arguments.get(name)
    return None if found is None or isinstance(found.value, Nothing) else found


def mask_argument(lw: Lowering, name: str, arguments: Arguments, shape: Shape) -> Tile | None:
    """The `where=` of an access, over its shape or a scalar. Errors: AK206, AK207."""
    given = _given(arguments, "where")
    if given is None:
        return None
    found = operand(lw, given.value, given.node, name)
    if isinstance(found, Number) and isinstance(found.value, bool):
        return constant(lw, BOOL, found.value, given.node)
    tile = as_tile(lw, found, given.node, name)
    if tile.dtype is not BOOL:
        fixes = (lw.source.insert_after(given.node, " != 0", "compare with 0"),)
        hint = "compare it: `!= 0`"
        lw.fail("AK206", given.node, operation=name, got=tile.dtype.name, hint_text=hint, fixes=fixes)
    if not tile.shape:
        return tile
    both = broadcast_shape([tile.shape, shape])
    if isinstance(both, Mismatch) or both != shape:
        reason = both.reason if isinstance(both, Mismatch) else "the mask has more elements"
        lw.fail("AK207", given.node, left=shape_text(tile.shape), right=shape_text(shape), reason=reason,
                hint_text=broadcast_hint(tile.shape, shape))  # fmt: skip
    return broadcast(lw, tile, shape, given.node)


def _load(lw: Lowering, node: ast.Call) -> FrontValue:
    """`ak.load`: read where the condition holds, or where the positions are inside. Errors: AK122, AK206, AK207."""
    tensor, subscript = _tensor(lw, "ak.load", LOAD, node)
    arguments = _bound(lw, "ak.load", LOAD, node)
    if isinstance(tensor, Records):
        return _load_records(lw, rows_read(lw, tensor, subscript), arguments)
    selection = readable(lw, tensor, subscript)
    mask = mask_argument(lw, "ak.load", arguments, selection.shape)
    fill = _given(arguments, "fill")
    if mask is None and fill is not None:
        mask = _inside(lw, tensor, selection, subscript)
    extra: dict[str, Value] = {}
    if mask is not None:
        extra["masked"] = mask.value
        if fill is not None and not _is_zero(fill.value):
            extra["filled"] = _fill(lw, tensor, fill).value
    return read(lw, tensor, selection, subscript, extra)


def _load_records(lw: Lowering, rows: Rows, arguments: Arguments) -> RecordTile:
    mask = mask_argument(lw, "ak.load", arguments, rows.shape)
    fill = _given(arguments, "fill")
    if fill is not None and not isinstance(fill.value, Number):
        hint = "records are filled with a number, which every field takes; pick per field with `ak.where`"
        lw.fail("AK223", fill.node, what=describe(fill.value), operation="ak.load", hint_text=hint)
    if mask is None and fill is not None:
        mask = _inside(lw, rows.records.tensor, rows.selection, rows.node)
    number = fill.value if fill is not None and isinstance(fill.value, Number) else None
    return read_records(lw, rows, Guard(mask, number))


def _is_zero(value: FrontValue) -> bool:
    return isinstance(value, Number) and isinstance(value.value, int) and not value.value


def _fill(lw: Lowering, tensor: Tensor, fill: Argument) -> Tile:
    """The value of positions that are not read, in the tensor's dtype. Errors: AK205, AK223, AK501, AK502."""
    dtype = tensor.type.dtype
    found = operand(lw, fill.value, fill.node, "ak.load")
    if is_compile_time(found):
        return weak_tile(lw, found, dtype, fill.node)
    tile = as_tile(lw, found, fill.node, "ak.load")
    if tile.shape:
        hint = "fill with one value; pick per element with `ak.where`"
        lw.fail("AK223", fill.node, what=describe(tile), operation="ak.load", hint_text=hint)
    if tile.dtype is not dtype:
        lw.fail("AK205", fill.node, operator="ak.load", left=tile.dtype.name, right=dtype.name, to=dtype.name)
    return tile


def _inside(lw: Lowering, tensor: Tensor, selection: Selection, node: ast.Subscript) -> Tile | None:
    """Whether every position is inside the tensor; None where the subscript cannot leave it."""
    found: Tile | None = None
    axis = 0
    for entry, index, axes in zip(selection.entries, selection.indices, selection.axes, strict=True):
        if entry.kind == "+":
            continue
        extent = tensor.type.shape[axis]
        axis += 1
        if entry.kind == "block" and entry.block is not None and entry.block.type.extent != extent:
            type_ = TileType(I64, (entry.block.type.current,))
            index = Tile(lw.emit("index", (entry.block.value,), type_, entry.node))
        if index is None:
            continue
        part = _in_range(lw, index, extent, entry.node)
        shape = tuple(selection.shape[k] if k in axes else 1 for k in range(len(selection.shape)))
        part = reshaped(lw, part, shape, entry.node) if part.shape else part
        found = part if found is None else _both(lw, found, part, entry.node)
    return broadcast(lw, found, selection.shape, node) if found is not None and found.shape else found


def _both(lw: Lowering, a: Tile, b: Tile, node: ast.expr) -> Tile:
    a, b = together(lw, [a, b], [node, node], node)
    return Tile(lw.emit("and", (a.value, b.value), a.type, node))


def _in_range(lw: Lowering, index: Tile, extent: int | Dim, node: ast.expr) -> Tile:
    """`0 <= index < extent`, element by element; u64 is compared as it is, for it has no wider type."""
    unsigned = index.dtype.name == "u64"
    index = index if unsigned else cast(lw, index, I64, node)
    size = constant(lw, I64, extent, node) if isinstance(extent, int) else size_tile(lw, Extent(extent, False), node)
    size = broadcast(lw, cast(lw, size, index.dtype, node), index.shape, node)
    below = Tile(lw.emit("lt", (index.value, size.value), index.type.with_dtype(BOOL), node))
    if unsigned:
        return below
    zero = broadcast(lw, constant(lw, I64, 0, node), index.shape, node)
    above = Tile(lw.emit("ge", (index.value, zero.value), index.type.with_dtype(BOOL), node))
    return Tile(lw.emit("and", (above.value, below.value), below.type, node))


def _store(lw: Lowering, node: ast.Call) -> FrontValue:
    """`ak.store`: write where the condition holds. Errors: AK122, AK206, AK207 and those of a store."""
    target = record_target(lw, node.args[0]) if node.args else None
    if target is not None:
        part = part_written(lw, target)
        arguments = _bound(lw, "ak.store", STORE, node)
        mask = mask_argument(lw, "ak.store", arguments, part[0].shape)
        attrs = {"distinct": True} if _flag(lw, "ak.store", arguments, "distinct") else {}
        store_part(lw, part, arguments["value"], Effect("store", mask, attrs))
        return NOTHING
    tensor, subscript = _tensor(lw, "ak.store", STORE, node)
    assert isinstance(tensor, Tensor)
    selection = writable(lw, tensor, subscript)
    arguments = _bound(lw, "ak.store", STORE, node)
    mask = mask_argument(lw, "ak.store", arguments, selection.shape)
    attrs = {"distinct": True} if _flag(lw, "ak.store", arguments, "distinct") else {}
    write(lw, tensor, selection, subscript, arguments["value"], Effect("store", mask, attrs))
    return NOTHING


def _atomic(kind: str) -> Callable[[Lowering, ast.Call], FrontValue]:
    name = f"ak.atomic_{kind}"
    words = form(f"{name}(y[...], value, where=None)")

    def rule(lw: Lowering, node: ast.Call) -> FrontValue:
        """Combine a value with elements of a tensor, in any order. Errors: AK122, AK206, AK207, AK320."""
        tensor, subscript = _tensor(lw, name, words, node)
        if isinstance(tensor, Records):
            lw.fail(
                "AK601",
                node,
                what=f"`{name}` of the records `{tensor.name}`",
                instead="keep counters in a tensor of their own",
            )
        dtype = tensor.type.dtype
        _check_atomic(lw, node, name, kind, dtype)
        selection = writable(lw, tensor, subscript)
        arguments = _bound(lw, name, words, node)
        mask = mask_argument(lw, name, arguments, selection.shape)
        write(lw, tensor, selection, subscript, arguments["value"], Effect("atomic", mask, {"kind": kind}))
        return NOTHING

    return rule


def _check_atomic(lw: Lowering, node: ast.Call, name: str, kind: str, dtype: DType) -> None:
    """Reject what the hardware lacks, and sums that a kernel has not said may depend on order. Errors: AK320."""
    if not has_atomics(dtype):
        floats = ", ".join(sorted(ATOMIC_FLOATS))
        reason = f"the hardware has it for {floats} and integers of 32 and 64 bits"
        hint = "combine in a wider type, and convert in a later grid"
        lw.fail("AK320", node, name=name, dtype=dtype.name, reason=reason, hint=hint)
    if dtype.is_float and kind == "add" and (lw.kernel is None or lw.kernel.name not in lw.nondeterministic):
        reason = "its bits would depend on the order of threads"
        lw.fail("AK320", node, name=name, dtype=dtype.name, reason=reason, fixes=allowing_fix(lw))


def _flag(lw: Lowering, name: str, arguments: Arguments, keyword: str) -> bool:
    """A compile-time truth value. Errors: AK218."""
    found = arguments.get(keyword)
    if found is None:
        return False
    if not isinstance(found.value, Number) or not isinstance(found.value.value, bool):
        lw.fail("AK218", found.node, what=f"`{keyword}` of `{name}`")
    return found.value.value


ACCESSES: Mapping[str, Callable[[Lowering, ast.Call], FrontValue]] = {
    "load": _load,
    "store": _store,
    "require": require,
    "Record": declare_record,
    **{f"atomic_{kind}": _atomic(kind) for kind in ("add", "max", "min")},
}
