"""Plan a conversion through shared memory: where elements lie, how wide accesses are, what bank conflicts they meet.

A buffer is strided: one axis is contiguous, and its rows may be longer than the tile so that columns fall into
different banks; where no length helps, an XOR swizzle of the address may. Candidates are simulated; the cheapest wins,
ties go to the smaller buffer, then to the first tried. Knows no IR.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from agentkern.compiler.layout.banks import access_cost, pitch_paddings
from agentkern.compiler.layout.layout import REPLICATED, WARP_LANES, Digit, Layout
from agentkern.compiler.layout.swizzle import NO_SWIZZLE, Swizzle

MAX_ACCESS_BYTES = 16
SWIZZLE_OPERATIONS = 3  # shift, and, xor of an address


@dataclass(frozen=True, slots=True)
class Side:
    """One side of an exchange. `width_cap`: most elements per access that the caller allows, a power of two."""

    layout: Layout
    width_cap: int = MAX_ACCESS_BYTES


@dataclass(frozen=True, slots=True)
class SharedExchange:
    """A buffer of `count` elements; axis k's coordinate moves the element address by `strides[k]`.

    `write_width` and `read_width` are elements per access; accesses and wavefronts are those of one warp.
    """

    strides: tuple[int, ...]
    count: int
    swizzle: Swizzle
    write_width: int
    read_width: int
    accesses: int
    wavefronts: int
    conflicts: int


def fast_axis(layout: Layout) -> int | None:
    """The axis along which neighbouring registers are neighbours; None if there is none."""
    first = layout.registers[0] if layout.registers else None
    return first.axis if first is not None and first.stride == 1 and first.axis != REPLICATED else None


def _width(side: Side, last: int, nbytes: int) -> int:
    """Elements per access along the contiguous axis: all other parts of its coordinate are multiples of it."""
    layout = side.layout
    if fast_axis(layout) != last:
        return 1
    width = min(side.width_cap, MAX_ACCESS_BYTES // nbytes)
    strides = [d.stride for d in layout.all_digits()[1:] if d.axis == last and d.extent > 1]
    while width > 1 and (layout.registers[0].extent % width or any(stride % width for stride in strides)):
        width //= 2
    return max(width, 1)


def _offsets(digits: Sequence[Digit], strides: Sequence[int]) -> list[int]:
    """The element address that each number's digits add."""
    found = [0]
    for digit in digits:
        step = 0 if digit.axis == REPLICATED else digit.stride * strides[digit.axis]
        found = [base + value * step for value in range(digit.extent) for base in found]
    return found


def _is_first_holder(layout: Layout, lane: int) -> bool:
    for digit in layout.lanes:
        lane, value = divmod(lane, digit.extent)
        if digit.axis == REPLICATED and value:
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Cost:
    accesses: int
    wavefronts: int
    phases: int


def side_cost(
    layout: Layout, strides: Sequence[int], swizzle: Swizzle, nbytes: int, width: int, *, writes: bool
) -> _Cost:
    """What all accesses of one warp cost. Of lanes that hold copies, the first writes and all read."""
    lanes = _offsets(layout.lanes, strides)
    registers = _offsets(layout.registers, strides)[::width]
    taking_part = [not writes or _is_first_holder(layout, lane) for lane in range(WARP_LANES)]
    known: dict[int, tuple[int, int]] = {}
    wavefronts, phases = 0, 0
    for register in registers:
        # without a swizzle, moving all addresses by whole words rotates the banks and changes nothing
        key = register * nbytes % 4 if swizzle.bits == 0 else register * nbytes % swizzle.period_bytes
        if key not in known:
            places = [
                swizzle((offset + register) * nbytes) if takes_part else None
                for offset, takes_part in zip(lanes, taking_part, strict=True)
            ]
            cost = access_cost(places, width * nbytes)
            known[key] = (cost.wavefronts, cost.phases)
        wavefronts += known[key][0]
        phases += known[key][1]
    return _Cost(len(registers), wavefronts, phases)


def _strides(extents: Sequence[int], last: int, unit: int, padding: int) -> tuple[tuple[int, ...], int]:
    """Element strides with axis `last` contiguous, rows of whole units lengthened by `padding`; elements in all."""
    row = -(-extents[last] // unit) * unit
    outer = [axis for axis in range(len(extents)) if axis != last]
    strides = [0] * len(extents)
    strides[last] = 1
    step = row + (padding if prod(extents[axis] for axis in outer) > 1 else 0)
    for axis in reversed(outer):
        strides[axis] = step
        step *= extents[axis]
    return tuple(strides), max(step, 1)


def _swizzles(unit_bytes: int) -> Iterator[Swizzle]:
    base = max(unit_bytes, 4).bit_length() - 1
    for bits in range(1, 8 - base):
        for shift in range(max(7 - base, bits), 10 - base + 3):
            yield Swizzle(bits, base, shift)


def _candidates(unit_bytes: int, nbytes: int) -> Iterator[tuple[int, Swizzle]]:
    """(row padding in elements, swizzle) to try, in order."""
    yield from ((padding // nbytes, NO_SWIZZLE) for padding in pitch_paddings(unit_bytes))
    yield from ((0, swizzle) for swizzle in _swizzles(unit_bytes))


def _widths(before: Side, after: Side, last: int, extent: int, nbytes: int, clipped: bool) -> Iterator[tuple[int, int]]:
    """(write, read) elements per access, widest first.

    A read is no wider than a write unless the tile is whole multiples of it, so that nothing is read that nobody wrote.
    """
    write, read = _width(before, last, nbytes), _width(after, last, nbytes)
    while read > write and (clipped or extent % read):
        read //= 2
    yield write, read
    while max(write, read) > 1:
        write, read = max(write // 2, 1), max(read // 2, 1)
        yield write, read


def _evaluated(
    before: Side, after: Side, extents: Sequence[int], nbytes: int, choice: tuple[int, int, int, int, Swizzle]
) -> SharedExchange:
    """The plan of one choice: contiguous axis, widths, padding and swizzle."""
    last, write, read, padding, swizzle = choice
    strides, count = _strides(extents, last, max(write, read), padding)
    if swizzle.bits:
        granule = max(swizzle.period_bytes // nbytes, 1)
        count = -(-count // granule) * granule
    ins = side_cost(before.layout, strides, swizzle, nbytes, write, writes=True)
    outs = side_cost(after.layout, strides, swizzle, nbytes, read, writes=False)
    accesses, wavefronts = ins.accesses + outs.accesses, ins.wavefronts + outs.wavefronts
    conflicts = wavefronts - ins.phases - outs.phases
    return SharedExchange(strides, count, swizzle, write, read, accesses, wavefronts, conflicts)


def plan_shared(before: Side, after: Side, extents: Sequence[int], nbytes: int, *, clipped: bool) -> SharedExchange:
    """The cheapest buffer for a tile of `extents`; `clipped`: only the run knows how far the tile reaches."""
    found = [fast_axis(before.layout), fast_axis(after.layout), len(extents) - 1]
    best: SharedExchange | None = None
    for last in dict.fromkeys(axis for axis in found if axis is not None):
        reached = False  # the widest accesses without a conflict cannot be improved by narrower ones
        for write, read in _widths(before, after, last, extents[last], nbytes, clipped):
            for padding, swizzle in _candidates(max(write, read) * nbytes, nbytes) if not reached else ():
                plan = _evaluated(before, after, extents, nbytes, (last, write, read, padding, swizzle))
                if best is None or (shared_cost(plan), plan.count) < (shared_cost(best), best.count):
                    best = plan
                if plan.conflicts == 0:
                    reached = True
                    break
    assert best is not None
    return best


QUARTERS = 4
"""Costs are quarters of a cycle of an SM: its four schedulers issue four warp instructions a cycle."""


def shared_cost(plan: SharedExchange) -> int:
    """Quarter cycles of one warp: a wavefront a cycle (128 bytes), an issue and two address operations an access."""
    address = 2 + (SWIZZLE_OPERATIONS if plan.swizzle.bits else 0)
    return QUARTERS * plan.wavefronts + plan.accesses * (1 + address)
