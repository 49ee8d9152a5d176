"""A kernel's parameters: tensors, run-time scalars, compile-time values."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentkern.compiler.frontend.conversion import ARITHMETIC
from agentkern.compiler.frontend.literals import converted, misfit
from agentkern.compiler.frontend.lowering import Lowering, Poisoned, Rejected
from agentkern.compiler.frontend.promises import FORMS, LAYOUTS, Row, promise_row, split_promises
from agentkern.compiler.frontend.tensor_parameters import ACCESS, LIST_HINT, tensor_parameter
from agentkern.compiler.frontend.values import (
    NOTHING,
    POISON,
    FrontValue,
    Function,
    Number,
    TensorList,
    Text,
    Tile,
    TypeName,
    describe,
    number_text,
)
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.records import layout_of, record_row
from agentkern.compiler.ir.types import Access, TensorType, TileType, entry_names
from agentkern.dsl.dtypes import DType

Scalar = int | float | bool
ListRow = tuple[str, int, "int | Dim", Access]
_SETTING_KINDS: dict[str, tuple[str, tuple[type, ...]]] = {
    "static_int": ("an integer", (int,)),
    "static_bool": ("`True` or `False`", (bool,)),
    "static_float": ("a number", (int, float)),
}


@dataclass(slots=True)
class Signature:
    """What the parameters give: values in order, defaults of scalars, compile-time values, what each name means."""

    params: list[Value] = field(default_factory=list)
    defaults: list[tuple[str, Scalar]] = field(default_factory=list)
    settings: list[tuple[str, Scalar]] = field(default_factory=list)
    outputs: dict[str, tuple[ast.arg, Access]] = field(default_factory=dict)
    lists: list[ListRow] = field(default_factory=list[ListRow])
    records: list[Row] = field(default_factory=list[Row])
    setting_names: list[str] = field(default_factory=list)
    optional: list[str] = field(default_factory=list)
    names: dict[str, FrontValue] = field(default_factory=dict)
    promises: list[Row] = field(default_factory=list[Row])

    @property
    def n_arguments(self) -> int:
        """The parameters so far, as a caller counts them."""
        types = [(value.name or "", value.type) for value in self.params]
        return sum(len(entry_names(name, type_)) if isinstance(type_, TensorType) else 1 for name, type_ in types)


def read_signature(lw: Lowering, node: ast.FunctionDef, settings: Mapping[str, Scalar]) -> Signature:
    """Read a kernel's parameters; annotations and defaults see the module's names, as in Python.

    Errors: AK114, AK115, AK123, AK203, AK213, AK214.
    """
    signature = Signature()
    _plain_parameters(lw, signature, node)
    arguments = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(arguments) - len(node.args.defaults)), *node.args.defaults]
    pairs = list(zip(arguments, defaults, strict=True))
    pairs += list(zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True))
    seen: set[str] = set()
    for argument, default in pairs:
        try:
            if argument.arg in seen:
                lw.fail("AK114", argument, name=argument.arg, what="parameter")
            signature.names[argument.arg] = POISON
            seen.add(argument.arg)
            if not argument.arg.isascii():
                lw.fail("AK123", argument, name=argument.arg, what="parameter", reason="it is not ASCII")
            present = _present(lw, signature, argument, settings)
            if present is None:
                signature.names[argument.arg] = NOTHING
            else:
                _parameter(lw, signature, node, present, default, settings)
        except Rejected as e:
            lw.diagnostics.append(e.diagnostic)
        except Poisoned:
            continue
    return signature


def _plain_parameters(lw: Lowering, signature: Signature, node: ast.FunctionDef) -> None:
    wrong: list[tuple[ast.arg, str]] = []
    for starred, stars in ((node.args.vararg, "*"), (node.args.kwarg, "**")):
        if starred is not None:
            wrong.append((starred, f"`{stars}{starred.arg}`"))
            signature.names[starred.arg] = POISON
    wrong += [(argument, f"the keyword-only `{argument.arg}`") for argument in node.args.kwonlyargs]
    wrong += [(argument, f"the positional-only `{argument.arg}`") for argument in node.args.posonlyargs]
    for argument, what in wrong:
        lw.diagnostics.append(lw.diagnostic("AK115", argument, what=what))
    returns = node.returns
    if returns is not None and not (isinstance(returns, ast.Constant) and returns.value is None):
        lw.diagnostics.append(lw.diagnostic("AK115", returns, what="a return type", hint="kernels return nothing"))


def _parameter(
    lw: Lowering,
    signature: Signature,
    node: ast.FunctionDef,
    argument: ast.arg,
    default: ast.expr | None,
    settings: Mapping[str, Scalar],
) -> None:
    name, annotation = argument.arg, argument.annotation
    if annotation is None:
        lw.fail("AK213", argument, name=name, reason="it has no annotation")
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        fixes = (lw.source.replace(annotation, annotation.value, "leave the quotes out"),)
        lw.fail("AK213", annotation, name=name, reason="the annotation is a string", fixes=fixes)
    annotation, promises = split_promises(annotation)
    _reject_unknown(lw, name, annotation)
    if isinstance(annotation, ast.Subscript):
        if default is not None:
            lw.fail("AK214", default, name=name, reason="tensors have no default")
        _in_memory(lw, signature, node, argument, annotation, promises)
        return
    if promises:
        lw.fail(
            "AK213",
            promises[0],
            name=name,
            reason="only tensors make promises",
            hint="write `ak.require(...)` of a scalar",
        )
    match lw.need_one(annotation):
        case TypeName(dtype):
            _scalar(lw, signature, argument, dtype, default)
        case Function(kind) if kind in _SETTING_KINDS:
            signature.setting_names.append(name)
            _setting(lw, signature, argument, kind, default, settings)
        case Function(kind) if kind in ACCESS:
            reason = f"`ak.{kind}` without dtype and sizes"
            lw.fail("AK213", annotation, name=name, reason=reason, hint=f"write `ak.{kind}[ak.f32, T, H]`")
        case Function("List"):
            reason = "`ak.List` without tensor and count"
            lw.fail("AK213", annotation, name=name, reason=reason, hint=LIST_HINT)
        case other:
            lw.fail("AK213", annotation, name=name, reason=f"{describe(other)} is not a parameter's type")


def _in_memory(
    lw: Lowering,
    signature: Signature,
    node: ast.FunctionDef,
    argument: ast.arg,
    annotation: ast.Subscript,
    promises: tuple[ast.Call, ...],
) -> None:
    """A tensor or a list of tensors. Errors: AK203, AK213, AK215."""
    found = tensor_parameter(lw, node, argument.arg, annotation, promises)
    if isinstance(found.value, TensorList):
        row = (argument.arg, signature.n_arguments, found.value.extent, found.access)
        signature.lists.append(row)
    signature.names[argument.arg] = found.value
    held = found.params if found.table is None else (found.table,)
    signature.params += [tensor.value for tensor in held]
    if not isinstance(found.value, TensorList) or isinstance(found.value.extent, int):
        written = [tensor for tensor in held if tensor.type.access != "in"]
        signature.outputs.update({tensor.name: (argument, tensor.type.access) for tensor in written})
    signature.promises += [promise_row(lw, tensor, call) for tensor in found.params for call in found.promises]
    if found.record is not None:
        layout = layout_of(found.record)
        signature.records += [record_row(tensor.name, layout) for tensor in found.params]


def _present(lw: Lowering, signature: Signature, argument: ast.arg, settings: Mapping[str, Scalar]) -> ast.arg | None:
    """The parameter, of `tensor | None` the tensor; None where this build is without it. Errors: AK213, AK804.

    Whether it is there is a compile-time value of the parameter's name: true unless a build says otherwise.
    """
    annotation = argument.annotation
    if not isinstance(annotation, ast.BinOp):
        return argument
    name, none = argument.arg, annotation.right
    is_none = isinstance(none, ast.Constant) and none.value is None
    if not isinstance(annotation.op, ast.BitOr) or not is_none:
        reason = f"`{lw.source.text_of(annotation)}` is no type"
        lw.fail("AK213", annotation, name=name, reason=reason, hint="an optional tensor is `ak.In[...] | None`")
    signature.setting_names.append(name)
    signature.optional.append(name)
    given = settings.get(name, True)
    if not isinstance(given, bool):
        available = f"`{name}`, `true` (given) or `none`"
        lw.fail("AK804", argument, name=name, reason=f"{given!r} is neither `true` nor `none`", available=available)
    signature.settings.append((name, given))
    return ast.copy_location(ast.arg(name, annotation.left), argument) if given else None


def _reject_unknown(lw: Lowering, name: str, annotation: ast.expr) -> None:
    call = annotation.func if isinstance(annotation, ast.Call) else None
    if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Subscript | ast.Call):
        known = [*FORMS, *LAYOUTS]
        near = difflib.get_close_matches(call.attr, known, 1, 0.6)
        hint = f"did you mean `.{near[0]}`?" if near else f"tensors have `.{'`, `.'.join(known)}`"
        lw.fail("AK213", annotation, name=name, reason=f"a tensor has no `.{call.attr}(...)`", hint=hint)


def _scalar(lw: Lowering, signature: Signature, argument: ast.arg, dtype: DType, default: ast.expr | None) -> None:
    name = argument.arg
    if dtype.name not in ARITHMETIC and dtype.kind != "bool":
        lw.fail("AK213", argument, name=name, reason=f"a scalar cannot be {dtype.name}", hint="use `ak.f32`")
    value = Value(TileType(dtype), name)
    signature.params.append(value)
    signature.names[name] = Tile(value)
    if default is None:
        return
    number = lw.need_one(default)
    if not isinstance(number, Number):
        lw.fail("AK214", default, name=name, reason=f"{describe(number)} is not a literal")
    reason = _misfit(dtype, number.value)
    if reason is not None:
        lw.fail("AK214", default, name=name, reason=reason)
    signature.defaults.append((name, converted(dtype, number.value)))


def _misfit(dtype: DType, value: Scalar) -> str | None:
    if isinstance(value, bool) != (dtype.kind == "bool") or (isinstance(value, float) and not dtype.is_float):
        return f"{number_text(value)} is not a {dtype}"
    reason = misfit(dtype, value)
    return None if reason is None else f"{number_text(value)} does not fit {dtype}: {reason}"


def _setting(
    lw: Lowering,
    signature: Signature,
    argument: ast.arg,
    kind: str,
    default: ast.expr | None,
    settings: Mapping[str, Scalar],
) -> None:
    name = argument.arg
    words, types = _SETTING_KINDS[kind]

    def typed(value: Scalar) -> Scalar | None:
        if isinstance(value, bool) != (kind == "static_bool") or not isinstance(value, types):
            return None
        return float(value) if kind == "static_float" else value

    chosen: Scalar | None = None
    if default is not None:
        given = lw.need_one(default)
        if isinstance(given, Text) or not isinstance(given, Number) or typed(given.value) is None:
            lw.fail("AK214", default, name=name, reason=f"{describe(given)} is not {words}")
        chosen = typed(given.value)
    if name in settings:
        chosen = typed(settings[name])
        if chosen is None:
            available = f"`{name}`, {words}"
            lw.fail("AK804", argument, name=name, reason=f"{settings[name]!r} is not {words}", available=available)
    if chosen is None:
        lw.fail("AK804", argument, name=name, reason="it has no value and no default", available=f"`{name}`, {words}")
    signature.settings.append((name, chosen))
    signature.names[name] = Number(chosen)
