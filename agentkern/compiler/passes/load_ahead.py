"""GPU to GPU: a loop's loads of its next step stand before the present step waits for other threads.

A step that loads, then exchanges values between threads, waits for memory and for barriers in turn. Once a step has
read its registers for the last time, the next step's loads go into the same registers, and arrive while the threads
exchange what they have. Only loads that no step changes the address of but by its number move, of memory that nobody
writes; a loop that may end early, or that checks requirements, keeps its loads where they are safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, Value, walk
from agentkern.compiler.ir.gpu_ops import ZERO_FILLS
from agentkern.compiler.ir.gpu_types import Pointer, RegisterArray
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.drop_unused import PURE
from agentkern.dsl.dtypes import DTYPES

MOST_REGISTERS = 32
"""Of one loop, 32-bit ones: they hold the next step's elements while the present step computes.
On an H200: running sums of 64 rows of 32768 bf16 8.4 -> 6.6 us with 16 of them; cross entropy of 8001 x 32000 in steps
of 4096 230 -> 222 us with 16, and of 4096 x 131072 as before, whose other warps hide the wait already."""
_BOOL = TileType(DTYPES["bool"])
WAITS = frozenset({"barrier", "sort_slots", "fill_slots", "sort_memory"})


def load_ahead(kernel: Kernel) -> Kernel:
    """The kernel with the loads of its loops one step ahead, where a step waits after it has used them."""
    return with_loops(kernel, _turned)


Constants = Mapping[Value, object]


def with_loops(kernel: Kernel, rewritten: Callable[[Op, Constants], Iterator[Op]]) -> Kernel:
    """The kernel with what stands for each of its loops, inner ones first."""
    constants = {op.result: op.attrs["value"] for op in walk(kernel.body) if op.name == "constant"}

    def inside(ops: Sequence[Op]) -> Iterator[Op]:
        for op in ops:
            regions = tuple(Region(r.args, tuple(inside(r.ops))) for r in op.regions)
            inner = Op(op.spec, op.operands, op.attrs, op.results, regions, op.location) if regions else op
            yield from rewritten(inner, constants) if is_loop(inner) else (inner,)

    return replace(kernel, body=tuple(inside(kernel.body)))


def is_loop(op: Op) -> bool:
    """Whether an operation is a loop of steps by one that runs to its end."""
    if op.name != "for" or op.attrs["unroll"] or op.attrs.get("step") != 1:
        return False
    return not _ends_early(op.regions[0].ops)


def _ends_early(ops: Sequence[Op]) -> bool:
    """Whether a loop of these operations may end before its last step; loops inside end for themselves."""
    return any(
        op.name in ("break_if", "trap")
        or any(
            any(inner.name == "trap" for inner in walk(region.ops)) if op.name == "for" else _ends_early(region.ops)
            for region in op.regions
        )
        for op in ops
    )


@dataclass(frozen=True, slots=True)
class _Ahead:
    """Loads of one register array: the array's declaration, what computes the addresses, and the loads themselves.

    `uses`: the operations of the body that name the array, the loads first.
    """

    array: Op
    addresses: tuple[Op, ...]
    uses: tuple[Op, ...]

    @property
    def load(self) -> Op:
        """The loads."""
        return self.uses[0]

    @property
    def after(self) -> Op:
        """The operation that reads the array last."""
        return self.uses[-1]


def _turned(loop: Op, constants: Mapping[Value, object]) -> Iterator[Op]:
    """The loop, and what has to stand before it."""
    body = loop.regions[0].ops
    named = [frozenset(value for inner in walk((op,)) for value in inner.operands) for op in body]
    found: list[_Ahead] = []
    room = MOST_REGISTERS
    for array in (op for op in body if op.name == "registers"):
        uses = [op for op, values in zip(body, named, strict=True) if array.result in values]
        ahead = _ahead(loop, array, uses)
        if ahead is not None and (needed := registers_of(array)) <= room:
            found.append(ahead)
            room -= needed
    if not found:
        yield loop
        return
    yield from (_declared(ahead) for ahead in found)
    low, high = loop.operands
    first, end = constants.get(low), constants.get(high)
    runs = isinstance(first, int) and isinstance(end, int) and first < end
    before = Builder(OPS)
    for ahead in found:
        before.location = ahead.load.location
        before.ops += _loads(loop, ahead, low) if runs else _guarded(before, loop, ahead, low)
    yield from before.ops
    yield Op(loop.spec, loop.operands, loop.attrs, (), (_body(loop, found),), loop.location)


def _body(loop: Op, found: Sequence[_Ahead]) -> Region:
    """The loop's body with each load behind the last reader of its registers, for the step that comes next."""
    region = loop.regions[0]
    (step,) = region.args
    moved = {op for ahead in found for op in (ahead.array, ahead.load)}
    builder = Builder(OPS)
    for op in region.ops:
        if op not in moved:
            builder.ops.append(op)
        for ahead in (a for a in found if a.after is op):
            builder.location = ahead.load.location
            builder.emit("note", (), (), {"text": "the next step's, which arrives while this one goes on"})
            one = builder.value("constant", (), step.type, {"value": 1})
            following = builder.value("index_add", (step, one), step.type)
            builder.ops += _guarded(builder, loop, ahead, following)
    return Region(region.args, tuple(builder.ops))


def _declared(ahead: _Ahead) -> Op:
    """The array before the loop: as words where elements are smaller, which would take a register each."""
    op = ahead.array
    attrs = {**op.attrs, "packed": True} if _fits_words(ahead) else op.attrs
    return Op(op.spec, (), attrs, op.results, (), op.location)


def _fits_words(ahead: _Ahead) -> bool:
    """Whether whole words are loaded, to places that begin with one, and elements of them only read."""
    array, loop = ahead.array.result, ahead.load
    assert isinstance(array.type, RegisterArray)
    bits = array.type.dtype.bits
    if bits >= 32 or array.type.dtype.kind == "bool" or loop.name != "for" or array.type.count * bits % 32:
        return False
    if str(ahead.array.attrs.get("fill", 0)) not in ZERO_FILLS:
        return False
    loads = [op for op in walk(loop.regions[0].ops) if op.name == "load_vector"]
    whole = all(
        op.attrs["count"] == loop.attrs.get("step") and op.operands[3] is loop.regions[0].args[0] for op in loads
    )
    words = all(int(str(op.attrs["count"])) * bits % 32 == 0 for op in loads)
    readers = (op for use in ahead.uses[1:] for op in walk((use,)) if array in op.operands)
    return whole and words and all(op.name == "get" for op in readers)


def _guarded(builder: Builder, loop: Op, ahead: _Ahead, step: Value) -> tuple[Op, ...]:
    """The loads of a step where there is one. What asks whether there is goes to the builder."""
    exists = builder.value("lt", (step, loop.operands[1]), _BOOL)
    branch = builder.nested()
    branch.emit("if", (exists,), (), None, (Region((), _loads(loop, ahead, step)),))
    return tuple(branch.ops)


def _loads(loop: Op, ahead: _Ahead, step: Value) -> tuple[Op, ...]:
    """The loads of a step."""
    copies: dict[Value, Value] = {loop.regions[0].args[0]: step}
    return tuple(copy_of(op, copies) for op in (*ahead.addresses, ahead.load))


def copy_of(op: Op, copies: dict[Value, Value]) -> Op:
    """An operation over copied operands, with results of its own."""
    operands = tuple(copies.get(value, value) for value in op.operands)
    regions: list[Region] = []
    for region in op.regions:
        args = tuple(fresh(value, copies) for value in region.args)
        regions.append(Region(args, tuple(copy_of(inner, copies) for inner in region.ops)))
    results = tuple(fresh(value, copies) for value in op.results)
    return Op(op.spec, operands, op.attrs, results, tuple(regions), op.location)


def fresh(value: Value, copies: dict[Value, Value]) -> Value:
    """A value of its own for the copy of one, which it stands for from here on."""
    copies[value] = Value(value.type, value.name)
    return copies[value]


def _ahead(loop: Op, array: Op, uses: Sequence[Op]) -> _Ahead | None:
    """How the loads of an array can go one step ahead, or None where they cannot or gain nothing."""
    body = loop.regions[0].ops
    writers = [op for op in uses if any(writes(inner, array.result) for inner in walk((op,)))]
    if len(writers) != 1 or writers[0] is not uses[0] or len(uses) == 1:
        return None
    if uses[0].name == "if" or not only_loads(uses[0]):
        return None
    addresses = addresses_of(loop, uses[0], array.result)
    rest = body[body.index(uses[-1]) + 1 :]
    if addresses is None or not any(op.name in WAITS for op in walk(rest)):
        return None
    if not _loads_the_same_registers(loop, addresses, uses[0]):
        return None
    return _Ahead(array, addresses, tuple(uses))


def writes(op: Op, array: Value) -> bool:
    """Whether an operation may change an array: all do but a few that are known to read."""
    reads = op.name in ("get", "store_vector") or (op.name == "usual" and op.operands[0] is not array)
    return array in op.operands and not reads


def only_loads(op: Op) -> bool:
    """Whether an operation is nothing but loads of read-only memory, and what computes their places in it."""
    parts = list(walk((op,)))
    loads = [part for part in parts if part.name == "load_vector"]
    return (
        (op.name in ("load_vector", "if") or (op.name == "for" and bool(op.attrs["unroll"])))
        and len({load.operands[2] for load in loads}) == 1
        and all(_is_readonly(load.operands[0]) for load in loads)
        and all(part is op or part.name in ("load_vector", "for", "if") or _is_pure(part) for part in parts)
    )


def _loads_the_same_registers(loop: Op, addresses: Sequence[Op], load: Op) -> bool:
    """Whether what loads are left out by does not hang on the step: what fills their registers then stays there."""
    changing = set(loop.regions[0].args)
    for op in (*addresses, *walk((load,))):
        if changing.intersection(op.operands):
            if op.name in ("if", "for"):
                return False
            changing.update(op.results)
    return True


def _is_readonly(pointer: Value) -> bool:
    return isinstance(pointer.type, Pointer) and pointer.type.space == "global" and pointer.type.readonly


def _is_pure(op: Op) -> bool:
    return not op.regions and op.name != "get" and (op.name in PURE or "elementwise" in op.spec.traits)


def addresses_of(loop: Op, load: Op, array: Value) -> tuple[Op, ...] | None:
    """The operations of the body that loads need, in sequence; None where one of them reads more than the step."""
    body = loop.regions[0].ops
    makers: Mapping[Value, Op] = {value: op for op in body for value in op.results}
    needed: set[Op] = set()
    pending = [value for inner in walk((load,)) for value in inner.operands if value is not array]
    while pending:
        maker = makers.get(pending.pop())
        if maker is None or maker in needed:
            continue
        if not _is_pure(maker) or maker.name == "registers":
            return None
        needed.add(maker)
        pending += maker.operands
    return tuple(op for op in body if op in needed)


def registers_of(array: Op) -> int:
    """32-bit registers that an array takes where its elements are packed."""
    type_ = array.result.type
    assert isinstance(type_, RegisterArray)
    return -(-type_.count * type_.dtype.nbytes // 4)
