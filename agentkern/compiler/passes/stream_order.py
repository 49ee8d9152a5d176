"""In which walk over a long axis each operation runs, so that memory is read and written in the program's order.

A walk reloads the long values that it needs. Dataflow puts an operation behind the reductions that it depends on; a
tensor that one grid both reads and writes, or writes twice, adds to that: what is loaded before a store is used in no
later walk than the store's, what is loaded after it in later walks only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.analysis.subscripts import are_apart, constant_positions, same_subscript
from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.subscripts import BEFORE_SUBSCRIPT, FIXED_OPERANDS
from agentkern.compiler.passes.unsupported import UnsupportedError


@dataclass(frozen=True, slots=True)
class LongOps:
    """What operations do to long axes: `touches` one, or end in a `sink` along axis `axis_of`; `is_long` values."""

    touches: Callable[[Op], bool]
    is_sink: Callable[[Op], bool]
    is_long: Callable[[Value], bool]
    axis_of: Callable[[Op], int]


@dataclass(frozen=True, slots=True)
class _Rule:
    """`later` runs at least `gap` walks after `earlier`."""

    earlier: Op
    later: Op
    gap: int


def operations_inside(op: Op) -> list[Op]:
    """The operations in an operation's regions."""
    return [inner for region in op.regions for inner in walk(region.ops)]


def walk_levels(ops: Sequence[Op], long: LongOps) -> Mapping[Op, int]:
    """The walk of every operation. Errors: UnsupportedError where the program's order of memory allows none."""
    rules = list(_rules(ops, long))
    least: dict[Op, int] = {}
    for _ in range(len(ops) + 2):
        levels = _dataflow(ops, long, least)
        broken = [rule for rule in rules if levels[rule.later] < levels[rule.earlier] + rule.gap]
        if not broken:
            return levels
        for rule in broken:
            least[rule.later] = max(least.get(rule.later, 0), levels[rule.earlier] + rule.gap)
    raise _no_order(rules[0].later)


def _no_order(op: Op) -> UnsupportedError:
    return UnsupportedError(
        f"a row too long to keep on the chip that is needed as it was before and after the store to "
        f"`{op.operands[0].name}`",
        "write the new values to an `ak.Out` tensor, or store them at the end",
        op.location,
    )


def _dataflow(ops: Sequence[Op], long: LongOps, least: Mapping[Op, int]) -> dict[Op, int]:
    levels: dict[Op, int] = {}
    known: dict[Value, int] = {}
    for op in ops:
        read = [*op.operands, *(v for inner in operations_inside(op) for v in inner.operands)]
        level = max((known.get(v, 0) for v in read), default=0)
        levels[op] = max(level, least.get(op, 0))
        for value in op.results:
            known[value] = levels[op] + long.is_sink(op)
    return levels


def _rules(ops: Sequence[Op], long: LongOps) -> Iterator[_Rule]:
    constants = constant_positions(ops)
    accesses = [op for op in ops if op.name in ("load", "store")]
    _check_regions(ops)
    users = _users(ops, long)
    yield from _behind_requirements(ops, long)
    for number, first in enumerate(accesses):
        for second in accesses[number + 1 :]:
            if first.operands[0] is not second.operands[0] or "store" not in (first.name, second.name):
                continue
            if not are_apart(first, second, constants):
                yield from _pair(first, second, users, long)


def _behind_requirements(ops: Sequence[Op], long: LongOps) -> Iterator[_Rule]:
    """What follows a required condition touches memory only where it holds."""
    for number, first in enumerate(ops):
        for second in ops[number + 1 :] if first.name == "require" else ():
            inside = (second, *operations_inside(second))
            if long.is_sink(second) or any(op.name in FIXED_OPERANDS for op in inside):
                yield _Rule(first, second, int(long.touches(first)))


def _check_regions(ops: Sequence[Op]) -> None:
    """Refuse a loop, or a sort of memory, that would have to keep its place among others: it has none of its own."""
    for op in ops:
        sorts = (op,) if op.name == "sort_kept" else ()
        inside = [*sorts, *(inner for inner in operations_inside(op) if inner.name in BEFORE_SUBSCRIPT)]
        others = [o for other in ops if other is not op for o in (other, *operations_inside(other))]
        for one in inside:
            for other in others:
                same = other.name in BEFORE_SUBSCRIPT and other.operands[0] is one.operands[0]
                if same and {one.name, other.name} != {"load"}:
                    raise _no_order(one)


def _pair(first: Op, second: Op, users: Mapping[Op, tuple[Op, ...]], long: LongOps) -> Iterator[_Rule]:
    """Two accesses of one tensor in the program's order, one of them a store."""
    same = same_subscript(first, second)
    for earlier in users.get(first, (first,)):
        for later in users.get(second, (second,)):
            if earlier is later:
                if not same:
                    raise _no_order(second)
                continue
            # inside one walk each turn loads first, then stores
            shared_walk = same and first.name == "load" and second.name == "store"
            writes_twice = same and first.name == second.name == "store"
            short_first = not long.touches(earlier)
            together = (shared_walk or writes_twice) and _one_walk(earlier, later, long)
            yield _Rule(earlier, later, 0 if short_first or together else 1)


def _one_walk(a: Op, b: Op, long: LongOps) -> bool:
    """Whether operations of one level share a walk."""
    return all(long.is_sink(op) for op in (a, b)) and long.axis_of(a) == long.axis_of(b)


def _users(ops: Sequence[Op], long: LongOps) -> dict[Op, tuple[Op, ...]]:
    """The operations in whose walks each long load runs again: those that reduce or store what depends on it."""
    makers = {value: op for op in ops for value in op.results}
    found: dict[Op, list[Op]] = {}
    for sink in ops:
        if not long.is_sink(sink):
            continue
        seen: set[Op] = set()
        waiting = [value for value in sink.operands if long.is_long(value)]
        while waiting:
            maker = makers.get(waiting.pop())
            if maker is None or maker in seen:
                continue
            seen.add(maker)
            if maker.name == "load":
                found.setdefault(maker, []).append(sink)
            waiting += [value for value in maker.operands if long.is_long(value)]
    return {load: tuple(sinks) for load, sinks in found.items()}
