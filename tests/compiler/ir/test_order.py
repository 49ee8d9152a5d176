"""The fixed order of sums, as data."""

import pytest

from agentkern.compiler.ir.order import SumOrder, sum_order


@pytest.mark.parametrize(
    ("extent", "padded", "bits"),
    [
        (0, 1, ()),
        (1, 1, ()),
        (2, 2, (0,)),
        (3, 4, (0, 1)),
        (8, 8, (0, 1, 2)),
        (9, 16, (0, 3, 1, 2)),
        (100, 128, (0, 3, 4, 5, 6, 1, 2)),
        (256, 256, (0, 3, 4, 5, 6, 7, 1, 2)),
    ],
)
def test_short_static_row_is_one_tree_in_fragment_order(extent, padded, bits):
    assert sum_order(axis_is_last=True, static_extent=extent) == SumOrder(padded, padded, bits)


@pytest.mark.parametrize("extent", [257, 7168, 1 << 28, None])
def test_longer_or_run_time_row_is_summed_in_panels(extent):
    order = sum_order(axis_is_last=True, static_extent=extent)
    assert order == SumOrder(8192, 1024, (0, 1, 2, 8, 9, 3, 4, 5, 6, 7))
    assert order.rows == 8


@pytest.mark.parametrize("extent", [1, 64, 8192, None])
def test_axis_before_the_last_has_32_interleaved_partials_whatever_its_extent(extent):
    order = sum_order(axis_is_last=False, static_extent=extent)
    assert order == SumOrder(256, 32, (0, 1, 2, 3, 4))
    assert order.rows == 8


def test_bits_that_do_not_cover_the_partials_are_rejected():
    with pytest.raises(ValueError, match="do not cover 8 partials"):
        SumOrder(8, 8, (0, 1))


def test_panel_that_partials_do_not_divide_is_rejected():
    with pytest.raises(ValueError, match="do not fill"):
        SumOrder(12, 8, (0, 1, 2))
