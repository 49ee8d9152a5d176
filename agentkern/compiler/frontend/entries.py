"""The entries of a subscript: blocks, windows, tiles of indices, scalars, slices, positions, new axes."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass

from agentkern.compiler.frontend.conversion import Shape
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.segments import check_whole
from agentkern.compiler.frontend.values import (
    BlockVar,
    Extent,
    Nothing,
    Number,
    Tile,
    describe,
    extent_text,
    shape_text,
)
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim

MASKED = "read what holds with `ak.load(x[...], where=mask, fill=0)`, or pick values with `ak.where(mask, a, b)`"
_EVERY_SECOND = "reshape, then subscript the new axis; or read a window: `x[t, 2 * i]`"


@dataclass(frozen=True, slots=True)
class Entry:
    """One subscript with its syntax. Exactly one of the rest is meant by `kind`; `tile` is a window's or a gather's."""

    node: ast.expr
    kind: str
    block: BlockVar | None = None
    scalar: Tile | None = None
    tile: Tile | None = None
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
    _check_whole_span(lw, node)
    if node.step is not None:
        step = lw.need_one(node.step)
        if not isinstance(step, Number) or step.value != 1:
            backwards = isinstance(step, Number) and step.value < 0
            instead = "gather with falling indices: `x[t, N - 1 - i.index]`" if backwards else _EVERY_SECOND
            lw.fail("AK603", node, what="a slice with a step", instead=instead)
    low = _bound(lw, node.lower, 0, extent)
    high = _bound(lw, node.upper, extent, extent)
    if low == 0 and high == extent:
        return Entry(node, ":")
    known = isinstance(extent, int)
    if isinstance(low, int) and isinstance(high, int) and (low < 0 or high < low or (known and high > extent)):
        position = f"{extent_text(low)}:{extent_text(high)}"
        lw.fail("AK222", node, position=position, axis=axis, shape=shape_text(shape))
    return Entry(node, "slice", low=low, high=high)


def _check_whole_span(lw: Lowering, node: ast.Slice) -> None:
    """Reject `s.start:s.end` of a piece or segment, which is `s` itself. Errors: AK603."""
    ends = [(e.value.id, e.attr) for e in (node.lower, node.upper) if isinstance(e, ast.Attribute) and
            isinstance(e.value, ast.Name)]  # fmt: skip
    if len(ends) != 2 or ends[0][0] != ends[1][0] or [attribute for _, attribute in ends] != ["start", "end"]:
        return
    value = lw.lookup(ends[0][0])
    if isinstance(value, BlockVar) and value.scalar is None:
        fixes = (lw.source.replace(node, value.name, f"write `{value.name}`"),)
        lw.fail("AK603", node, what="a slice with run-time bounds", instead=f"it is `{value.name}` itself", fixes=fixes)


def _position(lw: Lowering, node: ast.expr, number: int, axis: int, shape: Shape) -> Entry:
    extent = shape[axis]
    position = dims.add(extent, number) if number < 0 else number
    outside = isinstance(position, int) and (position < 0 or (isinstance(extent, int) and position >= extent))
    if outside:
        lw.fail("AK222", node, position=number, axis=axis, shape=shape_text(shape))
    return Entry(node, "position", position=position)


def blocks_of(lw: Lowering, node: ast.expr) -> list[ast.Name]:
    """The block variables that arithmetic mentions by themselves, in order."""
    if isinstance(node, ast.Name):
        value = lw.lookup(node.id)
        return [node] if isinstance(value, BlockVar) and value.scalar is None else []
    if isinstance(node, ast.BinOp):
        return blocks_of(lw, node.left) + blocks_of(lw, node.right)
    return blocks_of(lw, node.operand) if isinstance(node, ast.UnaryOp) else []


class _Indices(ast.NodeTransformer):
    """Write `t.index` for the block variable `t`."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        return ast.copy_location(ast.Attribute(node, "index", ast.Load()), node)


def _is_affine(lw: Lowering, node: ast.expr) -> bool:
    """Whether arithmetic on a block variable is a sum of multiples of it."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub | ast.UAdd) and _is_affine(lw, node.operand)
    if not isinstance(node, ast.BinOp):
        return True
    sides = [bool(blocks_of(lw, node.left)), bool(blocks_of(lw, node.right))]
    if isinstance(node.op, ast.Mult):
        return not all(sides) and _is_affine(lw, node.left) and _is_affine(lw, node.right)
    inside = all(_is_affine(lw, side) for side, has in zip((node.left, node.right), sides, strict=True) if has)
    return isinstance(node.op, ast.Add | ast.Sub) and inside


def _window(lw: Lowering, node: ast.expr) -> Entry:
    """An axis that runs along a block: `t + 1`, `2 * i + dy`. Errors: AK225, AK221."""
    names = blocks_of(lw, node)
    fixes = tuple(lw.source.insert_after(name, ".index", f"use the indices of `{name.id}`") for name in names[:1])
    if len({name.id for name in names}) > 1 or not _is_affine(lw, node):
        divides = any(isinstance(part, ast.FloorDiv) for part in ast.walk(node))
        name = names[0].id
        hint = f"a written block's number is `{name}.ordinal`; else gather: write `{name}.index`" if divides else None
        lw.fail("AK225", node, hint=hint, text=lw.source.text_of(node), block=name, fixes=fixes)
    indices = _Indices({name.id for name in names}).visit(copy.deepcopy(node))
    match lw.need_one(indices):
        case Tile() as tile if tile.dtype.is_integer and len(tile.shape) == 1:
            return Entry(node, "window", block=_block(lw, names[0]), tile=tile)
        case other:
            lw.fail("AK221", node, what=describe(other))


def _block(lw: Lowering, name: ast.Name) -> BlockVar:
    block = lw.lookup(name.id)
    assert isinstance(block, BlockVar)
    return block


def _entry(lw: Lowering, node: ast.expr, axis: int, shape: Shape) -> Entry:
    if isinstance(node, ast.Slice):
        return _slice(lw, node, axis, shape)
    if isinstance(node, ast.BinOp | ast.UnaryOp) and blocks_of(lw, node):
        return _window(lw, node)
    match lw.need_one(node):
        case BlockVar(scalar=Tile() as scalar):
            return Entry(node, "scalar", scalar=scalar)
        case BlockVar(span=None) as block:
            return Entry(node, "block", block=block)
        case BlockVar(span=(low, high)) as block:
            check_whole(lw, block, node, shape[axis])
            return Entry(node, "slice", block=block, low=low, high=high)
        case Number(int() as number) if not isinstance(number, bool):
            return _position(lw, node, number, axis, shape)
        case Extent(extent):
            return Entry(node, "position", position=extent)
        case Tile() as tile if tile.dtype.is_integer and not tile.shape:
            return Entry(node, "scalar", scalar=tile)
        case Tile() as tile if tile.dtype.is_integer:
            return Entry(node, "gather", tile=tile)
        case Tile() as tile if tile.dtype.kind == "bool" and tile.shape:
            lw.fail("AK603", node, what="a bool tile (a mask)", instead=MASKED)
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
