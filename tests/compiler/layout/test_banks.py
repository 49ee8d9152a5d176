"""Bank conflicts of accesses whose cost is known by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkern.compiler.layout.banks import access_cost, pitch_paddings


@pytest.mark.parametrize(
    ("width", "stride", "phases", "wavefronts"),
    [
        (4, 4, 1, 1),  # neighbours
        (4, 8, 1, 2),  # every other word
        (4, 128, 1, 32),  # a column of rows of 128 bytes
        (4, 132, 1, 1),  # the same, rows one word longer
        (4, 0, 1, 1),  # one word for all
        (1, 1, 1, 1),  # four lanes a word
        (2, 64, 1, 16),
        (8, 8, 2, 2),
        (8, 16, 2, 4),
        (16, 16, 4, 4),
        (16, 128, 4, 32),
        (16, 144, 4, 4),
    ],
)
def test_strided_access(width: int, stride: int, phases: int, wavefronts: int) -> None:
    cost = access_cost([stride * lane for lane in range(32)], width)
    assert (cost.phases, cost.wavefronts) == (phases, wavefronts)
    assert cost.conflicts == wavefronts - phases


def test_lanes_that_stay_away_cost_nothing() -> None:
    column = [128 * lane for lane in range(32)]
    assert access_cost([a if lane < 3 else None for lane, a in enumerate(column)], 4).wavefronts == 3
    assert access_cost([None] * 32, 16).wavefronts == 0


def test_access_that_is_not_aligned_is_refused() -> None:
    with pytest.raises(ValueError, match="aligned"):
        access_cost([2], 4)
    with pytest.raises(ValueError, match="no access"):
        access_cost([0], 3)


@given(st.lists(st.integers(0, 4095), min_size=32, max_size=32), st.sampled_from([1, 2, 4, 8, 16]), st.integers(0, 63))
def test_cost_does_not_change_when_all_addresses_move_by_whole_accesses(
    places: list[int], width: int, move: int
) -> None:
    step = max(width, 4)
    a = access_cost([place * width for place in places], width)
    b = access_cost([place * width + move * step for place in places], width)
    assert a == b


@pytest.mark.parametrize("unit", [1, 2, 4, 8, 16])
def test_paddings_keep_accesses_aligned(unit: int) -> None:
    found = pitch_paddings(unit)
    assert found[0] == 0
    assert all(padding % unit == 0 for padding in found)
