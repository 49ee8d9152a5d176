"""Element operations as loops over a thread's registers, neighbouring operations of one layout in one loop.

A broadcast or regrouping is no code: it is a view, another way to number the source's registers. A value that only its
own loop reads is a scalar there; others are register arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import REPLICATED, Digit, Layout
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.positions import compared_positions
from agentkern.compiler.passes.lower.usual_forms import emit_vector, has_usual_form

VIEWS = ("broadcast", "reshape", "transpose")
NARROW_BITS = 16
DIVISIONS = ("floor_div", "mod", "trunc_div", "trunc_mod")


@dataclass(frozen=True, slots=True)
class View:
    """A value that is another one, renumbered: register i of it is register sum((i / d) % e * m) of `source`."""

    source: Value
    terms: tuple[tuple[int, int, int], ...]
    count: int

    @property
    def is_same(self) -> bool:
        """Whether the numbering is unchanged."""
        place = 1
        for divisor, extent, factor in self.terms:
            if divisor != place or factor != place:
                return False
            place *= extent
        return place == self.count


@dataclass(slots=True)
class Group:
    """Consecutive element operations with one register numbering."""

    registers: tuple[Digit, ...]
    ops: list[Op] = field(default_factory=list)


def broadcast_view(op: Op, source: Layout, result: Layout) -> View:
    """The view of a broadcast: registers of new axes are skipped."""
    skipped = result.rank - source.rank
    return spread_view(op.operands[0], source, [axis + skipped for axis in range(source.rank)], result)


def spread_view(value: Value, source: Layout, axes: Sequence[int], result: Layout) -> View:
    """A tile seen over more axes: axis k of it is axis axes[k] of `result`, and registers of the others are skipped."""
    remaining = list(source.registers)
    terms: list[tuple[int, int, int]] = []
    divisor, factor = 1, 1
    for digit in result.registers:
        mine = remaining[0] if remaining else None
        if (
            mine is not None
            and digit.axis == axes[mine.axis]
            and (digit.extent, digit.stride) == (mine.extent, mine.stride)
        ):
            terms.append((divisor, digit.extent, factor))
            factor *= digit.extent
            remaining.pop(0)
        divisor *= digit.extent
    assert not remaining, f"a tile is not spread as what it is seen over: {source} to {result}"
    return View(value, tuple(terms), result.register_count)


def is_narrowing(op: Op) -> bool:
    """Whether a cast makes a type of at most 16 bits from f32, which the hardware does in pairs."""
    if op.name != "cast" or op.attrs.get("saturate") is False:
        return False
    source, result = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(result, TileType)
    return source.dtype.name == "f32" and result.dtype.is_float and result.dtype.bits <= NARROW_BITS


class Elements:
    """Views, groups and the values that outlive them, for one region."""

    def __init__(self, function: FunctionLowering) -> None:
        self.function = function
        self.views: dict[Value, View] = {}
        self.escaping: set[Value] = set()
        self.scalars: dict[Value, Value] = {}
        # Values of the vector at hand that a later run of its operations reads, and the place in the vector.
        self.vectors: dict[Value, Value] = {}
        self.place: int | Value = 0
        self.flags: dict[Value, tuple[Value, tuple[float, float]]] = {}

    def add_view(self, op: Op) -> None:
        """Record what a broadcast, reshape or transpose renumbers."""
        function = self.function
        source, result = op.operands[0], op.result
        before, after = function.layout(source), function.layout(result)
        if op.name == "broadcast":
            self.views[result] = broadcast_view(op, before, after)
        else:
            count = after.register_count
            self.views[result] = View(source, ((1, count, 1),) if count > 1 else (), count)

    def base_of(self, value: Value) -> tuple[Value, bool]:
        """The value behind all views, and whether the numbering is unchanged."""
        same = True
        while value in self.views:
            view = self.views[value]
            same = same and view.is_same
            value = view.source
        return value, same

    def element(self, value: Value, register: int | Value) -> Value:
        """A register of a value, inside or outside its loop."""
        value, register = self.behind(value, register)
        if value in self.scalars:
            return self.scalars[value]
        if value in self.vectors:
            return self.function.get(self.vectors[value], self.place)
        held = self.function.held[value]
        return held if isinstance(held.type, TileType) else self.function.get(held, register)

    def behind(self, value: Value, register: int | Value) -> tuple[Value, int | Value]:
        """The value behind all views, and the number that a register has there."""
        while value in self.views:
            view = self.views[value]
            register = self.renumbered(view, register)
            value = view.source
        return value, register

    def renumbered(self, view: View, register: int | Value) -> int | Value:
        """The number in the view's source of a register of the view."""
        index = self.function.index
        total: int | Value = 0
        for divisor, extent, factor in view.terms:
            part = index.quotient(register, divisor)
            if divisor * extent < view.count:
                part = index.remainder(part, extent)
            total = index.add(total, index.multiply(part, factor))
        return total

    def find_escaping(self, groups: Sequence[Group | Op]) -> None:
        """Mark values that some operation outside their own loop reads."""
        home: dict[Value, int] = {}
        for number, item in enumerate(groups):
            if isinstance(item, Group):
                home.update({value: number for op in item.ops for value in op.results})
        for number, item in enumerate(groups):
            ops = item.ops if isinstance(item, Group) else list(walk([item]))
            for op in ops:
                for operand in op.operands:
                    base, same = self.base_of(operand)
                    if base in home and (home[base] != number or not same):
                        self.escaping.add(base)

    def emit_group(self, group: Group) -> None:
        """One loop over the registers; a scalar each when a thread holds one."""
        function = self.function
        count = Layout(0, group.registers, (Digit(REPLICATED, 32, 0),), ()).register_count
        if count == 1:
            for op in group.ops:
                function.held[op.result] = self._emit(op, 0)
            return
        arrays: dict[Value, Value] = {}
        for op in group.ops:
            if op.result in self.escaping:
                use_location(function, op)
                type_ = op.result.type
                assert isinstance(type_, TileType)
                arrays[op.result] = function.registers(type_.dtype, count, op.result.name)
        function.held.update(arrays)
        if any(map(has_usual_form, group.ops)):
            emit_vector(self, group.ops, arrays, count)
            return
        with function.loop(0, count, unroll=True) as register:
            self.emit_run(group.ops, arrays, register)

    def emit_run(self, ops: Sequence[Op], arrays: Mapping[Value, Value], register: int | Value) -> None:
        """Operations on one register; those with arrays, or with a place in the vector at hand, are kept there."""
        for op in ops:
            value = self._emit(op, register)
            self.scalars[op.result] = value
            if op.result in arrays:
                self.function.set(arrays[op.result], register, value)
            elif op.result in self.vectors:
                self.function.set(self.vectors[op.result], self.place, value)
        for op in ops:
            self.scalars.pop(op.result)

    def _emit(self, op: Op, register: int | Value) -> Value:
        """One operation on one register."""
        function = self.function
        use_location(function, op)
        type_ = op.result.type
        assert isinstance(type_, TileType)
        scalar = TileType(type_.dtype)
        if op.name == "index":
            layout = function.layout(op.result)
            start = function.short_start(op.operands[0])
            total = function.index.add(function.coordinate(layout, 0, register), start)
            return function.index.value(total, scalar)
        if op.name == "arange":
            return function.index.value(function.coordinate(function.layout(op.result), 0, register), scalar)
        compared = compared_positions(self, op, register)
        if compared is not None:
            return compared
        operands = tuple(self.element(v, register) for v in op.operands)
        if op.name == "extend":
            return self._extended(op, operands[0], register)
        if op.name in DIVISIONS and not type_.dtype.is_float:
            operands = (operands[0], self._divisor(op, operands[1], register))
        return function.builder.value(op.name, operands, scalar, op.attrs, op.result.name)

    def _divisor(self, op: Op, divisor: Value, register: int | Value) -> Value:
        """The divisor, or 1 where there is no element: what a register holds there may be zero."""
        function = self.function
        source, type_ = self.base_of(op.operands[1])[0].type, op.result.type
        assert isinstance(source, TileType) and isinstance(type_, TileType)
        present = function.present(type_, function.layout(op.result), register) if source.shape else None
        if present is None:
            return divisor
        scalar = TileType(type_.dtype)
        one = function.builder.value("constant", (), scalar, {"value": 1})
        return function.builder.value("where", (present, divisor, one), scalar, None, divisor.name)

    def _extended(self, op: Op, element: Value, register: int | Value) -> Value:
        """The element, or the value of absent positions where its tile does not reach."""
        function = self.function
        source, result = op.operands[0].type, op.result.type
        assert isinstance(source, TileType) and isinstance(result, TileType)
        layout = function.layout(op.result)
        present: Value | None = None
        for axis in range(source.rank):
            if source.shape[axis] != result.shape[axis]:
                present = function.index.both(present, function.inside(source, layout, axis, register))
        if present is None:  # the block is whole
            return element
        scalar = TileType(result.dtype)
        absent = function.builder.value("constant", (), scalar, {"value": op.attrs["value"]})
        return function.builder.value("where", (present, element, absent), scalar, None, op.result.name)

    def emit_pairs(self, op: Op) -> None:
        """A narrowing cast, two registers at a time."""
        function = self.function
        use_location(function, op)
        type_ = op.result.type
        assert isinstance(type_, TileType)
        scalar = TileType(type_.dtype)
        count = function.layout(op.result).register_count
        array = function.registers(type_.dtype, count, op.result.name)
        with function.loop(0, count, step=2, unroll=True) as register:
            after = function.index.add(register, 1)
            pair = (self.element(op.operands[0], register), self.element(op.operands[0], after))
            first, second = function.builder.emit("narrow_pair", pair, (scalar, scalar), op.attrs, (), op.result.name)
            function.set(array, register, first)
            function.set(array, after, second)
        function.held[op.result] = array
