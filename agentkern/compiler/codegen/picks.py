"""Spelling of parameters, and of picks from lists of tensors among them: the words of a table by a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from agentkern.compiler.codegen.c_types import storage_type
from agentkern.compiler.codegen.printing import Printer
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.gpu_types import Pointer
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.targets.cuda_names import RESERVED


def argument_name(name: str) -> str:
    """The parameter that carries a size (`T`) or a stride (`x.stride0`)."""
    clean = re.sub(r"\W", "_", name)
    return f"{clean}_" if clean in RESERVED else clean


def is_input(value: Value) -> bool:
    """Whether a value is a tensor that is only read."""
    return isinstance(value.type, TensorType) and value.type.access == "in"


def _pick(f: Printer, op: Op) -> None:
    """A pointer to the first element of the tensor of a number."""
    type_, tensor = op.result.type, op.operands[0].type
    assert isinstance(type_, Pointer) and isinstance(tensor, TensorType)
    name = f.names[op.result] = f.fresh(op.result.name or "p")
    c_type = f"{'const ' if type_.readonly or is_input(op.operands[0]) else ''}{storage_type(type_.dtype)}*"
    f.line(f"{c_type} {name} = ({c_type}){_word(f, f.bare(op.operands[0]), op, max(tensor.count, 1))};", op)


def _pick_stride(f: Printer, op: Op) -> None:
    """A stride of the tensor of a number."""
    tensor = op.operands[0].type
    assert isinstance(tensor, TensorType)
    name = f.names[op.result] = f.fresh(op.result.name or "stride")
    table = argument_name(f"{op.operands[0].name}.strides")
    place = (tensor.rank - 1, op.attrs["axis"])
    f.line(f"const long long {name} = (long long){_word(f, table, op, max(tensor.count, 1), place)};", op)


def _word(f: Printer, table: str, op: Op, count: int, place: tuple[object, object] = (1, 0)) -> str:
    """A word of a table; where the access may be left out, so may its number lie outside."""
    number = f.bare(op.operands[1])
    if op.attrs.get("guarded"):
        number = f"((unsigned long long)({number}) < {count}ull ? {number} : 0ll)"
    width, axis = place
    number = number if width == 1 else f"({number}) * {width}"
    return f"{table}.at({number if axis == 0 else f'{number} + {axis}'})"


PICK_PRINTERS: Mapping[str, Callable[[Printer, Op], None]] = {"pick": _pick, "pick_stride": _pick_stride}
