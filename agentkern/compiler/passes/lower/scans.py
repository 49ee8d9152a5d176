"""Scans in the fixed order: runs of neighbours in one thread's registers, the runs of a panel over neighbouring lanes.

A thread goes through its runs on its own. Lanes of one panel exchange their totals by shuffles. Panel totals meet in
shared memory, where every thread adds up, in order, those before its own; one more step takes what came before to each
element. Along a streamed axis the running total lives on from chunk to chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from agentkern.compiler.ir.core import Op, Region, Value
from agentkern.compiler.ir.order import ScanOrder, scan_order
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import Layout
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.memory import owner
from agentkern.compiler.passes.lower.reductions import COMBINE, identity
from agentkern.compiler.passes.lower.shared_memory import SharedArray, borrow_shared, return_shared
from agentkern.compiler.passes.scan_layouts import run_lanes
from agentkern.dsl.dtypes import DTYPES, DType

GROUP = 16  # panel totals read at once: their additions wait for one another, their reads need not
MAX_ACCESS_BYTES = 16
KINDS = {"cumsum": "sum", "cummax": "max"}


@dataclass(frozen=True, slots=True)
class _Scan:
    """One scan's places: `run` registers of a run, then `high` panels of the thread, then `kept` other elements.

    The runs of a panel are spread over the first `lanes` lanes' values.
    """

    kind: str
    axis: int
    reverse: bool
    exclusive: bool
    layout: Layout
    type: TileType
    dtype: DType
    run: int
    high: int
    kept: int

    @property
    def order(self) -> ScanOrder:
        """How the axis is added up."""
        return scan_order(axis_is_last=self.axis == self.layout.rank - 1)

    @property
    def lanes(self) -> int:
        """Neighbouring lanes that hold one panel."""
        return run_lanes(self.order, self.layout.shape[self.axis])

    @property
    def panels(self) -> int:
        """Panels of the axis that the layout covers."""
        return -(-self.layout.shape[self.axis] // self.order.panel_elems)

    @property
    def columns(self) -> int:
        """Runs that one thread holds, each of another panel."""
        return self.high * self.kept

    @property
    def apart(self) -> int:
        """Panels from one of a thread's runs to the next along the axis; all of them where it holds one."""
        return self.layout.registers[1].stride // self.order.panel_elems if self.high > 1 else self.panels

    @property
    def start(self) -> int | float | bool:
        """The total before the first element: a zero stands before an exclusive sum."""
        if self.exclusive and self.kind == "sum" and self.dtype.is_float:
            return 0.0
        return identity(self.kind, self.dtype)


def _scan_of(function: FunctionLowering, op: Op) -> _Scan:
    type_, axis = op.result.type, op.attrs["axis"]
    assert isinstance(type_, TileType) and isinstance(axis, int)
    layout = function.layout(op.result)
    first, *rest = layout.registers
    high = rest[0].extent if rest and rest[0].axis == axis else 1
    dtype = DTYPES["f32"] if type_.dtype.is_float and type_.dtype.bits < 32 else type_.dtype
    kept = layout.register_count // (first.extent * high)
    reverse, exclusive = bool(op.attrs["reverse"]), bool(op.attrs["exclusive"])
    return _Scan(KINDS[op.name], axis, reverse, exclusive, layout, type_, dtype, first.extent, high, kept)


def carried_totals(function: FunctionLowering, region: Region) -> None:
    """Declare what the scans of a stream's region carry from chunk to chunk."""
    for op in region.ops:
        if op.name in SCANS and op.attrs.get("carried"):
            scan = _scan_of(function, op)
            function.carried[op.result] = function.registers(scan.dtype, scan.kept, f"{op.name}_so_far", scan.start)


def lower_scan(function: FunctionLowering, elements: Elements, op: Op) -> None:
    """The running values of every element, as an array by the result's layout."""
    use_location(function, op)
    scan = _scan_of(function, op)
    inside = function.registers(scan.dtype, scan.layout.register_count, op.result.name)
    totals = function.registers(scan.dtype, scan.columns, "panel_total", identity(scan.kind, scan.dtype))
    _run_through(function, elements, op, scan, inside, totals)
    earlier_runs = _runs_before(function, scan, totals) if scan.lanes > 1 else None
    carried = function.carried.get(op.result)
    before = earlier_runs
    if scan.panels > 1 or carried is not None or scan.exclusive:
        before = _totals_before(function, scan, totals, carried)
        if earlier_runs is not None:
            with function.loop(0, scan.columns, unroll=True, name="panel") as column:
                value = _combine(function, scan, function.get(before, column), function.get(earlier_runs, column))
                function.set(before, column, value)
    if before is not None:
        with (
            function.loop(0, scan.columns, unroll=True, name="panel") as column,
            function.loop(0, scan.run, unroll=True) as step,
        ):
            register = function.index.add(step, function.index.multiply(column, scan.run))
            value = _combine(function, scan, function.get(before, column), function.get(inside, register))
            function.set(inside, register, value)
    held = inside if scan.dtype is scan.type.dtype else _narrowed(function, scan, inside, op.result.name)
    function.held[op.result] = held if scan.layout.register_count > 1 else function.get(held, 0)


def _combine(function: FunctionLowering, scan: _Scan, a: Value, b: Value) -> Value:
    return function.builder.value(COMBINE[scan.kind], (a, b), TileType(scan.dtype))


def _run_through(
    function: FunctionLowering, elements: Elements, op: Op, scan: _Scan, inside: Value, totals: Value
) -> None:
    """Each run on its own, from the identity on."""
    index, scalar = function.index, TileType(scan.dtype)
    with (
        function.loop(0, scan.run, unroll=True, name="step") as step,
        function.loop(0, scan.columns, unroll=True, name="panel") as column,
    ):
        place = index.subtract(scan.run - 1, step) if scan.reverse else step
        register = index.add(place, index.multiply(column, scan.run))
        value = elements.element(op.operands[0], register)
        if value.type != scalar:
            value = function.builder.value("cast", (value,), scalar)
        present = function.inside(scan.type, scan.layout, scan.axis, register)
        if present is not None:
            number = {"value": identity(scan.kind, scan.dtype)}
            nothing = function.builder.value("constant", (), scalar, number)
            value = function.builder.value("where", (present, value, nothing), scalar)
        earlier = function.get(totals, column)
        after = _combine(function, scan, earlier, value)
        function.set(inside, register, earlier if scan.exclusive else after)
        function.set(totals, column, after)


def _runs_before(function: FunctionLowering, scan: _Scan, totals: Value) -> Value:
    """What stands before each of the thread's runs in its panel; `totals` become the panels'."""
    scalar, index = TileType(scan.dtype), function.index
    before = function.registers(scan.dtype, scan.columns, "before_run", identity(scan.kind, scan.dtype))
    for bit in range(scan.lanes.bit_length() - 1):
        sibling = index.compare("eq", index.bits(function.lane, bit, 2), 0 if scan.reverse else 1)
        with function.loop(0, scan.columns, unroll=True, name="panel") as column:
            own, earlier = function.get(totals, column), function.get(before, column)
            other = function.builder.value("shuffle_xor", (own,), scalar, {"mask": 1 << bit})
            longer = _combine(function, scan, other, earlier)
            function.set(before, column, function.builder.value("where", (sibling, longer, earlier), scalar))
            function.set(totals, column, _combine(function, scan, own, other))
    return before


def _totals_before(function: FunctionLowering, scan: _Scan, totals: Value, carried: Value | None) -> Value:
    """The total before each of the thread's panels; `carried` moves on by the whole tile."""
    so_far = carried
    if so_far is None:
        so_far = function.registers(scan.dtype, scan.kept, "so_far", scan.start)
    before = function.registers(scan.dtype, scan.columns, "before", scan.start)
    if scan.panels == 1:
        with function.loop(0, scan.kept, unroll=True) as kept:
            earlier = function.get(so_far, kept)
            function.set(before, kept, earlier)
            function.set(so_far, kept, _combine(function, scan, earlier, function.get(totals, kept)))
        return before
    shared = _shared_totals(function, scan, totals)
    for step in range(scan.high):
        high = scan.high - 1 - step if scan.reverse else step
        _add_stretch(function, scan, shared.pointer, (so_far, before), high)
    return_shared(function, shared)
    return before


def _add_stretch(
    function: FunctionLowering, scan: _Scan, buffer: Value, running: tuple[Value, Value], high: int
) -> None:
    """Take the panels of the threads' runs with number `high` into the running totals."""
    index = function.index
    group = gcd(scan.apart, GROUP)
    with (
        function.loop(0, scan.apart, step=group, unroll=False, name="q") as number,
        function.loop(0, scan.kept, unroll=True, name="k") as kept,
    ):
        lowest = index.subtract(scan.apart - group, number) if scan.reverse else number
        column = index.add(index.multiply(kept, scan.high), high)
        _add_group(function, scan, buffer, running, (kept, column, index.add(lowest, high * scan.apart), group))


def _add_group(
    function: FunctionLowering,
    scan: _Scan,
    buffer: Value,
    running: tuple[Value, Value],
    place: tuple[int | Value, int | Value, int | Value, int],
) -> None:
    """Take some neighbouring panels' totals, read together, into the running total of one kept element."""
    index, scalar = function.index, TileType(scan.dtype)
    so_far, before = running
    kept, column, lowest, group = place
    several = function.registers(scan.dtype, group, "totals")
    width = min(group, MAX_ACCESS_BYTES // scan.dtype.nbytes)
    at = _address(function, scan, column, lowest)
    with function.loop(0, group, step=width, unroll=True) as step:
        operands = (buffer, index.value(index.add(at, step)), several, index.value(step))
        function.builder.emit("load_vector", operands, (), {"count": width})
    with function.loop(0, group, unroll=True) as step:
        place_in = index.subtract(group - 1, step) if scan.reverse else step
        earlier = function.get(so_far, kept)
        mine = index.compare("eq", _panel(function, scan, column), index.add(lowest, place_in))
        chosen = function.builder.value("where", (mine, earlier, function.get(before, column)), scalar)
        function.set(before, column, chosen)
        function.set(so_far, kept, _combine(function, scan, earlier, function.get(several, place_in)))


def _shared_totals(function: FunctionLowering, scan: _Scan, totals: Value) -> SharedArray:
    """Every panel's total in shared memory, by panel inside the tile's other coordinates."""
    index = function.index
    count = scan.panels
    for axis, extent in enumerate(scan.layout.shape):
        count *= extent if axis != scan.axis else 1
    shared = borrow_shared(function, scan.dtype, count, "panel_totals")
    buffer = shared.pointer
    if shared.waits:
        function.barrier()
    first = owner(function, scan.layout)
    if scan.lanes > 1:  # the lanes of a panel know its total
        in_panel = index.bits(function.lane, 0, scan.lanes)
        first = index.both(first, index.compare("eq", in_panel, 0))
    with function.when(first), function.loop(0, scan.columns, unroll=True, name="panel") as column:
        where = _address(function, scan, column, _panel(function, scan, column))
        operands = (buffer, index.value(where), totals, index.value(column))
        function.builder.emit("store_vector", operands, (), {"count": 1})
    function.barrier()
    return shared


def _panel(function: FunctionLowering, scan: _Scan, column: int | Value) -> int | Value:
    """The number of a thread's panel along the axis."""
    register = function.index.multiply(column, scan.run)
    return function.index.quotient(function.coordinate(scan.layout, scan.axis, register), scan.order.panel_elems)


def _address(function: FunctionLowering, scan: _Scan, column: int | Value, panel: int | Value) -> int | Value:
    index = function.index
    total: int | Value = 0
    for axis, extent in enumerate(scan.layout.shape):
        if axis != scan.axis:
            place = function.coordinate(scan.layout, axis, index.multiply(column, scan.run))
            total = index.add(index.multiply(total, extent), place)
    return index.add(index.multiply(total, scan.panels), panel)


def _narrowed(function: FunctionLowering, scan: _Scan, wide: Value, name: str | None) -> Value:
    """The results rounded once to the narrow type, two at a time where they are even in number."""
    count, scalar = scan.layout.register_count, TileType(scan.type.dtype)
    array = function.registers(scan.type.dtype, count, name)
    if count % 2:
        with function.loop(0, count, unroll=True) as register:
            value = function.builder.value("cast", (function.get(wide, register),), scalar)
            function.set(array, register, value)
        return array
    with function.loop(0, count, step=2, unroll=True) as register:
        after = function.index.add(register, 1)
        both = (function.get(wide, register), function.get(wide, after))
        first, second = function.builder.emit("narrow_pair", both, (scalar, scalar))
        function.set(array, register, first)
        function.set(array, after, second)
    return array
