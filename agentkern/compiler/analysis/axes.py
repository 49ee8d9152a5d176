"""Which axes of a grid's values run over the same indices. Facts only.

Element operations, broadcasts, reductions and transposes carry axes from operands to results; a block variable is one
class wherever it subscripts. A reshape splits a class into (outer, inner) or merges two; those relations are kept, as
`Split`s, for layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Region, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, entries_of, mask_of, tile_of
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TileType

Key = tuple[Value, int]


@dataclass(frozen=True, slots=True)
class Split:
    """Class `whole` is `parts` in row-major order; `extents` are the parts' extents."""

    whole: int
    parts: tuple[int, ...]
    extents: tuple[int | Dim, ...]


@dataclass(frozen=True, slots=True)
class AxisClasses:
    """Classes of a region's axes. `of[(value, axis)]` is a class; extent-1 axes that broadcast have their own.

    `extents` holds each class's extent, `blocks` the block variable of those that are one.
    """

    of: dict[Key, int]
    extents: tuple[int | Dim, ...]
    blocks: dict[int, BlockType]
    splits: tuple[Split, ...]

    def axes(self, value: Value) -> tuple[int, ...]:
        """The classes of a tile's axes."""
        assert isinstance(value.type, TileType)
        return tuple([self.of[value, axis] for axis in range(len(value.type.shape))])


class _Union:
    """Union-find over (value, axis) and block values."""

    def __init__(self) -> None:
        self.parent: dict[Key, Key] = {}
        self.order: list[Key] = []

    def find(self, key: Key) -> Key:
        if key not in self.parent:
            self.parent[key] = key
            self.order.append(key)
        while self.parent[key] != key:
            self.parent[key] = self.parent[self.parent[key]]
            key = self.parent[key]
        return key

    def join(self, a: Key, b: Key) -> None:
        root_a, root_b = self.find(a), self.find(b)
        if root_a != root_b:
            self.parent[root_b] = root_a


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _subscripted(op: Op, union: _Union) -> None:
    """Join an access' tile axes with the blocks and tiles that subscript them, and with its mask."""
    tile = tile_of(op)
    for entry in entries_of(op):
        if entry.operand is None or entry.is_scalar:
            continue
        for axis, tile_axis in enumerate(entry.tile_axes):
            union.join((entry.operand, axis), (tile, tile_axis))
    mask = mask_of(op)
    if mask is not None and _tile(mask).shape:
        for axis in range(_tile(mask).rank):
            union.join((mask, axis), (tile, axis))


def _reduced(op: Op, union: _Union) -> None:
    axes, keepdims = op.attrs["axes"], op.attrs["keepdims"]
    assert isinstance(axes, tuple)
    kept = 0
    for axis in range(_tile(op.operands[0]).rank):
        if axis in axes:
            kept += bool(keepdims)
            continue
        union.join((op.operands[0], axis), (op.result, kept))
        kept += 1


def _reshaped(op: Op, union: _Union) -> list[tuple[tuple[Key, ...], tuple[Key, ...]]]:
    source, result = op.operands[0], op.result
    relations: list[tuple[tuple[Key, ...], tuple[Key, ...]]] = []
    for old, new in reshape_groups(_tile(source).shape, _tile(result).shape):
        if len(old) == len(new) == 1:
            union.join((source, old[0]), (result, new[0]))
        elif old and new:
            relations.append((tuple((source, a) for a in old), tuple((result, b) for b in new)))
    return relations


def _carried(op: Op, union: _Union) -> None:
    """Join what a loop carries from step to step, and what the regions of a branch give."""
    if op.name == "loop":
        parts = loop_parts(op)
        groups = (parts.inits, parts.args, parts.yields, op.results)
    else:
        groups = (op.results, *(region.ops[-1].operands for region in op.regions))
    for values in zip(*groups, strict=True):
        for axis in range(_tile(values[0]).rank):
            for value in values[1:]:
                union.join((values[0], axis), (value, axis))


def _visit(  # noqa: C901, PLR0912 - one case per kind of operation
    op: Op, union: _Union
) -> list[tuple[tuple[Key, ...], tuple[Key, ...]]]:
    """Join what one operation carries; return the relations of a reshape."""
    if op.name in FIXED_OPERANDS:
        _subscripted(op, union)
    elif op.name == "index":
        union.join((op.operands[0], 0), (op.result, 0))
    elif op.name == "broadcast":
        source, result = _tile(op.operands[0]), _tile(op.result)
        for axis, extent in enumerate(source.shape):
            target = axis + result.rank - source.rank
            if extent == result.shape[target]:
                union.join((op.operands[0], axis), (op.result, target))
    elif op.name in REDUCTIONS:
        _reduced(op, union)
    elif op.name == "transpose":
        permutation = op.attrs["permutation"]
        assert isinstance(permutation, tuple)
        for axis, old in enumerate(permutation):
            union.join((op.operands[0], int(old)), (op.result, axis))
    elif op.name in ("order", "sort", "occurrence"):
        for axis in range(_tile(op.result).rank):
            for operand in op.operands:
                union.join((operand, axis), (op.result, axis))
    elif op.name == "topk":
        for axis in range(_tile(op.results[0]).rank):
            union.join((op.results[0], axis), (op.results[1], axis))
            if axis != op.attrs["axis"]:
                union.join((op.operands[0], axis), (op.results[0], axis))
    elif op.name in SCANS:
        for axis in range(_tile(op.result).rank):
            union.join((op.operands[0], axis), (op.result, axis))
    elif op.name == "concat":
        for axis in range(_tile(op.result).rank):
            for operand in op.operands if axis != op.attrs["axis"] else ():
                union.join((operand, axis), (op.result, axis))
    elif op.name == "take":
        for axis in range(_tile(op.result).rank):
            union.join((op.operands[1], axis), (op.result, axis))
            if axis != op.attrs["axis"] and _tile(op.operands[0]).shape[axis] == _tile(op.result).shape[axis]:
                union.join((op.operands[0], axis), (op.result, axis))
    elif op.name == "reshape":
        return _reshaped(op, union)
    elif op.name in ("loop", "branch"):
        _carried(op, union)
    elif op.name == "slice":
        for axis, extent in enumerate(_tile(op.operands[0]).shape):
            if extent == _tile(op.result).shape[axis]:
                union.join((op.operands[0], axis), (op.result, axis))
    elif "elementwise" in op.spec.traits:
        result = op.results[0]
        for axis in range(len(_tile(result).shape)):
            for operand in op.operands:
                union.join((operand, axis), (result, axis))
    return []


def axis_classes(region: Region) -> AxisClasses:
    """The classes of every tile axis in a grid's region, nested regions included."""
    union = _Union()
    ops = list(walk(region.ops))
    nested = [arg for op in ops for inner in op.regions for arg in inner.args]
    blocks = [arg for arg in (*region.args, *nested) if isinstance(arg.type, BlockType)]
    same: dict[object, Value] = {}
    for block in blocks:
        union.join((same.setdefault(block.type, block), 0), (block, 0))  # the chunks of one axis
    relations = [relation for op in ops for relation in _visit(op, union)]
    for op in ops:
        for value in op.results:
            if isinstance(value.type, TileType):
                for axis in range(len(value.type.shape)):
                    union.find((value, axis))
    _join_equal_relations(relations, union)
    _join_blocks(blocks, union)
    numbers: dict[Key, int] = {}
    extents: list[int | Dim] = []
    for key in union.order:
        if union.find(key) == key:
            numbers[key] = len(extents)
            value, axis = key
            extents.append(value.type.current if isinstance(value.type, BlockType) else _tile(value).shape[axis])
    of = {key: numbers[union.find(key)] for key in union.order}
    found = {of[block, 0]: block.type for block in blocks if isinstance(block.type, BlockType)}
    return AxisClasses(of, tuple(extents), found, _splits(relations, of, extents))


def _join_blocks(blocks: Sequence[Value], union: _Union) -> None:
    """Join axes as long as a block with it: of constants that nothing ties to what is read."""
    named: dict[int | Dim, set[Key]] = {}
    for block in blocks:
        assert isinstance(block.type, BlockType)
        named.setdefault(dims.symbol(block.type.name), set()).add(union.find((block, 0)))
    roots = {root for found in named.values() for root in found}
    for value, axis in tuple(union.order):
        extent = value.type.shape[axis] if isinstance(value.type, TileType) else 0
        found = named.get(extent, ()) if isinstance(extent, Dim) else ()
        if len(found) == 1 and union.find((value, axis)) not in roots:
            (root,) = found
            union.join(root, (value, axis))


def _shape_of(keys: tuple[Key, ...]) -> tuple[int | Dim, ...]:
    return tuple(_tile(value).shape[axis] for value, axis in keys)


def _join_equal_relations(relations: Sequence[tuple[tuple[Key, ...], tuple[Key, ...]]], union: _Union) -> None:
    """Join what two regroupings of the same axes make: the whole of equal parts, the equal parts of one whole."""
    changed = True
    while changed:
        changed = False
        known: dict[object, tuple[Key, ...]] = {}
        for pair in relations:
            for given, made in (pair, pair[::-1]):
                signature = (tuple(union.find(key) for key in given), _shape_of(made))
                other = known.setdefault(signature, made)
                for a, b in zip(other, made, strict=True):
                    if union.find(a) != union.find(b):
                        union.join(a, b)
                        changed = True


def _splits(
    relations: Sequence[tuple[tuple[Key, ...], tuple[Key, ...]]], of: dict[Key, int], extents: Sequence[int | Dim]
) -> tuple[Split, ...]:
    """Relations between one class and several, in either direction, each once."""
    found: list[Split] = []
    for old, new in relations:
        whole, parts = (old, new) if len(old) == 1 else (new, old)
        if len(whole) != 1:
            continue
        numbers = tuple(of[key] for key in parts)
        split = Split(of[whole[0]], numbers, tuple(extents[n] for n in numbers))
        if split not in found:
            found.append(split)
    return tuple(found)
