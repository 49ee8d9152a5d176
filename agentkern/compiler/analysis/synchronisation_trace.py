"""Run the integers and the control flow of one GPU-stage function for every thread of a block at once.

Gives the synchronisation-relevant operations in program order, each with the threads that execute it and the numbers
that they pass. Data (floats, anything loaded) is opaque: a branch on it is taken, a loop over it runs twice. Arithmetic
that no synchronisation depends on is not run. No judgement here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.analysis.synchronisation_plan import Plan, is_event
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.gpu_types import Pointer, RegisterArray
from agentkern.compiler.ir.types import TensorType, TileType

Lanes = NDArray[np.int64]
Mask = NDArray[np.bool_]
Number = int | Lanes | None
EVENT_LIMIT = 60_000


@dataclass(frozen=True, slots=True)
class Region:
    """A declared array of shared memory, in bytes from the start."""

    start: int
    end: int
    op: Op


@dataclass(frozen=True, slots=True)
class Address:
    """Where each thread points: bytes from the start of shared memory."""

    region: Region
    at: Number


@dataclass(frozen=True, slots=True)
class Matrix:
    """What a descriptor names: the operation and each thread's address."""

    op: Op
    address: Address


@dataclass(eq=False, slots=True)
class Event:
    """One execution of an operation by the threads of `mask`. `operands` are numbers, addresses and matrices."""

    op: Op
    mask: Mask
    operands: tuple[object, ...]

    def number(self, k: int, thread: int) -> int | None:
        """Operand k as one thread passes it."""
        value = self.operands[k]
        if isinstance(value, np.ndarray):
            return int(value[thread])
        return value if isinstance(value, int) else None


def _least(a: Any, b: Any) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def _most(a: Any, b: Any) -> Any:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b)


# Operands are Python's or NumPy's integers, which these take alike.
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floor_div": operator.floordiv,
    "mod": operator.mod, "index_add": operator.add, "index_sub": operator.sub, "index_mul": operator.mul,
    "index_shr": operator.rshift, "index_and": operator.and_, "quotient": operator.floordiv, "remainder": operator.mod,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "shl": operator.lshift, "shr": operator.rshift,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
    "ne": operator.ne, "minimum": _least, "maximum": _most,
}  # fmt: skip


def is_bool(value: Value) -> bool:
    """Whether a value is a condition."""
    return isinstance(value.type, TileType) and value.type.dtype.kind == "bool"


class Tracer:
    """Holds every value while one block of one function runs at chosen sizes."""

    def __init__(self, kernel: Kernel, plan: Plan, sizes: Mapping[str, int], block: int) -> None:
        threads = plan.function.attrs["threads"]
        assert isinstance(threads, int)
        self.kernel = kernel
        self.plan = plan
        self.sizes = sizes
        self.block = block
        self.threads: Lanes = np.arange(threads, dtype=np.int64)
        self.values: dict[Value, object] = {}
        self.may_hold: dict[Value, Any] = {}  # of conditions that are unknown: where their known parts hold
        self.at_most: dict[Value, Any] = {}  # of numbers that are unknown: the known one of which they are the least
        self.cells: dict[Value, tuple[Mask, dict[int, Number]]] = {}
        self.events: list[Event] = []

    def trace(self) -> list[Event]:
        """The events of a block, in an order that is every thread's program order."""
        with np.errstate(all="ignore"):
            self.run(self.plan.kept[id(self.plan.function.regions[0])], np.ones(len(self.threads), np.bool_))
        return self.events

    def run(self, ops: Sequence[Op], mask: Mask) -> None:
        """Run operations for the threads of a mask."""
        for op in ops:
            if len(self.events) > EVENT_LIMIT:
                return
            special = SPECIAL.get(op.name)
            if special is not None:
                special(self, op, mask)
            elif op.name in BINARY:
                self.values[op.result] = self.binary(op)
            elif op.spec.results == 1 and not is_event(op, self.plan.products):
                self.values[op.result] = None
            if is_event(op, self.plan.products):
                self.events.append(Event(op, mask, tuple([self.values.get(v) for v in op.operands])))

    def binary(self, op: Op) -> object:
        """An operation of two numbers, unknown if either is."""
        a, b = (self.values.get(v) for v in op.operands)
        if a is None or b is None:
            self.bound(op)
            return None
        try:
            result = BINARY[op.name](a, b)
        except (ZeroDivisionError, ValueError, TypeError):
            return None
        return int(result) if isinstance(result, bool | np.bool_) else result

    def bound(self, op: Op) -> None:
        """What is known of an operation of a number that is unknown."""
        a, b = op.operands
        if op.name == "and" and is_bool(op.result):
            self.may_hold[op.result] = np.logical_and(self.may(a), self.may(b))
        elif op.name == "minimum":
            known = [n for n in (self.number(a), self.number(b)) if n is not None]
            self.at_most.update(dict.fromkeys((op.result,), *known) if known else {})
        elif op.name == "lt" and b in self.at_most and (low := self.number(a)) is not None:
            self.may_hold[op.result] = np.asarray(low < self.at_most[b])

    def may(self, condition: Value) -> Any:
        """Where a condition may hold: where it does if it is known, else where its known parts do."""
        known = self.number(condition)
        return self.may_hold.get(condition, True) if known is None else np.asarray(known) != 0

    def number(self, value: Value) -> Number:
        """A value as a number or numbers."""
        found = self.values.get(value)
        return found if isinstance(found, int | np.ndarray) else None


def _constant(t: Tracer, op: Op, mask: Mask) -> None:
    value = op.attrs["value"]
    t.values[op.result] = int(value) if isinstance(value, int) else None


def _size(t: Tracer, op: Op, mask: Mask) -> None:
    extent = op.attrs["extent"]
    t.values[op.result] = dims.evaluate(extent, t.sizes) if isinstance(extent, int | Dim) else None


def _size_argument(t: Tracer, op: Op, mask: Mask) -> None:
    name, _, stride = str(op.attrs["argument"]).partition(".stride")
    if not stride:
        t.values[op.result] = t.sizes.get(name)
        return
    tensor = next((v.type for v in t.kernel.params if v.name == name), None)
    assert isinstance(tensor, TensorType)
    extents = tensor.shape[int(stride) + 1 :]
    t.values[op.result] = dims.evaluate(dims.product(extents), t.sizes)


def _thread(t: Tracer, op: Op, mask: Mask) -> None:
    t.values[op.result] = t.threads


def _block(t: Tracer, op: Op, mask: Mask) -> None:
    t.values[op.result] = t.block


def _where(t: Tracer, op: Op, mask: Mask) -> None:
    condition, a, b = (t.number(v) for v in op.operands)
    if condition is None or a is None or b is None:
        t.values[op.result] = None
    elif isinstance(condition, int):
        t.values[op.result] = a if condition else b
    else:
        t.values[op.result] = np.where(condition, a, b)


def _not(t: Tracer, op: Op, mask: Mask) -> None:
    a = t.number(op.operands[0])
    t.values[op.result] = None if a is None else (a == 0 if is_bool(op.result) else ~a)


def _cast(t: Tracer, op: Op, mask: Mask) -> None:
    source, target = op.operands[0].type, op.result.type
    assert isinstance(source, TileType) and isinstance(target, TileType)
    a = None if source.dtype.is_float or target.dtype.is_float else t.number(op.operands[0])
    if a is None and op.operands[0] in t.at_most:
        t.at_most[op.result] = t.at_most[op.operands[0]]
    t.values[op.result] = a.astype(np.int64) if isinstance(a, np.ndarray) else a


def _elect(t: Tracer, op: Op, mask: Mask) -> None:
    t.values[op.result] = t.threads % 32 == 0


def _registers(t: Tracer, op: Op, mask: Mask) -> None:
    fill, array = op.attrs.get("fill"), op.result.type
    assert isinstance(array, RegisterArray)
    number = int(fill) if isinstance(fill, int) else None
    t.cells[op.result] = (mask, {} if number is None else dict.fromkeys(range(array.count), number))


def _get(t: Tracer, op: Op, mask: Mask) -> None:
    cells, index = t.cells.get(op.operands[0]), t.number(op.operands[1])
    t.values[op.result] = cells[1].get(index) if cells is not None and isinstance(index, int) else None


def _set(t: Tracer, op: Op, mask: Mask) -> None:
    cells, index = t.cells.get(op.operands[0]), t.number(op.operands[1])
    if cells is None or op.operands[0] not in t.plan.needed:
        return
    owner, numbers = cells
    value = t.number(op.operands[2])
    if not isinstance(index, int):
        numbers.clear()
    elif owner is mask or value is None:
        numbers[index] = value
    else:
        before = numbers.get(index)
        numbers[index] = None if before is None else np.where(mask, value, before)


def _load_vector(t: Tracer, op: Op, mask: Mask) -> None:
    cells = t.cells.get(op.operands[2])
    if cells is not None:
        cells[1].clear()


def _shared(t: Tracer, op: Op, mask: Mask) -> None:
    pointer, start, count = op.result.type, op.attrs["offset"], op.attrs["count"]
    assert isinstance(pointer, Pointer) and isinstance(start, int) and isinstance(count, int)
    t.values[op.result] = Address(Region(start, start + count * pointer.dtype.nbytes, op), start)


def _offset(t: Tracer, pointer: Value, elements: Value) -> Address | None:
    """The address some elements after a pointer."""
    address, offset, type_ = t.values.get(pointer), t.number(elements), pointer.type
    if not isinstance(address, Address) or not isinstance(type_, Pointer):
        return None
    if address.at is None or offset is None:
        return Address(address.region, None)
    return Address(address.region, address.at + offset * type_.dtype.nbytes)


def _advance(t: Tracer, op: Op, mask: Mask) -> None:
    t.values[op.result] = _offset(t, op.operands[0], op.operands[1])


def _descriptor(t: Tracer, op: Op, mask: Mask) -> None:
    address = _offset(t, op.operands[0], op.operands[1])
    t.values[op.result] = None if address is None else Matrix(op, address)


def _mbarriers(t: Tracer, op: Op, mask: Mask) -> None:
    t.values[op.result] = op.result


def _if(t: Tracer, op: Op, mask: Mask) -> None:
    condition, may = t.number(op.operands[0]), t.may_hold.get(op.operands[0])
    for region, wanted in zip(op.regions, (True, False), strict=False):
        ops = t.plan.kept[id(region)]
        if condition is None and may is not None and wanted:
            inner = mask & may
            if inner.any():
                t.run(ops, inner)
            continue
        if isinstance(condition, np.ndarray):
            inner = mask & ((condition != 0) == wanted)
            if inner.any():
                t.run(ops, mask if (inner == mask).all() else inner)
        elif condition is None or bool(condition) == wanted:
            t.run(ops, mask)


def _for(t: Tracer, op: Op, mask: Mask) -> None:
    region = op.regions[0]
    ops, counter = t.plan.kept[id(region)], region.args[0]
    first, end = t.number(op.operands[0]), t.number(op.operands[1])
    fixed = op.attrs.get("step")
    step = t.number(op.operands[2]) if len(op.operands) == 3 else fixed if isinstance(fixed, int) else None
    if first is None or end is None or step is None:
        t.values[counter] = None
        for _ in range(2):
            t.run(ops, mask)
        return
    if id(op) in t.plan.nested and isinstance(first, int) and isinstance(end, int) and isinstance(step, int):
        _few_turns(t, op, mask, range(first, end, step) if step > 0 else range(0))
        return
    while True:
        going = np.asarray(first < end) & mask
        if not going.any() or len(t.events) > EVENT_LIMIT or not np.all(np.asarray(step) > 0):
            return
        mask = mask if (going == mask).all() else going
        t.values[counter] = first
        t.run(ops, mask)
        if id(op) in t.plan.once:
            return
        first = first + step


def _few_turns(t: Tracer, op: Op, mask: Mask, turns: range) -> None:
    """The first two turns and the last: what others would do to one another, these do."""
    region = op.regions[0]
    is_short = not turns[3:]  # `len` of more than 2**63 turns is an error
    chosen = turns[:1] if id(op) in t.plan.once else turns if is_short else (*turns[:2], turns[-1])
    for turn in chosen:
        t.values[region.args[0]] = turn
        t.run(t.plan.kept[id(region)], mask)


SPECIAL: Mapping[str, Callable[[Tracer, Op, Mask], None]] = {
    "constant": _constant, "size": _size, "size_argument": _size_argument, "thread": _thread, "block": _block,
    "where": _where, "not": _not, "cast": _cast, "elect": _elect, "registers": _registers, "get": _get, "set": _set,
    "load_vector": _load_vector, "load_matrix": _load_vector, "shared": _shared, "advance": _advance,
    "descriptor": _descriptor, "mbarriers": _mbarriers, "if": _if,
    "if_else": _if, "for": _for,
}  # fmt: skip


def access_address(t: Event, at: int) -> Address | None:
    """The shared address of operands `at` (pointer) and `at + 1` (elements) of an event."""
    address, offset, type_ = t.operands[at], t.operands[at + 1], t.op.operands[at].type
    if not isinstance(address, Address) or not isinstance(type_, Pointer):
        return None
    if address.at is None or not isinstance(offset, int | np.ndarray):
        return Address(address.region, None)
    return Address(address.region, address.at + offset * type_.dtype.nbytes)
