"""What placing needs to know of a grid before it plans: tile extents, orders of sums, roots of axis classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir.core import Op, Region, Value, walk
from agentkern.compiler.ir.order import SumOrder, sum_order
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.axis_plan import FastRoots
from agentkern.compiler.passes.grid_axes import fast_classes, free_steps, inner_classes
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.compiler.schedule import GridSchedule


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def tile_extents(op: Op, region: Region, classes: AxisClasses, schedule: GridSchedule) -> dict[int, int]:
    """The tile extent of every class: written blocks and static axes as they are, free blocks as scheduled."""
    blocks = (*region.args, *free_steps(region))
    tiles = {classes.of[arg, 0]: tile for arg, tile in zip(blocks, (*schedule.tile, *schedule.steps), strict=True)}
    extents: dict[int, int] = {}
    for number, extent in enumerate(classes.extents):
        block = classes.blocks.get(number)
        if number in tiles:
            extents[number] = tiles[number]
        elif block is not None:
            assert block.block is not None
            extents[number] = block.block
        elif isinstance(extent, int):
            extents[number] = max(extent, 1)
        else:
            extents[number] = 0
    for split in classes.splits:
        _complete(extents, split.whole, split.parts)
    if any(extent == 0 for extent in extents.values()):
        raise UnsupportedError(
            "an axis of run-time length is regrouped in a way that has no layout",
            "make it a grid axis with `block=`, or give it a static size",
            op.location,
        )
    return extents


def _complete(extents: dict[int, int], whole: int, parts: tuple[int, ...]) -> None:
    """Fill in the one unknown extent of whole = product of parts."""
    known = 1
    for part in parts:
        known *= extents[part] or 1
    unknown = [part for part in parts if extents[part] == 0]
    if not unknown:
        extents[whole] = extents[whole] or known
    elif len(unknown) == 1 and extents[whole]:
        extents[unknown[0]] = -(-extents[whole] // known)


def stream_orders(region: Region, classes: AxisClasses) -> dict[int, SumOrder]:
    """The order of each class that a stream sums over."""
    orders: dict[int, SumOrder] = {}
    for op in walk(region.ops):
        if op.name != "stream":
            continue
        kinds, axes, last = op.attrs["kinds"], op.attrs["axes"], op.regions[0].ops[-1]
        assert isinstance(kinds, tuple) and isinstance(axes, tuple)
        for kind, axis, value in zip(kinds, axes, last.operands, strict=True):
            if kind in ("sum", "prod") and _tile(value).dtype.is_float:
                number = classes.of[value, int(axis)]
                order = stream_order(op, _tile(value), int(axis))
                if number not in orders or order.partials < orders[number].partials:
                    orders[number] = order
    return orders


def stream_order(op: Op, type_: TileType, axis: int) -> SumOrder:
    """The order of one sum over a stream's whole axis."""
    block = op.regions[0].args[0].type
    assert isinstance(block, BlockType)
    whole = op.attrs.get("whole", block.extent if isinstance(block.extent, int) else None)
    assert whole is None or isinstance(whole, int)
    return sum_order(axis == type_.rank - 1, whole)


def root_choices(classes: AxisClasses) -> list[tuple[int, ...]]:
    """Root classes to try: every reshaped axis whole, then every one by its parts."""
    wholes = {split.whole for split in classes.splits}
    parts = {part for split in classes.splits for part in split.parts}
    numbers = range(len(classes.extents))
    by_whole = tuple(n for n in numbers if n not in parts or n in wholes)
    by_parts = tuple(n for n in numbers if n not in wholes)
    return [by_whole] if by_whole == by_parts else [by_whole, by_parts]


def roots_of(number: int, roots: Sequence[int], classes: AxisClasses) -> tuple[int, ...]:
    """The roots that carry a class: itself, the whole that it is part of, or its parts."""
    if number in roots:
        return (number,)
    for split in classes.splits:
        if number in split.parts and split.whole in roots:
            return (split.whole,)
        if number == split.whole and all(part in roots for part in split.parts):
            return split.parts
    return ()


def fast_roots(
    region: Region,
    roots: Sequence[int],
    classes: AxisClasses,
    meets: Mapping[int, frozenset[int]],
    extents: Mapping[int, int],
    vector: int,
) -> FastRoots:
    """Roots to vectorise, those of most bytes first, none that meets one before it; and those inside them in memory.

    Of a whole that several roots carry the short last ones are inside: pairs of neighbours, channels of a pixel.
    """
    vectors: dict[int, int] = {}
    inner: list[int] = []
    for number in fast_classes(region, classes):
        carriers = list(roots_of(number, roots, classes))
        width, parts = vector, []
        while len(carriers) > 1 and width % extents[carriers[-1]] == 0 and width > extents[carriers[-1]]:
            width //= extents[carriers[-1]]
            parts.append(carriers.pop())
        if not carriers or any(part in vectors for part in parts) or carriers[-1] in inner:
            continue
        root = carriers[-1]
        if meets[root] & set(vectors):
            continue
        vectors.setdefault(root, width)
        inside = (n for n in inner_classes(region, classes, root) if n in roots and n not in vectors)
        inner += [*parts, *inside]
    return FastRoots(vectors, tuple(dict.fromkeys(inner)))


def meetings(
    region: Region, roots: Sequence[int], classes: AxisClasses, extents: Mapping[int, int]
) -> dict[int, frozenset[int]]:
    """For each root the others that occur with it in one value."""
    meets: dict[int, set[int]] = {root: set() for root in roots}
    made = (v for op in walk(region.ops) for v in _made(op) if isinstance(v.type, TileType))
    for numbers in {classes.axes(value) for value in made}:
        carried = {r for n in numbers if extents[n] > 1 for r in roots_of(n, roots, classes)}
        for root in carried:
            meets[root] |= carried - {root}
    return {root: frozenset(others) for root, others in meets.items()}


def _made(op: Op) -> tuple[Value, ...]:
    """Results, and what a loop carries."""
    return (*op.results, *(arg for region in op.regions for arg in region.args))
