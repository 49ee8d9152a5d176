"""Plan a conversion through shared memory: where elements lie, how wide accesses are, what bank conflicts they meet.

A buffer is strided: one axis is contiguous, and its rows may be longer than the tile so that columns fall into
different banks; where no length helps, an XOR swizzle of the address may. Candidates are simulated; the cheapest wins,
ties go to the smaller buffer, then to the first tried. Knows no IR.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import or_

from agentkern.compiler.layout.banks import BANK_BYTES, BANKS, LANES_PER_PHASE, access_cost, pitch_paddings
from agentkern.compiler.layout.layout import REPLICATED, WARP_LANES, Digit, Layout
from agentkern.compiler.layout.swizzle import NO_SWIZZLE, Swizzle

MAX_ACCESS_BYTES = 16
QUARTERS = 4
"""Costs are quarters of a cycle of an SM: its four schedulers issue four warp instructions a cycle."""

ACCESS_OPERATIONS = 3  # the access and two for its address
SWIZZLE_OPERATIONS = 3  # shift, and, xor of an address
SAMPLED_ACCESSES = 2  # simulated for each candidate; the chosen one is simulated in full


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


def _alike(lanes: Sequence[int], registers: Sequence[int], swizzle: Swizzle, nbytes: int) -> dict[int, list[int]]:
    """Register offsets in groups that cost the same.

    Moving all addresses by whole words rotates the banks. Under a swizzle that holds where lanes and registers share no
    address bits: then a register flips the same bits of every lane's address.
    """
    shared = reduce(or_, lanes, 0) & reduce(or_, registers, 0)
    groups: dict[int, list[int]] = {}
    for register in registers:
        key = register if swizzle.bits and shared else register * nbytes % BANK_BYTES
        groups.setdefault(key, []).append(register)
    return groups


def _sampled(groups: list[list[int]], most: int | None) -> list[tuple[int, float]]:
    """(first register offset, how many like it) of all groups, or of `most` of them that stand for the rest."""
    if most is None or len(groups) <= most:
        return [(group[0], len(group)) for group in groups]
    total = sum(map(len, groups))
    return [(groups[k * len(groups) // most][0], total / most) for k in range(most)]


def side_cost(
    side: tuple[Layout, int], strides: Sequence[int], swizzle: Swizzle, nbytes: int, most: int | None, *, writes: bool
) -> _Cost:
    """What all accesses of one warp to a (layout, elements per access) cost, estimated from `most` kinds of them.

    Of lanes that hold copies, the first writes and all read.
    """
    layout, width = side
    lanes = _offsets(layout.lanes, strides)
    registers = _offsets(layout.registers, strides)[::width]
    taking_part = [not writes or _is_first_holder(layout, lane) for lane in range(WARP_LANES)]
    wavefronts, phases = 0.0, 0.0
    for register, count in _sampled(list(_alike(lanes, registers, swizzle, nbytes).values()), most):
        places = [
            swizzle((offset + register) * nbytes) if takes_part else None
            for offset, takes_part in zip(lanes, taking_part, strict=True)
        ]
        cost = access_cost(places, width * nbytes)
        wavefronts += cost.wavefronts * count
        phases += cost.phases * count
    return _Cost(len(registers), round(wavefronts), round(phases))


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


def _swizzles(unit_bytes: int, total_bytes: int) -> Iterator[Swizzle]:
    """Swizzles that flip units over all banks, half or a quarter of them, by any neighbouring bits above."""
    base = max(unit_bytes, BANK_BYTES).bit_length() - 1
    most = (BANKS * BANK_BYTES).bit_length() - 1 - base
    for bits in range(most, max(most - 3, 0), -1):
        for shift in range(most, (total_bytes - 1).bit_length() - base - bits + 1):
            yield Swizzle(bits, base, shift)


def _candidates(unit_bytes: int, nbytes: int, total_bytes: int) -> Iterator[tuple[int, Swizzle]]:
    """(row padding in elements, swizzle) to try, in order."""
    yield from ((padding // nbytes, NO_SWIZZLE) for padding in pitch_paddings(unit_bytes))
    yield from ((0, swizzle) for swizzle in _swizzles(unit_bytes, total_bytes))


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


_Choice = tuple[int, int, int, int, Swizzle]
"""Contiguous axis, widths of writes and reads, row padding, swizzle."""


def _evaluated(
    before: Side, after: Side, extents: Sequence[int], nbytes: int, choice: _Choice, most: int | None
) -> SharedExchange:
    """The plan of one choice; `most` as in `side_cost`."""
    last, write, read, padding, swizzle = choice
    strides, count = _strides(extents, last, max(write, read), padding)
    if swizzle.bits:
        granule = max(swizzle.period_bytes // nbytes, 1)
        count = -(-count // granule) * granule
    ins = side_cost((before.layout, write), strides, swizzle, nbytes, most, writes=True)
    outs = side_cost((after.layout, read), strides, swizzle, nbytes, most, writes=False)
    accesses, wavefronts = ins.accesses + outs.accesses, ins.wavefronts + outs.wavefronts
    conflicts = wavefronts - ins.phases - outs.phases
    return SharedExchange(strides, count, swizzle, write, read, accesses, wavefronts, conflicts)


def _least_cost(before: Side, after: Side, write: int, read: int, nbytes: int) -> tuple[int, int]:
    """How many accesses so wide there are, and what they cost without a conflict."""
    accesses, phases = 0, 0
    for side, width in ((before, write), (after, read)):
        count = side.layout.register_count // width
        accesses += count
        phases += count * (WARP_LANES // LANES_PER_PHASE[width * nbytes])
    copies = prod(digit.extent for digit in before.layout.lanes if digit.axis == REPLICATED)
    return accesses, QUARTERS * phases // copies + accesses * ACCESS_OPERATIONS


def plan_shared(before: Side, after: Side, extents: Sequence[int], nbytes: int, *, clipped: bool) -> SharedExchange:
    """The cheapest buffer for a tile of `extents`; `clipped`: only the run knows how far the tile reaches."""
    found = [fast_axis(before.layout), fast_axis(after.layout), len(extents) - 1]
    best: tuple[tuple[int, int], _Choice] | None = None
    for last in dict.fromkeys(axis for axis in found if axis is not None):
        for write, read in _widths(before, after, last, extents[last], nbytes, clipped):
            accesses, least = _least_cost(before, after, write, read, nbytes)
            for padding, swizzle in _candidates(max(write, read) * nbytes, nbytes, prod(extents) * nbytes):
                bound = least + (SWIZZLE_OPERATIONS * accesses if swizzle.bits else 0)
                if best is not None and bound >= best[0][0]:
                    break
                choice = (last, write, read, padding, swizzle)
                plan = _evaluated(before, after, extents, nbytes, choice, SAMPLED_ACCESSES)
                rank = (shared_cost(plan), plan.count)
                if best is None or rank < best[0]:
                    best = (rank, choice)
    assert best is not None
    return _evaluated(before, after, extents, nbytes, best[1], None)


def shared_cost(plan: SharedExchange) -> int:
    """Quarter cycles of one warp: a wavefront a cycle (128 bytes), an issue and an address an access."""
    operations = ACCESS_OPERATIONS + (SWIZZLE_OPERATIONS if plan.swizzle.bits else 0)
    return QUARTERS * plan.wavefronts + plan.accesses * operations
