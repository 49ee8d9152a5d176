"""`ak.scratch(shape, dtype)`: memory between the grids of one kernel."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.shapes import dtype_of, shape_of
from agentkern.compiler.frontend.values import FrontValue, RecordName, Records, Tensor
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.types import TensorType
from agentkern.dsl.dtypes import DTYPES

U8 = DTYPES["u8"]


def scratch(lw: Lowering, arguments: dict[str, Argument], node: ast.Call) -> FrontValue:
    """A tensor that lives for one call, under the name that it is assigned to. Errors: AK105, AK215, AK223."""
    if lw.grid is not None:
        lw.fail("AK105", node, what="`ak.scratch` inside a grid", instead="write it before the grid that fills it")
    shape = shape_of(lw, arguments["shape"])
    dtype = arguments["dtype"]
    record = dtype.value.record if isinstance(dtype.value, RecordName) else None
    shape = shape if record is None else (*shape, record.nbytes)
    for extent in shape:
        lw.use_sizes(extent)
    name = _free_name(lw)
    value = Value(TensorType(U8 if record is not None else dtype_of(lw, dtype), shape, "scratch"), name)
    lw.scratch.append(value)
    tensor = Tensor(value, name)
    return tensor if record is None else Records(tensor, record)


def _free_name(lw: Lowering) -> str:
    """The name being assigned, or one near it that no parameter, size or other scratch has."""
    wanted = lw.assigned if lw.assigned is not None and lw.assigned.isascii() else "scratch"
    taken = {*lw.sizes, *lw.parameter_names, *(value.name for value in lw.scratch)}
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
