"""Fragments against the PTX ISA's own formulas, spelled as the manual spells them."""

from collections.abc import Callable

import pytest

from agentkern.compiler.layout.fragments import (
    accumulator,
    matrix_addresses,
    matrix_registers,
    operand_a,
    operand_b,
)
from agentkern.compiler.layout.layout import Layout
from agentkern.compiler.layout.linear import linear_part

Formula = Callable[[int, int, int], tuple[int, int]]


def k16_a(group: int, thread: int, i: int) -> tuple[int, int]:
    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
    return row, thread * 2 + (i & 0x1) if i < 4 else thread * 2 + (i & 0x1) + 8


def k16_b(group: int, thread: int, i: int) -> tuple[int, int]:
    return (thread * 2 + (i & 0x1) if i < 2 else thread * 2 + (i & 0x1) + 8), group


def c_16x8(group: int, thread: int, i: int) -> tuple[int, int]:
    return (group if i < 2 else group + 8), thread * 2 + (i & 0x1)


def k8_a(group: int, thread: int, i: int) -> tuple[int, int]:
    row = group if i in (0, 2) else group + 8
    return row, thread if i in (0, 1) else thread + 4


def k8_b(group: int, thread: int, i: int) -> tuple[int, int]:
    return (thread if i == 0 else thread + 4), group


def k32_a(group: int, thread: int, i: int) -> tuple[int, int]:
    row = group if 0 <= i < 4 or 8 <= i < 12 else group + 8
    return row, thread * 4 + (i & 0x3) if i < 8 else thread * 4 + (i & 0x3) + 16


def k32_b(group: int, thread: int, i: int) -> tuple[int, int]:
    return (thread * 4 + (i & 0x3) if i < 4 else thread * 4 + (i & 0x3) + 16), group


FORMULAS: list[tuple[Layout, tuple[int, int], Formula]] = [
    (operand_a(16, 16), (16, 16), k16_a),
    (operand_b(16), (16, 8), k16_b),
    (operand_a(16, 32), (16, 8), k8_a),
    (operand_b(32), (8, 8), k8_b),
    (operand_a(16, 8), (16, 32), k32_a),
    (operand_b(8), (32, 8), k32_b),
    (accumulator(16, 8), (16, 8), c_16x8),
]


@pytest.mark.parametrize(("layout", "extents", "formula"), FORMULAS)
def test_mma_fragment_follows_the_manual(layout: Layout, extents: tuple[int, int], formula: Formula) -> None:
    linear = linear_part(layout)
    assert layout.shape == extents
    assert linear is not None and linear.copies == 1
    for lane in range(32):
        for i in range(layout.register_count):
            assert layout.coordinates(i, lane, 0) == formula(lane >> 2, lane % 4, i)


@pytest.mark.parametrize("n", [8, 16, 24, 64, 136, 256])
def test_wgmma_accumulator_follows_the_manual(n: int) -> None:
    layout = accumulator(64, n)
    assert layout.register_count == n // 2
    assert layout.shape == (64, n)
    for thread in range(128):
        for i in range(n // 2):
            row = 16 * (thread // 32) + thread % 32 // 4 + (8 if i % 4 >= 2 else 0)
            column = i // 4 * 8 + thread % 4 * 2 + i % 2
            assert layout.coordinates(i, thread % 32, thread // 32) == (row, column)


@pytest.mark.parametrize("n", [0, 4, 12, 264])
def test_other_widths_of_wgmma_are_refused(n: int) -> None:
    with pytest.raises(ValueError, match="has n"):
        accumulator(64, n)


@pytest.mark.parametrize(("bits", "formula"), [(32, k8_a), (16, k16_a), (8, k32_a)])
def test_wgmma_operand_in_registers_is_four_warps_of_mma_rows(bits: int, formula: Formula) -> None:
    layout = operand_a(64, bits)
    assert layout.shape == (64, 256 // bits)
    for thread in range(128):
        lane = thread % 32
        for i in range(layout.register_count):
            row, column = formula(lane >> 2, lane % 4, i)
            assert layout.coordinates(i, lane, thread // 32) == (row + 16 * (thread // 32), column)
    with pytest.raises(ValueError, match="64 bits"):
        operand_a(64, 64)
    with pytest.raises(ValueError, match="m = 32"):
        operand_a(32, bits)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_matrix_copy_gives_each_thread_two_neighbours_of_a_row(count: int, transposed: bool) -> None:
    layout = matrix_registers(count, transposed=transposed)
    for lane in range(32):
        for matrix in range(count):
            for half in range(2):
                row, column = lane // 4, lane % 4 * 2 + half
                want = (matrix, column, row) if transposed else (matrix, row, column)
                assert layout.coordinates(2 * matrix + half, lane, 0) == want


@pytest.mark.parametrize("count", [1, 2, 4])
def test_lanes_give_the_rows_addresses_eight_a_matrix(count: int) -> None:
    layout = matrix_addresses(count)
    for lane in range(8 * count):
        assert layout.coordinates(0, lane, 0) == (lane // 8, lane % 8)
    with pytest.raises(ValueError, match="3 matrices"):
        matrix_registers(3, transposed=False)


def test_ldmatrix_of_four_matrices_is_the_a_operand() -> None:
    """Matrices in the order rows 0-7, rows 8-15, then the same of the upper half of k."""
    loaded, fragment = matrix_registers(4, transposed=False), operand_a(16, 16)
    for lane in range(32):
        for i in range(8):
            matrix, row, column = loaded.coordinates(i, lane, 0)
            assert fragment.coordinates(i, lane, 0) == (row + 8 * (matrix % 2), column + 8 * (matrix // 2))
