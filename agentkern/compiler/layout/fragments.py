"""Which elements the registers of tensor-core and matrix-copy instructions hold, as layouts. Data only; knows no IR.

Coordinates are (row, column) of the operand: A is m x k, B is k x n, C and D are m x n. Register numbers count
elements, the lowest bits of the first 32-bit register first. m = 16 is a warp's `mma.sync`, m = 64 a warpgroup's
`wgmma`: four warps below each other. Source: PTX ISA, "Matrix Fragments for mma.m16n8k8, m16n8k16, m16n8k32",
"Register Fragments for wgmma.mma_async.m64nNk*", "ldmatrix", "stmatrix".
"""

from __future__ import annotations

from collections.abc import Sequence

from agentkern.compiler.layout.layout import WARP_LANES, Digit, Layout, replicated

WARP_ROWS = 16
WARPGROUP_ROWS = 64
MATRIX_ROWS = 8
MAX_COLUMNS = 256
REGISTER_BITS = 32


def _layout(rank: int, registers: Sequence[Digit], lanes: Sequence[Digit], warps: Sequence[Digit] = ()) -> Layout:
    kept = (tuple(d for d in digits if d.extent > 1) for digits in (registers, lanes, warps))
    return Layout(rank, *kept)


def _warps(m: int) -> tuple[Digit, ...]:
    if m not in (WARP_ROWS, WARPGROUP_ROWS):
        raise ValueError(f"no product has m = {m}")
    return (Digit(0, m // WARP_ROWS, WARP_ROWS),)


def _packed(element_bits: int) -> int:
    if element_bits not in (8, 16, 32):
        raise ValueError(f"no operand has elements of {element_bits} bits")
    return REGISTER_BITS // element_bits


def accumulator(m: int, n: int) -> Layout:
    """C and D, of 32-bit elements: pairs along n, then 8 rows on, then 8 columns on."""
    if n % MATRIX_ROWS or not MATRIX_ROWS <= n <= MAX_COLUMNS:
        raise ValueError(f"no product has n = {n}")
    elements = (Digit(1, 2, 1), Digit(0, 2, 8), Digit(1, n // MATRIX_ROWS, MATRIX_ROWS))
    return _layout(2, elements, (Digit(1, 4, 2), Digit(0, 8, 1)), _warps(m))


def operand_a(m: int, element_bits: int) -> Layout:
    """A in registers: one register along k, then 8 rows on, then four registers on; k is 32 bytes."""
    packed = _packed(element_bits)
    elements = (Digit(1, packed, 1), Digit(0, 2, 8), Digit(1, 2, 4 * packed))
    return _layout(2, elements, (Digit(1, 4, packed), Digit(0, 8, 1)), _warps(m))


def operand_b(element_bits: int) -> Layout:
    """B in registers, 8 columns: one register along k, then four registers on; k is 32 bytes."""
    packed = _packed(element_bits)
    elements = (Digit(0, packed, 1), Digit(0, 2, 4 * packed))
    return _layout(2, elements, (Digit(0, 4, packed), Digit(1, 8, 1)))


def _count_digit(count: int) -> Digit:
    if count not in (1, 2, 4):
        raise ValueError(f"no copy has {count} matrices")
    return Digit(0, count, 1)


def matrix_registers(count: int, *, transposed: bool) -> Layout:
    """What `ldmatrix` leaves in registers and `stmatrix` takes from them: 1, 2 or 4 matrices of 8 x 8 16-bit elements.

    Coordinates are (matrix, row, column), a row being what one address names.
    """
    pair, other = (1, 2) if transposed else (2, 1)
    return _layout(3, (Digit(pair, 2, 1), _count_digit(count)), (Digit(pair, 4, 2), Digit(other, 8, 1)))


def matrix_addresses(count: int) -> Layout:
    """The (matrix, row) whose address each lane gives; lanes past 8 * count give copies."""
    spare = WARP_LANES // (MATRIX_ROWS * count)
    lanes = (Digit(1, MATRIX_ROWS, 1), _count_digit(count), replicated(spare))
    return _layout(2, (), lanes)
