"""F2 matrices and the F2 part of layouts against brute force."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkern.compiler.layout.layout import Digit, Layout, distribute, permuted, replicated, without_axis
from agentkern.compiler.layout.linear import LinearMap, identity_map, linear_part, outer_offsets, same_elements

ROWS = Layout(2, (Digit(1, 8, 1), Digit(1, 7, 1024)), (Digit(1, 32, 8),), (Digit(1, 4, 256),))
TILE = Layout(2, (Digit(1, 2, 1), Digit(0, 4, 8)), (Digit(1, 4, 2), Digit(0, 8, 1)), (Digit(0, 2, 32), replicated(2)))


@st.composite
def maps(draw: st.DrawFn, in_bits: int | None = None, out_bits: int | None = None) -> LinearMap:
    n = draw(st.integers(0, 6)) if in_bits is None else in_bits
    m = draw(st.integers(0, 6)) if out_bits is None else out_bits
    return LinearMap(tuple(draw(st.integers(0, (1 << m) - 1)) for _ in range(n)), m)


@given(maps())
def test_rank_is_the_size_of_the_image(map_: LinearMap) -> None:
    image = {map_(x) for x in range(1 << map_.in_bits)}
    assert len(image) == 1 << map_.rank
    assert map_.is_injective == (len(image) == 1 << map_.in_bits)
    assert map_.is_surjective == (len(image) == 1 << map_.out_bits)


@given(maps())
def test_kernel_spans_all_inputs_that_go_to_zero(map_: LinearMap) -> None:
    basis = LinearMap(map_.kernel(), map_.in_bits)
    spanned = {basis(x) for x in range(1 << basis.in_bits)}
    assert basis.is_injective
    assert spanned == {x for x in range(1 << map_.in_bits) if map_(x) == 0}


@given(maps())
def test_solve_finds_an_input_of_every_image_and_of_nothing_else(map_: LinearMap) -> None:
    image = {map_(x) for x in range(1 << map_.in_bits)}
    for y in range(1 << map_.out_bits):
        x = map_.solve(y)
        assert (x is not None) == (y in image)
        assert x is None or map_(x) == y


@given(st.integers(0, 5), st.data())
def test_composition_is_application_in_turn(middle: int, data: st.DataObject) -> None:
    first, second = data.draw(maps(out_bits=middle)), data.draw(maps(in_bits=middle))
    both = second.after(first)
    assert all(both(x) == second(first(x)) for x in range(1 << first.in_bits))


@given(maps())
def test_inverses_undo(map_: LinearMap) -> None:
    right = map_.right_inverse()
    assert (right is None) == (not map_.is_surjective)
    if right is not None:
        assert map_.after(right) == identity_map(map_.out_bits)
    inverse = map_.inverse()
    assert (inverse is None) == (not (map_.is_injective and map_.is_surjective))
    if inverse is not None:
        assert inverse.after(map_) == identity_map(map_.in_bits)


def test_maps_beside_each_other_do_not_mix() -> None:
    a, b = LinearMap((3, 1), 2), LinearMap((2,), 2)
    both = a.beside(b)
    assert all(both(x | y << 2) == a(x) | b(y) << 2 for x in range(4) for y in range(2))


def test_column_outside_the_output_is_refused() -> None:
    with pytest.raises(ValueError, match="does not fit"):
        LinearMap((4,), 2)
    with pytest.raises(ValueError, match="do not enter"):
        LinearMap((1,), 1).after(LinearMap((1,), 2))


@pytest.mark.parametrize("layout", [ROWS, TILE, permuted(TILE, (1, 0)), without_axis(ROWS, 1, keepdims=True)])
def test_linear_part_and_outer_blocks_give_the_layouts_coordinates(layout: Layout) -> None:
    linear = linear_part(layout)
    assert linear is not None
    inner = 1 << linear.register_bits
    offsets = outer_offsets(layout.rank, linear.outer)
    assert inner * len(offsets) == layout.register_count
    for lane, warp in itertools.product(range(32), range(layout.warp_count)):
        want = sorted(layout.coordinates(register, lane, warp) for register in range(layout.register_count))
        got = sorted(
            tuple(a + b for a, b in zip(linear.coordinates(register, lane, warp), offset, strict=True))
            for register in range(inner)
            for offset in offsets
        )
        assert got == want


@pytest.mark.parametrize("layout", [ROWS, TILE])
def test_holder_inverts_coordinates(layout: Layout) -> None:
    linear = linear_part(layout)
    assert linear is not None
    for at in itertools.product(*(range(1 << bits) for bits in linear.axis_bits)):
        holder = linear.holder(at)
        assert holder is not None
        assert linear.coordinates(*holder) == at
    assert linear.holder(tuple(1 << bits for bits in linear.axis_bits)) is None


def test_copies_count_the_holders() -> None:
    rows, tile = linear_part(ROWS), linear_part(TILE)
    assert rows is not None and tile is not None
    assert (rows.copies, tile.copies) == (1, 2)


def test_strides_that_are_no_powers_of_two_are_not_linear() -> None:
    assert linear_part(Layout(1, (Digit(0, 2, 3),), (Digit(0, 32, 6),), ())) is None
    assert linear_part(Layout(1, (Digit(0, 2, 1),), (Digit(0, 32, 1),), ())) is None
    assert linear_part(Layout(1, (Digit(0, 2, 1),), (Digit(0, 32, 2),), ())) is not None


def test_layouts_written_differently_hold_the_same() -> None:
    merged = Layout(1, (Digit(0, 8, 1),), (Digit(0, 32, 8),), ())
    apart = Layout(1, (Digit(0, 2, 1), Digit(0, 4, 2)), (Digit(0, 8, 8), Digit(0, 4, 64)), ())
    turned = Layout(1, (Digit(0, 4, 2), Digit(0, 2, 1)), (Digit(0, 32, 8),), ())
    assert same_elements(merged, apart)
    assert not same_elements(merged, turned)
    assert not same_elements(merged, distribute((256,), 1, {}))
