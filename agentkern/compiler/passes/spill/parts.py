"""Compute parts of long values where a walk needs them, each once, as far out as what they depend on allows.

A long value is recomputed from what it is made of, or read back from the memory that keeps it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, Entry, entries_of, fill_of, mask_of
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.ir.views import View
from agentkern.compiler.passes.spill.extents import Extents
from agentkern.compiler.passes.spill.places import Place, Places, axis_of, is_whole, operand_places, part_type, tile
from agentkern.dsl.dtypes import DTYPES

I64 = DTYPES["i64"]
Subscript = tuple[tuple[Value, ...], dict[str, object]]


@dataclass(slots=True)
class Scope:
    """One region that is being built: a walk's over `block`, or (None) one of the program's."""

    block: Value | None
    builder: Builder
    made: dict[tuple[Value, Places], Value] = field(default_factory=dict[tuple[Value, Places], Value])


@dataclass(frozen=True, slots=True)
class Kept:
    """A whole value in memory: the tensor, what subscripts it before the value's axes, and the axes' extents there.

    `bases`: where each axis begins there, of a segment's among those of all segments. `view`: the steps from the tensor
    to what is subscripted.
    """

    tensor: Value
    lead: tuple[Value, ...]
    extents: tuple[int | Dim, ...]
    bases: tuple[int | Dim, ...]
    view: View = ()


class Parts:
    """Where values of the old region are found in the new one.

    `mapped`: short values that have a new name; `lazy`: long ones by what makes them; `kept`: long ones in memory.
    """

    def __init__(self, extents: Extents) -> None:
        self.extents = extents
        self.scopes: list[Scope] = []
        self.mapped: dict[Value, Value] = {}
        self.lazy: dict[Value, Op] = {}
        self.kept: dict[Value, Kept] = {}

    @property
    def builder(self) -> Builder:
        """What the innermost region is built with."""
        return self.scopes[-1].builder

    def open(self, block: Value | None) -> Scope:
        """Begin a region inside the present one."""
        scope = Scope(block, Builder(OPS))
        scope.builder.location = self.scopes[-1].builder.location if self.scopes else None
        self.scopes.append(scope)
        return scope

    def close(self) -> tuple[Op, ...]:
        """End the innermost region."""
        return tuple(self.scopes.pop().builder.ops)

    def value(self, value: Value, places: Places) -> Value:
        """A part of a value, or a short value."""
        if value not in self.lazy and value not in self.kept:
            assert is_whole(places), "a short value is taken whole"
            return self.mapped.get(value, value)
        scope = self._scope_of(places)
        found = next((s.made[value, places] for s in reversed(self.scopes) if (value, places) in s.made), None)
        if found is None:
            found = self.read(value, places) if value in self.kept else self._make(self.lazy[value], places)
            scope.made[value, places] = found
        return found

    def _scope_of(self, places: Places) -> Scope:
        """The innermost walk that a part depends on; the program's region if it depends on none."""
        blocks = [place.block for place in places if place is not None]
        for scope in reversed(self.scopes):
            if scope.block is None or scope.block in blocks:
                return scope
        raise AssertionError("no region is open")

    def _make(self, op: Op, places: Places) -> Value:
        if op.name == "load":
            operands, attrs = self.subscript(op, places)
            return self._emit(op, operands, attrs, places)
        if op.name in ("index", "arange") and not is_whole(places):
            first = self.start_of(op.operands[0]) if op.name == "index" else None
            assert places[0] is not None
            return self.indices(places[0], first)
        if op.name == "slice":
            return self._sliced(op, places)
        if op.name == "take" and op.operands[0] in self.kept:
            return self._gathered(op, places)
        pairs = zip(op.operands, operand_places(op, places), strict=True)
        operands = tuple(self.value(v, part) for v, part in pairs)
        return self._emit(op, operands, op.attrs, places)

    def _emit(self, op: Op, operands: tuple[Value, ...], attrs: object, places: Places) -> Value:
        builder = self._scope_of(places).builder
        builder.location = op.location
        return builder.value(op.name, operands, part_type(tile(op.result), places), attrs, op.result.name)  # pyright: ignore[reportArgumentType]: attributes of an operation

    def _sliced(self, op: Op, places: Places) -> Value:
        """A slice: its long axes become parts of the operand, the others are cut as before."""
        starts, stops = op.attrs["starts"], op.attrs["stops"]
        assert isinstance(starts, tuple) and isinstance(stops, tuple)
        source, result = tile(op.operands[0]), tile(op.result)
        part: list[Place | None] = []
        for axis, extent in enumerate(source.shape):
            place = places[axis]
            start = starts[axis] if isinstance(starts[axis], int) else dims.parse(str(starts[axis]))
            if place is not None:
                part.append(place.moved(start))
            elif self.extents.is_long(extent):
                part.append(Place(None, start, result.shape[axis]))
            else:
                part.append(None)
        value = self.value(op.operands[0], tuple(part))
        if all(p is not None or old == new for p, old, new in zip(part, source.shape, result.shape, strict=True)):
            return value
        extents = tile(value).shape
        low = tuple(start if p is None else 0 for p, start in zip(part, starts, strict=True))
        high = tuple(stop if p is None else e for p, stop, e in zip(part, stops, extents, strict=True))
        return self._emit(op, (value,), {"starts": low, "stops": high}, places)

    def _gathered(self, op: Op, places: Places) -> Value:
        """Elements at positions of an axis of a value in memory: a load with a tile of indices for every axis."""
        kept, source, axis = self.kept[op.operands[0]], tile(op.operands[0]), axis_of(op)
        type_ = part_type(tile(op.result), places).with_dtype(I64)
        chosen = self.value(op.operands[1], places)
        lines = [
            self._line(place if have == want else None, have, base) if k != axis else None
            for k, (place, have, want, base) in enumerate(
                zip(places, source.shape, tile(op.result).shape, kept.bases, strict=True)
            )
        ]
        builder = self._scope_of(places).builder
        builder.location = op.location
        numbers = [
            _spread(builder, line, type_, k) if line is not None else _shifted(builder, chosen, kept.bases[k])
            for k, line in enumerate(lines)
        ]
        index = tuple(f"${k}" for k in range(len(kept.lead) + len(numbers)))
        attrs = {"index": index, **({"view": kept.view} if kept.view else {})}
        operands = (kept.tensor, *kept.lead, *numbers)
        return builder.value("load", operands, type_.with_dtype(source.dtype), attrs, op.result.name)

    def _line(self, place: Place | None, extent: int | Dim, base: int | Dim) -> Value:
        """The indices of a part of an axis in the memory that keeps it."""
        block = self.extents.grid_block(extent)
        if place is None and block is not None:
            return self._scope_of((None,)).builder.value("index", (block,), TileType(I64, (extent,)))
        return self.indices((place or Place(None, 0, extent)).moved(base), None)

    def start_of(self, block: Value) -> Value:
        """A written block's first index, as a scalar."""
        scope = next(s for s in reversed(self.scopes) if s.block is None)
        key = (block, ())
        if key not in scope.made:
            scope.made[key] = scope.builder.value("start", (self.mapped.get(block, block),), TileType(I64))
        return scope.made[key]

    def indices(self, place: Place, first: Value | None) -> Value:
        """The numbers of a part's indices, counted from `first`, as an i64 tile."""
        builder = self._scope_of((place,)).builder
        if place.block is not None:
            assert isinstance(place.block.type, BlockType)
            type_ = TileType(I64, (place.block.type.current,))
            found = builder.value("index", (place.block,), type_)
        else:
            type_ = TileType(I64, (place.extent,))
            found = builder.value("arange", (), type_)
        moves = [first] if first is not None else []
        if place.offset != 0:
            constant = isinstance(place.offset, int)
            name, attr = ("constant", "value") if constant else ("size", "extent")
            moves.append(builder.value(name, (), TileType(I64), {attr: place.offset}))
        for move in moves:
            found = builder.value("add", (found, builder.value("broadcast", (move,), type_)), type_)
        return found

    def subscript(self, op: Op, places: Places) -> Subscript:
        """An access' operands from the subscript on and its attributes, for a part of its tile.

        A load's tensor stands before them; a store's tensor and value are for the caller.
        """
        index: list[str] = []
        operands: list[Value] = []
        for entry in entries_of(op):
            part = tuple(places[axis] for axis in entry.tile_axes)
            if entry.operand is not None:
                text, operand = self._indexed(entry, part)
            else:
                text, operand = self._ranged(entry, part)
            index.append(f"{text}{len(operands)}" if operand is not None else text)
            operands += [operand] if operand is not None else []
        mask, fill = mask_of(op), fill_of(op)
        if mask is not None:
            operands.append(self.value(mask, places if tile(mask).shape else ()))
        if fill is not None:
            operands.append(self.value(fill, ()))
        tensor = op.operands[: FIXED_OPERANDS[op.name]] if op.name == "load" else ()
        return (*tensor, *operands), {**op.attrs, "index": tuple(index)}

    def _ranged(self, entry: Entry, part: Places) -> tuple[str, Value | None]:
        """A range or a new axis."""
        place = part[0]
        if place is None:
            return entry.text, None
        low = 0 if entry.text == ":" else dims.parse(entry.text.split(":", maxsplit=1)[0])
        return self.at(place.moved(low))

    def at(self, place: Place) -> tuple[str, Value | None]:
        """The subscript of a part of a tensor's axis, and its operand."""
        if place.block is None:
            return f"{place.offset}:{dims.add(place.offset, place.extent)}", None
        return ("$", place.block) if place.offset == 0 else ("@", self.indices(place, None))

    def _indexed(self, entry: Entry, part: Places) -> tuple[str, Value]:
        """A block, a window, a tile that gathers, or a scalar."""
        operand = entry.operand
        assert operand is not None
        if entry.is_block:
            if part[0] is None:
                return "$", self.mapped.get(operand, operand)
            return "@", self.indices(part[0], self.start_of(operand))
        own = tuple(None if e == 1 else place for e, place in zip(tile(operand).shape, part, strict=True))
        return entry.text[0], self.value(operand, own)

    def read(self, value: Value, places: Places) -> Value:
        """A part of a value that memory keeps."""
        kept = self.kept[value]
        operands, attrs = self.kept_subscript(kept, tile(value), places)
        builder = self._scope_of(places).builder
        return builder.value("load", (kept.tensor, *operands), part_type(tile(value), places), attrs, value.name)

    def kept_subscript(self, kept: Kept, type_: TileType, places: Places) -> Subscript:
        """Operands that subscript a kept value's memory, and the access' attributes."""
        operands: list[Value] = list(kept.lead)
        index = [f"${k}" for k in range(len(operands))]
        for place, extent, there, base in zip(places, type_.shape, kept.extents, kept.bases, strict=True):
            block = self.extents.grid_block(extent)
            if place is not None:
                text, operand = self.at(place.moved(base))
            elif block is not None:
                text, operand = "$", block
            else:
                text, operand = ":" if (base, extent) == (0, there) else f"{base}:{dims.add(base, extent)}", None
            index.append(f"{text}{len(operands)}" if operand is not None else text)
            operands += [operand] if operand is not None else []
        return tuple(operands), {"index": tuple(index), **({"view": kept.view} if kept.view else {})}


def _spread(builder: Builder, line: Value, type_: TileType, axis: int) -> Value:
    """Indices of one axis beside the others of a tile."""
    shape = tuple(tile(line).shape[0] if k == axis else 1 for k in range(type_.rank))
    beside = builder.value("reshape", (line,), type_.with_shape(shape)) if type_.rank > 1 else line
    return builder.value("broadcast", (beside,), type_) if tile(beside) != type_ else beside


def _shifted(builder: Builder, numbers: Value, base: int | Dim) -> Value:
    """Indices so much further."""
    if base == 0:
        return numbers
    name, attr = ("constant", "value") if isinstance(base, int) else ("size", "extent")
    first = builder.value(name, (), TileType(I64), {attr: base})
    spread = builder.value("broadcast", (first,), tile(numbers))
    return builder.value("add", (numbers, spread), tile(numbers))
