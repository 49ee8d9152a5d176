"""Conversions inside warps, carried out on every thread's registers and compared with what the new layout holds."""

import itertools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.compiler.layout.exchange import Atom, Exchange, Step, has_sound_atoms, plan_exchange
from agentkern.compiler.layout.layout import Digit, Layout, parse_layout, permuted, replicated

Element = tuple[int, ...] | None
Threads = dict[tuple[int, int], dict[int, Element]]


def _moved(threads: Threads, step: Step) -> Threads:
    """All threads' registers after one step, as its description says."""
    registers = [
        step.base + sum(1 << b for k, b in enumerate(step.live) if n >> k & 1) for n in range(1 << len(step.live))
    ]
    after: Threads = {}
    for (warp, lane), held in threads.items():
        bit, other_bit = lane >> step.lane & 1, lane >> step.other & 1
        partner = threads[warp, lane ^ 1 << step.lane]
        new = dict(held)
        place = 1 << step.register
        for r in registers:
            low = r & ~place
            if step.kind == "swap":
                mine = (r & place != 0) == bit
                new[r] = (held if mine else partner)[low | bit * place]
            elif step.kind == "lanes":
                swapped = lane ^ (1 << step.lane | 1 << step.other) if bit != other_bit else lane
                new[r] = threads[warp, swapped][r]
            elif step.kind == "spread":
                new[r] = held[r] if bit == 0 else partner[r]
                new[r | place] = held[r] if bit == 1 else partner[r]
            elif step.kind == "take":
                new[r] = held[r] if bit == step.other else partner[r]
            else:
                chosen = bit if step.kind == "pick_by_lane" else warp >> step.lane & 1
                new[low] = held[low | chosen * place]
        after[warp, lane] = new
    return after


def carried_out(before: Layout, after: Layout, plan: Exchange) -> dict[tuple[int, int, int], Element]:
    """What each (register, lane, warp) of the new layout gets."""
    threads: Threads = {}
    for warp, lane in itertools.product(range(before.warp_count), range(32)):
        held: dict[int, Element] = {}
        for register in range(before.register_count):
            rest, number = register, 0
            for k, digit in enumerate(before.registers):
                rest, value = divmod(rest, digit.extent)
                number += value * (plan.entry[k] if plan.entry is not None else 0)
            held[number if plan.entry is not None else register] = before.coordinates(register, lane, warp)
        if plan.entry is not None:
            held = {n: held.get(n) for n in range(1 << plan.bits)}
        threads[warp, lane] = held
    for step in plan.steps:
        threads = _moved(threads, step)
    found: dict[tuple[int, int, int], Element] = {}
    for (warp, lane), held in threads.items():
        for register in range(after.register_count):
            number = plan.start + sum(register // t.divisor % t.extent * t.factor for t in plan.terms)
            found[register, lane, warp] = held[number]
    return found


def check(
    before: Layout, after: Layout, extents: Sequence[int], start: Sequence[int], fixed: Mapping[Atom, int]
) -> bool:
    """Whether there is a plan; if so, it brings every present element to each of its holders."""
    plan = plan_exchange(before, after, extents, fixed)
    if plan is None:
        return False
    for (register, lane, warp), element in carried_out(before, after, plan).items():
        want = after.coordinates(register, lane, warp)
        if all(c < extent for c, extent in zip(want, extents, strict=True)):
            assert element == tuple(c + s for c, s in zip(want, start, strict=True)), (before, after, plan)
    return True


PAIRS = {
    "the same": ("(1 | 0:4:1 | 0:32:4 | )", "(1 | 0:4:1 | 0:32:4 | )", (128,), ()),
    "registers in another order": ("(2 | 0:4:1 1:3:1 | 0:32:4 | )", "(2 | 1:3:1 0:4:1 | 0:32:4 | )", (128, 3), ()),
    "register and lane": ("(1 | 0:4:1 | 0:32:4 | )", "(1 | 0:4:32 | 0:32:1 | )", (128,), ("swap",) * 5),
    "fewer copies": ("(2 | 1:8:1 | 0:4:1 *:8 | )", "(2 | | 0:4:1 1:8:1 | )", (4, 8), ("pick_by_lane",) * 3),
    "more copies": ("(2 | | 1:8:1 0:4:1 | )", "(2 | 1:8:1 | *:8 0:4:1 | )", (4, 8), ("spread",) * 3),
    "copies of one value": ("(2 | | 1:8:1 0:4:1 | )", "(2 | | *:8 0:4:1 | )", (4, 1), ("take",) * 3),
    "copies in warps": ("(1 | 0:4:1 | 0:32:4 | *:2)", "(1 | 0:2:1 | 0:32:4 | 0:2:2)", (128,), ("pick_by_warp",)),
    "odd block on top": ("(1 | 0:4:1 0:3:128 | 0:32:4 | )", "(1 | 0:2:1 0:3:128 0:2:64 | 0:32:2 | )", (384,), None),
    "edge of five": ("(2 | 1:5:1 | 0:32:1 | )", "(2 | | 1:8:1 0:4:1 | 0:8:4)", (32, 5), "none"),
    "fewer registers than a power of two": ("(2 | 1:5:1 | 0:32:1 | )", "(2 | 1:8:1 | 0:32:1 | )", (32, 5), ()),
    "square": ("(3 | 1:4:1 | 1:2:4 0:16:1 | *:4)", "(3 | 0:8:2 | *:8 1:4:1 | 1:2:4 0:2:1)", (16, 8, 1), None),
    "square's other": ("(3 | 2:4:1 | 2:2:4 0:16:1 | *:4)", "(3 | 0:8:2 | 2:8:1 *:4 | *:2 0:2:1)", (16, 1, 8), None),
    "across warps": ("(1 | 0:4:1 | 0:32:4 | 0:2:128)", "(1 | 0:4:1 | 0:32:8 | 0:2:4)", (256,), "none"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_exchange_brings_every_element(name: str) -> None:
    first, second, extents, kinds = PAIRS[name]
    before, after = parse_layout(first), parse_layout(second)
    zeros = (0,) * before.rank
    plan = plan_exchange(before, after, extents)
    assert check(before, after, extents, zeros, {}) == (kinds != "none")
    if plan is not None and isinstance(kinds, tuple):
        assert tuple(sorted(step.kind for step in plan.steps)) == tuple(sorted(kinds))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(1 | 0:4:1 | 0:32:4 | )", "(1 | 0:4:1 | 0:16:4 *:2 | )"),  # the upper half stands in lanes
        ("(1 | 0:4:32 | 0:32:1 | )", "(1 | 0:2:32 | 0:32:1 | )"),  # in registers
    ],
)
def test_half_of_a_row_is_taken_inside_the_warp(before: str, after: str) -> None:
    assert check(parse_layout(before), parse_layout(after), (64,), (64,), {(0, 64): 1})


def test_layouts_whose_atoms_may_name_missing_registers_are_refused() -> None:
    assert has_sound_atoms(parse_layout("(1 | 0:4:1 0:3:128 | 0:32:4 | )"))
    assert not has_sound_atoms(parse_layout("(1 | 0:3:1 | 0:32:3 | )"))
    assert not has_sound_atoms(parse_layout("(1 | 0:4:1 | 0:32:2 | )"))


@st.composite
def spread_bits(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """Two layouts of one warp map made of the same bits, each with copies of its own."""
    atoms = [(0, 1 << k) for k in range(draw(st.integers(0, 4)))] + [
        (1, 1 << k) for k in range(draw(st.integers(0, 4)))
    ]
    odd = draw(st.sampled_from([1, 3]))
    warps = (replicated(2),) if draw(st.booleans()) else ()

    def one() -> Layout:
        order = draw(st.permutations(atoms))
        lane_count = draw(st.integers(0, min(5, len(order))))
        lanes: list[Digit] = [Digit(a, 2, s) for a, s in order[:lane_count]] + [replicated(2)] * (5 - lane_count)
        registers = [Digit(a, 2, s) for a, s in order[lane_count:]]
        top = max((s for a, s in atoms if a == 0), default=0)
        registers.append(Digit(0, odd, 2 * top if top else 1))
        return Layout(2, tuple(draw(st.permutations(registers))), tuple(draw(st.permutations(lanes))), warps)

    return one(), one()


@settings(max_examples=150, deadline=None)
@given(spread_bits())
def test_any_two_spreads_of_the_same_bits_are_exchanged_inside_the_warp(pair: tuple[Layout, Layout]) -> None:
    before, after = pair
    assert check(before, after, before.shape, (0, 0), {})
    turned = permuted(after, (1, 0))
    plan = plan_exchange(before, turned, tuple(map(min, before.shape, turned.shape)))
    if plan is not None:
        assert check(before, turned, tuple(map(min, before.shape, turned.shape)), (0, 0), {})
