"""Picks from lists of tensors: the pointer, and the strides, of the tensor whose number an access has."""

from __future__ import annotations

from agentkern.compiler.abi import Variant
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.gpu_types import Pointer
from agentkern.compiler.ir.subscripts import entry_of, tile_of
from agentkern.compiler.ir.types import TensorType, TileType, entry_names
from agentkern.compiler.ir.views import accessed
from agentkern.compiler.passes.lower.arithmetic import I64
from agentkern.compiler.passes.lower.function import FunctionLowering


def is_strided(variant: Variant, tensor: Value) -> bool:
    """Whether a tensor's strides are those of the call: of a table where one of its tensors has such."""
    type_, name = tensor.type, tensor.name or ""
    assert isinstance(type_, TensorType)
    return any(entry in variant.strided for entry in entry_names(name, type_))


def _may_touch_nothing(op: Op) -> bool:
    """Whether an access may leave all of its elements out: its number may then lie outside."""
    tile = tile_of(op).type
    assert isinstance(tile, TileType)
    names = [name for extent in tile.shape for name in dims.symbols(extent)]
    return bool(op.attrs.get("masked")) or 0 in tile.shape or not all(n[0] == "%" and "." not in n for n in names)


def pick_entry(function: FunctionLowering, op: Op) -> Value | None:
    """A pointer to the first element of the tensor that an access of a table picks; None of another tensor.

    Where the tensors have strides of their own, the symbols of the table's strides mean that tensor's from here on.
    """
    number, table = entry_of(op), op.operands[0]
    if number is None:
        return None
    type_, name = table.type, table.name or ""
    assert isinstance(type_, TensorType)
    guarded = {"guarded": True} if _may_touch_nothing(op) else {}
    operands = (table, function.index.value(function.held[number], I64))
    if is_strided(function.variant, table) and type_.strides is None:
        found = {f"{name}.stride0": 0} | {
            f"{name}.stride{axis}": function.builder.value(
                "pick_stride", operands, I64, {"axis": axis - 1, **guarded}, f"{name}_stride{axis - 1}"
            )
            for axis in range(1, type_.rank)
        }
        function.symbols.update(found)
        function.extents = {k: v for k, v in function.extents.items() if found.keys().isdisjoint(dims.symbols(k))}
    readonly = op.name == "load" and table not in function.memory.written
    pointer = Pointer(accessed(op).dtype, "global", readonly)
    return function.builder.value("pick", operands, pointer, guarded, f"{name}_entry")
