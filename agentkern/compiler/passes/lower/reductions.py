"""Reductions in the fixed order: partials in registers, then a tree over index bits through registers, warps and lanes.

The order module says which elements form a partial and in which sequence index bits are combined; the layout says where
each bit lives. A bit in the register number is an addition in the thread, one in the lane number a shuffle, a run of
bits in the warp number an exchange through shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal

from agentkern.compiler.ir.core import Value
from agentkern.compiler.ir.order import SumOrder
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import WARP_LANES, Digit, Layout
from agentkern.compiler.passes.lower.arithmetic import BOOL
from agentkern.compiler.passes.lower.function import FunctionLowering, named
from agentkern.dsl.dtypes import DType

Where = Literal["register", "lane", "warp"]

INDEPENDENT = 4  # accumulators whose operations do not wait for each other, where the order is free
COMBINE: Mapping[str, str] = {
    "sum": "add",
    "prod": "mul",
    "max": "maximum",
    "absmax": "maximum",
    "min": "minimum",
    "any": "or",
    "all": "and",
}


def identity(kind: str, dtype: DType) -> int | float | bool:
    """The value that changes nothing: -0.0 for sums, so that it also keeps a sum of -0."""
    if kind in ("any", "all"):
        return kind == "all"
    if dtype.is_float:
        return {"sum": -0.0, "prod": 1.0, "max": -inf, "absmax": 0.0, "min": inf}[kind]
    low, high = dtype.integer_range
    return {"sum": 0, "prod": 1, "max": low, "absmax": 0, "min": high}[kind]


def empty_value(kind: str, dtype: DType) -> int | float | bool:
    """The result over no elements."""
    return 0.0 if kind == "sum" and dtype.is_float else identity(kind, dtype)


@dataclass(frozen=True, slots=True)
class Term:
    """One register digit of the operand as seen by the accumulators.

    The digit's value is (i // divisor) % extent. Of it, `low` values number partials (accumulators `low_place` apart),
    every `panel_every` values begin a new panel (`panel_place` apart).
    """

    divisor: int
    extent: int
    low: int
    low_place: int
    panel_every: int
    panels: int
    panel_place: int


@dataclass(frozen=True, slots=True)
class Accumulators:
    """How a reduction's accumulators are numbered: kept registers first, then partial digits, then panels.

    `low_digits` are (extent, stride, place) of the partial index inside the thread, `kept` and `panels` counts.
    """

    kind: str
    axis: int
    order: SumOrder | None
    layout: Layout
    kept: int
    terms: tuple[Term, ...]
    low_digits: tuple[tuple[int, int, int], ...]
    panels: int
    panel_place: int
    count: int


def _power_of_two(number: int) -> int:
    return 1 << max(number - 1, 0).bit_length()


def _partials_of(digit: Digit, order: SumOrder | None, accumulators: int) -> int:
    """Values of a register digit that have accumulators of their own: as ordered, else enough to be independent."""
    if order is not None:
        return max(order.partials // digit.stride, 1)
    is_power = digit.stride & (digit.stride - 1) == 0
    return max(INDEPENDENT // accumulators, 1) if is_power else 1


def plan_accumulators(kind: str, layout: Layout, axis: int, order: SumOrder | None) -> Accumulators:
    """Number the accumulators of a reduction; `order` is None where order does not matter."""
    kept = 1
    for digit in layout.registers:
        kept *= digit.extent if digit.axis != axis else 1
    place = kept
    low_digits: list[tuple[int, int, int]] = []
    lows: dict[int, tuple[int, int]] = {}
    for number, digit in enumerate(layout.registers):
        low = min(_partials_of(digit, order, place), _power_of_two(digit.extent)) if digit.axis == axis else 1
        if low == 1:
            continue
        lows[number] = (low, place)
        low_digits.append((low, digit.stride, place))
        place *= low
    panel_elems = order.panel_elems if order is not None else layout.shape[axis] + 1
    panels = -(-layout.shape[axis] // panel_elems)
    terms: list[Term] = []
    divisor, kept_place = 1, 1
    for number, digit in enumerate(layout.registers):
        if digit.axis != axis:
            terms.append(Term(divisor, digit.extent, digit.extent, kept_place, digit.extent, 1, 0))
            kept_place *= digit.extent
        elif order is not None or number in lows:
            low, low_place = lows.get(number, (1, 0))
            every = max(panel_elems // digit.stride, 1)
            terms.append(Term(divisor, digit.extent, low, low_place, every, panels, place if panels > 1 else 0))
        divisor *= digit.extent
    return Accumulators(kind, axis, order, layout, kept, tuple(terms), tuple(low_digits), panels, place, place * panels)


def accumulator_index(function: FunctionLowering, plan: Accumulators, register: int | Value) -> int | Value:
    """The accumulator that takes a register."""
    index = function.index
    total: int | Value = 0
    for term in plan.terms:
        value = index.remainder(index.quotient(register, term.divisor), term.extent)
        if term.low > 1:
            low = value if term.low >= term.extent else index.remainder(value, term.low)
            total = index.add(total, index.multiply(low, term.low_place))
        if term.panel_place and term.panels > 1 and term.extent > term.panel_every:
            total = index.add(total, index.multiply(index.quotient(value, term.panel_every), term.panel_place))
    return total


def accumulate(
    function: FunctionLowering, plan: Accumulators, type_: TileType, array: Value, register: int | Value, value: Value
) -> None:
    """Take one register into its accumulator; absent positions count as the identity."""
    scalar = TileType(type_.dtype)
    if plan.kind == "absmax":
        value = function.builder.value("abs", (value,), scalar)
    present = function.inside(type_, plan.layout, plan.axis, register)
    if present is not None:
        nothing = function.builder.value("constant", (), scalar, {"value": identity(plan.kind, type_.dtype)})
        value = function.builder.value("where", (present, value, nothing), scalar)
    slot = accumulator_index(function, plan, register)
    before = function.get(array, slot)
    function.set(array, slot, function.builder.value(COMBINE[plan.kind], (before, value), scalar))


def _find_bit(layout: Layout, axis: int, bit: int, plan: Accumulators) -> tuple[Where, int] | None:
    """Where an index bit lives: the register place, lane mask or warp mask that changes it; None if nowhere."""
    step = 1 << bit
    for extent, stride, place in plan.low_digits:
        if stride <= step < stride * extent:
            return ("register", place * (step // stride))
    numbers: tuple[tuple[Where, tuple[Digit, ...]], ...] = (("lane", layout.lanes), ("warp", layout.warps))
    for where, digits in numbers:
        divisor = 1
        for digit in digits:
            if digit.axis == axis and digit.stride <= step < digit.stride * digit.extent:
                return (where, divisor * (step // digit.stride))
            divisor *= digit.extent
    return None


def _tree_bits(plan: Accumulators) -> tuple[int, ...]:
    """Index bits in the sequence in which they are combined."""
    if plan.order is not None:
        return plan.order.tree_bits
    reach = [d.stride * d.extent for d in plan.layout.lanes + plan.layout.warps if d.axis == plan.axis]
    top = max([1, *reach, *(stride * extent for extent, stride, _ in plan.low_digits)])
    lanes_then_warps = sorted(
        (bit for bit in range((top - 1).bit_length()) if _find_bit(plan.layout, plan.axis, bit, plan) is not None),
        key=lambda bit: (_find_bit(plan.layout, plan.axis, bit, plan) or ("lane", 0))[0] == "warp",
    )
    return tuple(lanes_then_warps)


class Tree:
    """Combines the accumulators of one reduction; `slots` maps an accumulator's number to its value."""

    def __init__(self, function: FunctionLowering, plan: Accumulators, dtype: DType) -> None:
        self.function = function
        self.plan = plan
        self.scalar = TileType(dtype)

    def combine(self, a: Value, b: Value) -> Value:
        """One step of the tree."""
        return self.function.builder.value(COMBINE[self.plan.kind], (a, b), self.scalar, None, self.plan.kind)

    def run(self, slots: dict[int, Value]) -> dict[int, Value]:
        """Values by number with every bit combined; each thread ends with the whole result."""
        pending: list[int] = []
        for bit in _tree_bits(self.plan):
            found = _find_bit(self.plan.layout, self.plan.axis, bit, self.plan)
            if found is None:
                continue
            where, mask = found
            if where == "warp":
                pending.append(mask)
                continue
            slots = self._warps(slots, pending)
            pending = []
            if where == "register":
                slots = {n: self.combine(v, slots[n + mask]) for n, v in slots.items() if not (n // mask) & 1}
            else:
                slots = {n: self._shuffled(v, mask) for n, v in slots.items()}
        return self._warps(slots, pending)

    def _shuffled(self, value: Value, mask: int) -> Value:
        other = self.function.builder.value("shuffle_xor", (value,), self.scalar, {"mask": mask})
        return self.combine(value, other)

    def _warps(self, slots: dict[int, Value], masks: list[int]) -> dict[int, Value]:
        """Combine a run of warp bits: every warp reads the others' values and forms the same tree."""
        if not masks:
            return slots
        function, index = self.function, self.function.index
        stride = WARP_LANES * function.warps
        buffer = function.allocate_shared(self.scalar.dtype, stride * len(slots), f"{self.plan.kind}_exchange")
        one = function.registers(self.scalar.dtype, 1, "mine")
        if function.loop_depth:
            function.barrier()
        thread = named(index.add(index.multiply(function.warp, WARP_LANES), function.lane), "slot")
        for number, value in enumerate(slots.values()):
            function.set(one, 0, value)
            operands = (buffer, index.value(index.add(thread, number * stride)), one, index.value(0))
            function.builder.emit("store_vector", operands, (), {"count": 1})
        function.barrier()
        own = function.warp
        for mask in masks:
            own = named(self._cleared(own, mask), "first_warp")
        return {slot: self._gathered(buffer, own, masks, number * stride) for number, slot in enumerate(slots)}

    def _cleared(self, warp: int | Value, mask: int) -> int | Value:
        index = self.function.index
        set_bit = index.multiply(index.bits(warp, mask.bit_length() - 1, 2), mask)
        return index.subtract(warp, set_bit)

    def _gathered(self, buffer: Value, own: int | Value, masks: list[int], offset: int) -> Value:
        function, index = self.function, self.function.index
        count = 1 << len(masks)
        theirs = function.registers(self.scalar.dtype, count, "theirs")
        values: list[Value] = []
        for number in range(count):
            warp = index.add(own, sum(mask for k, mask in enumerate(masks) if number >> k & 1))
            where = index.add(index.add(index.multiply(warp, WARP_LANES), function.lane), offset)
            operands = (buffer, index.value(where), theirs, index.value(number))
            function.builder.emit("load_vector", operands, (), {"count": 1})
            values.append(function.get(theirs, number))
        while len(values) > 1:
            values = [self.combine(values[k], values[k + 1]) for k in range(0, len(values), 2)]
        return values[0]


def finish(function: FunctionLowering, plan: Accumulators, array: Value, type_: TileType) -> list[Value]:
    """Results of a whole reduction, by kept register: the tree of each panel, then the panels as a binary counter."""
    tree = Tree(function, plan, type_.dtype)
    slots = {n: function.get(array, n) for n in range(plan.count)}
    done = tree.run(slots)
    results: list[Value] = []
    for kept in range(plan.kept):
        panels = [done[kept + k * plan.panel_place] for k in range(plan.panels)]
        results.append(combine_panels(panels, tree))
    return results


def combine_panels(panels: list[Value], tree: Tree) -> Value:
    """Combine panels pairwise as they complete, leftovers from the lowest rank up."""
    stack: dict[int, Value] = {}
    for value in panels:
        rank = 0
        while rank in stack:
            value = tree.combine(stack.pop(rank), value)
            rank += 1
        stack[rank] = value
    ranks = sorted(stack)
    total = stack[ranks[0]]
    for rank in ranks[1:]:
        total = tree.combine(stack[rank], total)
    return total


def fix_empty(
    function: FunctionLowering, kind: str, dtype: DType, extent: int | Value, values: list[Value]
) -> list[Value]:
    """The result over no elements where the axis may have none."""
    empty, nothing = empty_value(kind, dtype), identity(kind, dtype)
    if str(empty) == str(nothing) or (isinstance(extent, int) and extent > 0):
        return values
    scalar = TileType(dtype)
    zero = function.builder.value("constant", (), scalar, {"value": empty})
    if isinstance(extent, int):
        return [zero for _ in values]
    is_empty = function.index.compare("eq", extent, 0)
    assert is_empty.type == BOOL
    return [function.builder.value("where", (is_empty, zero, value), scalar) for value in values]
