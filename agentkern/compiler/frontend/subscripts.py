"""Subscripts: reading tensors, storing to them, selecting parts of tiles."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from agentkern.compiler.frontend.conversion import (
    Mismatch,
    Shape,
    broadcast,
    broadcast_hint,
    broadcast_shape,
    cast,
    constant,
    fix_cast,
    is_compile_time,
    joined,
    operand,
    size_tile,
    weak_tile,
)
from agentkern.compiler.frontend.lowering import I64, Lowering
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.tuples import tuple_item
from agentkern.compiler.frontend.values import (
    BlockVar,
    Extent,
    FrontValue,
    Nothing,
    Number,
    Tensor,
    Text,
    Tile,
    Tuple,
    describe,
    extent_text,
    extent_value,
    shape_text,
)
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.tile_ops import subscript_shape
from agentkern.compiler.ir.types import TileType


@dataclass(frozen=True, slots=True)
class Entry:
    """One subscript with its syntax. Exactly one of the rest is meant by `kind`."""

    node: ast.expr
    kind: str
    block: BlockVar | None = None
    scalar: Tile | None = None
    position: int | Dim = 0
    low: int | Dim = 0
    high: int | Dim = 0


def entry_nodes(node: ast.Subscript) -> list[ast.expr]:
    """The subscripts of an expression, one a piece."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _expand(lw: Lowering, node: ast.Subscript, name: str, shape: Shape) -> list[ast.expr]:
    """One subscript per axis: `...` and axes left out at the end are whole. Errors: AK208."""
    nodes = entry_nodes(node)
    n_axes = sum(not _is_none(entry) and not _is_ellipsis(entry) for entry in nodes)
    n_ellipses = sum(map(_is_ellipsis, nodes))
    rank = len(shape)
    if n_axes > rank or n_ellipses > 1:
        lw.fail("AK208", node, got=n_axes, name=name, expected=rank, shape=shape_text(shape))
    whole: list[ast.expr] = [ast.copy_location(ast.Slice(), node) for _ in range(rank - n_axes)]
    if not n_ellipses:
        return nodes + whole
    at = next(k for k, entry in enumerate(nodes) if _is_ellipsis(entry))
    return nodes[:at] + whole + nodes[at + 1 :]


def _bound(lw: Lowering, node: ast.expr | None, default: int | Dim, extent: int | Dim) -> int | Dim:
    if node is None:
        return default
    match lw.need_one(node):
        case Number(int() as number) if not isinstance(number, bool):
            return dims.add(extent, number) if number < 0 else number
        case Extent(expression):
            return expression
        case Nothing():
            return default
        case Tile() | BlockVar():
            lw.fail("AK603", node, what="a slice with run-time bounds", instead="use a block variable or `:`")
        case other:
            lw.fail("AK221", node, what=describe(other))


def _slice(lw: Lowering, node: ast.Slice, axis: int, shape: Shape) -> Entry:
    extent = shape[axis]
    if node.step is not None:
        step = lw.need_one(node.step)
        if not isinstance(step, Number) or step.value != 1:
            lw.fail("AK603", node, what="a slice with a step", instead="reshape, then subscript the new axis")
    low = _bound(lw, node.lower, 0, extent)
    high = _bound(lw, node.upper, extent, extent)
    if low == 0 and high == extent:
        return Entry(node, ":")
    known = isinstance(extent, int)
    if isinstance(low, int) and isinstance(high, int) and (low < 0 or high < low or (known and high > extent)):
        position = f"{extent_text(low)}:{extent_text(high)}"
        lw.fail("AK222", node, position=position, axis=axis, shape=shape_text(shape))
    return Entry(node, "slice", low=low, high=high)


def _position(lw: Lowering, node: ast.expr, number: int, axis: int, shape: Shape) -> Entry:
    extent = shape[axis]
    position = dims.add(extent, number) if number < 0 else number
    outside = isinstance(position, int) and (position < 0 or (isinstance(extent, int) and position >= extent))
    if outside:
        lw.fail("AK222", node, position=number, axis=axis, shape=shape_text(shape))
    return Entry(node, "position", position=position)


def _mentions_block(lw: Lowering, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        value = lw.lookup(node.id)
        return isinstance(value, BlockVar) and value.scalar is None
    if isinstance(node, ast.BinOp):
        return _mentions_block(lw, node.left) or _mentions_block(lw, node.right)
    return False


def _entry(lw: Lowering, node: ast.expr, axis: int, shape: Shape) -> Entry:
    if isinstance(node, ast.Slice):
        return _slice(lw, node, axis, shape)
    if isinstance(node, ast.BinOp) and _mentions_block(lw, node):
        lw.fail("AK603", node, what="a window such as `t + 1`", instead="subscript with the block variable itself")
    match lw.need_one(node):
        case BlockVar(scalar=Tile() as scalar):
            return Entry(node, "scalar", scalar=scalar)
        case BlockVar() as block:
            return Entry(node, "block", block=block)
        case Number(int() as number) if not isinstance(number, bool):
            return _position(lw, node, number, axis, shape)
        case Extent(extent):
            return Entry(node, "position", position=extent)
        case Tile() as tile if tile.dtype.is_integer and not tile.shape:
            return Entry(node, "scalar", scalar=tile)
        case Tile() as tile if tile.dtype.is_integer:
            lw.fail(
                "AK603", node, what="an integer tile (a gather)", instead="subscript with block variables and scalars"
            )
        case Tile() as tile if tile.dtype.kind == "bool" and tile.shape:
            lw.fail("AK603", node, what="a bool tile (a mask)", instead="pick values with `ak.where(mask, a, b)`")
        case other:
            lw.fail("AK221", node, what=describe(other))


def entries(lw: Lowering, node: ast.Subscript, name: str, shape: Shape) -> list[Entry]:
    """The subscripts of a tensor or tile, checked as far as numbers are known."""
    found: list[Entry] = []
    axis = 0
    for item in _expand(lw, node, name, shape):
        if _is_none(item):
            found.append(Entry(item, "+"))
            continue
        found.append(_entry(lw, item, axis, shape))
        axis += 1
    return found


@dataclass(frozen=True, slots=True)
class Selection:
    """A tensor subscript as the IR has it; `shape` counts new axes, `stored` does not."""

    index: tuple[str, ...]
    operands: tuple[Value, ...]
    shape: Shape
    stored: Shape


def _scalar(lw: Lowering, entry: Entry) -> Value:
    if entry.scalar is not None:
        return cast(lw, entry.scalar, I64, entry.node).value
    if isinstance(entry.position, int):
        return constant(lw, I64, entry.position, entry.node).value
    return size_tile(lw, Extent(entry.position, static=False), entry.node).value


def select(lw: Lowering, tensor: Tensor, found: list[Entry]) -> Selection:
    """Put subscripts into the IR's form."""
    index: list[str] = []
    operands: list[Value] = []
    for entry in found:
        match entry.kind:
            case "+" | ":":
                index.append(entry.kind)
            case "slice":
                index.append(f"{entry.low}:{entry.high}")
            case _:
                index.append(f"${len(operands)}")
                operands.append(entry.block.value if entry.block is not None else _scalar(lw, entry))
    types = tuple(value.type for value in operands)
    shape = subscript_shape(tensor.type, tuple(index), types)
    stored = subscript_shape(tensor.type, tuple(text for text in index if text != "+"), types)
    return Selection(tuple(index), tuple(operands), _extents(shape), _extents(stored))


def _extents(shape: tuple[object, ...]) -> Shape:
    return tuple(extent for extent in shape if isinstance(extent, int | Dim))


def load(lw: Lowering, tensor: Tensor, node: ast.Subscript) -> Tile:
    """Read a tile. Errors: AK110, AK208, AK221, AK222, AK312, AK603."""
    found = entries(lw, node, tensor.name, tensor.type.shape)
    if lw.grid is None:
        lw.fail("AK110", node, what=f"reading `{tensor.name}`")
    if tensor.type.access in ("out", "scratch"):
        lw.grid.reads.setdefault(tensor.name, []).append(node)
    selection = select(lw, tensor, found)
    type_ = TileType(tensor.type.dtype, selection.shape)
    return Tile(lw.emit("load", (tensor.value, *selection.operands), type_, node, {"index": selection.index}))


def store(lw: Lowering, tensor: Tensor, node: ast.Subscript, value: FrontValue, value_node: ast.expr) -> None:
    """Write a tile with NumPy's broadcasting. Errors: AK110, AK210, AK211, AK311, AK407."""
    found = entries(lw, node, tensor.name, tensor.type.shape)
    if tensor.type.access == "in":
        lw.fail("AK311", node, name=tensor.name)
    if lw.grid is None:
        lw.fail("AK110", node, what=f"storing to `{tensor.name}`")
    lw.grid.writes.add(tensor.name)
    selection = select(lw, tensor, found)
    tile = _stored_value(lw, tensor, value, value_node)
    shape = broadcast_shape([tile.shape, selection.shape])
    if isinstance(shape, Mismatch) or shape != selection.shape:
        reason = shape.reason if isinstance(shape, Mismatch) else "the value is larger"
        _wrong_shape(lw, found, tile, selection.shape, node, reason)
    tile = broadcast(lw, tile, selection.shape, value_node)
    if selection.stored != selection.shape:
        tile = reshaped(lw, tile, selection.stored, value_node)
    index = tuple(text for text in selection.index if text != "+")
    lw.count_op()
    lw.builder.location = lw.source.location(node)
    lw.builder.emit("store", (tensor.value, tile.value, *selection.operands), (), {"index": index})


def _stored_value(lw: Lowering, tensor: Tensor, value: FrontValue, node: ast.expr) -> Tile:
    dtype = tensor.type.dtype
    found = operand(lw, value, node, "a store")
    if is_compile_time(found):
        return weak_tile(lw, found, dtype, node)
    tile = size_tile(lw, found, node) if isinstance(found, Extent) else found
    assert isinstance(tile, Tile)
    if joined(tile.dtype, dtype) is not dtype:
        fixes = fix_cast(lw, node, dtype)
        lw.fail("AK210", node, got=tile.dtype.name, name=tensor.name, expected=dtype.name, fixes=fixes)
    return cast(lw, tile, dtype, node)


def _wrong_shape(lw: Lowering, found: list[Entry], tile: Tile, wanted: Shape, node: ast.Subscript, reason: str) -> None:
    waiting = lw.open_division((*tile.shape, *wanted))
    if waiting is not None:
        lw.fail("AK803", node, name=waiting)
    kept = [entry for entry in found if entry.kind in (":", "+", "slice", "block")]
    for axis, entry in enumerate(kept):
        without = wanted[:axis] + wanted[axis + 1 :]
        if entry.block is not None and tile.shape == without:
            fixes = ()
            if entry.block.type.block is not None:
                fixes = (lw.source.insert_after(entry.node, ".ordinal", "store one value per block"),)
            lw.fail("AK407", entry.node, block=entry.block.name, fixes=fixes)
    lw.fail(
        "AK211",
        node,
        got=shape_text(tile.shape),
        target=lw.source.text_of(node),
        expected=shape_text(wanted),
        reason=reason,
        hint_text=broadcast_hint(tile.shape, wanted),
    )


def reshaped(lw: Lowering, tile: Tile, shape: Shape, node: Located) -> Tile:
    """The tile with its elements regrouped; the number of elements is the same."""
    if tile.shape == shape:
        return tile
    return Tile(lw.emit("reshape", (tile.value,), tile.type.with_shape(shape), node))


def subscript_tile(lw: Lowering, tile: Tile, node: ast.Subscript) -> Tile:
    """`tile[...]`: slices, positions, new axes, a block's own axis. Errors: AK208, AK222, AK406, AK603."""
    found = entries(lw, node, lw.source.text_of(node.value), tile.shape)
    starts: list[int | Dim] = []
    stops: list[int | Dim] = []
    final: list[int | Dim] = []
    for entry in found:
        if entry.kind == "+":
            final.append(1)
            continue
        axis = len(starts)
        low, high = _tile_range(lw, entry, axis, tile.shape)
        starts.append(low)
        stops.append(high)
        if entry.kind != "position":
            final.append(dims.add(high, dims.mul(low, -1)))
    shape = tuple(dims.add(high, dims.mul(low, -1)) for low, high in zip(starts, stops, strict=True))
    if shape != tile.shape:
        attrs = {"starts": tuple(starts), "stops": tuple(stops)}
        tile = Tile(lw.emit("slice", (tile.value,), tile.type.with_shape(shape), node, attrs))
    return reshaped(lw, tile, tuple(final), node)


def _tile_range(lw: Lowering, entry: Entry, axis: int, shape: Shape) -> tuple[int | Dim, int | Dim]:
    extent = shape[axis]
    if entry.kind == ":":
        return 0, extent
    if entry.block is not None:
        if entry.block.type.current == extent:
            return 0, extent
        name = f"block `{entry.block.name}` on an axis of extent `{extent_text(extent)}`"
        lw.fail("AK221", entry.node, what=name)
    if entry.kind == "scalar":
        lw.fail("AK603", entry.node, what="a run-time position in a tile", instead="subscript the tensor with it")
    if lw.block_of(extent) is not None:
        lw.fail("AK406", entry.node, axis=axis, shape=shape_text(shape))
    if entry.kind == "slice":
        return entry.low, entry.high
    return entry.position, dims.add(entry.position, 1)


def _shape_item(lw: Lowering, node: ast.Subscript, attribute: ast.Attribute) -> FrontValue | None:
    """Report `x.shape[k]`, and read it as the size that is meant. Errors: AK204."""
    value = lw.need_one(attribute.value)
    if not isinstance(value, Tensor | Tile):
        return None
    shape = value.type.shape
    position = lw.evaluate(node.slice)
    if not isinstance(position, Number) or not isinstance(position.value, int):
        return None
    if not -len(shape) <= position.value < len(shape):
        return None
    text = extent_text(shape[position.value])
    fixes = (lw.source.replace(node, text, f"write `{text}`"),) if text.isidentifier() and lw.lookup(text) else ()
    hint = f"axis {position.value} has the extent `{text}`"
    found = lw.diagnostic("AK204", node, kind=describe(value), name=".shape", hint_text=hint, fixes=fixes)
    lw.diagnostics.append(found)
    extent = shape[position.value]
    block = lw.block_of(extent)
    if block is not None:
        return block
    static = all(name in lw.sizes and lw.sizes[name].static for name in dims.symbols(extent))
    return extent_value(extent, static=static)


def handle_subscript(lw: Lowering, node: ast.expr) -> FrontValue:
    """`a[...]` read."""
    assert isinstance(node, ast.Subscript)
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        extent = _shape_item(lw, node, node.value)
        if extent is not None:
            return extent
    match lw.need_one(node.value):
        case Tensor() as tensor:
            return load(lw, tensor, node)
        case Tile() as tile:
            return subscript_tile(lw, tile, node)
        case Tuple(items):
            return tuple_item(lw, items, node)
        case other:
            hint = "tensors and tiles have subscripts"
            if isinstance(other, Text):
                hint = "strings have no use in kernels"
            lw.fail("AK223", node.value, what=describe(other), operation="[...]", hint_text=hint)
