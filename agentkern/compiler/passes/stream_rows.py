"""Cut values that are larger than the registers into chunks along their long axis.

A grid whose values have an axis too long to keep (or of run-time length) becomes a sequence of `stream` operations:
each walks the axis once, reloads and recomputes what it needs of the long values, and either reduces or stores them.
What a reduction yields is short and kept. Reloading is legal because a block reads what it writes only in its own InOut
elements (`proofs` shows it), whose order `stream_order` keeps, and the host keeps outputs apart from inputs.
"""

from __future__ import annotations

from dataclasses import replace

from agentkern.compiler.analysis.axes import AxisClasses
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS, entries_of, index_operands, tile_of
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.grid_axes import (
    RESIDENT_ELEMS,
    chunk_of,
    grid_classes,
    sum_caps,
    wide_classes,
)
from agentkern.compiler.passes.stream_directions import by_direction
from agentkern.compiler.passes.stream_order import LongOps, operations_inside, walk_levels
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.compiler.schedule import Schedule
from agentkern.dsl.dtypes import DTYPES


def _regroups(op: Op, classes: AxisClasses, long: int) -> bool:
    """Whether an operation cuts or joins an axis of class `long`; adding or dropping axes of extent 1 does not."""
    if op.name not in ("reshape", "slice"):
        return False
    source, result = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    if op.name == "slice":
        cut = [axis for axis, extent in enumerate(source.shape) if extent != result.shape[axis]]
        return any(classes.of[op.operands[0], axis] == long for axis in cut)
    return any(
        classes.of[value, axis] == long
        for old, new in reshape_groups(source.shape, result.shape)
        if len(old) > 1 or len(new) > 1
        for value, axes in ((op.operands[0], old), (op.result, new))
        for axis in axes
    )


def _streamed_classes(op: Op, classes: AxisClasses) -> frozenset[int]:
    """The classes to stream. Errors: UnsupportedError for two in one value, and for regrouped ones."""
    wide = frozenset(n for n in wide_classes(classes) if _has_length(classes, n) or not _is_nested(op, classes, n))
    for inner in walk(op.regions[0].ops) if wide else ():
        tiles = (v for v in inner.results if isinstance(v.type, TileType))
        if any(sum(number in wide for number in classes.axes(v)) > 1 for v in tiles):
            raise UnsupportedError(
                "a value that is too long to keep along two axes",
                "make one of the axes a grid axis, so that a block holds a part of it",
                inner.location,
            )
    if any(not wide.isdisjoint((split.whole, *split.parts)) for split in classes.splits):
        raise UnsupportedError(
            "an axis too long to keep on the chip is reshaped",
            "make it a grid axis with `block=` of the group's size instead of reshaping it",
            op.location,
        )
    return wide


def _no_code(op: Op) -> UnsupportedError:
    return UnsupportedError(
        f"`{op.name}` of an axis too long to keep on the chip", "make the axis a grid axis with `block=`", op.location
    )


def _has_length(classes: AxisClasses, number: int) -> bool:
    """Whether an axis is too long to keep, or as long as the run says."""
    extent = classes.extents[number]
    return not isinstance(extent, int) or extent > RESIDENT_ELEMS


def _is_nested(grid: Op, classes: AxisClasses, number: int) -> bool:
    """Whether a value inside a loop or choice has an axis of a class: a long column that a loop works on is kept."""
    nested = [inner for op in grid.regions[0].ops for inner in operations_inside(op)]
    values = [v for op in nested for v in (*op.operands, *op.results) if isinstance(v.type, TileType)]
    return any(number in classes.axes(value) for value in values)


class _Streams:
    """Builds one grid's new region: short operations as they are, long ones inside streams."""

    def __init__(
        self, region: Region, classes: AxisClasses, wide: frozenset[int], chunk: int, location: object
    ) -> None:
        self.region = region
        self.classes = classes
        self.wide = wide
        self.chunk = chunk
        self.builder = Builder(OPS)
        self.mapped: dict[Value, Value] = {}
        self.location = location
        self.orders = sum_caps(region, classes)
        self.makers = {value: op for op in region.ops for value in op.results}

    def is_long(self, value: Value) -> bool:
        return isinstance(value.type, TileType) and not self.wide.isdisjoint(self.classes.axes(value))

    def long_class(self, op: Op) -> int:
        """The class along which a sink is long: that of the value that it reduces or stores."""
        if op.name not in REDUCTIONS and op.name not in ("store", "atomic", "require"):
            raise _no_code(op)
        value = tile_of(op) if op.name in FIXED_OPERANDS else op.operands[0]
        return next(number for number in self.classes.axes(value) if number in self.wide)

    def touches(self, op: Op) -> bool:
        inside = [v for inner in operations_inside(op) for v in (*inner.operands, *inner.results)]
        if any(self.is_long(v) for v in inside):
            raise UnsupportedError(
                "a value in a loop has an axis too long to keep on the chip",
                "walk the axis with `ak.steps` too, or give it a static size",
                op.location,
            )
        return any(self.is_long(v) for v in (*op.operands, *op.results))

    def is_sink(self, op: Op) -> bool:
        """A long operation with no long result: a reduction over the axis, or a store."""
        return self.touches(op) and not any(self.is_long(v) for v in op.results)

    def build(self) -> Region:
        levels = walk_levels(self.region.ops, LongOps(self.touches, self.is_sink, self.is_long, self.long_class))
        for level in range(1 + max(levels.values(), default=0)):
            here = [op for op in self.region.ops if levels[op] == level]
            for op in here:
                if not self.touches(op):
                    self.builder.ops.append(self.kept(op))
            sinks = [op for op in here if self.is_sink(op)]
            for number in dict.fromkeys(map(self.long_class, sinks)):
                mine = [op for op in sinks if self.long_class(op) == number]
                for reverse, group in by_direction(self.region.ops, self.classes, number, mine):
                    self.stream(group, number, reverse=reverse)
        return Region(self.region.args, tuple(self.builder.ops))

    def kept(self, op: Op) -> Op:
        """A short operation, reading what streams have reduced."""
        operands = tuple(self.mapped.get(v, v) for v in op.operands)
        regions = tuple(Region(region.args, tuple(map(self.kept, region.ops))) for region in op.regions)
        return Op(op.spec, operands, op.attrs, op.results, regions, op.location)

    def stream(self, sinks: list[Op], number: int, *, reverse: bool) -> None:
        """One walk over the axis that serves all its sinks of a level."""
        extent = self.classes.extents[number]
        block = Value(BlockType("%chunk", extent, chunk_of(self.chunk, self.orders.get(number))), "chunk")
        body = _Chunk(self, block, number)
        reductions = [op for op in sinks if op.name in REDUCTIONS]
        stores = [op for op in sinks if op.name not in REDUCTIONS]
        body.load_first(stores, sinks)
        for op in stores:
            body.store(op)
        yielded = tuple(body.value(op.operands[0]) for op in reductions)
        body.builder.emit("yield", yielded)
        kinds = tuple(op.name for op in reductions)
        axes = tuple(self.axis(op) for op in reductions)
        types: list[TileType] = []
        for op in reductions:
            result = op.result.type
            assert isinstance(result, TileType)
            axis = self.axis(op)
            types.append(TileType(result.dtype, (*result.shape[:axis], *result.shape[axis + op.attrs["keepdims"] :])))  # pyright: ignore[reportOperatorIssue]: verified bool
        self.builder.location = reductions[0].location if reductions else sinks[0].location
        attrs = {"kinds": kinds, "axes": axes} | ({"reverse": True} if reverse else {})
        walk_region = Region((block,), tuple(body.builder.ops))
        results = self.builder.emit("stream", (), tuple(types), attrs, (walk_region,))
        for op, value in zip(reductions, results, strict=True):
            value.name = op.result.name
            self.builder.location = op.location
            kept = value
            if op.attrs["keepdims"]:
                kept = self.builder.value("reshape", (value,), op.result.type, None, op.result.name)
            self.mapped[op.result] = kept

    def axis(self, op: Op) -> int:
        axes = op.attrs["axes"]
        assert isinstance(axes, tuple)
        return int(axes[0])


class _Chunk:
    """Recomputes long values inside one stream's region, each once."""

    def __init__(self, streams: _Streams, block: Value, wide: int) -> None:
        self.streams = streams
        self.block = block
        self.wide = wide
        self.builder = Builder(OPS)
        self.done: dict[Value, Value] = {}
        self.current = block.type.current  # pyright: ignore[reportAttributeAccessIssue]: a block by construction

    def type(self, value: Value) -> TileType:
        type_ = value.type
        assert isinstance(type_, TileType)
        classes = self.streams.classes.axes(value)
        shape = tuple(
            self.current if number == self.wide else extent for number, extent in zip(classes, type_.shape, strict=True)
        )
        return type_.with_shape(shape)

    def value(self, value: Value) -> Value:
        """A long value over the chunk, or a short one as it is outside."""
        if not self.streams.is_long(value):
            return self.streams.mapped.get(value, value)
        if value in self.done:
            return self.done[value]
        # by a stack of its own: a row may go through thousands of operations
        pending = [value]
        while pending:
            op = self.streams.makers[pending[-1]]
            waiting = next((v for v in op.operands if self.streams.is_long(v) and v not in self.done), None)
            if waiting is not None:
                pending.append(waiting)
                continue
            made = pending.pop()
            self.done[made] = self.make(op, made)
        return self.done[value]

    def load_first(self, stores: list[Op], sinks: list[Op]) -> None:
        """Read what the walk needs of the tensors that it also writes: a turn loads before it stores."""
        written = {op.operands[0] for op in stores}
        waiting, seen = [v for op in sinks for v in op.operands], set[Value]()
        while waiting:
            value = waiting.pop()
            if value in seen or not self.streams.is_long(value):
                continue
            seen.add(value)
            op = self.streams.makers[value]
            if op.name == "load" and op.operands[0] in written:
                self.value(value)
            waiting += op.operands

    def make(self, op: Op, value: Value) -> Value:
        """One long value; its long operands are made."""
        # a part of a long axis that is long itself is a class of its own: neither may be cut
        if any(_regroups(op, self.streams.classes, n) for n in self.streams.wide) or self.needs_whole(op):
            raise _no_code(op)
        operands = tuple(self.value(v) for v in op.operands)
        attrs = op.attrs
        if op.name == "load":
            operands, attrs = self.subscript(op, operands)
        if op.name == "slice":
            attrs = {**attrs, "stops": self.stops(op)}
        self.builder.location = op.location
        if op.name in SCANS and self.streams.classes.of[value, op.attrs["axis"]] == self.wide:  # pyright: ignore[reportArgumentType]: verified int
            attrs = {**attrs, "carried": True}
        if op.name == "arange":
            return self.builder.value("index", (self.block,), self.type(value), None, value.name)
        return self.builder.value(op.name, operands, self.type(value), attrs, value.name)

    def stops(self, op: Op) -> tuple[object, ...]:
        """A slice's ends, all of the streamed axis kept."""
        stops = op.attrs["stops"]
        assert isinstance(stops, tuple)
        numbers = self.streams.classes.axes(op.operands[0])
        return tuple(self.current if n == self.wide else stop for n, stop in zip(numbers, stops, strict=True))

    def needs_whole(self, op: Op) -> bool:
        """Whether tiles are joined, ordered or taken from along an axis that is too long to keep."""
        if op.name not in ("concat", "order", "take"):
            return False
        axis, along = op.attrs["axis"], op.operands[0] if op.name == "take" else op.result
        assert isinstance(axis, int)
        return self.streams.classes.of[along, axis] in self.streams.wide

    def store(self, op: Op) -> None:
        operands, attrs = tuple(self.value(v) for v in op.operands), op.attrs
        if op.name in FIXED_OPERANDS:
            operands, attrs = self.subscript(op, operands)
        self.builder.location = op.location
        self.builder.emit(op.name, operands, (), attrs)

    def subscript(self, op: Op, operands: tuple[Value, ...]) -> tuple[tuple[Value, ...], dict[str, object]]:
        """Replace the `:` of the streamed axis by the chunk."""
        fixed = FIXED_OPERANDS[op.name]
        tile, extra = tile_of(op), operands[fixed + len(index_operands(op)) :]
        index: list[str] = []
        blocks: list[Value] = []
        for entry in entries_of(op):
            if entry.operand is not None:
                index.append(f"{entry.text[0]}{len(blocks)}")
                blocks.append(operands[fixed + int(entry.text[1:])])
            elif entry.text != "+" and self.streams.classes.of[tile, entry.tile_axes[0]] == self.wide:
                moved = self.moved(op, entry.text)
                index.append(f"{'$' if moved is self.block else '@'}{len(blocks)}")
                blocks.append(moved)
            else:
                index.append(entry.text)
        return (*operands[:fixed], *blocks, *extra), {**op.attrs, "index": tuple(index)}

    def moved(self, op: Op, entry: str) -> Value:
        """The chunk's place in a range of an axis: the block itself, or a window that starts where the range does."""
        low = 0 if entry == ":" else dims.parse(entry.split(":", maxsplit=1)[0])
        if low == 0:
            return self.block
        builder = self.builder
        builder.location = op.location
        type_ = TileType(DTYPES["i64"], (self.current,))
        indices = builder.value("index", (self.block,), type_)
        if isinstance(low, int):
            first = builder.value("constant", (), TileType(DTYPES["i64"]), {"value": low})
        else:
            first = builder.value("size", (), TileType(DTYPES["i64"]), {"extent": low})
        return builder.value("add", (indices, builder.value("broadcast", (first,), type_)), type_)


def stream_rows(kernel: Kernel, schedule: Schedule) -> Kernel:
    """Streams for every grid that has an axis too long to keep. Errors: UnsupportedError."""
    body: list[Op] = []
    schedules = iter(schedule.grids)
    for op in kernel.body:
        if op.name != "grid":
            body.append(op)
            continue
        plan = next(schedules)
        classes = grid_classes(op)
        wide = _streamed_classes(op, classes)
        if wide:
            region = _Streams(op.regions[0], classes, wide, plan.chunk, op.location).build()
            op = Op(op.spec, op.operands, op.attrs, op.results, (region,), op.location)
        body.append(op)
    return replace(kernel, body=tuple(body))
