"""Swizzles against their description, bit by bit."""

import pytest

from agentkern.compiler.layout.banks import access_cost
from agentkern.compiler.layout.linear import identity_map
from agentkern.compiler.layout.swizzle import HARDWARE_SWIZZLES, Swizzle


@pytest.mark.parametrize(("width", "rows"), [(32, 2), (64, 4), (128, 8)])
def test_hardware_swizzle_permutes_the_pieces_of_a_row(width: int, rows: int) -> None:
    swizzle = HARDWARE_SWIZZLES[width]
    assert swizzle.period_bytes == 128 * rows
    for address in range(4096):
        line, piece, byte = address // 128, address // 16 % 8, address % 16
        assert swizzle(address) == line * 128 + (piece ^ line % rows) * 16 + byte


@pytest.mark.parametrize("swizzle", HARDWARE_SWIZZLES.values())
def test_swizzle_undoes_itself_and_its_matrix_agrees(swizzle: Swizzle) -> None:
    matrix = swizzle.map(12)
    assert matrix.after(matrix) == identity_map(12)
    assert all(matrix(a) == swizzle(a) and swizzle(swizzle(a)) == a for a in range(4096))


def test_128_byte_swizzle_lets_eight_rows_be_read_as_a_column() -> None:
    column = [row * 128 for row in range(8)]
    assert access_cost(column, 16).conflicts == 7
    assert access_cost([HARDWARE_SWIZZLES[128](a) for a in column], 16).conflicts == 0


@pytest.mark.parametrize("shape", [(-1, 4, 3), (3, -1, 3), (3, 4, 2)])
def test_impossible_swizzle_is_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="impossible"):
        Swizzle(*shape)
