"""Choose small sizes that take a function's loops through few turns, a full ring of stages, and past its end.

Loops that synchronise are what matters: inner ones run 0, 1, n-1, n and 2n+1 times for a ring of n barriers, or where
threads meet every n-th time, outer ones 0 to 3 times. Turns grow with a size, so that the least size for a number of
turns is found by halving.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agentkern.compiler.analysis.synchronisation_plan import Plan, is_event
from agentkern.compiler.analysis.synchronisation_trace import BINARY, SPECIAL, Tracer
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, Op, SizeInfo, Value, walk
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.gpu_types import Mbarriers

Sizes = dict[str, int]
LARGEST = 1 << 22
_OUTER_TURNS = (0, 2, 3)
_PLAIN = (3, 67)
_LONGEST_PERIOD = 16
"""Turns between two meetings of a loop, above which the second is not waited for: its case would take seconds."""
_QUIET = frozenset({"get", "set", "usual", "registers", "shuffle_xor", "mma", "wgmma_pin"})


@dataclass(frozen=True, slots=True)
class Case:
    """One run: sizes, and which block of the launch."""

    sizes: Sizes
    block: int


def _synchronises(loop: Op, plan: Plan) -> bool:
    return any(op.name not in _QUIET and is_event(op, plan.products) for op in walk(loop.regions[0].ops))


def _steered(plan: Plan, constants: Mapping[Value, object]) -> tuple[Op, ...]:
    """Loops that synchronise, with bounds that are not constants."""
    return tuple(
        op
        for op in walk(plan.function.regions[0].ops)
        if op.name == "for" and not set(op.operands) <= constants.keys() and _synchronises(op, plan)
    )


def _bounds(body: Sequence[Op], loops: Sequence[Op]) -> tuple[Op, ...]:
    """The operations that bounds of loops depend on, and those loops, in order."""
    needed = {v for loop in loops for v in loop.operands}
    found: list[Op] = []
    for op in reversed(tuple(walk(body))):
        is_bound = op in loops or any(arg in needed for region in op.regions for arg in region.args)
        if is_bound or any(v in needed for v in op.results):
            needed.update(op.operands)
            found.append(op)
    return tuple(reversed(found))


class _Turns:
    """How often loops run at given sizes, in thread 0 of block 0, in the first turn of the loops around them."""

    def __init__(self, kernel: Kernel, plan: Plan) -> None:
        self.kernel = kernel
        self.plan = plan
        body = plan.function.regions[0].ops
        self.constants = {op.result: op.attrs["value"] for op in walk(body) if op.name == "constant"}
        self.loops = _steered(plan, self.constants)
        self.ops = _bounds(body, self.loops)

    def count(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Turns of each steered loop."""
        tracer = Tracer(self.kernel, self.plan, sizes, 0)
        tracer.threads = np.zeros(1, np.int64)
        mask = np.ones(1, np.bool_)
        turns: dict[int, int] = {}
        for op in self.ops:
            if op.name == "for":
                turns[id(op)] = self._enter(tracer, op)
            elif op.name in SPECIAL:
                SPECIAL[op.name](tracer, op, mask)
            elif op.name in BINARY:
                tracer.values[op.result] = tracer.binary(op)
        return tuple(turns[id(loop)] for loop in self.loops)

    def step(self, loop: int) -> object:
        """A loop's step, where it is a constant."""
        op = self.loops[loop]
        return op.attrs.get("step") if len(op.operands) == 2 else self.constants.get(op.operands[2])

    def period(self, loop: int) -> int:
        """Every how many turns threads meet in a loop: the largest number by which its turns are counted off."""
        body = self.loops[loop].regions[0].ops
        counted = [self.constants.get(op.operands[1]) for op in body if op.name == "remainder"]
        return max((n for n in counted if isinstance(n, int) and n <= _LONGEST_PERIOD), default=1)

    def _enter(self, tracer: Tracer, op: Op) -> int:
        bounds = [tracer.number(v) for v in op.operands]
        tracer.values[op.regions[0].args[0]] = bounds[0]
        fixed = op.attrs.get("step")
        numbers = [None if b is None else int(np.asarray(b).ravel()[0]) for b in bounds]
        step = numbers[2] if len(numbers) == 3 else fixed if isinstance(fixed, int) else None
        first, end = numbers[0], numbers[1]
        if first is None or end is None or step is None or step <= 0:
            return 2
        return max(0, -(-(end - first) // step))


def _legal(size: SizeInfo, value: int) -> int:
    """The least legal size from `value` on, if there is one, else the greatest."""
    found = max(
        -(-value // size.multiple_of) * size.multiple_of, -(-size.minimum // size.multiple_of) * size.multiple_of
    )
    return found if size.maximum is None else min(found, size.maximum)


def _least(turns: _Turns, base: Sizes, size: SizeInfo, loop: int, wanted: int) -> int | None:
    """The least value of one size at which a loop runs `wanted` times."""

    def at(value: int) -> int:
        return turns.count({**base, size.name: _legal(size, value)})[loop]

    if at(0) >= wanted:
        return _legal(size, 0) if at(0) == wanted else None
    high = 1
    while high < LARGEST and at(high) < wanted:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) < wanted else (low, middle)
    return _legal(size, high) if at(high) == wanted else None


def _steer(turns: _Turns, base: Sizes, loop: int, wanted: int) -> Sizes | None:
    """Sizes like `base` at which a loop runs `wanted` times."""
    if turns.count(base)[loop] == wanted:
        return base
    for size in turns.kernel.sizes:
        if turns.count({**base, size.name: _legal(size, LARGEST)})[loop] != turns.count(base)[loop]:
            value = _least(turns, base, size, loop, wanted)
            if value is not None:
                return {**base, size.name: value}
    return None


def _classes(turns: _Turns, base: Sizes) -> list[int]:
    """One loop for each step and way of depending on sizes, outer before inner."""
    found: dict[tuple[object, ...], int] = {}
    probes = [base, *({**base, s.name: _legal(s, v)} for s in turns.kernel.sizes for v in (1000, 40_000))]
    counts = [turns.count(probe) for probe in probes]
    for k in range(len(turns.loops)):
        found.setdefault((turns.step(k), *(count[k] for count in counts)), k)
    return list(found.values())


def _is_outer(turns: _Turns, loop: int) -> bool:
    inner = set(map(id, walk(turns.loops[loop].regions[0].ops)))
    return any(id(other) in inner for other in turns.loops)


def ring_stages(plan: Plan) -> int:
    """Barriers of the longest ring."""
    types = [op.result.type for op in walk(plan.function.regions[0].ops) if op.name == "mbarriers"]
    return max([2, *(t.count for t in types if isinstance(t, Mbarriers))])


def _sized(turns: _Turns, base: Sizes, stages: int) -> list[Sizes]:
    loops = _classes(turns, base)
    inner = [loop for loop in loops if not _is_outer(turns, loop)]
    outer = [loop for loop in loops if _is_outer(turns, loop)]
    rings = [(loop, max(stages, turns.period(loop))) for loop in inner]
    wanted = [(loop, n) for loop, k in rings for n in dict.fromkeys((0, 1, stages - 1, k - 1, k, 2 * k + 1))]
    found = [_steer(turns, base, loop, n) for loop, n in wanted]
    pairs = [*zip(_OUTER_TURNS, (1, stages + 1, stages - 1), strict=True), (3, 0)]
    for around in outer:
        for turns_around, turns_inside in pairs:
            sized = _steer(turns, base, around, turns_around)
            for loop in inner if sized is not None else ():
                found.append(_steer(turns, sized or base, loop, turns_inside))
            if not inner:
                found.append(sized)
    return [sizes for sizes in found if sizes is not None]


def choose_cases(kernel: Kernel, plan: Plan) -> tuple[Case, ...]:
    """The runs that a function is checked with."""
    turns = _Turns(kernel, plan)
    base = {size.name: _legal(size, 1) for size in kernel.sizes}
    found: list[Sizes] = [base]
    if turns.loops:
        found += _sized(turns, base, ring_stages(plan))
    found += [{size.name: _legal(size, value) for size in kernel.sizes} for value in (_PLAIN if kernel.sizes else ())]
    blocks = plan.function.attrs["blocks"]
    assert isinstance(blocks, int | Dim)
    cases: dict[tuple[object, ...], Case] = {}
    for number, sizes in enumerate(found):
        count = dims.evaluate(blocks, sizes)
        for block in _blocks(count, is_plain=number == 0 or number >= len(found) - len(_PLAIN)):
            cases[(tuple(sizes.values()), block)] = Case(sizes, block)
    return tuple(cases.values())


def _blocks(count: int, *, is_plain: bool) -> Sequence[int]:
    """Which blocks of a launch to run: the first, and in plain cases the last."""
    if count <= 0:
        return ()
    return tuple(dict.fromkeys((0, count - 1))) if is_plain else (0,)
