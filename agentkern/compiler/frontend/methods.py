"""Attributes and methods of values: `t.index`, `x.to(ak.f32)`, `x.T`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NoReturn

from agentkern.compiler.frontend.arguments import Argument, Form, bind, form
from agentkern.compiler.frontend.conversion import Shape, as_tile, cast, constant, is_compile_time, weak_tile
from agentkern.compiler.frontend.later import FOREIGN_METHODS
from agentkern.compiler.frontend.literals import misfit
from agentkern.compiler.frontend.lowering import I64, Lowering, Rejected
from agentkern.compiler.frontend.operations import OPERATIONS
from agentkern.compiler.frontend.operations import call as operation
from agentkern.compiler.frontend.records import field_tensor, field_value
from agentkern.compiler.frontend.roundings import TO, Rounded, rounded, rounding_of
from agentkern.compiler.frontend.segments import written_rows
from agentkern.compiler.frontend.shapes import (
    axes_of,
    bitcast_axis,
    check_two_axes,
    dtype_of,
    reshape,
    reshape_to,
    swap_axes,
    transpose,
)
from agentkern.compiler.frontend.slips import slip_of
from agentkern.compiler.frontend.values import (
    BlockVar,
    Extent,
    FrontValue,
    Number,
    Records,
    RecordTile,
    Tensor,
    Tile,
    Tuple,
    describe,
    number_text,
    shape_text,
)
from agentkern.compiler.frontend.views import VIEWS, bitcast_view, reshaped_view, with_step
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType
from agentkern.diagnostics import Fix

Arguments = dict[str, Argument]
MethodRule = Callable[[Lowering, FrontValue, Arguments, ast.Call], FrontValue]
BLOCK_ATTRIBUTES = ("index", "ordinal", "start", "end")
_TO = form(TO)
_BITCAST = form("x.bitcast(dtype)")


def _to(lw: Lowering, value: FrontValue, arguments: Arguments, node: ast.Call) -> FrontValue:
    dtype = dtype_of(lw, arguments["dtype"])
    saturate = True
    if "saturate" in arguments:
        given = arguments["saturate"]
        if not isinstance(given.value, Number) or not isinstance(given.value.value, bool):
            lw.fail("AK218", given.node, what="`saturate`")
        saturate = given.value.value
    rounding = rounding_of(lw, arguments)
    if isinstance(value, Number):
        return _number_to(lw, value, arguments["dtype"], node)
    receiver = _receiver(node)
    if is_compile_time(value):
        return weak_tile(lw, value, dtype, receiver)
    tile = as_tile(lw, value, receiver, ".to")
    if rounding != "nearest":
        return rounded(lw, tile, Rounded(dtype, rounding, arguments.get("bits"), saturate), node)
    if saturate or dtype.bits != 8 or not dtype.is_float:
        return cast(lw, tile, dtype, node)
    type_ = tile.type.with_dtype(dtype)
    return Tile(lw.emit("cast", (tile.value,), type_, node, {"saturate": False}))


def _number_to(lw: Lowering, value: Number, dtype: Argument, node: ast.Call) -> Tile:
    wanted = dtype_of(lw, dtype)
    number = value.value
    if isinstance(number, float) and not wanted.is_float:
        lw.fail("AK502", node, value=number_text(number), dtype=wanted.name)
    reason = misfit(wanted, number)
    if reason is not None:
        hint = "choose a dtype that holds it"
        lw.fail("AK501", node, value=number_text(number), dtype=wanted.name, reason=reason, hint_text=hint)
    return constant(lw, wanted, number, node)


def _bitcast(lw: Lowering, value: FrontValue, arguments: Arguments, node: ast.Call) -> FrontValue:
    dtype = dtype_of(lw, arguments["dtype"])
    tile = as_tile(lw, value, _receiver(node), ".bitcast")
    regroups = tile.shape and lw.free_block(tile.shape[-1]) is None
    if tile.dtype.bits != dtype.bits and regroups and "bool" not in (tile.dtype.kind, dtype.kind):
        return bitcast_axis(lw, tile, dtype, node)
    if tile.dtype.bits != dtype.bits or "bool" in (tile.dtype.kind, dtype.kind):
        lw.fail(
            "AK220",
            node,
            got=tile.dtype.name,
            got_bits=tile.dtype.bits,
            wanted=dtype.name,
            wanted_bits=dtype.bits,
        )
    if tile.dtype is dtype:
        return tile
    return Tile(lw.emit("bitcast", (tile.value,), tile.type.with_dtype(dtype), node))


def _receiver(node: ast.Call) -> ast.expr:
    assert isinstance(node.func, ast.Attribute)
    return node.func.value


METHODS: dict[str, tuple[Form, MethodRule]] = {"to": (_TO, _to), "bitcast": (_BITCAST, _bitcast)}


def _positional(lw: Lowering, node: ast.Call, text: str) -> list[Argument]:
    if node.keywords or not node.args or any(isinstance(item, ast.Starred) for item in node.args):
        lw.fail("AK122", node, name=text.split("(", 1)[0], reason="it takes plain arguments", form=text)
    values = lw.need(*node.args)
    return [Argument(value, item) for value, item in zip(values, node.args, strict=True)]


def _permutation(lw: Lowering, shape: Shape, node: ast.Call) -> tuple[int, ...]:
    given = _positional(lw, node, "x.transpose(0, 2, 1)")
    values = given[0].value if len(given) == 1 else Tuple(tuple(argument.value for argument in given))
    if not isinstance(values, Tuple):
        values = Tuple((values,))
    axes_of(lw, Argument(values, node), shape)
    order = tuple(int(v.value) % len(shape) for v in values.items if isinstance(v, Number))
    if len(order) != len(shape):
        reason = f"{len(order)} axes for shape {shape_text(shape)}"
        lw.fail("AK122", node, name="x.transpose", reason=reason, form="x.transpose(0, 2, 1)")
    return order


def _view(lw: Lowering, tensor: Tensor, name: str, node: ast.Call) -> Tensor:
    """A method that views a tensor. Errors: AK122, AK212, AK220, AK227."""
    if name == "reshape":
        shape = reshape_to(lw, tensor.type.shape, _positional(lw, node, "x.reshape(T, 8, -1)"), node)
        return reshaped_view(lw, tensor, shape, node)
    if name == "transpose":
        return with_step(lw, tensor, ("transpose", _permutation(lw, tensor.type.shape, node)), node)
    return bitcast_view(lw, tensor, dtype_of(lw, bind(lw, ".bitcast", _BITCAST, node)["dtype"]), node)


def method(lw: Lowering, value: FrontValue, node: ast.Call) -> FrontValue:
    """`value.name(...)`. Errors: AK122, AK204, AK603 and the method's."""
    assert isinstance(node.func, ast.Attribute)
    name = _meant(lw, value, node)
    if name in OPERATIONS and isinstance(value, Tile):
        arguments = [node.func.value, *node.args]
        return operation(lw, name, ast.copy_location(ast.Call(node.func, arguments, node.keywords), node))
    if isinstance(value, Tensor) and name in VIEWS:
        return _view(lw, value, name, node)
    if name in METHODS and isinstance(value, Tile | Extent | Number | Tensor | BlockVar):
        form_, rule = METHODS[name]
        return rule(lw, value, bind(lw, f".{name}", form_, node), node)
    if name == "reshape" and isinstance(value, Tile):
        return reshape(lw, value, _positional(lw, node, "x.reshape(t, -1, 128)"), node)
    if name == "transpose" and isinstance(value, Tile):
        return transpose(lw, value, _permutation(lw, value.shape, node), node)
    for item in [*node.args, *(keyword.value for keyword in node.keywords)]:
        lw.evaluate(item)
    _no_attribute(lw, value, node.func, node)


def _meant(lw: Lowering, value: FrontValue, node: ast.Call) -> str:
    """The method's name; one of another library is reported and read as the name that is meant."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    renamed = FOREIGN_METHODS.get(name, "").removeprefix("=")
    if isinstance(value, Tile) and (name in OPERATIONS or renamed in ("to", "transpose")):
        try:
            _no_attribute(lw, value, node.func, node)
        except Rejected as e:
            lw.diagnostics.append(e.diagnostic)
        return name if name in OPERATIONS else renamed
    return name


def block_attribute(lw: Lowering, block: BlockVar, node: ast.Attribute) -> FrontValue:
    """`t.index`, `t.ordinal`, `t.start`, `t.end`. Errors: AK401, AK402."""
    name = node.attr
    if name not in BLOCK_ATTRIBUTES:
        fixes = (lw.source.replace(node, block.name, f"use `{block.name}`"),) if name in ("size", "extent") else ()
        hint = None
        if fixes and block.span is not None:
            length = f"({block.name}.end - {block.name}.start)"
            fixes = (lw.source.replace(node, length, "take its length"),)
            hint = f"its length is `{block.name}.end - {block.name}.start`; in shapes it is `{block.name}` itself"
        meant = slip_of(name, BLOCK_ATTRIBUTES)
        if meant:
            fixes = (lw.source.replace(node, f"{block.name}.{meant}", f"write `.{meant}`"),)
        lw.fail("AK402", node, block=block.name, attribute=name, fixes=fixes, hint=hint)
    if block.span is not None and name != "ordinal":
        return _of_span(lw, block, block.span, name, node)
    if name == "index":
        if block.scalar is not None:
            return block.scalar
        return Tile(lw.emit("index", (block.value,), TileType(I64, (block.type.current,)), node))
    if block.type.block is None:
        lw.fail("AK401", node, block=block.name, attribute=name, fixes=_written_block(lw, block))
    return Tile(lw.emit(name, (block.value,), TileType(I64), node))


def _of_span(lw: Lowering, block: BlockVar, span: tuple[int | Dim, int | Dim], name: str, node: ast.Attribute) -> Tile:
    """`p.index`, `p.start`, `p.end` of a piece of a range or of a segment."""
    low, high = span
    if name == "end":
        return _index(lw, high, node)
    start = _index(lw, low, node)
    if name == "start":
        return start
    type_ = TileType(I64, (block.extent,))
    places = lw.emit("arange", (), type_, node)
    first = lw.emit("broadcast", (start.value,), type_, node)
    return Tile(lw.emit("add", (places, first), type_, node))


def _index(lw: Lowering, form: int | Dim, node: ast.Attribute) -> Tile:
    if isinstance(form, int):
        return constant(lw, I64, form, node)
    return Tile(lw.emit("size", (), TileType(I64), node, {"extent": form}))


def _written_block(lw: Lowering, block: BlockVar) -> tuple[Fix, ...]:
    if block.rows is not None:
        return written_rows(lw, block.rows)
    if lw.grid is None or lw.grid.call is None:
        return ()
    call, names = (block.head, (block.name,)) if block.head is not None else (lw.grid.call, lw.grid.names)
    if any(keyword.arg == "block" for keyword in call.keywords):
        return ()
    blocks = ", ".join("128" if name == block.name else "None" for name in names)
    text = f", block=({blocks})" if len(names) > 1 else ", block=128"
    return (lw.source.insert_before_end(call, text, "write a block of 128"),)


def handle_attribute(lw: Lowering, value: FrontValue, node: ast.Attribute) -> FrontValue:
    """An attribute that is not called. Errors: AK204, AK219, AK401, AK402."""
    if isinstance(value, BlockVar):
        return block_attribute(lw, value, node)
    if isinstance(value, RecordTile):
        return field_value(lw, value, node)
    if isinstance(value, Records):
        return field_tensor(lw, value, node)
    if node.attr == "T" and isinstance(value, Tile):
        return swap_axes(lw, value, node)
    if node.attr == "T" and isinstance(value, Tensor):
        check_two_axes(lw, value.type.rank, node)
        return with_step(lw, value, ("transpose", (1, 0)), node)
    _no_attribute(lw, value, node, None)


def _no_attribute(lw: Lowering, value: FrontValue, node: ast.Attribute, call: ast.Call | None) -> NoReturn:
    name = node.attr
    known = FOREIGN_METHODS.get(name)
    fixes: tuple[Fix, ...] = ()
    receiver = lw.source.operand(node.value)
    offered = [*METHODS, "reshape", "transpose", "T"] if isinstance(value, Tile) else []
    meant = slip_of(name, offered)
    if name in offered and call is None:
        hint = f"call it: `{receiver}.{name}(...)`"
    elif name in OPERATIONS and isinstance(value, Tile):
        hint = f"write `ak.{name}({lw.source.exact(node.value)}, ...)`"
        if call is not None and lw.prefix:
            given = [
                lw.source.exact(node.value),
                *map(lw.source.exact, call.args),
                *map(lw.source.exact, call.keywords),
            ]
            text = f"{lw.prefix}{name}({', '.join(given)})"
            fixes = (lw.source.replace(call, text, f"call `ak.{name}`"),)
    elif known is not None and known.startswith("="):
        hint = f"write `.{known[1:]}`"
        fixes = (lw.source.replace(node, f"{receiver}.{known[1:]}", f"write `.{known[1:]}`"),)
    elif known is not None:
        hint = known
        if known.startswith("convert: `") and call is not None and lw.prefix:
            text = known.removeprefix("convert: `").removesuffix("`").replace("ak.", lw.prefix)
            fixes = (lw.source.replace(call, f"{receiver}{text}", "convert it"),)
    elif meant:
        hint = f"did you mean `.{meant}`?"
        fixes = (lw.source.replace(node, f"{receiver}.{meant}", f"write `.{meant}`"),)
    else:
        hint = "tiles have `.to`, `.bitcast`, `.reshape`, `.transpose` and `.T`"
    kind = describe(value)
    lw.fail("AK204", node, kind=kind, name=f".{name}", hint_text=hint, fixes=fixes)
