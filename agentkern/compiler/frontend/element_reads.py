"""Reading a tile at computed places in a loop over elements: `s[i, j // 128]`, `w[i % 4, j]`.

Each subscript depends on one variable. Where its positions are numbers they are listed, and the list is made of slices,
repeats and turns; over a block only the variable itself is a subscript.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from agentkern.compiler.frontend.conversion import Shape, broadcast
from agentkern.compiler.frontend.lowering import ElementState, Lowering
from agentkern.compiler.frontend.subscripts import reshaped
from agentkern.compiler.frontend.values import Number, Tile, shape_text
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.dims import Dim

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True, slots=True)
class _Places:
    """Positions base + (v // each) % turn * step of v = 0, 1, ...; `turn` None is no end."""

    base: int
    each: int
    turn: int | None
    step: int


def _wrong(lw: Lowering, node: ast.expr, reason: str) -> NoReturn:
    hint = "subscripts are a loop variable with `+ - * // %` and numbers; read the tensor for anything else"
    lw.fail("AK425", node, reason=reason, hint_text=hint)


def mentions_element(lw: Lowering, node: ast.Subscript) -> bool:
    """Whether a subscript names a variable of the loop over elements."""
    names = {child.id for child in ast.walk(node.slice) if isinstance(child, ast.Name)}
    return lw.elements is not None and not names.isdisjoint(lw.elements.names)


def read_elements(lw: Lowering, tile: Tile, node: ast.Subscript) -> Tile:
    """The tile's elements at the places of a subscript, an axis for each variable. Errors: AK208, AK425."""
    state = lw.elements
    assert state is not None
    items = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(items) != len(tile.shape):
        name = lw.source.text_of(node.value)
        lw.fail("AK208", node, got=len(items), name=name, expected=len(tile.shape), shape=shape_text(tile.shape))
    if isinstance(node.value, ast.Name) and node.value.id in state.targets:
        own = [item.id for item in items if isinstance(item, ast.Name)]
        if tuple(own) != state.names:
            _wrong(lw, node, f"`{node.value.id}` is read at other places than the one that is assigned")
    variables: list[str | None] = []
    for axis, item in enumerate(items):
        variable, tile = _axis(lw, state, tile, axis, item)
        if variable is not None and variable in variables:
            _wrong(lw, item, f"`{variable}` subscripts two axes")
        variables.append(variable)
    return _arranged(lw, state, tile, variables, node)


def _arranged(lw: Lowering, state: ElementState, tile: Tile, variables: list[str | None], node: ast.Subscript) -> Tile:
    """Put the axes in the order of the loop's variables; fixed axes are gone, missing variables are axes of 1."""
    kept = [axis for axis, variable in enumerate(variables) if variable is not None]
    order = sorted(kept, key=lambda axis: state.names.index(variables[axis] or ""))
    gone = [axis for axis in range(len(variables)) if axis not in kept]
    permutation = (*gone, *order)
    if permutation != tuple(range(len(variables))):
        type_ = tile.type.with_shape(tuple(tile.shape[axis] for axis in permutation))
        tile = Tile(lw.emit("transpose", (tile.value,), type_, node, {"permutation": permutation}))
    shape = tuple(extent if name in variables else 1 for name, extent in zip(state.names, state.extents, strict=True))
    return reshaped(lw, tile, shape, node)


def _axis(lw: Lowering, state: ElementState, tile: Tile, axis: int, node: ast.expr) -> tuple[str | None, Tile]:
    """The variable that a subscript depends on, and the tile with that axis at its places."""
    names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)} & set(state.names)
    if len(names) > 1:
        _wrong(lw, node, "one subscript names two variables")
    extent = tile.shape[axis]
    if not names:
        position = lw.need_one(node)
        if not isinstance(position, Number) or not isinstance(position.value, int) or not isinstance(extent, int):
            _wrong(lw, node, "a position that is no number")
        place = position.value + extent if position.value < 0 else position.value
        if not 0 <= place < extent:
            lw.fail("AK222", node, position=position.value, axis=axis, shape=shape_text(tile.shape))
        return None, _cut(lw, tile, axis, place, place + 1, node)
    name = names.pop()
    count = state.extents[state.names.index(name)]
    if isinstance(node, ast.Name) and count == extent:
        return name, tile
    if not isinstance(count, int) or not isinstance(extent, int):
        _wrong(lw, node, f"an axis of {shape_text(tile.shape)} is not the block that `{name}` runs over")
    places = [_evaluate(lw, node, {name: v}) for v in range(count)]
    outside = next((place for place in places if not 0 <= place < extent), None)
    if outside is not None:
        lw.fail("AK222", node, position=outside, axis=axis, shape=shape_text(tile.shape))
    found = _pattern(places)
    if found is None:
        _wrong(lw, node, "these positions are no slice, repeat or turn of the axis")
    return name, _gathered(lw, tile, axis, found, count, node)


def _evaluate(lw: Lowering, node: ast.expr, variables: Mapping[str, int]) -> int:
    """A subscript's number for one element."""
    match node:
        case ast.Name(id=name) if name in variables:
            return variables[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _evaluate(lw, left, variables), _evaluate(lw, right, variables)
            if b == 0 and isinstance(op, ast.FloorDiv | ast.Mod):
                lw.fail("AK504", node, reason="division by zero")
            return _OPERATORS[type(op)](a, b)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_evaluate(lw, inner, variables)
        case _:
            value = lw.need_one(node)
            if not isinstance(value, Number) or isinstance(value.value, float | bool):
                _wrong(lw, node, f"`{lw.source.text_of(node)}` is no number")
            return int(value.value)


def _pattern(places: list[int]) -> _Places | None:
    """How a list of positions is made, if it is made of one slice."""
    base = places[0] if places else 0
    each = next((v for v, place in enumerate(places) if place != base), max(len(places), 1))
    firsts = places[::each]
    step = firsts[1] - base if len(firsts) > 1 else 1
    turn = next((v for v, place in enumerate(firsts) if v and place == base), None)
    if step < 1:
        return None
    found = _Places(base, each, turn, step)
    made = [base + (v // each if turn is None else v // each % turn) * step for v in range(len(places))]
    return found if made == places else None


def _gathered(lw: Lowering, tile: Tile, axis: int, found: _Places, count: int, node: ast.expr) -> Tile:
    """The axis as slices, repeats and turns make it."""
    groups = -(-count // found.each) if count else 0
    picked = groups if found.turn is None else min(found.turn, groups)
    tile = _strided(lw, tile, axis, found, picked, node)
    tile = _repeated(lw, tile, axis, found.each, node, inner=True)
    if found.turn is not None and picked:
        tile = _repeated(lw, tile, axis, -(-groups // picked), node, inner=False)
    return _cut(lw, tile, axis, 0, count, node)


def _strided(lw: Lowering, tile: Tile, axis: int, found: _Places, picked: int, node: ast.expr) -> Tile:
    extent = tile.shape[axis]
    assert isinstance(extent, int)
    if found.step == 1 or picked <= 1:
        return _cut(lw, tile, axis, found.base, found.base + picked, node)
    whole = picked * found.step
    low = min(found.base, extent - whole)
    if low < 0:
        _wrong(lw, node, "a stride that ends short of the axis' end")
    tile = _cut(lw, tile, axis, low, low + whole, node)
    shape = (*tile.shape[:axis], picked, found.step, *tile.shape[axis + 1 :])
    tile = reshaped(lw, tile, shape, node)
    tile = _cut(lw, tile, axis + 1, found.base - low, found.base - low + 1, node)
    return reshaped(lw, tile, (*shape[: axis + 1], *shape[axis + 2 :]), node)


def _repeated(lw: Lowering, tile: Tile, axis: int, times: int, node: ast.expr, *, inner: bool) -> Tile:
    """Every element `times` times, or the whole axis so many times."""
    if times == 1:
        return tile
    extent = tile.shape[axis]
    before, after = tile.shape[:axis], tile.shape[axis + 1 :]
    pair: Shape = (extent, 1) if inner else (1, extent)
    wide: Shape = (extent, times) if inner else (times, extent)
    tile = reshaped(lw, tile, (*before, *pair, *after), node)
    tile = broadcast(lw, tile, (*before, *wide, *after), node)
    return reshaped(lw, tile, (*before, dims.mul(extent, times), *after), node)


def _cut(lw: Lowering, tile: Tile, axis: int, low: int, high: int, node: ast.expr) -> Tile:
    """A range of an axis."""
    if (low, high) == (0, tile.shape[axis]):
        return tile
    starts: list[int | Dim] = [0] * len(tile.shape)
    stops: list[int | Dim] = list(tile.shape)
    starts[axis], stops[axis] = low, high
    shape = (*tile.shape[:axis], high - low, *tile.shape[axis + 1 :])
    attrs = {"starts": tuple(starts), "stops": tuple(stops)}
    return Tile(lw.emit("slice", (tile.value,), tile.type.with_shape(shape), node, attrs))
