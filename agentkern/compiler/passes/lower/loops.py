"""Loops in order and choices between regions: counted loops over register arrays that hold what is carried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from agentkern.compiler.ir.core import Op, Region, Value, walk
from agentkern.compiler.ir.dims import Dim, Symbol
from agentkern.compiler.ir.gpu_types import RegisterArray
from agentkern.compiler.ir.loop_ops import LoopParts, high_name, loop_parts, low_name
from agentkern.compiler.ir.types import BlockType, TileType
from agentkern.compiler.passes.grid_axes import first_divisor
from agentkern.compiler.passes.lower.arithmetic import I64
from agentkern.compiler.passes.lower.elements import Elements
from agentkern.compiler.passes.lower.function import FunctionLowering

LowerRegion = Callable[[FunctionLowering, Region], Elements]


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _cells(function: FunctionLowering, values: Sequence[Value], name: str) -> list[Value]:
    """A register array for each of several values."""
    counts = [function.layout(value).register_count for value in values]
    pairs = zip(values, counts, strict=True)
    return [function.registers(_tile(value).dtype, count, value.name or name) for value, count in pairs]


def _copy(function: FunctionLowering, elements: Elements, value: Value, array: Value) -> None:
    with function.loop(0, function.layout(value).register_count, unroll=True) as register:
        function.set(array, register, elements.element(value, register))


def _hold(function: FunctionLowering, values: Sequence[Value], arrays: Sequence[Value]) -> None:
    """Let arrays stand for values; a value of one register is read here and now."""
    for value, array in zip(values, arrays, strict=True):
        single = function.layout(value).register_count == 1
        function.held[value] = function.get(array, 0) if single else array


def _move(function: FunctionLowering, elements: Elements, values: Sequence[Value], arrays: Sequence[Value]) -> None:
    """Put values into arrays as if all at once: what reads one of the arrays is copied before any changes."""
    ready: list[tuple[Value, Value | None, Value]] = []
    for value, array in zip(values, arrays, strict=True):
        base, same = elements.base_of(value)
        held = function.held[base]
        if held is array and same:
            continue
        staged = None
        if held in arrays:
            (staged,) = _cells(function, (value,), "next")
            _copy(function, elements, value, staged)
        ready.append((value, staged, array))
    for value, staged, array in ready:
        if staged is None:
            _copy(function, elements, value, array)
            continue
        assert isinstance(array.type, RegisterArray)
        with function.loop(0, array.type.count, unroll=True) as register:
            function.set(array, register, function.get(staged, register))


def _is_natural(extent: int | Dim) -> bool:
    """Whether an extent is never negative by its form alone."""
    if isinstance(extent, int):
        return extent >= 0
    return all(
        coefficient > 0 and all(isinstance(atom, Symbol) and not atom.name.startswith("%") for atom in monomial)
        for monomial, coefficient in extent.terms
    )


def _bound(function: FunctionLowering, given: Value | None, extent: int | Dim, name: str) -> int | Value:
    """A bound as an index; one that an operand gives is known by its symbol from here on."""
    if given is None:
        return function.extent(extent)
    value = function.index.value(function.held[given], I64)
    function.symbols[name] = value
    return value


def _between(function: FunctionLowering, value: Value, low: int | Value, high: int | Value) -> int | Value:
    """A limit of skipping, no further than the loop's bounds."""
    index = function.index
    return index.maximum(index.minimum(function.held[value], high), low)


def _range(function: FunctionLowering, parts: LoopParts, tile: int) -> tuple[int | Value, int | Value, int | Value]:
    """The first index, the first step to run and the number of steps."""
    index, type_ = function.index, parts.type
    low = _bound(function, parts.low, type_.first, low_name(type_.name))
    high = _bound(function, parts.high, type_.extent, high_name(type_.name))
    first = low
    if not (low == 0 and _is_natural(type_.extent)):
        first = index.minimum(low, high)
    begin: int | Value = 0
    if parts.since is not None:
        since = _between(function, parts.since, first, high)
        begin = index.quotient(index.subtract(since, first), tile)
    if parts.until is not None:
        high = _between(function, parts.until, first, high)
    length = index.subtract(high, first)
    count = index.quotient(index.add(length, tile - 1), tile)
    return low, begin, count


def _whole_steps(function: FunctionLowering, op: Op, tile: int, low: int | Value, count: int | Value) -> int | Value:
    """The number of the first step that may be cut short; `count` where the steps are better left together.

    Steps that are whole need no guards. The one that may not be stands behind the loop, as a copy of its body: for
    innermost loops, whose code that can only double.
    """
    parts = loop_parts(op)
    type_, index = parts.type, function.index
    is_innermost = not any(inner.name in ("loop", "stream") for inner in walk(op.regions[0].ops))
    divides = isinstance(type_.length, int) and type_.length % tile == 0
    if tile == 1 or divides or not is_innermost or parts.stop is not None or isinstance(type_.current, int):
        return count
    high = _bound(function, None, type_.extent, high_name(type_.name))
    whole = index.quotient(index.maximum(index.subtract(high, low), 0), tile)
    return index.minimum(count, whole)


def lower_loop(function: FunctionLowering, outer: Elements, op: Op, tile: int, lower_region: LowerRegion) -> None:
    """A counted loop: each step reads what the arrays hold, and changes them at its end."""
    parts = loop_parts(op)
    arrays = _cells(function, parts.args, "carried")
    for value, array in zip(parts.inits, arrays, strict=True):
        _copy(function, outer, value, array)
    low, begin, count = _range(function, parts, tile)
    whole = _whole_steps(function, op, tile, low, count)

    def body(number: int | Value, *, is_whole: bool, once: bool) -> None:
        function.enter_block(parts.block, number, tile, low, is_whole=is_whole)
        function.tiles[parts.block] = gcd(tile, first_divisor(parts.type.first, function.kernel))
        _hold(function, parts.args, arrays)
        with function.memory.branch() if once else function.memory.loop(parts.block, function.barrier):
            inner = lower_region(function, op.regions[0])
            _move(function, inner, parts.yields, arrays)
        if parts.stop is not None and not once:
            function.builder.emit("break_if", (inner.element(parts.stop, 0),))

    if not (isinstance(whole, int) and isinstance(begin, int) and begin >= whole):
        steps = function.loop(begin, whole, unroll=False, name=parts.block.name or "step")
        with steps as number:
            body(number, is_whole=whole is not count, once=steps.once)
    if whole is not count and not (isinstance(whole, int) and isinstance(count, int) and whole >= count):
        known = isinstance(whole, int) and isinstance(count, int)
        last = function.index.maximum(whole, begin)
        with function.when(None if known else function.index.compare("lt", last, count)):
            body(last, is_whole=False, once=True)
    _hold(function, op.results, arrays)


def lower_branch(function: FunctionLowering, outer: Elements, op: Op, lower_region: LowerRegion) -> None:
    """One of two regions; all threads of a block take the same one."""
    arrays = _cells(function, op.results, "chosen")
    condition = outer.element(op.operands[0], 0)
    bodies: list[Region] = []
    for region in op.regions:
        with function.region() as builder, function.memory.branch():
            inner = lower_region(function, region)
            _move(function, inner, region.ops[-1].operands, arrays)
        bodies.append(Region((), tuple(builder.ops)))
    function.builder.emit("if_else", (condition,), (), None, tuple(bodies))
    _hold(function, op.results, arrays)


def step_tile(function: FunctionLowering, block: Value) -> int:
    """Indices per step: as written, else as the schedule says."""
    type_ = block.type
    assert isinstance(type_, BlockType)
    return type_.block or function.step_tiles[block]
