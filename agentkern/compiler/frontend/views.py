"""Views of tensors: `x.reshape(T * K)`, `x.T`, `x[:, :H]`; bound to a name, or subscripted where they stand.

A chain that ends in a subscript is a view and then a subscript, in a grid too: `y.reshape(T, W, 8)[t, w, :] = v`,
`x[:, H:][t, :]`. A static subscript alone is a view outside the grids only; inside it reads.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from agentkern.compiler.frontend.conversion import Shape
from agentkern.compiler.frontend.entries import Entry, entries, entry_nodes
from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.frontend.source import Located
from agentkern.compiler.frontend.values import (
    BlockVar,
    FrontValue,
    Poison,
    Tensor,
    TensorList,
    Tile,
    Tuple,
    extent_text,
    shape_text,
)
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.views import Step, View, ViewError, strided
from agentkern.dsl.dtypes import DType

VIEWS = ("reshape", "transpose", "bitcast")
READ_FIRST = "read a tile and regroup that: `x[...].reshape(...)`"


def with_step(lw: Lowering, tensor: Tensor, step: Step, node: Located) -> Tensor:
    """The view with one more step. Errors: AK227."""
    base = tensor.base
    if step == ("transpose", tuple(range(tensor.type.rank))):
        return tensor
    view: View = (*tensor.view, step)
    try:
        shape = strided(base, view).shape
    except ViewError as e:
        waiting = lw.open_division([*tensor.type.shape, *_extents_of(step)])
        if waiting is not None:
            lw.fail("AK803", node, name=waiting)
        lw.fail("AK227", node, text=lw.source.text_of(node), reason=str(e), hint_text=READ_FIRST)
    for extent in (*shape, *_extents_of(step)):
        lw.use_sizes(extent)
    return replace(tensor, view=view)


def _extents_of(step: Step) -> list[int | Dim]:
    parts = [part for part in step[1:] if isinstance(part, tuple)]
    return [extent for part in parts for extent in part if isinstance(extent, int | Dim)]


def reshaped_view(lw: Lowering, tensor: Tensor, shape: Shape, node: Located) -> Tensor:
    """The view with another shape of as many elements. Errors: AK227."""
    return tensor if shape == tensor.type.shape else with_step(lw, tensor, ("reshape", shape), node)


def bitcast_view(lw: Lowering, tensor: Tensor, dtype: DType, node: Located) -> Tensor:
    """The view with its bits as another dtype. Errors: AK212, AK220, AK227, AK803."""
    have, shape = tensor.type.dtype, tensor.type.shape
    if dtype is have:
        return tensor
    fits = "bool" not in (have.kind, dtype.kind) and (shape or have.bits == dtype.bits)
    if not fits or min(have.bits, dtype.bits) % 8:
        lw.fail("AK220", node, got=have.name, got_bits=have.bits, wanted=dtype.name, wanted_bits=dtype.bits)
    if dims.mod(dims.mul(shape[-1], have.bits) if shape else have.bits, dtype.bits) != 0:
        waiting = lw.open_division(shape)
        if waiting is not None:
            lw.fail("AK803", node, name=waiting)
        reason = f"`{extent_text(shape[-1])}` elements of {have} are no whole number of {dtype}"
        lw.fail("AK212", node, got=shape_text(shape), wanted=f"{dtype}", reason=reason)
    return with_step(lw, tensor, ("bitcast", dtype.name), node)


def is_static(lw: Lowering, node: ast.Subscript) -> bool:
    """Whether a subscript names no run-time value: it may be a view."""
    names = [child for item in entry_nodes(node) for child in ast.walk(item) if isinstance(child, ast.Name)]
    return not any(isinstance(lw.lookup(name.id), Tile | BlockVar | Tensor | Tuple | Poison | None) for name in names)


def is_part(lw: Lowering, tensor: Tensor, node: ast.Subscript) -> bool:
    """Whether a static subscript outside the grids is a view; all of a tensor, or one element, would be a read."""
    items = entry_nodes(node)
    whole = all(isinstance(item, ast.Slice) and not (item.lower or item.upper) for item in items)
    kept = [
        isinstance(item, ast.Slice) or (isinstance(item, ast.Constant) and item.value in (None, ...)) for item in items
    ]
    return not whole and (any(kept) or len(items) < tensor.type.rank) and is_static(lw, node)


def view_part(lw: Lowering, tensor: Tensor, node: ast.Subscript) -> Tensor:
    """`x[:, :H]`, `x[0]`, `x[:, None]` of a tensor. Errors: AK208, AK221, AK222, AK603."""
    found = entries(lw, node, tensor.name, tensor.type.shape)
    shape = tensor.type.shape
    ranges = [_range(entry, shape[axis]) for axis, entry in enumerate(e for e in found if e.kind != "+")]
    if any(low != 0 or high != extent for (low, high), extent in zip(ranges, shape, strict=True)):
        lows, highs = tuple(low for low, _ in ranges), tuple(high for _, high in ranges)
        tensor = with_step(lw, tensor, ("slice", lows, highs), node)
    kept: list[int | Dim] = []
    axis = 0
    for entry in found:
        if entry.kind != "position":
            kept.append(1 if entry.kind == "+" else tensor.type.shape[axis])
        axis += entry.kind != "+"
    return reshaped_view(lw, tensor, tuple(kept), node)


def _range(entry: Entry, extent: int | Dim) -> tuple[int | Dim, int | Dim]:
    if entry.kind == ":":
        return 0, extent
    if entry.kind == "slice":
        return entry.low, entry.high
    assert entry.kind == "position"
    return entry.position, dims.add(entry.position, 1)


def place(lw: Lowering, node: ast.expr) -> FrontValue:
    """What a subscript stands behind: of a chain of views of a tensor the view, which reads nothing."""
    mark_place(lw, node)
    return lw.need_one(node)


def mark_place(lw: Lowering, node: ast.expr) -> None:
    """Let the static subscripts of a chain of views read nothing: another subscript stands behind them."""
    lw.places.update(_chain(lw, node))


def is_place(lw: Lowering, node: ast.expr) -> bool:
    """Whether an expression that a subscript stands behind is a tensor's name, or a chain of views of one."""
    return isinstance(node, ast.Name) or bool(_chain(lw, node))


def _is_pick(lw: Lowering, node: ast.Subscript) -> bool:
    """Whether a subscript picks one tensor of a list, at run time too."""
    return isinstance(node.value, ast.Name) and isinstance(lw.lookup(node.value.id), TensorList)


def _chain(lw: Lowering, node: ast.expr) -> list[ast.Subscript]:
    """The static subscripts of a chain of views that begins with a tensor's name; none where it is no such chain."""
    found: list[ast.Subscript] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript) and (is_static(lw, node) or _is_pick(lw, node)):
            found.append(node)
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS:
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr == "T":
            node = node.value
        else:
            return []
    base = lw.lookup(node.id)
    if isinstance(base, TensorList):
        return found[:-1]  # the first subscript picks one of its tensors
    return found if isinstance(base, Tensor) else []
