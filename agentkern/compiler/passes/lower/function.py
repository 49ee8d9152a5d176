"""The state of one function while its grid is lowered: sizes, blocks, thread numbers, coordinates, shared memory."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd

from agentkern.compiler.abi import Variant
from agentkern.compiler.analysis.windows import makers_of
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, Value
from agentkern.compiler.ir.dims import Dim, FloorDiv
from agentkern.compiler.ir.gpu_types import Pointer, RegisterArray
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.types import BlockType, TensorType, TileType
from agentkern.compiler.layout.layout import WARP_LANES, Digit, Layout, parse_layout
from agentkern.compiler.passes.grid_axes import extent_divisor, first_divisor
from agentkern.compiler.passes.lower.arithmetic import I32, I64, IndexBuilder
from agentkern.compiler.passes.lower.memory_order import MemoryOrder
from agentkern.dsl.dtypes import DType

MAX_SHORT = 2**30  # an index that is this at most, and what a block goes beyond it, fit 32 bits


def named(value: int | Value, name: str) -> int | Value:
    """The value, called `name` in the printed code unless it has a name already."""
    if isinstance(value, Value):
        value.name = value.name or name
    return value


@dataclass(frozen=True, slots=True)
class BlockState:
    """A block of the moment: first index (i64) and how many of its indices exist (i32 or a number)."""

    start: int | Value
    limit: int | Value
    ordinal: int | Value


class FunctionLowering:
    """Emits one function. Values of the PLACED stage are held in `held`: a scalar value or a register array."""

    def __init__(self, kernel: Kernel, variant: Variant, warps: int, grid: Op) -> None:
        self.kernel = kernel
        self.memory = MemoryOrder(grid)
        self.makers = makers_of((grid,))
        self.variant = variant
        self.warps = warps
        self.builder = Builder(OPS)
        self.index = IndexBuilder(self.builder)
        self.held: dict[Value, Value] = {}
        self.blocks: dict[Value, BlockState] = {}
        self.symbols: dict[str, int | Value] = {}
        self.extents: dict[int | Dim, int | Value] = {}
        self.bases: dict[tuple[Layout, int], int | Value] = {}
        self.shared_bytes = 0
        self.tiles: dict[Value, int] = {}
        self.step_tiles: dict[Value, int] = {}
        self.loop_depth = 0
        self.carried: dict[Value, Value] = {}
        self.free_shared: list[tuple[int, int]] = []
        self.tensors = {v.name: v for v in kernel.params}
        self.lane, self.warp = self._thread_numbers()

    def _thread_numbers(self) -> tuple[int | Value, int | Value]:
        thread = self.builder.value("thread", (), I32, None, "thread")
        if self.warps == 1:
            return thread, 0
        lane = self.builder.value("index_and", (thread, self.index.constant(WARP_LANES - 1)), I32, None, "lane")
        warp = self.builder.value("index_shr", (thread, self.index.constant(5)), I32, None, "warp")
        return lane, warp

    @contextmanager
    def region(self) -> Generator[Builder]:
        """Emit into a nested region; what is cached inside it is forgotten after it."""
        outer = self.builder
        saved = (dict(self.extents), dict(self.bases))
        self.builder = outer.nested()
        self.index.builder = self.builder
        yield self.builder
        self.builder = outer
        self.index.builder = outer
        self.extents, self.bases = saved

    def loop(self, first: int | Value, end: int | Value, *, step: int = 1, unroll: bool, name: str = "i") -> LoopRegion:
        """A counted loop whose body is emitted inside the `with` block."""
        return LoopRegion(self, first, end, step, unroll, name)

    def when(self, condition: Value | None) -> WhenRegion:
        """A region that runs where the condition holds; None is always."""
        return WhenRegion(self, condition)

    def note(self, text: str) -> None:
        """A comment in the printed code."""
        self.builder.emit("note", (), (), {"text": text})

    def extent(self, extent: int | Dim) -> int | Value:
        """An extent as an index: numbers as they are, block extents by their limit, sizes from the launch."""
        if isinstance(extent, int):
            return extent
        known = self.extents.get(extent)
        if known is None:
            known = self._polynomial(extent)
            self.extents[extent] = known
        return known

    def _polynomial(self, extent: Dim) -> int | Value:
        total: int | Value = 0
        for monomial, coefficient in extent.terms:
            term: int | Value = 1
            for atom in monomial:
                term = self.index.multiply(term, self._atom(atom))
            if coefficient < 0:
                total = self.index.subtract(total, self.index.multiply(term, -coefficient))
            else:
                total = self.index.add(total, self.index.multiply(term, coefficient))
        return total

    def _atom(self, atom: dims.Atom) -> int | Value:
        if isinstance(atom, FloorDiv):
            return self.index.quotient(self.extent(atom.numerator), self.extent(atom.denominator))
        if atom.name not in self.symbols:
            raise KeyError(f"size `{atom.name}` is not known in this function")
        return self.symbols[atom.name]

    def declare_sizes(self, names: tuple[str, ...]) -> None:
        """Read run-time sizes from the launch's arguments."""
        for name in names:
            self.symbols[name] = self.builder.value("size_argument", (), I64, {"argument": name}, name)

    def enter_block(
        self, block: Value, ordinal: int | Value, tile: int, base: int | Value = 0, *, is_whole: bool = False
    ) -> None:
        """Make a block current: its `ordinal`-th of `tile` indices, all of which exist if it `is_whole`."""
        type_ = block.type
        assert isinstance(type_, BlockType)
        name = block.name or "block"
        number = self.index.value(ordinal, I64) if isinstance(ordinal, Value) else ordinal
        start = self.index.multiply(number, tile)
        if isinstance(start, Value):
            start.name = f"{name}_start"
        start = self.index.add(start, base)
        limit: int | Value = tile
        # a block that runs has an index: one of a single index is whole; so are all that a static extent is made of
        made_of_whole = is_whole or (isinstance(type_.length, int) and type_.length % tile == 0)
        if tile > 1 and not made_of_whole and not isinstance(type_.current, int):
            rest = self.index.subtract(self.extent(type_.extent), start)
            limit = self.index.minimum(rest, tile)
            if isinstance(limit, Value):
                limit = self.index.value(limit, I32)
                limit.name = f"{name}_count"
        self.blocks[block] = BlockState(start, limit, ordinal)
        self.tiles[block] = tile
        own = {type_.name: limit, f"{type_.name}.ordinal": number}
        self.symbols.update(own)
        self.extents = {k: v for k, v in self.extents.items() if own.keys().isdisjoint(dims.symbols(k))}

    def short_start(self, block: Value) -> int | Value:
        """A block's first index, in 32 bits where the axis' whole length is known and fits them with room to spare."""
        start, type_ = self.blocks[block].start, block.type
        assert isinstance(type_, BlockType)
        ends = (type_.first, type_.extent)
        fits = all(isinstance(end, int) and abs(end) <= MAX_SHORT for end in ends)
        return self.index.value(start, I32) if fits and isinstance(start, Value) else start

    def divisor(self, extent: int | Dim) -> int:
        """A power of two up to 16 that divides an extent of a tile, clipped blocks included."""
        block = next((b for b in self.blocks if isinstance(b.type, BlockType) and b.type.current == extent), None)
        if block is None or isinstance(extent, int):
            return extent_divisor(extent, self.kernel, self.variant)
        type_ = block.type
        assert isinstance(type_, BlockType)
        whole = gcd(extent_divisor(type_.extent, self.kernel, self.variant), self.tiles[block])
        return gcd(whole, first_divisor(type_.first, self.kernel))

    def layout(self, value: Value) -> Layout:
        """A tile's layout; a scalar's holds it in every thread."""
        type_ = value.type
        assert isinstance(type_, TileType)
        if type_.layout is None:
            return Layout(0, (), (Digit(-1, WARP_LANES, 0),), (Digit(-1, self.warps, 0),))
        return parse_layout(type_.layout)

    def base(self, layout: Layout, axis: int) -> int | Value:
        """The part of a coordinate that lane and warp give."""
        known = self.bases.get((layout, axis))
        if known is None:
            known = self.index.add(
                self._number_part(self.lane, layout.lanes, axis), self._number_part(self.warp, layout.warps, axis)
            )
            self.bases[layout, axis] = named(known, "at")
        return known

    def _number_part(self, number: int | Value, digits: tuple[Digit, ...], axis: int) -> int | Value:
        total: int | Value = 0
        divisor = 1
        whole = 1
        for digit in digits:
            whole *= digit.extent
        for digit in digits:
            if digit.axis == axis and digit.extent > 1:
                part = (
                    number if whole == digit.extent else self.index.bits(number, divisor.bit_length() - 1, digit.extent)
                )
                total = self.index.add(total, self.index.multiply(part, digit.stride))
            divisor *= digit.extent
        return total

    def register_part(self, layout: Layout, axis: int, register: int | Value) -> int | Value:
        """The part of a coordinate that the register's number gives."""
        total: int | Value = 0
        divisor = 1
        count = layout.register_count
        for digit in layout.registers:
            if digit.axis == axis:
                part = self.index.quotient(register, divisor)
                if divisor * digit.extent < count:
                    part = self.index.remainder(part, digit.extent)
                total = self.index.add(total, self.index.multiply(part, digit.stride))
            divisor *= digit.extent
        return total

    def coordinate(self, layout: Layout, axis: int, register: int | Value) -> int | Value:
        """The coordinate of this thread's register along an axis of the tile."""
        return self.index.add(self.base(layout, axis), self.register_part(layout, axis, register))

    def is_clipped(self, type_: TileType, layout: Layout, axis: int) -> bool:
        """Whether the layout covers indices that may not exist."""
        extent = self.extent(type_.shape[axis])
        return not isinstance(extent, int) or layout.shape[axis] > extent

    def inside(self, type_: TileType, layout: Layout, axis: int, register: int | Value, count: int = 1) -> Value | None:
        """Whether a register's indices along an axis (`count` neighbours) exist; None if always."""
        if not self.is_clipped(type_, layout, axis):
            return None
        last = self.index.add(self.coordinate(layout, axis, register), count - 1)
        return self.index.compare("lt", last, self.extent(type_.shape[axis]))

    def present(self, type_: TileType, layout: Layout, register: int | Value) -> Value | None:
        """Whether a register's element exists; None if always."""
        found: Value | None = None
        for axis in range(layout.rank):
            found = self.index.both(found, self.inside(type_, layout, axis, register))
        return found

    def registers(self, dtype: DType, count: int, name: str | None, fill: float | int | None = None) -> Value:
        """Declare a register array."""
        attrs = {} if fill is None else {"fill": fill}
        return self.builder.value("registers", (), RegisterArray(dtype, count), attrs, name)

    def get(self, array: Value, register: int | Value) -> Value:
        """An element of a register array."""
        assert isinstance(array.type, RegisterArray)
        scalar = TileType(array.type.dtype)
        return self.builder.value("get", (array, self.index.value(register)), scalar, None, array.name)

    def set(self, array: Value, register: int | Value, value: Value) -> None:
        """Change an element of a register array."""
        self.builder.emit("set", (array, self.index.value(register), value))

    def allocate_shared(self, dtype: DType, count: int, name: str) -> Value:
        """An array of its own in shared memory."""
        offset = -(-self.shared_bytes // 16) * 16
        self.shared_bytes = offset + count * dtype.nbytes
        attrs = {"offset": offset, "count": count}
        return self.builder.value("shared", (), Pointer(dtype, "shared"), attrs, name)

    def barrier(self) -> None:
        """All threads of the block meet; shared memory is ordered."""
        self.builder.emit("barrier")

    def tensor(self, value: Value) -> TensorType:
        """A parameter's tensor type."""
        assert isinstance(value.type, TensorType)
        return value.type


class LoopRegion:
    """`with` block of a counted loop; enters with the counter (a number when the loop runs once)."""

    def __init__(
        self,
        function: FunctionLowering,
        first: int | Value,
        end: int | Value,
        step: int,
        unroll: bool,
        name: str,
        *,
        rolled: bool = False,
    ) -> None:
        self.function = function
        self.first = first
        self.end = end
        self.attrs: Mapping[str, object] = {"step": step, "unroll": unroll} | ({"rolled": True} if rolled else {})
        self.counter = Value(I64 if isinstance(end, Value) and end.type == I64 else I32, name)
        self.once = isinstance(first, int) and isinstance(end, int) and end - first <= step

    def __enter__(self) -> int | Value:
        if self.once:
            assert isinstance(self.first, int)
            return self.first
        self.scope = self.function.region()
        self.inner = self.scope.__enter__()
        self.function.loop_depth += not self.attrs["unroll"]
        return self.counter

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.once or kind is not None:
            return
        self.function.loop_depth -= not self.attrs["unroll"]
        self.scope.__exit__(None, None, None)
        type_ = self.counter.type
        assert isinstance(type_, TileType)
        index = self.function.index
        bounds = (index.value(self.first, type_), index.value(self.end, type_))
        region = Region((self.counter,), tuple(self.inner.ops))
        self.function.builder.emit("for", bounds, (), self.attrs, (region,))


class WhenRegion:
    """`with` block of a conditional region."""

    def __init__(self, function: FunctionLowering, condition: Value | None) -> None:
        self.function = function
        self.condition = condition

    def __enter__(self) -> None:
        if self.condition is not None:
            self.scope = self.function.region()
            self.inner = self.scope.__enter__()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.condition is None or kind is not None:
            return
        self.scope.__exit__(None, None, None)
        region = Region((), tuple(self.inner.ops))
        self.function.builder.emit("if", (self.condition,), (), None, (region,))


def use_location(function: FunctionLowering, op: Op) -> None:
    """Let what is emitted next carry an operation's source location."""
    function.builder.location = op.location
