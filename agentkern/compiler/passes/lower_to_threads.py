"""PLACED to GPU: what each thread does. One function per grid.

Topics stand in `lower/`. This file walks a region, decides which neighbouring element operations share a loop, and
hands every other operation to its topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from agentkern.compiler.abi import Variant
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.order import SumOrder, sum_order
from agentkern.compiler.ir.order_ops import SCANS
from agentkern.compiler.ir.segments import segment_axes
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.tile_ops import REDUCTIONS
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.ir.views import granules_of, names_in, view_of
from agentkern.compiler.passes.grid_axes import free_steps
from agentkern.compiler.passes.lower.arithmetic import I64
from agentkern.compiler.passes.lower.conversions import lower_concat, lower_conversion
from agentkern.compiler.passes.lower.counts import lower_bincount
from agentkern.compiler.passes.lower.elements import VIEWS, Elements, Group, is_narrowing
from agentkern.compiler.passes.lower.function import FunctionLowering, use_location
from agentkern.compiler.passes.lower.grid_blocks import block_count, enter_grid
from agentkern.compiler.passes.lower.loops import lower_branch, lower_loop, step_tile
from agentkern.compiler.passes.lower.memory import lower_load, lower_store
from agentkern.compiler.passes.lower.orders import lower_order
from agentkern.compiler.passes.lower.reductions import (
    accumulate,
    finish,
    fix_empty,
    identity,
    plan_accumulators,
)
from agentkern.compiler.passes.lower.requirements import lower_require
from agentkern.compiler.passes.lower.scans import lower_scan
from agentkern.compiler.passes.lower.sorts import lower_sort_kept
from agentkern.compiler.passes.lower.streams import lower_stream
from agentkern.compiler.passes.lower.takes import lower_take
from agentkern.compiler.passes.root_classes import stream_order
from agentkern.compiler.targets.cuda_names import DECLARED

_BLOCK_NUMBERS = ("ordinal", "start", "end", "slot")
_ALONE: Mapping[str, Callable[[FunctionLowering, Elements, Op], None]] = {
    "store": lower_store,
    "atomic": lower_store,
    "require": lower_require,
    "convert": lower_conversion,
    "slice": lower_conversion,
    "concat": lower_concat,
    "take": lower_take,
    "order": lower_order,
    "sort_kept": lower_sort_kept,
    "bincount": lower_bincount,
    **dict.fromkeys(SCANS, lower_scan),
}


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def static_axis_extent(type_: TileType, axis: int, blocks: dict[str, int | None]) -> int | None:
    """The extent that decides a sum's order: a number, or a written block's."""
    extent = type_.shape[axis]
    if isinstance(extent, int):
        return extent
    names = dims.symbols(extent)
    if any(name.startswith("%") for name in names):
        known = {name: block for name, block in blocks.items() if block is not None}
        whole = dims.substitute(extent, known)
        return whole if isinstance(whole, int) else None
    return None


class _Region:
    """Lowers the operations of one region in order."""

    def __init__(self, function: FunctionLowering, ops: tuple[Op, ...], blocks: dict[str, int | None]) -> None:
        self.function = function
        self.elements = Elements(function)
        self.ops = ops
        self.blocks = blocks

    def is_loop(self, op: Op) -> bool:
        """Whether an operation is one of a loop over registers."""
        if op.name in ("index", "arange"):
            return True
        if "elementwise" not in op.spec.traits:
            return False
        return not (is_narrowing(op) and self.function.layout(op.result).register_count % 2 == 0)

    def grouped(self) -> list[Group | Op]:
        """Neighbouring element operations of one register numbering as groups; everything else alone."""
        items: list[Group | Op] = []
        group: Group | None = None
        made: set[Value] = set()
        for op in self.ops:
            if op.name in VIEWS and _tile(op.result).shape:
                self.elements.add_view(op)
                continue
            if not self.is_loop(op):
                items.append(op)
                group = group if op.name in ("constant", *_BLOCK_NUMBERS) else None
                continue
            registers = self.function.layout(op.result).registers
            crosses = any(base in made and not same for base, same in map(self.elements.base_of, op.operands))
            if group is None or group.registers != registers or crosses:
                group, made = Group(registers), set()
                items.append(group)
            group.ops.append(op)
            made.update(op.results)
        return _constants_first(items)

    def run(self, results: tuple[Value, ...] = ()) -> Elements:
        """Emit the region; `results` are read after it."""
        items = self.grouped()
        self.elements.find_escaping(items)
        self.elements.escaping.update(self.elements.base_of(v)[0] for v in results)
        for item in items:
            if isinstance(item, Group):
                self.elements.emit_group(item)
            else:
                self.one(item)
        return self.elements

    def one(self, op: Op) -> None:
        """Emit one operation that is no loop of its neighbours'."""
        function = self.function
        use_location(function, op)
        if op.regions:
            self.with_regions(op)
        elif op.name == "load":
            lower_load(function, self.elements, op)
        elif op.name in _ALONE:
            _ALONE[op.name](function, self.elements, op)
        elif op.name == "cast":
            self.elements.emit_pairs(op)
        elif op.name in REDUCTIONS:
            self.reduction(op)
        elif op.name == "constant":
            function.held[op.result] = function.builder.value(
                "constant", (), _tile(op.result), op.attrs, op.result.name
            )
        elif op.name == "size":
            extent = op.attrs["extent"]
            assert isinstance(extent, int | dims.Dim)
            function.held[op.result] = function.index.value(function.extent(extent), I64)
        elif op.name in _BLOCK_NUMBERS:
            function.held[op.result] = function.index.value(self.block_number(op), I64)
        elif op.name in VIEWS:
            function.held[op.result] = self.elements.element(op.operands[0], 0)
        else:
            raise AssertionError(f"no lowering for `{op.name}`")

    def with_regions(self, op: Op) -> None:
        """Emit an operation that holds others."""
        if op.name == "loop":
            tile = step_tile(self.function, op.regions[0].args[0])
            lower_loop(self.function, self.elements, op, tile, self.nested)
        elif op.name == "branch":
            lower_branch(self.function, self.elements, op, self.nested)
        else:
            self.stream(op)

    def block_number(self, op: Op) -> int | Value:
        state = self.function.blocks[op.operands[0]]
        if op.name == "ordinal":
            return state.ordinal
        return state.start if op.name in ("start", "slot") else self.function.index.add(state.start, state.limit)

    def order(self, op: Op, type_: TileType, axis: int) -> SumOrder | None:
        """The order of a float sum or product; None where order does not matter."""
        if op.name not in ("sum", "prod") or not type_.dtype.is_float:
            return None
        return sum_order(axis == type_.rank - 1, static_axis_extent(type_, axis, self.blocks))

    def reduction(self, op: Op) -> None:
        function = self.function
        value, type_ = op.operands[0], _tile(op.operands[0])
        axes = op.attrs["axes"]
        assert isinstance(axes, tuple)
        axis = int(axes[0])
        layout = function.layout(value)
        plan = plan_accumulators(op.name, layout, axis, self.order(op, type_, axis))
        nothing = identity(op.name, type_.dtype)
        array = function.registers(type_.dtype, plan.count, f"{op.result.name or op.name}_partial", nothing)
        with function.loop(0, layout.register_count, unroll=True) as register:
            accumulate(function, plan, type_, array, register, self.elements.element(value, register))
        values = finish(function, plan, array, type_)
        values = fix_empty(function, op.name, type_.dtype, function.extent(type_.shape[axis]), values)
        self.hold(op.result, values)

    def stream(self, op: Op) -> None:
        kinds, axes, last = op.attrs["kinds"], op.attrs["axes"], op.regions[0].ops[-1]
        assert isinstance(kinds, tuple) and isinstance(axes, tuple)
        orders = tuple(
            stream_order(op, _tile(value), int(axis))
            if kind in ("sum", "prod") and _tile(value).dtype.is_float
            else None
            for kind, axis, value in zip(kinds, axes, last.operands, strict=True)
        )

        def inner(function: FunctionLowering, ops: tuple[Op, ...]) -> Elements:
            region = _Region(function, ops, self.blocks)
            region.elements.views.update(self.elements.views)
            return region.run(last.operands)

        results = lower_stream(self.function, op, orders, inner)
        for result, values in zip(op.results, results, strict=True):
            self.hold(result, values)

    def nested(self, function: FunctionLowering, region: Region) -> Elements:
        """Lower the region of a loop or choice, but for its `yield`."""
        types = [arg.type for arg in region.args]
        blocks = self.blocks | {t.name: t.block for t in types if isinstance(t, BlockType)}
        inner = _Region(function, region.ops[:-1], blocks)
        inner.elements.views.update(self.elements.views)
        return inner.run(region.ops[-1].operands)

    def hold(self, result: Value, values: list[Value]) -> None:
        """Keep a reduction's results: one is a scalar, several an array."""
        function = self.function
        if len(values) == 1:
            values[0].name = values[0].name or result.name
            function.held[result] = values[0]
            return
        array = function.registers(_tile(result).dtype, len(values), result.name)
        for register, value in enumerate(values):
            function.set(array, register, value)
        function.held[result] = array


def _constants_first(items: list[Group | Op]) -> list[Group | Op]:
    """Move constants and block numbers before the group that they stand inside."""
    first: list[Group | Op] = []
    rest: list[Group | Op] = []
    for item in items:
        is_constant = isinstance(item, Op) and item.name in ("constant", *_BLOCK_NUMBERS)
        (first if is_constant else rest).append(item)
    return first + rest


def _sizes(kernel: Kernel, op: Op) -> tuple[str, ...]:
    """Run-time sizes that a grid's code names: of its blocks, tensors and size operations."""
    found: set[str] = set()
    for inner in walk([op]):
        for value in (*inner.operands, *inner.results, *(a for r in inner.regions for a in r.args)):
            type_ = value.type
            extents = (
                (*type_.shape, *(type_.strides or ()))
                if isinstance(type_, TensorType)
                else type_.shape
                if isinstance(type_, TileType)
                else (type_.extent, type_.first)
                if isinstance(type_, BlockType)
                else ()
            )
            found.update(name for extent in extents for name in dims.symbols(extent))
        extent = inner.attrs.get("extent")
        found.update(dims.symbols(extent) if isinstance(extent, dims.Dim) else ())
        found.update(_index_names(inner))
        found.update(names_in(view_of(inner)))
    found.update(name for axis in segment_axes(op) for name in dims.symbols(axis.end))
    return tuple(size.name for size in kernel.sizes if size.name in found)


def _index_names(op: Op) -> set[str]:
    names: set[str] = set()
    index = op.attrs.get("index")
    for entry in index if isinstance(index, tuple) else ():
        text = str(entry)
        if ":" in text and text != ":":
            for piece in text.split(":"):
                names.update(dims.symbols(dims.parse(piece)))
    return names


def _lower_grid(kernel: Kernel, op: Op, variant: Variant, name: str) -> Op:
    tiles, warps = op.attrs["tile"], op.attrs["warps"]
    assert isinstance(tiles, tuple) and isinstance(warps, int)
    function = FunctionLowering(kernel, variant, warps, op)
    function.builder.location = None
    for value in kernel.params:
        if isinstance(value.type, TileType):
            function.held[value] = value
    function.declare_sizes(_sizes(kernel, op))
    for tensor in (name for name in variant.strided if name in function.tensors):
        rank = function.tensor(function.tensors[tensor]).rank
        for axis in range(rank):
            argument = f"{tensor}.stride{axis}"
            function.symbols[argument] = function.builder.value(
                "size_argument", (), I64, {"argument": argument}, f"{tensor}_stride{axis}"
            )
    numbers = tuple(int(t) for t in tiles)
    steps = op.attrs.get("steps", ())
    assert isinstance(steps, tuple)
    function.step_tiles.update(zip(free_steps(op.regions[0]), (int(n) for n in steps), strict=True))
    works = enter_grid(function, op, numbers)
    types = [arg.type for arg in op.regions[0].args]
    blocks = {t.name: t.written for t in types if isinstance(t, BlockType)}
    with function.when(works):
        _Region(function, op.regions[0].ops, blocks).run()
    attrs = {
        "name": name,
        "blocks": block_count(op, numbers),
        "threads": warps * 32,
        "shared_bytes": function.shared_bytes,
    }
    return Op(OPS["function"], (), attrs, (), (Region((), tuple(function.builder.ops)),), op.location)


def lower_to_threads(kernel: Kernel, variant: Variant) -> Kernel:
    """One `function` operation per grid. Errors: UnsupportedError."""
    grids = [op for op in kernel.body if op.name == "grid"]
    plain = len(grids) == 1 and kernel.name not in DECLARED
    names = [kernel.name if plain else f"{kernel.name}_{number}" for number in range(len(grids))]
    body = tuple(_lower_grid(kernel, op, variant, name) for op, name in zip(grids, names, strict=True))
    granules = tuple(granules_of(kernel).items())
    attrs = {**kernel.attrs, "granules": granules} if granules else kernel.attrs
    return replace(kernel, stage="gpu", body=body, attrs=attrs)
