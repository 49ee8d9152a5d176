"""Ordered reductions of the reference against a scalar reading of the order's definition."""

import numpy as np
import pytest

from agentkern.compiler.ir.order import SumOrder, sum_order
from agentkern.compiler.ir.reference_formats import decode, encode
from agentkern.compiler.ir.reference_reductions import (
    absmax_over,
    max_over,
    mean_in_order,
    min_over,
    prod_in_order,
    sum_in_order,
)


def scalar_panel(values: list[np.float32], order: SumOrder) -> np.float32:
    """Add one panel one element at a time; partials that hold nothing do not take part."""
    partials: dict[int, np.float32] = {}
    for i, value in enumerate(values):
        place = i % order.partials
        partials[place] = partials[place] + value if place in partials else value
    for bit in order.tree_bits:
        merged: dict[int, np.float32] = {}
        for place in sorted(partials):
            low = place & ~(1 << bit)
            merged[low] = merged[low] + partials[place] if low in merged else partials[place]
        partials = merged
    return partials[0]


def scalar_sum(values: np.ndarray, order: SumOrder) -> np.float32:
    """Add a row by the definition, panels as a binary counter."""
    counter: list[tuple[int, np.float32]] = []
    for start in range(0, len(values), order.panel_elems):
        rank, total = 0, scalar_panel(list(values[start : start + order.panel_elems]), order)
        while counter and counter[-1][0] == rank:
            total, rank = counter.pop()[1] + total, rank + 1
        counter.append((rank, total))
    result = counter.pop()[1]
    while counter:
        result = counter.pop()[1] + result
    return result


def wide_range(shape, seed=0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, shape)).astype(np.float32)


def bits(x) -> list[int]:
    return np.asarray(x, dtype=np.float32).view(np.uint32).reshape(-1).tolist()


@pytest.mark.parametrize("extent", [1, 2, 3, 7, 31, 64, 100, 255, 256, 257, 576, 1025, 7168, 8192, 8193, 30011])
@pytest.mark.parametrize("static", [True, False])
def test_row_sum_follows_the_definition(extent, static):
    x = wide_range((2, extent), seed=extent)
    known = extent if static else None
    got = sum_in_order("f32", x, [1], [known])
    order = sum_order(axis_is_last=True, static_extent=known)
    assert bits(got) == bits([scalar_sum(row, order) for row in x])


@pytest.mark.parametrize("extent", [1, 5, 32, 33, 255, 256, 257, 1025, 5000])
def test_column_sum_follows_the_definition(extent):
    x = wide_range((extent, 3), seed=extent)
    order = sum_order(axis_is_last=False, static_extent=extent)
    assert bits(sum_in_order("f32", x, [0], [extent])) == bits([scalar_sum(c, order) for c in x.T])


def test_order_of_static_and_run_time_rows_differs():
    x = wide_range((1, 200))
    assert bits(sum_in_order("f32", x, [1], [200])) != bits(sum_in_order("f32", x, [1]))


@pytest.mark.parametrize("present", [1, 3, 100, 128])
def test_clipped_static_row_sums_as_if_padded(present):
    x = wide_range((4, 128))
    clipped = sum_in_order("f32", x[:, :present], [1], [128])
    padded = np.where(np.arange(128) < present, x, np.float32(-0.0))
    assert bits(clipped) == bits(sum_in_order("f32", padded, [1], [128]))


def test_several_axes_with_the_last_are_flattened_row_major_over_their_static_extents():
    x = wide_range((3, 5, 20))
    flat = np.full((5, 3, 32), -0.0, np.float32)
    flat[:, :, :20] = x.transpose(1, 0, 2)
    got = sum_in_order("f32", x, [0, 2], [3, 32])
    assert bits(got) == bits(sum_in_order("f32", flat.reshape(5, 96), [1], [96]))


@pytest.mark.parametrize("extent", [1, 31, 256, 257, 9000])
def test_sum_of_minus_zeros_stays_minus_zero(extent):
    x = np.full((1, extent), -0.0, np.float32)
    assert bits(sum_in_order("f32", x, [1], [extent])) == [0x80000000]
    assert bits(sum_in_order("f32", x.T, [0], [extent])) == [0x80000000]


def test_sum_of_no_elements_is_plus_zero():
    assert bits(sum_in_order("f32", np.zeros((2, 0), np.float32), [1], [128])) == [0, 0]


def test_nan_in_a_sum_comes_out_canonical():
    x = np.array([[1.0, 2.0]], np.float32)
    x.view(np.uint32)[0, 1] = 0xFFC12345
    assert bits(sum_in_order("f32", x, [1], [2])) == [0x7FFFFFFF]


def test_bf16_sum_rounds_once_at_the_end():
    # 256 ones and a half: a bf16 accumulator would stop at 256
    x = encode("bf16", np.array([[1.0] * 300 + [4.0]], np.float32))
    assert decode("bf16", sum_in_order("bf16", x, [1])).tolist() == [304.0]


def test_integer_sums_wrap_and_bool_sums_are_i32():
    assert sum_in_order("i8", np.array([[100, 100]], np.int8), [1]).tolist() == [-56]
    total = sum_in_order("bool", np.ones((1, 300), np.bool_), [1])
    assert (total.dtype, total.tolist()) == (np.int32, [300])


def test_extremes_propagate_nan_and_order_zeros():
    x = np.array([[-0.0, 0.0], [-0.0, -0.0], [1.0, np.nan]], np.float32)
    assert bits(max_over("f32", x, [1])) == [0, 0x80000000, 0x7FFFFFFF]
    assert bits(min_over("f32", x, [1])) == [0x80000000, 0x80000000, 0x7FFFFFFF]
    assert bits(absmax_over("f32", x, [1])) == [0, 0, 0x7FFFFFFF]


def test_extremes_of_no_elements_are_the_identities():
    x = np.zeros((1, 0), np.float32)
    assert (max_over("f32", x, [1])[0], min_over("f32", x, [1])[0]) == (-np.inf, np.inf)
    assert max_over("i16", x.astype(np.int16), [1]).tolist() == [-32768]
    assert min_over("u8", x.astype(np.uint8), [1]).tolist() == [255]


def test_prod_of_no_elements_is_one_and_mean_is_nan():
    x = np.zeros((1, 0), np.float32)
    assert prod_in_order("f32", x, [1])[0] == 1.0
    assert bits(mean_in_order("f32", x, [1])) == [0x7FFFFFFF]


def test_mean_is_the_ordered_sum_over_the_number_of_present_elements():
    x = wide_range((3, 100))
    expected = sum_in_order("f32", x, [1], [128]) / np.float32(100)
    assert bits(mean_in_order("f32", x, [1], [128])) == bits(expected)
