"""Medians and their intervals."""

import numpy as np
import pytest

from agentkern.runtime.statistics import Estimate, median_estimate, ratio_estimate


def test_equal_samples_have_no_spread():
    assert median_estimate((3.0,) * 10) == Estimate(3.0, 3.0, 3.0)
    assert median_estimate((3.0,) * 10).relative_spread == 0.0


def test_single_sample_is_its_own_interval():
    assert median_estimate((7.0,)) == Estimate(7.0, 7.0, 7.0)


def test_equal_samples_give_equal_numbers_again():
    samples = tuple(float(x) for x in np.random.default_rng(1).normal(100, 5, 60))
    assert median_estimate(samples) == median_estimate(samples)


def test_interval_covers_the_true_median_about_as_often_as_it_says():
    draw = np.random.default_rng(7)
    trials = [median_estimate(tuple(draw.normal(100, 5, 40).tolist())) for _ in range(200)]
    covered = sum(t.low <= 100 <= t.high for t in trials)
    # 95% of 200 is 190; six standard deviations of a binomial below that is 171.
    assert 171 <= covered <= 200


def test_one_outlier_does_not_move_the_median():
    estimate = median_estimate((10.0,) * 19 + (1000.0,))
    assert (estimate.median, estimate.high) == (10.0, 10.0)


def test_ratio_is_that_of_the_medians():
    assert ratio_estimate((20.0, 22.0, 24.0), (10.0, 11.0, 12.0)).median == 2.0


def test_drift_that_both_share_does_not_widen_the_ratio():
    drift = np.linspace(1, 3, 50)
    ratio = ratio_estimate(tuple((20 * drift).tolist()), tuple((10 * drift).tolist()))
    assert ratio.median == 2.0
    assert ratio.relative_spread < 1e-12


def test_samples_that_are_not_pairs_are_a_bug():
    with pytest.raises(AssertionError, match="pairs"):
        ratio_estimate((1.0, 2.0), (1.0,))
