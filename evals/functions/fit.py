"""Derive the constants and polynomials of the f32 functions and write `compiler/ir/function_coefficients.py`.

Each polynomial minimises the largest weighted error at Chebyshev nodes (Lawson's iteration of weighted least squares
on values by mpmath); its coefficients are rounded to f32 one by one from the lowest degree up, the rest fitted again
after each. Constants are split so that the first part times a small integer is exact.

Usage: python evals/functions/fit.py [--check]   (--check: say whether the file is what this would write)
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np

TARGET = Path(__file__).parents[2] / "agentkern" / "compiler" / "ir" / "function_coefficients.py"
NODES = 300
LAWSON_STEPS = 60
mpmath.mp.dps = 50
Function = Callable[[mpmath.mpf], mpmath.mpf]


@dataclass(frozen=True, slots=True)
class Fit:
    """A polynomial c0 + c1 t + ... near `target` for low <= t <= high, its error weighed by `weight`.

    weight(t): what an error of the polynomial does to the function's result, relative to that result.
    """

    name: str
    target: Function
    weight: Function
    low: float
    high: float
    degree: int
    note: str
    fixed: tuple[float, ...] = ()


def one(t: mpmath.mpf) -> mpmath.mpf:
    return mpmath.mpf(1)


def log_tail(t: mpmath.mpf) -> mpmath.mpf:
    """(log(1 + t) - t) / t^2."""
    if abs(t) < 1e-12:
        return mpmath.mpf(-0.5)
    return (mpmath.log1p(t) - t) / t**2


def log_weight(t: mpmath.mpf) -> mpmath.mpf:
    return mpmath.mpf(0) if t == 0 else abs(t**2 / mpmath.log1p(t))


def tanh_tail(t: mpmath.mpf) -> mpmath.mpf:
    """(tanh(x) / x - 1) / t with t = x^2."""
    if t < 1e-12:
        return -mpmath.mpf(1) / 3
    x = mpmath.sqrt(t)
    return (mpmath.tanh(x) / x - 1) / t


def tanh_weight(t: mpmath.mpf) -> mpmath.mpf:
    x = mpmath.sqrt(t)
    return t * x / mpmath.tanh(x) if t else mpmath.mpf(0)


def erf_ratio(t: mpmath.mpf) -> mpmath.mpf:
    """erf(x) / x with t = x^2."""
    x = mpmath.sqrt(t)
    return mpmath.erf(x) / x if t > 1e-20 else 2 / mpmath.sqrt(mpmath.pi)


def sin_tail(t: mpmath.mpf) -> mpmath.mpf:
    """(sin(x) / x - 1) / t with t = x^2."""
    x = mpmath.sqrt(t)
    return (mpmath.sin(x) / x - 1) / t if t > 1e-12 else -mpmath.mpf(1) / 6


def cos_tail(t: mpmath.mpf) -> mpmath.mpf:
    """(cos(x) - 1 + t / 2) / t^2 with t = x^2."""
    return (mpmath.cos(mpmath.sqrt(t)) - 1 + t / 2) / t**2 if t > 1e-12 else mpmath.mpf(1) / 24


HALF_LN2 = 0.34658
ROOT_LOW, ROOT_HIGH = -0.29290, 0.41422
QUARTER = 0.625  # (pi / 4 + 0.005)^2: the nearest multiple of pi / 2 is found with an error

FITS: tuple[Fit, ...] = (
    Fit("EXP", mpmath.exp, lambda t: 1 / mpmath.exp(t), -HALF_LN2, HALF_LN2, 6, "exp(t)", (1.0, 1.0)),
    Fit("EXP2", lambda t: mpmath.power(2, t), lambda t: mpmath.power(2, -t), -0.5, 0.5, 6, "2^t", (1.0,)),
    Fit(
        "EXPM1",
        lambda t: (mpmath.expm1(t) - t) / t**2 if t else mpmath.mpf(0.5),
        lambda t: abs(t**2 / mpmath.expm1(t)) if t else mpmath.mpf(0),
        -HALF_LN2,
        HALF_LN2,
        5,
        "(exp(t) - 1 - t) / t^2",
        (0.5,),
    ),
    Fit("LOG", log_tail, log_weight, ROOT_LOW, ROOT_HIGH, 8, "(log(1 + t) - t) / t^2", (-0.5,)),
    Fit(
        "LOG2",
        lambda t: log_tail(t) / mpmath.log(2),
        lambda t: log_weight(t) * mpmath.log(2),
        ROOT_LOW,
        ROOT_HIGH,
        8,
        "(log2(1 + t) - t / log(2)) / t^2",
    ),
    Fit("TANH", tanh_tail, tanh_weight, 0.0, 1.0, 7, "(tanh(x) / x - 1) / t, t = x^2"),
    Fit("ERF", lambda t: erf_ratio(t) - 1, lambda t: 1 / erf_ratio(t), 0.0, 1.0, 8, "erf(x) / x - 1, t = x^2"),
    Fit(
        "ERFC",
        lambda t: mpmath.log(mpmath.erfc(t + 1), 2),
        lambda t: mpmath.log(2) * mpmath.erfc(t + 1) / mpmath.erf(t + 1),
        0.0,
        3.0,
        8,
        "log2(1 - erf(1 + t))",
    ),
    Fit("SIN", sin_tail, lambda t: t / sin_ratio(t), 0.0, QUARTER, 3, "(sin(x) / x - 1) / t, t = x^2"),
    Fit("COS", cos_tail, lambda t: t**2 / mpmath.cos(mpmath.sqrt(t)), 0.0, QUARTER, 3, "(cos(x) - 1 + t / 2) / t^2"),
)


def sin_ratio(t: mpmath.mpf) -> mpmath.mpf:
    """sin(x) / x with t = x^2."""
    x = mpmath.sqrt(t)
    return mpmath.sin(x) / x if t else mpmath.mpf(1)


def lawson(basis: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The coefficients whose largest weighted error is smallest, nearly."""
    share = np.full(len(values), 1.0 / len(values))
    best, least = np.zeros(basis.shape[1]), np.inf
    for _ in range(LAWSON_STEPS):
        scale = weights * np.sqrt(share)
        found = np.linalg.lstsq(basis * scale[:, None], values * scale, rcond=None)[0]
        error = np.abs((basis @ found - values) * weights)
        if error.max() < least:
            best, least = found, error.max()
        share = share * (error + 1e-18)
        share /= share.sum()
    return best


def samples(row: Fit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Powers of the nodes, the target's values, the weights."""
    angles = (np.arange(NODES) + 0.5) * np.pi / NODES
    nodes = (row.low + row.high) / 2 + (row.high - row.low) / 2 * np.cos(angles)
    values = np.array([float(row.target(mpmath.mpf(float(t)))) for t in nodes])
    weights = np.array([float(row.weight(mpmath.mpf(float(t)))) for t in nodes])
    return nodes[:, None] ** np.arange(row.degree + 1), values, weights


def largest_error(row: Fit, coefficients: tuple[float, ...]) -> float:
    """The largest weighted error of a polynomial at the nodes."""
    powers, values, weights = samples(row)
    return float(np.abs((powers @ np.array(coefficients) - values) * weights).max())


def fit(row: Fit) -> tuple[tuple[float, ...], float]:
    """Coefficients in f32 and the largest weighted error."""
    powers, values, weights = samples(row)
    chosen = list(row.fixed)
    while len(chosen) <= row.degree:
        rest = values - powers[:, : len(chosen)] @ np.array(chosen)
        free = lawson(powers[:, len(chosen) :], rest, weights)
        chosen.append(float(np.float32(free[0])))
    return tuple(chosen), largest_error(row, tuple(chosen))


def split(value: mpmath.mpf, bits: tuple[int, ...]) -> list[float]:
    """Parts of a constant: each but the last is cut to its number of significant bits."""
    parts: list[float] = []
    rest = value
    for count in bits:
        with mpmath.workprec(count):
            part = float(+rest)
        parts.append(part)
        rest = rest - part
    return parts


def constants() -> dict[str, float]:
    """Constants by name."""
    ln2, inverse = mpmath.log(2), 1 / mpmath.log(2)
    named = {"INV_LN2": split(inverse, (24,))[0]}
    # the first part of ln 2 has 15 bits: its product with an exponent is exact
    named["LN2_SHORT"], named["LN2_REST"] = split(ln2, (15, 24))
    named["LN2_HIGH"], named["LN2_LOW"] = split(ln2, (24, 24))
    named["LOG2E_HIGH"], named["LOG2E_LOW"] = split(inverse, (24, 24))
    half_pi = mpmath.pi / 2
    named["TWO_OVER_PI"] = split(1 / half_pi, (24,))[0]
    named["HALF_PI_1"], named["HALF_PI_2"], named["HALF_PI_3"] = split(half_pi, (24, 24, 24))
    named["SQRT_HALF"] = split(mpmath.sqrt(0.5), (24,))[0]
    named["SQRT_2_OVER_PI"] = split(mpmath.sqrt(2 / mpmath.pi), (24,))[0]
    named["GELU_CUBIC"] = float(np.float32(0.044715))
    return named


def two_over_pi_words() -> list[int]:
    """The bits of 2 / pi, 32 a word, behind a word of zeros."""
    with mpmath.workprec(300):
        whole = int(mpmath.floor(2 / mpmath.pi * mpmath.mpf(2) ** 224))
    return [0, *(whole >> (32 * k) & 0xFFFFFFFF for k in reversed(range(7)))]


def text() -> str:
    """The data file."""
    lines = [
        '"""Constants and polynomials of the f32 functions. Written by `evals/functions/fit.py`; do not edit."""',
        "",
        "CONSTANTS: dict[str, float] = {",
        *(f'    "{name}": float.fromhex("{value.hex()}"),' for name, value in constants().items()),
        "}",
        "",
        "WORDS: dict[str, tuple[int, ...]] = {",
        "    # 32 zero bits, then the first 224 of 2 / pi",
        '    "TWO_OVER_PI_BITS": (',
        *(f"        0x{word:08X}," for word in two_over_pi_words()),
        "    ),",
        "}",
        "",
        "POLYNOMIALS: dict[str, tuple[float, ...]] = {",
    ]
    for row in FITS:
        found, error = fit(row)
        lines.append(f"    # {row.note}; {row.low} <= t <= {row.high}; largest error 2^{np.log2(error):.1f}")
        lines.append(f'    "{row.name}": (')
        lines += [f'        float.fromhex("{c.hex()}"),' for c in found]
        lines.append("    ),")
    lines += ["}", '"""Lowest coefficient first."""', ""]
    return "\n".join(lines)


def main() -> int:
    wanted = text()
    if "--check" in sys.argv[1:]:
        same = TARGET.read_text() == wanted
        print("same" if same else f"{TARGET.name} is not what this writes")
        return int(not same)
    TARGET.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
