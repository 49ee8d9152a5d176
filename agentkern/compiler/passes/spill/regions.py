"""Rebuild a grid operation by operation: short values as they are, long ones in parts or in memory.

What has an effect, and what needs a long axis whole, happens at its place in the program: so memory is read and written
in the program's order. Everything else about long values waits until a part of it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Region, Value, walk
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.spill.extents import Extents, step_size, values_inside
from agentkern.compiler.passes.spill.memory import Memory
from agentkern.compiler.passes.spill.parts import I64, Kept, Parts
from agentkern.compiler.passes.spill.places import Place, Places, axis_of, part_type, tile, works_on_parts
from agentkern.compiler.passes.spill.walks import Walks, at_offset
from agentkern.compiler.passes.unsupported import UnsupportedError

DEEPEST = 64
"""Operations that a part goes through before what they make is kept: bounds the text of a chain of reductions."""


class Regions:
    """Builds the new regions of one grid."""

    def __init__(self, grid: Op, extents: Extents, prefix: str) -> None:
        self.extents = extents
        self.parts = Parts(extents)
        self.memory = Memory(grid, extents, self.parts, prefix)
        self.walks = Walks(self.parts)
        self.depth: dict[Value, int] = {}
        loaded = {op.operands[0] for op in walk((grid,)) if op.name == "load"}
        self.rewritten = loaded & {op.operands[0] for op in walk((grid,)) if op.name in ("store", "atomic")}

    def grid(self, region: Region) -> Region:
        """The new body of the grid."""
        self.parts.open(None)
        self.operations(region.ops)
        ops = self.parts.close()
        return Region(region.args, (*self.memory.slot_ops(), *ops))

    def operations(self, ops: Sequence[Op]) -> None:
        """Operations of one region, in order."""
        for op in ops:
            self.parts.builder.location = op.location
            if op.name == "yield":
                continue
            if not any(map(self.extents.long_axes, values_inside(op))):
                self.parts.builder.ops.append(self.renamed(op))
            elif op.name == "loop":
                self.loop(op)
            elif op.name == "branch":
                self.branch(op)
            else:
                self.long(op)

    def renamed(self, op: Op) -> Op:
        """An operation on short values, with the new names of what it reads."""
        operands = tuple(self.parts.mapped.get(v, v) for v in op.operands)
        regions = tuple(Region(region.args, tuple(map(self.renamed, region.ops))) for region in op.regions)
        return Op(op.spec, operands, op.attrs, op.results, regions, op.location)

    def long(self, op: Op) -> None:
        """An operation that reads or makes a long value."""
        if op.name == "take" and self.extents.is_long(tile(op.operands[0]).shape[axis_of(op)]):
            self.reachable(op.operands[0])
        if not op.results:
            self.effect(op)
        elif not works_on_parts(op, self.extents):
            self.whole(op)
        elif not self.extents.long_axes(op.result):
            self.now(op)
        elif op.name == "load" and op.operands[0] in self.rewritten:
            self.later(op)
            self.keep(op.result)
        else:
            self.later(op)
            if self.depth[op.result] > DEEPEST:
                self.keep(op.result)

    def later(self, op: Op) -> None:
        """Compute the value where a part of it is needed."""
        self.parts.lazy[op.result] = op
        self.depth[op.result] = 1 + max((self.depth.get(v, 0) for v in op.operands), default=0)

    def now(self, op: Op) -> None:
        """A short value of long ones."""
        self.parts.lazy[op.result] = op
        made = self.parts.value(op.result, (None,) * tile(op.result).rank)
        del self.parts.lazy[op.result]
        self.parts.mapped[op.result] = made

    def effect(self, op: Op) -> None:
        """A store or a requirement, part by part."""
        value = op.operands[0] if op.name == "require" else op.operands[1]

        def one(places: Places) -> None:
            part = self.parts.value(value, places)
            builder = self.parts.builder
            if op.name == "require":
                builder.location = op.location
                builder.emit(op.name, (part,), (), op.attrs)
                return
            operands, attrs = self.parts.subscript(op, places)
            builder.location = op.location
            builder.emit(op.name, (op.operands[0], part, *operands), (), attrs)

        self.walks.each_part(tile(value).shape, one)

    def keep(self, value: Value) -> None:
        """Compute a whole value into memory."""
        kept = self.memory.keep(value)
        self.fill(kept, value)
        self.parts.lazy.pop(value, None)
        self.parts.kept[value] = kept

    def fill(self, kept: Kept, value: Value, shift: Callable[[Places], Places] = lambda places: places) -> None:
        """Write every part of a value to memory, each at the place that `shift` gives."""
        type_ = tile(value)
        self.walks.each_part(
            type_.shape, lambda places: self.walks.store(kept, type_, shift(places), self.parts.value(value, places))
        )

    def whole(self, op: Op) -> None:
        """An operation that needs a long axis whole."""
        if op.name in REDUCTIONS:
            self.reduction(op)
        elif op.name in SCANS:
            kept = self.memory.keep(op.result)
            self.walks.scan(op, lambda places, part: self.walks.store(kept, tile(op.result), places, part))
            self.parts.kept[op.result] = kept
        elif op.name == "reshape":
            self.regrouped(op)
        elif op.name in ("concat", "extend"):
            self.joined(op)
        elif op.name == "order":
            self.ordered(op)
        else:
            raise UnsupportedError(
                f"`{op.name}` of an axis too long to keep on the chip",
                "make the axis a grid axis with `block=`",
                op.location,
            )

    def reachable(self, value: Value) -> None:
        """Have a whole value in memory, where any element of it can be read."""
        if value not in self.parts.kept:
            self.keep(value)

    def ordered(self, op: Op) -> None:
        """An order: its operands in memory, sorted there; the last one is the result."""
        arrays = len(op.operands)
        kept = self.memory.keep(op.result, versions=arrays)
        for k, value in enumerate(op.operands):
            self.fill(self.numbered(kept, k) if arrays > 1 else kept, value)
        none = (None,) * tile(op.result).rank
        operands, attrs = self.parts.kept_subscript(kept, tile(op.result), none)
        index = attrs["index"]
        assert isinstance(index, tuple)
        several = arrays > 1
        # axes of the subscript's tile: the operands' where there are several, then the value's own
        attrs = {"index": ((":",) if several else ()) + index, "axis": axis_of(op) + several, "arrays": arrays}
        self.parts.builder.location = op.location
        self.parts.builder.emit("sort_kept", (kept.tensor, *operands), (), attrs)
        self.parts.kept[op.result] = self.numbered(kept, arrays - 1) if several else kept

    def numbered(self, kept: Kept, number: int) -> Kept:
        """One of several values in memory."""
        which = self.parts.builder.value("constant", (), TileType(I64), {"value": number})
        return _version(kept, which)

    def reduction(self, op: Op) -> None:
        """A reduction: to a short value, or into memory."""
        if not self.extents.long_axes(op.result):
            self.walks.reduce(op, lambda _, value: self.parts.mapped.update({op.result: value}))
            return
        kept = self.memory.keep(op.result)
        self.walks.reduce(op, lambda places, part: self.walks.store(kept, tile(op.result), places, part))
        self.parts.kept[op.result] = kept

    def regrouped(self, op: Op) -> None:
        """A reshape of long axes: the same memory by other axes."""
        value = op.operands[0]
        kept = self.memory.keep(value, exact=True)
        viewed = self.memory.view(kept, tile(value), tile(op.result))
        if viewed is None:
            raise UnsupportedError(
                "a block that may be clipped is merged behind another long axis",
                "transpose it to the front before the `reshape`",
                op.location,
            )
        self.fill(kept, value)
        self.parts.kept[op.result] = viewed
        if not self.extents.long_axes(op.result):
            self.short(op.result)

    def short(self, value: Value) -> None:
        """Read a short value back."""
        self.parts.mapped[value] = self.parts.read(value, (None,) * tile(value).rank)
        del self.parts.kept[value]

    def joined(self, op: Op) -> None:
        """Tiles one behind the other along a long axis, or one and what absent positions hold."""
        kept, result = self.memory.keep(op.result), tile(op.result)
        if op.name == "extend":
            self.absent(op, kept)
        start: int | dims.Dim = 0
        for value in op.operands:
            source = tile(value)
            axis = axis_of(op) if op.name == "concat" else -1
            self.walks.each_part(source.shape, self.piece(op, kept, value, axis, start))
            start = dims.add(start, source.shape[axis])
        self.parts.kept[op.result] = kept
        assert self.extents.long_axes(op.result), result

    def piece(self, op: Op, kept: Kept, value: Value, axis: int, start: int | dims.Dim) -> Callable[[Places], None]:
        """What writes a part of one of several tiles."""
        type_ = tile(op.result)

        def one(places: Places) -> None:
            own = tile(value)
            if axis < 0:
                there = self.extended(own, type_, places)
            else:
                there = at_offset(places, axis, start, own.shape[axis])
            part = self.parts.value(value, places)
            self.walks.store(kept, type_, there, part)

        return one

    def extended(self, source: TileType, result: TileType, places: Places) -> Places:
        """The places of a tile in one that has more on some axes."""
        return tuple(
            Place(None, 0, old) if old != new and place is None else place
            for place, old, new in zip(places, source.shape, result.shape, strict=True)
        )

    def absent(self, op: Op, kept: Kept) -> None:
        """Fill the memory with what absent positions hold."""
        type_ = tile(op.result)
        builder = self.parts.builder
        constant = builder.value("constant", (), TileType(type_.dtype), {"value": op.attrs["value"]})

        def one(places: Places) -> None:
            part = self.parts.builder.value("broadcast", (constant,), part_type(type_, places))
            self.walks.store(kept, type_, places, part)

        self.walks.each_part(type_.shape, one)

    def loop(self, op: Op) -> None:
        """A loop: long values that it carries are in memory twice, as they are in a step and as the next finds them."""
        parts = loop_parts(op)
        long = [k for k, arg in enumerate(parts.args) if self.extents.long_axes(arg)]
        short = [k for k in range(len(parts.args)) if k not in long]
        kept = {k: self.memory.keep(parts.args[k], versions=2) for k in long}
        first = self.parts.builder.value("constant", (), TileType(I64), {"value": 0})
        for k in long:
            self.fill(_version(kept[k], first), parts.inits[k])
        version, last = Value(TileType(I64), "version"), Value(TileType(I64), "version")
        block = self.step(parts.block)
        self.parts.open(None)
        self.parts.kept.update({parts.args[k]: _version(kept[k], version) for k in long})
        self.operations(op.regions[0].ops)
        yields = [self.parts.mapped.get(v, v) for v in parts.yields]
        extra: list[Value] = []
        if long:
            builder = self.parts.builder
            one = builder.value("constant", (), TileType(I64), {"value": 1})
            following = builder.value("sub", (one, version), TileType(I64))
            for k in long:
                self.fill(_version(kept[k], following), parts.yields[k])
            extra = [following]
        stop = [self.parts.mapped.get(parts.stop, parts.stop)] if parts.stop is not None else []
        self.parts.builder.emit("yield", (*(yields[k] for k in short), *extra, *stop))
        more = bool(long)
        args = (block, *(parts.args[k] for k in short), *((version,) if more else ()))
        region = Region(args, self.parts.close())
        limits = tuple(self.parts.mapped.get(v, v) for v in parts.limits)
        inits = (*(self.parts.mapped.get(parts.inits[k], parts.inits[k]) for k in short), *((first,) if more else ()))
        results = (*(op.results[k] for k in short), *((last,) if more else ()))
        self.parts.builder.ops.append(Op(op.spec, (*limits, *inits), op.attrs, results, (region,), op.location))
        self.parts.kept.update({op.results[k]: _version(kept[k], last) for k in long})

    def step(self, block: Value) -> Value:
        """The block of a loop's step, with a size."""
        assert isinstance(block.type, BlockType)
        if block.type.block is None:
            self.parts.mapped[block] = Value(replace(block.type, block=step_size(block.type)), block.name)
        return self.parts.mapped.get(block, block)

    def branch(self, op: Op) -> None:
        """A choice: its long values are in memory, whichever region gives them."""
        long = [k for k, result in enumerate(op.results) if self.extents.long_axes(result)]
        kept = {k: self.memory.keep(op.results[k]) for k in long}
        regions: list[Region] = []
        for region in op.regions:
            given = region.ops[-1].operands
            self.parts.open(None)
            self.operations(region.ops)
            for k in long:
                self.fill(kept[k], given[k])
            short = [self.parts.mapped.get(v, v) for k, v in enumerate(given) if k not in long]
            self.parts.builder.emit("yield", tuple(short))
            regions.append(Region((), self.parts.close()))
        condition = self.parts.mapped.get(op.operands[0], op.operands[0])
        results = tuple(result for k, result in enumerate(op.results) if k not in long)
        self.parts.builder.ops.append(Op(OPS["branch"], (condition,), op.attrs, results, tuple(regions), op.location))
        self.parts.kept.update({op.results[k]: kept[k] for k in long})


def _version(kept: Kept, version: Value) -> Kept:
    """One of several versions of a value in memory."""
    return replace(kept, lead=(version, *kept.lead))
