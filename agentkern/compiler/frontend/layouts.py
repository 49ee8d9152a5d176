"""What an annotation prescribes of a tensor's memory: `.strides(4 * T, 4, 1)` in elements, `.aligned(16)` in bytes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.promises import LAYOUTS, size_of
from agentkern.compiler.frontend.values import Number
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TensorType

MAX_ALIGNED = 256
"""Bytes: what every allocator of GPU memory gives."""
FORMS = {
    "strides": "write one stride, in elements, for each axis: `ak.In[ak.f32, T, H].strides(2 * H, 1)`",
    "aligned": "write a power of two in bytes: `ak.In[ak.f32, T, H].aligned(16)`",
}
Calls = tuple[ast.Call, ...]


def split_layouts(calls: Calls) -> tuple[Calls, Calls]:
    """What an annotation's calls say of the memory, and the others."""
    ours = tuple(call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in LAYOUTS)
    return ours, tuple(call for call in calls if call not in ours)


def with_layout(lw: Lowering, name: str, type_: TensorType, calls: Sequence[ast.Call]) -> TensorType:
    """The tensor's type with what its annotation prescribes. Errors: AK213, AK215."""
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        kind = call.func.attr
        if call.keywords or any(isinstance(item, ast.Starred) for item in call.args):
            lw.fail("AK213", call, name=name, reason=f"`.{kind}(...)` takes plain arguments", hint=FORMS[kind])
        if (type_.strides is not None) if kind == "strides" else (type_.aligned > 1):
            lw.fail("AK213", call, name=name, reason=f"`.{kind}(...)` stands twice", hint="leave one out")
        values = [Argument(lw.need_one(item), item) for item in call.args]
        type_ = (
            _with_strides(lw, name, type_, values, call)
            if kind == "strides"
            else _aligned(lw, name, type_, values, call)
        )
    return type_


def _with_strides(lw: Lowering, name: str, type_: TensorType, values: Sequence[Argument], call: ast.Call) -> TensorType:
    if len(values) != type_.rank:
        lw.fail("AK213", call, name=name, reason=_count_text(len(values), type_.rank), hint=FORMS["strides"])
    strides: list[int | Dim] = []
    for argument in values:
        stride = size_of(lw, argument)
        if isinstance(stride, int) and stride < 0:
            lw.fail(
                "AK213",
                argument.node,
                name=name,
                reason=f"a stride of {stride}",
                hint="strides count forward: from 0 on",
            )
        strides.append(stride)
    return replace(type_, strides=tuple(strides))


def _aligned(lw: Lowering, name: str, type_: TensorType, values: Sequence[Argument], call: ast.Call) -> TensorType:
    given = values[0].value if len(values) == 1 else None
    if not isinstance(given, Number) or type(given.value) is not int:
        lw.fail("AK213", call, name=name, reason="`.aligned(...)` takes one number of bytes", hint=FORMS["aligned"])
    number = given.value
    if number < 1 or number & (number - 1) or number > MAX_ALIGNED:
        reason = f"an address is aligned to a power of two up to {MAX_ALIGNED} bytes, not to {number}"
        lw.fail("AK213", call, name=name, reason=reason, hint=FORMS["aligned"])
    return replace(type_, aligned=number)


def _count_text(given: int, axes: int) -> str:
    """`1 stride for 2 axes`."""
    strides, places = ("stride" if given == 1 else "strides"), ("axis" if axes == 1 else "axes")
    return f"{given} {strides} for {axes} {places}"
