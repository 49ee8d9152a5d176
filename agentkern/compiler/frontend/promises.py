"""What an annotation promises of a tensor: `.values(lo, hi)`, `.distinct()`, `.offsets(T)`, `.partial()`."""

from __future__ import annotations

import ast

from agentkern.compiler.frontend.arguments import Argument, Form, bind, form
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.values import BlockVar, Extent, Nothing, Number, Tensor, Tile, describe
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TensorType

FORMS: dict[str, Form] = {
    "values": form(".values(lo, hi, ignore=None)"),
    "distinct": form(".distinct(ignore=None)"),
    "offsets": form(".offsets(end)"),
    "partial": form(".partial()"),
}
LAYOUTS = ("strides", "aligned")
"""What an annotation says of the memory and not of the values: `layouts.py`."""
Row = tuple[object, ...]


def split_promises(annotation: ast.expr) -> tuple[ast.expr, tuple[ast.Call, ...]]:
    """An annotation without its promises, and these in the order in which they are written."""
    found: list[ast.Call] = []
    while (
        isinstance(annotation, ast.Call)
        and isinstance(annotation.func, ast.Attribute)
        and annotation.func.attr in (*FORMS, *LAYOUTS)
        and isinstance(annotation.func.value, ast.Subscript | ast.Call)
    ):
        found.append(annotation)
        annotation = annotation.func.value
    return annotation, tuple(reversed(found))


def promise_row(lw: Lowering, tensor: Tensor, call: ast.Call) -> Row:
    """One promise as `analysis/promises.py` reads it. Errors: AK122, AK213."""
    assert isinstance(call.func, ast.Attribute)
    kind = call.func.attr
    arguments = bind(lw, f".{kind}", FORMS[kind], call)
    _check_fits(lw, tensor, kind, call)
    if kind == "partial":
        return (tensor.name, kind)
    if kind == "offsets":
        return (tensor.name, kind, size_of(lw, arguments["end"]))
    ignore = _ignored(lw, arguments)
    if kind == "distinct":
        return (tensor.name, kind, ignore)
    return (tensor.name, kind, size_of(lw, arguments["lo"]), size_of(lw, arguments["hi"]), ignore)


def _check_fits(lw: Lowering, tensor: Tensor, kind: str, call: ast.Call) -> None:
    """Promises about values are of integers that are read; `.partial()` is of outputs."""
    type_: TensorType = tensor.type
    if kind == "partial":
        reason = "only an output may be written in part" if type_.access != "out" else None
    elif not type_.dtype.is_integer:
        reason = f"`.{kind}(...)` is a promise about integers, not {type_.dtype}"
    elif type_.access == "out":
        reason = f"`.{kind}(...)` is a promise about what a kernel reads"
    else:
        one = kind == "offsets" and type_.rank != 1
        reason = "offsets have one axis" if one else None
    if reason is not None:
        lw.fail("AK213", call, name=tensor.name, reason=reason, hint=f"leave `.{kind}(...)` out")


def size_of(lw: Lowering, argument: Argument) -> int | Dim:
    """A number or a size expression. Errors: AK215."""
    match argument.value:
        case Number(int() as number) if not isinstance(number, bool):
            return number
        case Extent(extent):
            lw.use_sizes(extent)
            return extent
        case Tile() | BlockVar():
            lw.fail("AK215", argument.node, reason=f"`{lw.source.text_of(argument.node)}`")
        case other:
            lw.fail("AK215", argument.node, reason=describe(other))


def _ignored(lw: Lowering, arguments: dict[str, Argument]) -> int | None:
    argument = arguments.get("ignore")
    if argument is None or isinstance(argument.value, Nothing):
        return None
    found = size_of(lw, argument)
    if not isinstance(found, int):
        lw.fail("AK218", argument.node, what=f"`ignore` ({dims.symbols(found)[0]})")
    return found
