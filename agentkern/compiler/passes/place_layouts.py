"""TILE to PLACED: give every tile a layout, and convert where two operations want different ones.

The axis plan of a grid is the cheapest assignment: it needs no conversion. Candidates for its root classes are tried in
order (a reshaped axis whole, then by its parts) and the one with the fewest converted bytes wins; ties go to the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from agentkern.compiler.analysis.axes import AxisClasses, axis_classes
from agentkern.compiler.analysis.windows import makers_of
from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, Value
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.compiler.ir.order import SumOrder, sum_order
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.regroup import reshape_groups
from agentkern.compiler.ir.subscripts import FIXED_OPERANDS
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.layout.layout import (
    REPLICATED,
    Layout,
    along_last,
    contiguous_run,
    distribute,
    parse_layout,
    permuted,
    restricted,
    without_axis,
)
from agentkern.compiler.passes.access_layouts import operand_layouts
from agentkern.compiler.passes.axis_plan import AxisPlan, plan_axes, planned_layout
from agentkern.compiler.passes.grid_axes import (
    MAX_ACCESS_BYTES,
    access_of,
    contiguous_axis,
    static_extent,
    sum_caps,
)
from agentkern.compiler.passes.root_classes import (
    fast_roots,
    meetings,
    root_choices,
    stream_order,
    stream_orders,
    tile_extents,
)
from agentkern.compiler.passes.scan_layouts import follows_scan, scan_layout
from agentkern.compiler.passes.unsupported import UnsupportedError
from agentkern.compiler.schedule import GridSchedule, Schedule

MAX_TILE_REGISTERS = 256
SECTOR_BYTES = 32
MAX_TURNED_BYTES = 32 * 1024  # of a tile that goes through shared memory only so that accesses use whole sectors


@dataclass(frozen=True, slots=True)
class _Grid:
    """One grid with what placing needs: its classes, its plan, and the warps of a block."""

    region: Region
    classes: AxisClasses
    plan: AxisPlan
    warps: int
    vector: int

    def extents_of(self, value: Value) -> tuple[int, ...]:
        return tuple(self.plan.extents[n] for n in self.classes.axes(value))


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


class _Placer:
    """Rebuilds a grid's region with layouts; counts the bytes that it had to convert."""

    def __init__(self, grid: _Grid) -> None:
        self.grid = grid
        self.mapped: dict[Value, Value] = {}
        self.converted_bytes = 0
        self.layouts_by_classes: dict[tuple[int, ...], Layout | None] = {}
        self.makers = makers_of(grid.region.ops)

    def region(self, region: Region) -> Region:
        builder = Builder(OPS)
        for op in region.ops:
            builder.location = op.location
            self.place(op, builder)
        return Region(region.args, tuple(builder.ops))

    def place(self, op: Op, builder: Builder) -> None:
        if op.name == "reshape" and not _tile(op.operands[0]).shape:
            op = Op(OPS["broadcast"], op.operands, None, op.results, (), op.location)
        operands = tuple(self.mapped.get(v, v) for v in op.operands)
        if op.name in FIXED_OPERANDS and op.name != "load" and _tile(operands[1]).shape:
            layout = self.whole_sectors(op, _layout(operands[1]))
            value = self.convert(operands[1], operands[1], layout, builder)
            operands = self.subscripted(op, (operands[0], value, *operands[2:]), layout, builder)
        if op.name == "stream":
            self.stream(op, builder)
            return
        if op.name == "loop":
            self.loop(op, operands, builder)
            return
        if op.name == "branch":
            self.branch(op, operands, builder)
            return
        if not op.results or not _tile(op.result).shape:
            builder.ops.append(Op(op.spec, self.reduced(op, operands, builder), op.attrs, op.results, (), op.location))
            return
        layout, operands = self.layouts(op, operands, builder)
        if op.name == "reshape" and layout is None:
            self.mapped[op.result] = self.convert(operands[0], op.result, self.default(op.result), builder)
            return
        assert layout is not None
        type_ = TileType(_tile(op.result).dtype, _tile(op.result).shape, layout.text)
        self.check_size(op, layout)
        value = builder.value(op.name, operands, type_, op.attrs, op.result.name)
        if op.name in SCANS:  # its layout suits nothing else
            value = self.convert(value, op.result, self.default(op.result), builder)
        self.mapped[op.result] = value

    def check_size(self, op: Op, layout: Layout) -> None:
        if layout.register_count > MAX_TILE_REGISTERS:
            raise UnsupportedError(
                f"a block's value of {'x'.join(map(str, layout.shape))} elements, more than the registers hold,",
                "write a smaller `block=`, or make another of its axes a grid axis",
                op.location,
            )

    def planned(self, value: Value) -> Layout | None:
        """The plan's layout of a value; values of the same classes share one."""
        numbers = self.grid.classes.axes(value)
        if numbers not in self.layouts_by_classes:
            self.layouts_by_classes[numbers] = planned_layout(self.grid.plan, numbers)
        return self.layouts_by_classes[numbers]

    def default(self, value: Value, caps: dict[int, int] | None = None) -> Layout:
        planned = self.planned(value) if caps is None else None
        return planned or distribute(self.grid.extents_of(value), self.grid.warps, caps or {})

    def layouts(self, op: Op, operands: tuple[Value, ...], builder: Builder) -> tuple[Layout | None, tuple[Value, ...]]:
        """The result's layout and the operands converted to what it asks for."""
        if op.name == "broadcast":
            layout = self.default(op.result)
            return layout, (self.spread(op, operands[0], layout, builder),)
        if op.name in REDUCTIONS:
            operands = self.reduced(op, operands, builder)
            keepdims, axes = op.attrs["keepdims"], op.attrs["axes"]
            assert isinstance(axes, tuple) and isinstance(keepdims, bool)
            return without_axis(_layout(operands[0]), int(axes[0]), keepdims=keepdims), operands
        if op.name in SCANS:
            axis = op.attrs["axis"]
            assert isinstance(axis, int)
            extents, layout = self.grid.extents_of(op.result), _layout(operands[0])
            if not follows_scan(layout, extents, axis):
                layout = scan_layout(extents, axis, self.grid.warps)
            return layout, (self.convert(operands[0], operands[0], layout, builder),)
        if op.name == "take":
            layout = self.default(op.result)
            return layout, (operands[0], self.convert(operands[1], operands[1], layout, builder))
        if op.name == "transpose":
            permutation = op.attrs["permutation"]
            assert isinstance(permutation, tuple)
            return permuted(_layout(operands[0]), tuple(int(p) for p in permutation)), operands
        if op.name == "reshape":
            layout = self.default(op.result)
            follows, planned = self.planned(op.operands[0]), self.planned(op.result)
            if planned is None or follows is None or follows != _layout(operands[0]):
                return None, operands
            if not _keeps_elements(_tile(op.operands[0]), _tile(op.result)):
                return None, operands
            return (layout if _same_places(follows, layout) else None), operands
        layout = self.default(op.result)
        if op.name == "load":
            layout = self.whole_sectors(op, layout)
            operands = self.subscripted(op, operands, layout, builder)
        if "elementwise" in op.spec.traits:
            operands = tuple(self.convert(v, v, layout, builder) for v in operands)
        return layout, operands

    def subscripted(self, op: Op, operands: tuple[Value, ...], layout: Layout, builder: Builder) -> tuple[Value, ...]:
        """An access' operands, its tiles of indices and its mask spread as its tile is."""
        wanted = operand_layouts(op, layout)
        return tuple(self.convert(v, v, wanted[k], builder) if k in wanted else v for k, v in enumerate(operands))

    def whole_sectors(self, op: Op, layout: Layout) -> Layout:
        """The layout of an access: the value's, unless each lane would touch a sector of memory of its own."""
        access = access_of(op, self.makers)
        assert access is not None
        nbytes = access.tensor.dtype.nbytes
        extents = self.grid.extents_of(access.tile)
        copies = any(digit.axis == REPLICATED for digit in layout.lanes)
        along = contiguous_axis(access) == len(extents) - 1
        if copies or len(extents) < 2 or not along or extents[-1] * nbytes < SECTOR_BYTES:
            return layout
        scattered = contiguous_run(layout, layout.rank - 1) * nbytes < SECTOR_BYTES
        if not scattered or prod(layout.shape) * nbytes > MAX_TURNED_BYTES:
            return layout
        return along_last(extents, self.grid.warps, min(self.grid.vector, MAX_ACCESS_BYTES // nbytes))

    def reduced(self, op: Op, operands: tuple[Value, ...], builder: Builder) -> tuple[Value, ...]:
        """A reduction's operand in a layout whose lanes and warps stay inside the order's partials."""
        if op.name not in REDUCTIONS:
            return operands
        axes = op.attrs["axes"]
        assert isinstance(axes, tuple)
        axis, type_ = int(axes[0]), _tile(op.operands[0])
        if op.name not in ("sum", "prod") or not type_.dtype.is_float:
            if _steps_by_bits(_layout(operands[0]), axis):
                return operands
            return (self.convert(operands[0], operands[0], self.default(op.operands[0], {}), builder),)
        order = sum_order(
            axis == type_.rank - 1, static_extent(self.grid.classes, self.grid.classes.of[op.operands[0], axis])
        )
        if fits_order(_layout(operands[0]), axis, order):
            return operands
        layout = self.default(op.operands[0], {axis: order.partials})
        return (self.convert(operands[0], operands[0], layout, builder),)

    def spread(self, op: Op, operand: Value, layout: Layout, builder: Builder) -> Value:
        """A broadcast's operand in the layout that the result's implies."""
        source, result = _tile(operand), _tile(op.result)
        if not source.shape:
            return operand
        skipped = result.rank - source.rank
        axes = [k + skipped if source.shape[k] == result.shape[k + skipped] else REPLICATED for k in range(source.rank)]
        return self.convert(operand, operand, restricted(layout, axes), builder)

    def convert(self, value: Value, like: Value, layout: Layout, builder: Builder) -> Value:
        """The value in a layout, through a conversion if it is in another one; `like` gives the shape."""
        type_ = _tile(value)
        shape = _tile(like).shape
        if not shape or (type_.shape == shape and _layout(value) == layout):
            return value
        extents = _layout(value).shape
        total = type_.dtype.nbytes
        for extent in extents:
            total *= extent
        self.converted_bytes += total
        return builder.value("convert", (value,), TileType(type_.dtype, shape, layout.text), None, value.name)

    def joined(self, value: Value, name: str | None) -> Value:
        """A value that several places give, in the plan's layout; it stands for `value` from here on."""
        type_ = _tile(value)
        text = self.default(value).text if type_.shape else None
        placed = self.mapped[value] = Value(TileType(type_.dtype, type_.shape, text), name)
        return placed

    def given(self, values: Sequence[Value], like: Sequence[Value], builder: Builder) -> tuple[Value, ...]:
        """Placed values in the layouts of the ones that they become."""
        pairs = zip(values, like, strict=True)
        return tuple(self.convert(v, v, _layout(to), builder) if _tile(v).shape else v for v, to in pairs)

    def ending(self, region: Region, like: Sequence[Value]) -> Region:
        """A placed region whose yield is in the layouts of `like`; what is yielded beside them stays as it is."""
        inner = Builder(OPS)
        inner.ops = list(region.ops[:-1])
        last = region.ops[-1]
        inner.location = last.location
        count = len(like)
        inner.emit("yield", (*self.given(last.operands[:count], like, inner), *last.operands[count:]))
        return Region(region.args, tuple(inner.ops))

    def loop(self, op: Op, operands: tuple[Value, ...], builder: Builder) -> None:
        """What is carried has one layout at entry, at the start of a step, at its end and at exit."""
        parts = loop_parts(op)
        args = [self.joined(arg, arg.name) for arg in parts.args]
        for arg in args:
            if _tile(arg).shape:
                self.check_size(op, _layout(arg))
        limits = len(parts.limits)
        inits = self.given(operands[limits:], args, builder)
        placed = self.region(Region((parts.block, *args), op.regions[0].ops))
        results = tuple(self.joined(result, result.name) for result in op.results)
        region = self.ending(placed, args)
        builder.ops.append(Op(op.spec, (*operands[:limits], *inits), op.attrs, results, (region,), op.location))

    def branch(self, op: Op, operands: tuple[Value, ...], builder: Builder) -> None:
        """Both regions give their values in one layout."""
        placed = [self.region(region) for region in op.regions]
        results = tuple(self.joined(result, result.name) for result in op.results)
        regions = tuple(self.ending(region, results) for region in placed)
        builder.ops.append(Op(op.spec, operands, op.attrs, results, regions, op.location))

    def stream(self, op: Op, builder: Builder) -> None:
        region = self.region(op.regions[0])
        inner = Builder(OPS)
        inner.ops = list(region.ops[:-1])
        kinds, axes = op.attrs["kinds"], op.attrs["axes"]
        assert isinstance(kinds, tuple) and isinstance(axes, tuple)
        yielded: list[Value] = []
        results: list[Value] = []
        for kind, axis, before, value, result in zip(
            kinds, axes, op.regions[0].ops[-1].operands, region.ops[-1].operands, op.results, strict=True
        ):
            if kind in ("sum", "prod") and _tile(value).dtype.is_float:
                order = stream_order(op, _tile(value), int(axis))
                if not fits_order(_layout(value), int(axis), order):
                    value = self.convert(value, value, self.default(before, {int(axis): order.partials}), inner)
            yielded.append(value)
            layout = without_axis(_layout(value), int(axis), keepdims=False)
            type_ = _tile(result)
            placed = Value(TileType(type_.dtype, type_.shape, layout.text if type_.shape else None), result.name)
            self.mapped[result] = placed
            results.append(placed)
        inner.emit("yield", tuple(yielded))
        placed_region = Region(region.args, tuple(inner.ops))
        builder.ops.append(Op(op.spec, (), op.attrs, tuple(results), (placed_region,), op.location))


def _layout(value: Value) -> Layout:
    text = _tile(value).layout
    assert text is not None
    return parse_layout(text)


def _keeps_elements(source: TileType, result: TileType) -> bool:
    """Whether axes merge or split at extents known here; clipped blocks shift elements as only the run knows."""
    return all(
        isinstance(type_.shape[axis], int)
        for old, new in reshape_groups(source.shape, result.shape)
        for type_, group, other in ((source, old, new), (result, new, old))
        for axis in group[1:]
        if other
    )


def _same_places(before: Layout, after: Layout) -> bool:
    """Whether a regrouping leaves every register where it is."""
    return before.register_count == after.register_count


def _steps_by_bits(layout: Layout, axis: int) -> bool:
    """Whether lanes and warps along an axis hold runs of index bits, as a tree combines them."""
    return not any(d.stride & (d.stride - 1) for d in layout.lanes + layout.warps if d.axis == axis)


def fits_order(layout: Layout, axis: int, order: SumOrder) -> bool:
    """Whether each partial's elements are in one thread and every digit is a run of index bits."""
    digits = [d for d in layout.all_digits() if d.axis == axis]
    reach = [d.extent * d.stride for d in layout.lanes + layout.warps if d.axis == axis]
    return max(reach, default=1) <= order.partials and not any(d.stride & (d.stride - 1) for d in digits)


def _place_grid(op: Op, schedule: GridSchedule) -> Op:
    region = op.regions[0]
    classes = axis_classes(region)
    extents = tile_extents(op, region, classes, schedule)
    orders = sum_caps(region, classes) | stream_orders(region, classes)
    best: tuple[int, Region] | None = None
    failure: UnsupportedError | None = None
    for roots in root_choices(classes):
        meets = meetings(region, roots, classes, extents)
        fast = fast_roots(region, roots, classes, meets, extents, schedule.vector)
        plan = plan_axes(roots, fast, extents, orders, meets, schedule, classes.splits)
        placer = _Placer(_Grid(region, classes, plan, schedule.warps, schedule.vector))
        try:
            placed = placer.region(region)
        except UnsupportedError as e:
            failure = e
            continue
        if best is None or placer.converted_bytes < best[0]:
            best = (placer.converted_bytes, placed)
    if best is None:
        assert failure is not None
        raise failure
    attrs: dict[str, object] = {"tile": schedule.tile, "warps": schedule.warps}
    if "segments" in op.attrs:
        attrs["segments"] = op.attrs["segments"]
    if schedule.steps:
        attrs["steps"] = schedule.steps
    return Op(op.spec, op.operands, attrs, op.results, (best[1],), op.location)


def place_layouts(kernel: Kernel, schedule: Schedule) -> Kernel:
    """Layouts for every tile of every grid. Errors: UnsupportedError."""
    plans = iter(schedule.grids)
    body = tuple(_place_grid(op, next(plans)) if op.name == "grid" else op for op in kernel.body)
    return replace(kernel, stage="placed", body=body)
