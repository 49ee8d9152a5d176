"""Keep axes whole whose length only the run knows, where an operation orders all of one and promises bound it.

Such an axis becomes a block of the grid that is all of it, also where it is empty: the later passes then treat it as a
written block of as many indices as the axis may have, whose absent ones are no part of any value. Orders of sums do not
see that bound. An axis that nothing bounds, or that is used otherwise too, stays as it is: it is ordered in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from agentkern.compiler.analysis.axes import AxisClasses, axis_classes
from agentkern.compiler.analysis.blocks import block_facts
from agentkern.compiler.analysis.extents import Facts, SymbolFact
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.segments import length_name, segment_axes
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.ir.verifier import IrError, verify_kernel
from agentkern.compiler.passes.grid_axes import MAX_ACCESS_BYTES, RESIDENT_ELEMS
from agentkern.compiler.passes.order_rounds import MOST_ROUNDS
from agentkern.compiler.passes.parallel_axes import Splitting
from agentkern.compiler.passes.sorted_order import LONGEST_PAIRED
from agentkern.compiler.passes.split_reductions import most_of_blocks
from agentkern.compiler.passes.unsupported import UnsupportedError

IN_ORDER = ("sum", "prod", "mean")
SEGMENT_RANK = 1
"""Of the symbol of a segment's length, above sizes."""


def _orders(op: Op) -> bool:
    """Whether an operation needs an axis whole: few of the largest are found in rounds over its parts."""
    k = op.attrs.get("k")
    return op.name in ("sort", "occurrence") or (op.name == "topk" and isinstance(k, int) and k > MOST_ROUNDS)


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _axis(op: Op) -> int:
    axis = op.attrs["axis"]
    assert isinstance(axis, int)
    return axis


def _ordered_axes(grid: Op, kernel: Kernel) -> Iterator[tuple[Op, Value, int]]:
    """The operations that need an axis of run-time length whole, with the value and the axis."""
    known = most_of_blocks(kernel)
    for op in walk(grid.regions[0].ops):
        if _orders(op) and isinstance(dims.substitute(_tile(op.operands[0]).shape[_axis(op)], known), Dim):
            yield op, op.operands[0], _axis(op)


def _facts(kernel: Kernel, grid: Op) -> Facts:
    """What promises say about sizes, and about what a block of the grid knows."""
    blocks = [arg.type for arg in grid.regions[0].args if isinstance(arg.type, BlockType)]
    known = {name: fact for block in blocks if block.block == 1 for name, fact in block_facts(block).items()}
    for axis in segment_axes(grid):
        known[length_name(axis.type.name)] = SymbolFact(0, highs=(axis.end,), rank=SEGMENT_RANK)
    return Facts.of_sizes(kernel.sizes).with_symbols(known)


def _most(facts: Facts, extent: int | Dim) -> int | None:
    """The most elements that an axis may have, if those can be kept; None where nothing says so."""
    if not all(name in facts.symbols for name in dims.symbols(extent)):
        return None
    high = facts.interval(facts.simplify(extent)).high
    return high if high is not None and high <= RESIDENT_ELEMS else None


@dataclass(frozen=True, slots=True)
class _Axes:
    """The axes of one grid that are to be kept whole."""

    kernel: Kernel
    grid: Op
    classes: AxisClasses
    facts: Facts

    def blocks(self) -> dict[int, Value]:
        """A block for each whose length promises bound."""
        found: dict[int, Value] = {}
        for op, value, axis in _ordered_axes(self.grid, self.kernel):
            number, extent = self.classes.of[value, axis], _tile(value).shape[axis]
            if number in self.classes.blocks:
                raise UnsupportedError(
                    f"`ak.{op.name}` along a block whose size the compiler chooses",
                    "give the axis a written `block=`",
                    op.location,
                )
            most = _most(self.facts, extent)
            if number in found or most is None or self.shows_bound(number):
                continue
            room = max(most, LONGEST_PAIRED + 1)
            room = -(-room // MAX_ACCESS_BYTES) * MAX_ACCESS_BYTES
            found[number] = Value(BlockType(f"%whole.{len(found)}", extent, room, 0, is_whole=True), "whole")
        return found

    def shows_bound(self, number: int) -> bool:
        """Whether a value would be as long as an axis may be: where the axis is regrouped, or reduced with others."""
        if any(number in (split.whole, *split.parts) for split in self.classes.splits):
            return True
        for inner in walk(self.grid.regions[0].ops):
            axes = inner.attrs.get("axes")
            if inner.name in IN_ORDER and isinstance(axes, tuple) and len(axes) > 1:
                numbers = [self.classes.of[inner.operands[0], int(axis)] for axis in axes]
                if _tile(inner.result).dtype.is_float and number in numbers:
                    return True
        return False


def _kept(kernel: Kernel, grid: Op) -> Op:
    """The grid with the axes that it orders as whole blocks, where that works for all of them. Errors: Unsupported."""
    if next(_ordered_axes(grid, kernel), None) is None:
        return grid
    region = grid.regions[0]
    classes = axis_classes(region)
    blocks = _Axes(kernel, grid, classes, _facts(kernel, grid)).blocks()
    if not blocks:
        return grid
    inner = Splitting(classes, blocks).region(Region((), region.ops))
    body = Region((*region.args, *blocks.values()), inner.ops)
    kept = Op(grid.spec, grid.operands, grid.attrs, grid.results, (body,), grid.location)
    try:
        verify_kernel(replace(kernel, body=(kept,)))
    except IrError:
        return grid  # a part of such an axis, or one joined to another
    return kept


def whole_axes(kernel: Kernel) -> Kernel:
    """Every axis that is ordered and that promises bound as a whole block. Errors: UnsupportedError."""
    return replace(kernel, body=tuple(_kept(kernel, op) if op.name == "grid" else op for op in kernel.body))
