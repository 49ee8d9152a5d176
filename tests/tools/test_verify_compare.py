"""Distances between floats are exact in every format, the widest and the one without a sign included."""

from __future__ import annotations

import numpy as np
import pytest

from agentkern.dsl.dtypes import DTYPES
from agentkern.tools.verify_compare import ordinals, ulp_distances


@pytest.mark.parametrize("value", [1.0, -1.0, 1e300, 5e-324, 0.5604300437908307])
def test_neighbours_of_f64_are_one_apart(value: float) -> None:
    x = np.array([value])
    above = np.nextafter(x, np.inf)
    assert ulp_distances(DTYPES["f64"], x, above).tolist() == [1.0]
    assert ulp_distances(DTYPES["f64"], above, x).tolist() == [1.0]


def test_zeros_are_equal_and_extremes_far_apart() -> None:
    x = np.array([0.0, -5e-324, -1.7e308, np.nan, np.nan])
    y = np.array([-0.0, 5e-324, 1.7e308, np.nan, 1.0])
    assert ulp_distances(DTYPES["f64"], x, y).tolist()[:2] == [0.0, 2.0]
    assert ulp_distances(DTYPES["f64"], x, y)[2] > 2.0**62
    assert ulp_distances(DTYPES["f64"], x, y).tolist()[3:] == [0.0, np.inf]


def test_exponents_are_in_the_order_of_their_codes() -> None:
    codes = np.arange(255, dtype=np.uint8)
    assert ordinals(DTYPES["e8m0"], codes).tolist() == list(range(255))
    assert set(ulp_distances(DTYPES["e8m0"], codes[:-1], codes[1:]).tolist()) == {1.0}
