"""Numbers round to a dtype as the reference casts do, and fit exactly when the language says so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from agentkern.compiler.frontend.literals import converted, misfit, round_to
from agentkern.compiler.ir import reference_casts
from agentkern.dsl.dtypes import DTYPES

FLOATS = ["f32", "f16", "bf16", "e5m2", "e4m3", "tf32"]


def values(dtype: str) -> list[float]:
    """Doubles of every magnitude that the dtype has, its midpoints, and the smallest ones."""
    rng = np.random.default_rng(3)
    row = DTYPES[dtype]
    bias = (1 << (row.exponent_bits - 1)) - 1
    powers = rng.integers(-bias - row.mantissa_bits - 2, bias + 1, 400)
    steps = rng.integers(0, 1 << (row.mantissa_bits + 1), 400) + 0.5 * rng.integers(0, 3, 400)
    found = [
        math.ldexp(1 + float(s) / (1 << (row.mantissa_bits + 1)), int(p)) for s, p in zip(steps, powers, strict=True)
    ]
    found = [value for value in found if value <= row.max_finite]
    return [*found, *(-value for value in found), 0.0, -0.0, row.max_finite]


@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_is_that_of_the_reference_cast(dtype: str):
    given = np.asarray(values(dtype), dtype=np.float64)
    raw = reference_casts.cast("f64", dtype, given)
    want = reference_casts.cast(dtype, "f64", raw)
    got = np.asarray([round_to(DTYPES[dtype], float(value)) for value in given])
    assert np.array_equal(got.view(np.uint64), np.asarray(want).view(np.uint64))


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_largest_value_fits_and_the_next_step_does_not(dtype: str):
    row = DTYPES[dtype]
    step = math.ldexp(1.0, math.frexp(row.max_finite)[1] - 1 - row.mantissa_bits)
    assert misfit(row, row.max_finite) is None
    assert misfit(row, math.nextafter(row.max_finite + step / 2, 0)) is None
    assert misfit(row, row.max_finite + step) is not None


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_integers_fit_their_range_only(dtype: str):
    low, high = DTYPES[dtype].integer_range
    assert [misfit(DTYPES[dtype], n) is None for n in (low - 1, low, high, high + 1)] == [False, True, True, False]


def test_integers_must_be_exact_in_floats():
    assert misfit(DTYPES["f32"], 1 << 24) is None
    assert misfit(DTYPES["f32"], (1 << 24) + 1) == "it rounds to 16777216.0"
    assert misfit(DTYPES["f64"], (1 << 53) + 1) is not None
    assert misfit(DTYPES["f32"], 10**400) is not None


def test_infinity_fits_where_the_format_has_it():
    assert misfit(DTYPES["e5m2"], math.inf) is None
    assert misfit(DTYPES["e4m3"], math.inf) == "it has no infinity"
    assert misfit(DTYPES["e4m3"], math.nan) is None


def test_exponent_types_hold_powers_of_two_above_zero():
    e8m0 = DTYPES["e8m0"]
    assert [round_to(e8m0, value) for value in (1.0, 2.9, 3.0, 5.9, 1e-300)] == [1.0, 2.0, 4.0, 4.0, 2.0**-127]
    assert [misfit(e8m0, value) is None for value in (1.0, 3.0, math.nan, 4, 2.0**127)] == [True] * 5
    assert [misfit(e8m0, value) is None for value in (0.0, -1.0, 0, -2, 3, math.inf, 2.6e38)] == [False] * 7


def test_converted_numbers_have_the_kind_of_their_dtype():
    assert converted(DTYPES["f32"], 3) == 3.0
    assert isinstance(converted(DTYPES["f32"], 3), float)
    assert converted(DTYPES["bool"], True) is True
    assert math.copysign(1.0, converted(DTYPES["bf16"], -1e-60)) == -1.0
