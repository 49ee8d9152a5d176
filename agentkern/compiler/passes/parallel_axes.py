"""Give the grid those long axes along which a grid's values are independent, so that a block holds a part of them.

An axis is one of these where every operation takes each of its indices apart from the others, and every store has it:
the blocks of the axis then do together what one did, in any order. Values without the axis are computed in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentkern.compiler.analysis.axes import AxisClasses, axis_classes
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Op, Region, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, entries_of, index_operands, tile_of
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.ir.views import view_of
from agentkern.dsl.dtypes import DTYPES

LONG = 1024
"""Elements of the longest axis that stays whole: a quarter of what a block takes at once."""

_ALONG = frozenset({*REDUCTIONS, *SCANS, "concat", "order", "take"})
_FREE = frozenset("load store atomic require constant size index arange broadcast transpose reshape slice".split())
_CONTROL = frozenset("loop branch yield ordinal start end".split())


def _is_long(extent: int | Dim) -> bool:
    if isinstance(extent, int):
        return extent > LONG
    return not any(name.startswith("%") for name in dims.symbols(extent))


def _tiles(op: Op) -> Iterator[Value]:
    values = (*op.operands, *op.results, *(arg for region in op.regions for arg in region.args))
    return (value for value in values if isinstance(value.type, TileType))


def _axis_of(op: Op) -> int:
    axes = op.attrs["axes"] if op.name in REDUCTIONS else (op.attrs["axis"],)
    assert isinstance(axes, tuple)
    (axis,) = axes
    assert isinstance(axis, int)
    return axis


@dataclass(frozen=True, slots=True)
class _Grid:
    """A grid's operations and axis classes."""

    ops: tuple[Op, ...]
    classes: AxisClasses

    def parallel(self) -> tuple[int, ...]:
        """The long classes whose indices every operation takes apart."""
        regrouped = {number for split in self.classes.splits for number in (split.whole, *split.parts)}
        extents = enumerate(self.classes.extents)
        long = [n for n, extent in extents if _is_long(extent) and n not in self.classes.blocks and n not in regrouped]
        return tuple(number for number in long if all(self._is_apart(op, number) for op in self.ops))

    def axes(self, value: Value) -> tuple[int, ...]:
        """The classes of a tile's axes."""
        return self.classes.axes(value)

    def _is_apart(self, op: Op, number: int) -> bool:
        """Whether an operation takes the indices of a class apart from one another."""
        if any(self.axes(value).count(number) > 1 for value in _tiles(op)):
            return False
        if op.name in _ALONG:
            return self._is_along_others(op, number)
        if op.name in ("store", "atomic"):
            return number in self.axes(tile_of(op)) and not view_of(op) and op.operands[0] not in self._loaded()
        if op.name == "load":
            return not view_of(op) or number not in self.axes(op.result)
        if op.name == "slice":
            return (number in self.axes(op.operands[0])) == (number in self.axes(op.result))
        if op.name in _FREE or op.name in _CONTROL:
            return True
        return "elementwise" in op.spec.traits and op.name != "extend"

    def _is_along_others(self, op: Op, number: int) -> bool:
        """Whether an operation along an axis runs along another class; no block repeats what is long without it."""
        value = op.operands[0] if op.name != "concat" else op.result
        own = self.axes(value)
        along = own[_axis_of(op)]
        return along != number and (number in own or not _is_long(self.classes.extents[along]))

    def _loaded(self) -> set[Value]:
        return {op.operands[0] for op in self.ops if op.name == "load"}


class Splitting:
    """Rebuilds a grid's region with some classes as blocks of the grid."""

    def __init__(self, classes: AxisClasses, blocks: dict[int, Value]) -> None:
        self.classes = classes
        self.blocks = blocks
        self.mapped: dict[Value, Value] = {}

    def type_of(self, value: Value) -> TileType:
        """A tile's type, its split axes as long as their blocks."""
        type_ = value.type
        assert isinstance(type_, TileType)
        return type_.with_shape(tuple(map(self.extent, self.classes.axes(value), type_.shape)))

    def extent(self, number: int, extent: int | Dim) -> int | Dim:
        """An axis' extent."""
        block = self.blocks.get(number)
        if block is None:
            return extent
        assert isinstance(block.type, BlockType)
        return block.type.current

    def new(self, value: Value) -> Value:
        """A value's successor: itself where its type stays."""
        if not isinstance(value.type, TileType) or self.type_of(value) == value.type:
            return value
        self.mapped[value] = Value(self.type_of(value), value.name)
        return self.mapped[value]

    def region(self, region: Region) -> Region:
        """A region with its arguments and operations."""
        args = tuple(map(self.new, region.args))
        builder = Builder(OPS)
        for op in region.ops:
            builder.location = op.location
            self.operation(op, builder)
        return Region(args, tuple(builder.ops))

    def operation(self, op: Op, builder: Builder) -> None:
        """One operation on the parts."""
        operands = tuple(self.mapped.get(v, v) for v in op.operands)
        attrs = op.attrs
        if op.name == "arange" and self.classes.of[op.result, 0] in self.blocks:
            block = self.blocks[self.classes.of[op.result, 0]]
            builder.ops.append(Op(OPS["index"], (block,), None, (self.new(op.result),), (), op.location))
            return
        if op.name in FIXED_OPERANDS:
            operands, attrs = self.subscript(op, operands, builder)
        elif op.name == "slice":
            attrs = self.sliced(op)
        regions = tuple(map(self.region, op.regions))
        results = tuple(map(self.new, op.results))
        builder.ops.append(Op(op.spec, operands, attrs, results, regions, op.location))

    def sliced(self, op: Op) -> dict[str, object]:
        """A slice's attributes: split axes are whole."""
        starts, stops = op.attrs["starts"], op.attrs["stops"]
        assert isinstance(starts, tuple) and isinstance(stops, tuple)
        numbers = self.classes.axes(op.operands[0])
        return {"starts": starts, "stops": tuple(map(self.extent, numbers, stops))}

    def subscript(
        self, op: Op, operands: tuple[Value, ...], builder: Builder
    ) -> tuple[tuple[Value, ...], dict[str, object]]:
        """An access with blocks in the place of ranges of the split axes."""
        fixed, numbers = FIXED_OPERANDS[op.name], self.classes.axes(tile_of(op))
        given = iter(operands[fixed : fixed + len(index_operands(op))])
        index: list[str] = []
        blocks: list[Value] = []
        for entry in entries_of(op):
            if entry.operand is not None:
                index.append(f"{entry.text[0]}{len(blocks)}")
                blocks.append(next(given))
            elif entry.text != "+" and numbers[entry.tile_axes[0]] in self.blocks:
                text, operand = self.part(entry.text, self.blocks[numbers[entry.tile_axes[0]]], builder)
                index.append(f"{text}{len(blocks)}")
                blocks.append(operand)
            else:
                index.append(entry.text)
        rest = operands[fixed + len(index_operands(op)) :]
        return (*operands[:fixed], *blocks, *rest), {**op.attrs, "index": tuple(index)}

    def part(self, text: str, block: Value, builder: Builder) -> tuple[str, Value]:
        """The subscript of a block's part of a range: the block, or a window that begins where the range does."""
        low = 0 if text == ":" else dims.parse(text.split(":", maxsplit=1)[0])
        if low == 0:
            return "$", block
        assert isinstance(block.type, BlockType)
        scalar = TileType(DTYPES["i64"])
        type_ = scalar.with_shape((block.type.current,))
        indices = builder.value("index", (block,), type_)
        name, attr = ("constant", "value") if isinstance(low, int) else ("size", "extent")
        first = builder.value("broadcast", (builder.value(name, (), scalar, {attr: low}),), type_)
        return "@", builder.value("add", (indices, first), type_)


def parallel_axes(grid: Op) -> Op:
    """The grid with its independent long axes as blocks of its own; itself where it has none."""
    region = grid.regions[0]
    found = _Grid(tuple(walk(region.ops)), axis_classes(region))
    numbers = found.parallel()
    if not numbers:
        return grid
    blocks = {
        number: Value(BlockType(f"%part.{k}", found.classes.extents[number]), "part")
        for k, number in enumerate(numbers)
    }
    inner = Splitting(found.classes, blocks).region(Region((), region.ops))
    args = (*region.args, *blocks.values())
    return Op(grid.spec, grid.operands, grid.attrs, grid.results, (Region(args, inner.ops),), grid.location)
