"""`ak.elements`: a loop over a tile's elements, all at once, as operations on whole tiles.

A variable over a static extent is the tile of its positions, along its own axis; one over a block subscripts tiles.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from agentkern.compiler.frontend.carried import assigned_names
from agentkern.compiler.frontend.conversion import (
    Mismatch,
    broadcast,
    broadcast_shape,
    cast,
    fix_cast,
    is_compile_time,
    joined,
    operand,
    size_tile,
    weak_tile,
)
from agentkern.compiler.frontend.lowering import I64, ElementState, Lowering, Poisoned, Rejected
from agentkern.compiler.frontend.recovery import forget
from agentkern.compiler.frontend.subscripts import reshaped
from agentkern.compiler.frontend.values import (
    BlockVar,
    Element,
    Extent,
    FrontValue,
    Number,
    Poison,
    Tile,
    describe,
    shape_text,
)
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType

FORM = "for i, j in ak.elements(m, n): p[i, j] = ..."


def lower_elements(lw: Lowering, node: ast.For, call: ast.Call) -> None:
    """A loop over elements. Errors: AK110, AK122, AK215, AK425."""
    try:
        if lw.grid is None:
            lw.fail("AK110", call, what="`ak.elements`")
        if lw.elements is not None:
            lw.fail("AK425", call, reason="loops over elements do not nest", hint_text="name all axes in one loop")
        names, extents = _head(lw, node, call)
    except (Rejected, Poisoned):
        forget(lw, node)
        raise
    before = dict(lw.scopes[-1])
    targets = _targets(node.body)
    lw.elements = ElementState(names, extents, targets)
    try:
        for axis, (name, extent) in enumerate(zip(names, extents, strict=True)):
            lw.bind(name, _variable(lw, name, extent, axis, len(names), node))
        lw.run(node.body)
    finally:
        lw.elements = None
    _end(lw, before, (*names, *assigned_names(node.body)), targets)


def _targets(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Names whose elements the loop's statements assign."""
    found = [
        node.value.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
    ]
    return tuple(dict.fromkeys(found))


def _head(lw: Lowering, node: ast.For, call: ast.Call) -> tuple[tuple[str, ...], tuple[int | Dim, ...]]:
    targets = list(node.target.elts) if isinstance(node.target, ast.Tuple | ast.List) else [node.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if call.keywords or not call.args or len(names) != len(targets) or len(names) != len(call.args):
        lw.fail("AK122", call, name="ak.elements", reason="it takes one extent for each variable", form=FORM)
    if len(set(names)) != len(names):
        lw.fail("AK122", call, name="ak.elements", reason="its variables have names of their own", form=FORM)
    return tuple(names), tuple(_extent(lw, item) for item in call.args)


def _extent(lw: Lowering, node: ast.expr) -> int | Dim:
    match lw.need_one(node):
        case BlockVar(scalar=None) as block:
            return block.extent
        case Number(int() as number) if not isinstance(number, bool) and number >= 0:
            return number
        case Extent(extent):
            lw.use_sizes(extent)
            return extent
        case other:
            lw.fail("AK215", node, reason=describe(other), hint="elements are counted by block variables and sizes")


def _variable(lw: Lowering, name: str, extent: int | Dim, axis: int, rank: int, node: ast.For) -> FrontValue:
    if not isinstance(extent, int):
        return Element(name, extent)
    positions = Tile(lw.emit("arange", (), TileType(I64, (extent,)), node.target))
    return reshaped(lw, positions, tuple(extent if k == axis else 1 for k in range(rank)), node.target)


def _end(lw: Lowering, before: dict[str, FrontValue], names: Sequence[str], assigned: Sequence[str]) -> None:
    """Names that the loop binds end with it, but for the tiles whose elements it gives."""
    for name in names:
        if name in assigned:
            continue
        if name in before:
            lw.scopes[-1][name] = before[name]
        elif name in lw.scopes[-1]:
            del lw.scopes[-1][name]
            lw.ended_in_loop.add(name)


def assign_element(lw: Lowering, target: ast.Subscript, value: FrontValue, value_node: ast.expr) -> None:
    """`p[i, j] = value`: the name's new tile. Errors: AK210, AK211, AK313, AK425."""
    state = lw.elements
    assert state is not None
    if not isinstance(target.value, ast.Name):
        lw.fail("AK425", target, reason="only a name's elements are assigned", hint_text=f"write `{FORM}`")
    name = target.value.id
    items = list(target.slice.elts) if isinstance(target.slice, ast.Tuple) else [target.slice]
    own = tuple(item.id for item in items if isinstance(item, ast.Name))
    if own != state.names or len(own) != len(items):
        spelled = ", ".join(state.names)
        lw.fail("AK425", target, reason=f"`{name}` is assigned at other places than its own",
                hint_text=f"write `{name}[{spelled}]`")  # fmt: skip
    old = lw.need_one(target.value)
    if not isinstance(old, Tile):
        lw.fail("AK425", target, reason=f"`{name}` is no tile", hint_text="store a whole tile: `out[t, :] = p`")
    if old.shape != state.extents:
        hint = f"`{name}` is {shape_text(old.shape)}, the loop runs over {shape_text(state.extents)}"
        lw.fail("AK425", target, reason="the tile is not what the loop runs over", hint_text=hint)
    if isinstance(value, Poison):
        return
    tile = _as_dtype(lw, old, name, value, value_node)
    shape = broadcast_shape([tile.shape, old.shape])
    if isinstance(shape, Mismatch) or shape != old.shape:
        hint = f"the value is {shape_text(tile.shape)}: one number an element"
        lw.fail("AK425", value_node, reason="the value has other axes than the loop", hint_text=hint)
    lw.bind(name, broadcast(lw, tile, old.shape, value_node))


def _as_dtype(lw: Lowering, old: Tile, name: str, value: FrontValue, node: ast.expr) -> Tile:
    found = operand(lw, value, node, "an element")
    if is_compile_time(found):
        return weak_tile(lw, found, old.dtype, node)
    tile = size_tile(lw, found, node) if isinstance(found, Extent) else found
    assert isinstance(tile, Tile)
    if joined(tile.dtype, old.dtype) is not old.dtype:
        fixes = fix_cast(lw, node, old.dtype)
        lw.fail("AK210", node, got=tile.dtype.name, name=name, expected=old.dtype.name, fixes=fixes)
    return cast(lw, tile, old.dtype, node)
