"""Walks over the long axes of a value, in chunks that fit the registers: nested streams around what a part needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agentkern.compiler.ir.core import Op, Region, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.order import SumOrder, scan_order, sum_order
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.spill.extents import Extents
from agentkern.compiler.passes.spill.parts import Kept, Parts
from agentkern.compiler.passes.spill.places import Place, Places, after_reduction, axis_of, chunk, part_type, tile

ROOM = 4096
"""Elements of a part: 32 for each of 128 threads."""

THREADS = 128

LONGEST = 2048
GUESSED = 1 << 20

Do = Callable[[Places], None]


@dataclass(frozen=True, slots=True)
class _Least:
    """The fewest and most elements per chunk of the axis that is reduced or scanned, and elements of a part."""

    axis: int
    least: int
    most: int
    room: int = ROOM


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def _chunks(shape: Sequence[int | Dim], extents: Extents, special: _Least | None) -> dict[int, int]:
    """Indices per chunk of every long axis: as many neighbours as there is room for, and of the special axis enough."""
    bounds = [extents.bound(e) for e in shape]
    long = [axis for axis, extent in enumerate(shape) if extents.is_long(extent)]
    room = special.room if special is not None else ROOM
    for axis, bound in enumerate(bounds):
        if axis not in long and isinstance(bound, int):
            room = room // max(bound, 1)
    found = dict.fromkeys(long, 1)
    sequence = sorted(long, reverse=True)
    if special is not None:
        found[special.axis] = special.least
        room //= special.least
    for axis in sequence:
        bound = bounds[axis]
        useful = _power_of_two(bound) if isinstance(bound, int) else GUESSED
        most = special.most if special is not None and axis == special.axis else LONGEST
        while room > 1 and found[axis] * 2 <= min(max(useful, found[axis]), most):
            found[axis] *= 2
            room //= 2
    return found


class Walks:
    """Opens and closes walks in the region that is being built."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.count = 0

    @property
    def extents(self) -> Extents:
        """What is long."""
        return self.parts.extents

    def _open(self, extent: int | Dim, size: int) -> Value:
        self.count += 1
        block = Value(BlockType(f"%walk.{self.count}", extent, size), "walk")
        self.parts.open(block)
        return block

    def _close(
        self, block: Value, attrs: dict[str, object], yields: tuple[Value, ...], types: tuple[TileType, ...]
    ) -> tuple[Value, ...]:
        self.parts.builder.emit("yield", yields)
        region = Region((block,), self.parts.close())
        return self.parts.builder.emit("stream", (), types, attrs, (region,))

    def each_part(self, shape: Sequence[int | Dim], do: Do, special: _Least | None = None) -> None:
        """Do something to every part; the special axis is left whole, for `do` to walk."""
        sizes = _chunks(shape, self.extents, special)
        axes = [axis for axis in sizes if special is None or axis != special.axis]
        self._nest(shape, axes, sizes, (None,) * len(shape), do)

    def _nest(self, shape: Sequence[int | Dim], axes: list[int], sizes: dict[int, int], places: Places, do: Do) -> None:
        if not axes:
            do(places)
            return
        axis, *rest = axes
        block = self._open(shape[axis], sizes[axis])
        inner = (*places[:axis], chunk(block), *places[axis + 1 :])
        self._nest(shape, rest, sizes, inner, do)
        self._close(block, {"kinds": (), "axes": ()}, (), ())

    def reduce(self, op: Op, then: Callable[[Places, Value], None]) -> None:
        """Reduce over a long axis, for every part of the result, and do something to what comes out."""
        source, axis = tile(op.operands[0]), axis_of(op)
        extent = source.shape[axis]
        whole = self.extents.bound(extent)
        static = whole if isinstance(whole, int) else None
        order = self._order(op, source, axis, static)
        special = _Least(axis, order.partials, order.panel_elems) if order else _Least(axis, 1, LONGEST)
        size = _chunks(source.shape, self.extents, special)[axis]

        def one(places: Places) -> None:
            block = self._open(extent, size)
            part = (*places[:axis], chunk(block), *places[axis + 1 :])
            value = self.parts.value(op.operands[0], part)
            shape = tile(value).shape
            type_ = TileType(tile(op.result).dtype, (*shape[:axis], *shape[axis + 1 :]))
            attrs: dict[str, object] = {"kinds": (op.name,), "axes": (axis,)}
            if static is not None and static != extent:
                attrs["whole"] = static
            (result,) = self._close(block, attrs, (value,), (type_,))
            result.name = op.result.name
            kept = after_reduction(op, part)
            if op.attrs["keepdims"]:
                result = self.parts.builder.value("reshape", (result,), part_type(tile(op.result), kept))
            then(kept, result)

        self.each_part(source.shape, one, special)

    def _order(self, op: Op, source: TileType, axis: int, static: int | None) -> SumOrder | None:
        if op.name not in ("sum", "prod") or not source.dtype.is_float:
            return None
        return sum_order(axis == source.rank - 1, static)

    def scan(self, op: Op, then: Callable[[Places, Value], None]) -> None:
        """Scan along a long axis, chunk after chunk, and do something to every chunk."""
        source, axis = tile(op.operands[0]), axis_of(op)
        order = scan_order(axis_is_last=axis == source.rank - 1)
        room = max(ROOM, THREADS * order.run_elems)
        special = _Least(axis, order.panel_elems, room, room)
        size = _chunks(source.shape, self.extents, special)[axis]

        def one(places: Places) -> None:
            block = self._open(source.shape[axis], size)
            part = (*places[:axis], chunk(block), *places[axis + 1 :])
            value = self.parts.value(op.operands[0], part)
            attrs = {**op.attrs, "carried": True}
            type_ = part_type(tile(op.result), part)
            then(part, self.parts.builder.value(op.name, (value,), type_, attrs, op.result.name))
            reverse = {"reverse": True} if op.attrs["reverse"] else {}
            self._close(block, {"kinds": (), "axes": (), **reverse}, (), ())

        self.each_part(source.shape, one, special)

    def store(self, kept: Kept, type_: TileType, places: Places, value: Value) -> None:
        """Write a part of a value to its memory."""
        operands, attrs = self.parts.kept_subscript(kept, type_, places)
        self.parts.builder.emit("store", (kept.tensor, value, *operands), (), {**attrs, "again": True})


def at_offset(places: Places, axis: int, offset: int | Dim, extent: int | Dim) -> Places:
    """The same part of a longer axis, where it begins at `offset`; `extent`: the axis as it was, for all of it."""
    place = places[axis] or Place(None, 0, extent)
    return (*places[:axis], place.moved(offset), *places[axis + 1 :])
