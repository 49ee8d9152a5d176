"""GPU to GPU: a loop that carries values from step to step loads what several steps need at once.

A step that loads a little and waits for it takes the memory's latency, however fast the memory is. Several steps that
stand together, all their loads first, take it once; what they compute stays in sequence. Only loads of memory that
nobody writes, at places that follow from the step's number alone, stand before the steps. Loops whose steps load much,
wait for other threads, or may end early stay as they are; so does what is left over at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.gpu_types import RegisterArray
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.load_ahead import (
    WAITS,
    addresses_of,
    copy_of,
    fresh,
    only_loads,
    registers_of,
    with_loops,
    writes,
)
from agentkern.compiler.passes.lower.arithmetic import I32, IndexBuilder

MOST_STEPS = 16
FEWEST_STEPS = 4
MOST_REGISTERS = 48  # 32-bit ones of a thread, for what a group has loaded; each access has an address beside them
MOST_INSTRUCTIONS = 4096  # of a group, about: its text is unrolled


@dataclass(frozen=True, slots=True)
class _Loads:
    """An array of a step, the operations that compute where it is loaded from, and its loads."""

    array: Op
    addresses: tuple[Op, ...]
    load: Op

    @property
    def type(self) -> RegisterArray:
        """The array's type."""
        type_ = self.array.result.type
        assert isinstance(type_, RegisterArray)
        return type_


def load_together(kernel: Kernel) -> Kernel:
    """The kernel with its loops' steps in groups whose loads stand together."""
    return with_loops(kernel, _grouped)


def _grouped(loop: Op, constants: Mapping[Value, object]) -> Iterator[Op]:
    """The loop in groups and what is left over, or as it is."""
    found = _loads(loop) if _carries(loop) else ()
    steps = _steps(loop, found, constants) if found else 0
    if steps < FEWEST_STEPS:
        yield loop
        return
    builder = Builder(OPS)
    builder.location = loop.location
    index = IndexBuilder(builder)
    low, high = loop.operands
    (step,) = loop.regions[0].args
    assert isinstance(step.type, TileType)
    begin = 0 if constants.get(low) == 0 else low
    count = index.maximum(index.subtract(high, begin), 0)
    end = index.add(begin, index.multiply(index.quotient(count, steps), steps))
    bounds = (low, index.value(end, step.type))
    builder.emit("for", bounds, (), {**loop.attrs, "step": steps}, (_group(loop, found, steps),))
    builder.emit("for", (bounds[1], high), (), loop.attrs, loop.regions)
    yield from builder.ops


def _carries(loop: Op) -> bool:
    """Whether a step changes what the next one reads, and no step waits for other threads or has loops of its own."""
    inside = list(walk(loop.regions[0].ops))
    own = {value for op in inside for value in op.results}
    if any(op.name in WAITS or (op.name == "for" and not op.attrs["unroll"]) for op in inside):
        return False
    return any(op.name == "set" and op.operands[0] not in own for op in inside)


def _loads(loop: Op) -> tuple[_Loads, ...]:
    """The arrays of a step that are loaded at places that its number gives."""
    body = loop.regions[0].ops
    named = {op: frozenset(value for inner in walk((op,)) for value in inner.operands) for op in body}
    found: list[_Loads] = []
    for array in (op for op in body if op.name == "registers"):
        uses = [op for op in body if array.result in named[op]]
        writers = [op for op in uses if any(writes(inner, array.result) for inner in walk((op,)))]
        if writers != uses[:1] or len(uses) < 2 or not only_loads(uses[0]):
            continue
        addresses = addresses_of(loop, uses[0], array.result)
        if addresses is not None:
            found.append(_Loads(array, addresses, uses[0]))
    return tuple(found)


def _steps(loop: Op, found: Sequence[_Loads], constants: Mapping[Value, object]) -> int:
    """Steps of a group: as many as registers and text allow, a power of two; no more than the loop has."""
    registers = sum(registers_of(loads.array) for loads in found)
    if registers > MOST_REGISTERS // FEWEST_STEPS:
        return 0
    room = min(MOST_STEPS, MOST_REGISTERS // registers, MOST_INSTRUCTIONS // _weight(loop.regions[0].ops, constants))
    low, high = (constants.get(bound) for bound in loop.operands)
    if isinstance(low, int) and isinstance(high, int):
        room = min(room, high - low)
    return 1 << (room.bit_length() - 1) if room > 0 else 0


def _weight(ops: Sequence[Op], constants: Mapping[Value, object]) -> int:
    """About how many instructions operations become, each turn of an unrolled loop for itself."""
    total = 1
    for op in ops:
        turns = 1
        if op.name == "for":
            low, high = (constants.get(bound) for bound in op.operands)
            step = op.attrs["step"]
            assert isinstance(step, int)
            turns = -(-(high - low) // step) if isinstance(low, int) and isinstance(high, int) else 1
        total += max(turns, 1) * sum(_weight(region.ops, constants) for region in op.regions) or 1
    return total


def _group(loop: Op, found: Sequence[_Loads], steps: int) -> Region:
    """The body of a group: all loads, then the steps one after another."""
    (step,) = loop.regions[0].args
    first = Value(step.type, step.name)
    builder = Builder(OPS)
    builder.location = loop.location
    builder.emit("note", (), (), {"text": f"what {steps} steps load, before the first of them goes on"})
    arrays: dict[Value, Value] = {}
    for loads in found:
        builder.location = loads.load.location
        type_ = RegisterArray(loads.type.dtype, loads.type.count * steps)
        array = loads.array.result
        arrays[array] = builder.value("registers", (), type_, loads.array.attrs, array.name)
    for loads in found:
        builder.location = loads.load.location
        with _Turns(builder, first, step, steps) as turns:
            copied = [copy_of(op, turns.copies) for op in loads.addresses]
            turns.builder.ops += copied
            turns.builder.ops += _load_into(loads.load, turns, arrays)
    builder.location = loop.location
    with _Turns(builder, first, step, steps) as turns:
        moved = {op for loads in found for op in (loads.array, loads.load)}
        for op in loop.regions[0].ops:
            loads = next((loads for loads in found if loads.load is op), None)
            if loads is not None:
                _taken(turns, loads, arrays[loads.array.result])
            elif op not in moved:
                turns.builder.ops.append(copy_of(op, turns.copies))
    return Region((first,), tuple(builder.ops))


class _Turns:
    """`with` block of an unrolled loop over the steps of a group: its counter, and what stands for a step's values."""

    def __init__(self, builder: Builder, first: Value, step: Value, steps: int) -> None:
        self.outer = builder
        self.steps = steps
        self.counter = Value(I32, "u")
        self.builder = builder.nested()
        self.index = IndexBuilder(self.builder)
        assert isinstance(step.type, TileType)
        number = self.index.add(first, self.index.value(self.counter, step.type))
        self.copies: dict[Value, Value] = {step: self.index.value(number, step.type)}

    def __enter__(self) -> _Turns:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        bounds = tuple(IndexBuilder(self.outer).constant(number) for number in (0, self.steps))
        region = Region((self.counter,), tuple(self.builder.ops))
        self.outer.emit("for", bounds, (), {"step": 1, "unroll": True}, (region,))


def _load_into(op: Op, turns: _Turns, arrays: Mapping[Value, Value]) -> tuple[Op, ...]:
    """A copy of loads that fill the group's array from the turn's own place on."""
    if op.name == "load_vector":
        pointer, offset, array, register = (turns.copies.get(value, value) for value in op.operands)
        assert isinstance(array.type, RegisterArray)
        builder = turns.builder.nested()
        index = IndexBuilder(builder)
        place = index.value(index.add(index.multiply(turns.counter, array.type.count), register))
        builder.emit("load_vector", (pointer, offset, arrays[array], place), (), op.attrs)
        return tuple(builder.ops)
    operands = tuple(turns.copies.get(value, value) for value in op.operands)
    regions: list[Region] = []
    for region in op.regions:
        args = tuple(fresh(value, turns.copies) for value in region.args)
        inner = (part for one in region.ops for part in _load_into(one, turns, arrays))
        regions.append(Region(args, tuple(inner)))
    results = tuple(fresh(value, turns.copies) for value in op.results)
    return (Op(op.spec, operands, op.attrs, results, tuple(regions), op.location),)


def _taken(turns: _Turns, loads: _Loads, array: Value) -> None:
    """What one turn has loaded, in an array of its own."""
    builder, index = turns.builder, turns.index
    builder.location = loads.load.location
    count = loads.type.count
    own = builder.value("registers", (), loads.type, {}, loads.array.result.name)
    turns.copies[loads.array.result] = own
    register = Value(I32, "i")
    inner = builder.nested()
    place = IndexBuilder(inner)
    at = place.value(place.add(place.multiply(turns.counter, count), register))
    inner.emit("set", (own, register, inner.value("get", (array, at), TileType(loads.type.dtype))))
    bounds = (index.constant(0), index.constant(count))
    region = Region((register,), tuple(inner.ops))
    builder.emit("for", bounds, (), {"step": 1, "unroll": True}, (region,))
