"""Fit the quadratic tables of the approximate functions to the binades that `approximations` dumps.

A segment's result, as an integer of float bits, is floor(c0 + c1 * X / 2^17 + c2 * S / 2^15), where X is the
argument's bits below the segment index and S the truncated square of X. With S known the rest is linear, so
a linear program says whether real coefficients exist and how far they are pinned; they are pinned to
integers (c1, c2) and to quarters plus one constant (c0). Nothing here is rounded to make it fit: every
segment is checked over all of its inputs.

Usage: python fit_approximations.py BINADES_FOLDER > approximation_tables.h. Needs numpy, scipy, and a
long double of 64 bits of mantissa (x86).
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MANTISSA = 1 << 23
X_BITS = 17
LOWEST_COLUMN = 19  # partial products of X * X in columns below are never formed


@dataclass(frozen=True, slots=True)
class Table:
    """One function on one binade of its argument."""

    file: str
    name: str
    segments: int
    base: int  # float bits that c0 = 0 stands for
    bias: int  # in units of 2^-17 of the result's last place
    exact_at_zero: bool  # the binade's first input is a case of its own


TABLES = (
    Table("rcp_127", "RECIPROCAL", 128, 0x3F000000, 8092, exact_at_zero=True),
    Table("rsqrt_127", "INVERSE_ROOT_EVEN", 64, 0x3F000000, 32766, exact_at_zero=True),
    Table("rsqrt_128", "INVERSE_ROOT_ODD", 64, 0x3F000000, 32766, exact_at_zero=False),
    Table("ex2_127", "POWER", 64, 0x40000000, 24456, exact_at_zero=False),
)


def truncated_square(x: Ints) -> Ints:
    """Square without the partial products in the low columns, in units of 2^19."""
    total = np.zeros_like(x)
    for i in range(X_BITS):
        bit = x >> i & 1
        if 2 * i >= LOWEST_COLUMN:
            total += bit << 2 * i
        for j in range(i + 1, X_BITS):
            if i + j + 1 >= LOWEST_COLUMN:
                total += (bit & x >> j) << (i + j + 1)
    return total >> LOWEST_COLUMN


def recorded_bits(path: Path, function: str, top: int) -> Ints:
    """Float bits of the hardware's results on one binade."""
    x = (np.arange(MANTISSA, dtype=np.uint32) | np.uint32(top << 23)).view(np.float32)
    wide = x.astype(np.longdouble)
    value = {"rcp": lambda v: 1 / v, "rsqrt": lambda v: 1 / np.sqrt(v), "ex2": np.exp2}[function]
    rounded = value(wide).astype(np.float32).view(np.uint32).astype(np.int64)
    return rounded + np.fromfile(path, np.int8)


def extreme(objective: tuple[int, int, int], basis: Floats, results: Floats) -> Floats:
    """Coefficients that minimise `objective` among all that give `results`, by adding cuts."""
    chosen = set(np.linspace(0, results.size - 1, 300).astype(int).tolist())
    while True:
        index = np.array(sorted(chosen))
        rows = np.concatenate([-basis[index], basis[index]])
        limits = np.concatenate([-results[index], results[index] + 1])
        answer = linprog(objective, A_ub=rows, b_ub=limits, bounds=[(None, None)] * 3, method="highs")
        if answer.status != 0:
            raise ValueError("no quadratic fits this segment")
        slack = basis @ answer.x - results
        order = np.argsort(slack)
        if slack[order[0]] >= -1e-6 and slack[order[-1]] <= 1 + 1e-6:
            return answer.x
        chosen.update(order[:20].tolist(), order[-20:].tolist())


def fit_segment(results: Ints, x: Ints, square: Ints, table: Table) -> tuple[int, int, int]:
    """Integer coefficients of one segment; raises ValueError when there are none."""
    basis = np.stack([np.ones(x.size), x / 2.0**X_BITS, square / 2.0**15], axis=1)
    relative = (results - results[0]).astype(float)
    middle = [
        (extreme(up, basis, relative)[k] + extreme(down, basis, relative)[k]) / 2
        for k, up, down in ((1, (0, 1, 0), (0, -1, 0)), (2, (0, 0, 1), (0, 0, -1)))
    ]
    c1, c2 = round(middle[0]), round(middle[1])
    rest = c1 * x + 4 * c2 * square
    low = int(((results - table.base) * 131072 - rest).max())
    high = int(((results - table.base + 1) * 131072 - rest).min())
    c0 = -((table.bias - low) // 32768)
    if not low <= c0 * 32768 + table.bias < high:
        raise ValueError("the constant does not fit this segment")
    return c0, c1, c2


def fit_table(folder: Path, table: Table) -> list[tuple[int, int, int]]:
    """All segments of one table."""
    function, top = table.file.split("_")
    bits = recorded_bits(folder / f"{table.file}.i8", function, int(top))
    n = MANTISSA // table.segments
    x = np.arange(n, dtype=np.int64) * ((1 << X_BITS) // n)
    square = truncated_square(x)
    rows = []
    for k in range(table.segments):
        skip = 1 if k == 0 and table.exact_at_zero else 0
        rows.append(fit_segment(bits[k * n + skip : (k + 1) * n], x[skip:], square[skip:], table))
    return rows


def main(folder: Path) -> None:
    """Write the header."""
    out = sys.stdout.write
    for table in TABLES:
        rows = fit_table(folder, table)
        out(f"// {table.file}: bias {table.bias}\nconst Segment {table.name}[{len(rows)}] = {{\n")
        out("".join(f"    {{{c0}, {c1}, {c2}}},\n" for c0, c1, c2 in rows) + "};\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
