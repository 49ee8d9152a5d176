"""Layouts against brute force over every register, lane and warp."""

import itertools

import pytest

from agentkern.compiler.layout.layout import (
    REPLICATED,
    Digit,
    Layout,
    along_last,
    contiguous_run,
    distribute,
    parse_layout,
    permuted,
    replicated,
    restricted,
    split_over,
    without_axis,
)

ROWS = Layout(2, (Digit(1, 8, 1), Digit(1, 7, 1024)), (Digit(1, 32, 8),), (Digit(1, 4, 256),))


def holders(layout: Layout) -> dict[tuple[int, ...], int]:
    """How many (register, lane, warp) hold each coordinate."""
    counts: dict[tuple[int, ...], int] = {}
    for register, lane, warp in itertools.product(range(layout.register_count), range(32), range(layout.warp_count)):
        at = layout.coordinates(register, lane, warp)
        counts[at] = counts.get(at, 0) + 1
    return counts


def test_row_layout_holds_every_element_once() -> None:
    counts = holders(ROWS)
    assert set(counts) == {(0, k) for k in range(7168)}
    assert set(counts.values()) == {1}


def test_text_reads_back() -> None:
    assert parse_layout(ROWS.text) == ROWS
    assert ROWS.text == "(2 | 1:8:1 1:7:1024 | 1:32:8 | 1:4:256)"


@pytest.mark.parametrize("text", ["(2 | 1:8:1 | 1:32:8)", "(2 | x | 1:32:8 | )", "nothing"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a layout|bad digit"):
        parse_layout(text)


@pytest.mark.parametrize("lanes", [(Digit(1, 16, 1),), (Digit(1, 33, 1),)])
def test_lanes_must_number_a_warp(lanes: tuple[Digit, ...]) -> None:
    with pytest.raises(ValueError, match="32"):
        Layout(2, (), lanes, ())


def test_reduction_replicates_lanes_and_warps_of_its_axis() -> None:
    reduced = without_axis(ROWS, 1, keepdims=False)
    assert holders(reduced) == {(0,): 128}
    assert without_axis(ROWS, 1, keepdims=True).rank == 2


def test_transpose_swaps_coordinates() -> None:
    turned = permuted(ROWS, (1, 0))
    for register, lane, warp in itertools.product(range(0, 56, 5), range(32), range(4)):
        assert turned.coordinates(register, lane, warp) == ROWS.coordinates(register, lane, warp)[::-1]


def test_restriction_keeps_the_coordinates_of_its_axes() -> None:
    kept = restricted(ROWS, (1,))
    for register, lane, warp in itertools.product(range(56), (0, 7, 31), range(4)):
        assert kept.coordinates(register, lane, warp) == ROWS.coordinates(register, lane, warp)[1:]
    spread = restricted(ROWS, (0, REPLICATED))
    assert holders(spread) == {(0, 0): 128}


@pytest.mark.parametrize("extents", [(3, 5), (4, 8), (16, 128), (2, 3, 64)])
def test_split_digit_means_the_same_index(extents: tuple[int, ...]) -> None:
    total = 1
    for extent in extents:
        total *= extent
    strides = [1]
    for extent in reversed(extents[1:]):
        strides.insert(0, strides[0] * extent)
    tried = 0
    for extent, stride in itertools.product((2, 4, 8, 32), (1, 2, 3, 8, 64)):
        pieces = split_over(Digit(0, extent, stride), extents, 0)
        if pieces is None or extent * stride > total:
            continue
        tried += 1
        for value in range(extent):
            rest, index = value, 0
            for piece in pieces:
                rest, part = divmod(rest, piece.extent)
                index += part * piece.stride * strides[piece.axis]
            assert index == value * stride
    assert tried >= 1


def test_digit_that_straddles_axes_is_not_split() -> None:
    assert split_over(Digit(0, 32, 8), (7, 24), 0) is None
    assert split_over(Digit(0, 3, 8), (7, 24), 0) == (Digit(1, 3, 8),)


@pytest.mark.parametrize(
    ("extents", "warps"), [((1,), 1), ((5,), 4), ((33, 7), 2), ((128, 64), 8), ((3, 1, 9), 4), ((1, 4097), 4)]
)
def test_distribution_covers_every_element(extents: tuple[int, ...], warps: int) -> None:
    layout = distribute(extents, warps, {})
    assert layout.warp_count == warps
    counts = holders(layout)
    for at in itertools.product(*map(range, extents)):
        assert at in counts
    assert len(set(counts.values())) == 1


def test_distribution_stays_inside_its_caps() -> None:
    layout = distribute((4096, 1), 8, {0: 32})
    reach = max(d.extent * d.stride for d in layout.lanes + layout.warps if d.axis == 0)
    assert reach == 32
    assert replicated(8) in layout.warps


@pytest.mark.parametrize("vector", [1, 2, 4, 8])
@pytest.mark.parametrize("extents", [(1,), (5, 3), (33, 70), (4, 1024), (2, 3, 64)])
def test_spread_along_the_last_axis_covers_every_element_in_vectors(extents: tuple[int, ...], vector: int) -> None:
    layout = along_last(extents, 4, vector)
    counts = holders(layout)
    assert set(counts) >= set(itertools.product(*map(range, extents)))
    assert len(set(counts.values())) == 1
    assert contiguous_run(layout, layout.rank - 1) >= min(vector, extents[-1])


def test_contiguous_run_counts_a_warps_neighbours() -> None:
    assert contiguous_run(ROWS, 1) == 256
    assert contiguous_run(permuted(ROWS, (1, 0)), 1) == 1
    assert contiguous_run(Layout(2, (), (Digit(1, 4, 1), Digit(0, 8, 1)), ()), 1) == 4
