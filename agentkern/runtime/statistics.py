"""Medians with bootstrap intervals, of one subject and of a ratio of two.

Pure, and seeded: equal samples give equal numbers. Source: Efron and Tibshirani, An Introduction to the Bootstrap,
chapter 13, percentile interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 2000
_SEED = 20240229
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median and its interval at `CONFIDENCE`."""

    median: float
    low: float
    high: float

    @property
    def relative_spread(self) -> float:
        """Half the interval over the median."""
        return (self.high - self.low) / 2 / self.median if self.median else 0.0


def median_estimate(samples: tuple[float, ...]) -> Estimate:
    """Estimate the median of independent samples, of which there must be one."""
    values = np.asarray(samples, dtype=np.float64)
    medians = np.median(values[_resampled(len(values))], axis=1)
    return _estimate(float(np.median(values)), medians)


def ratio_estimate(numerators: tuple[float, ...], denominators: tuple[float, ...]) -> Estimate:
    """Estimate the ratio of two medians from samples taken in pairs, resampling the pairs.

    What slows a whole round, a clock that drops, then weighs on both and leaves the ratio.
    """
    assert len(numerators) == len(denominators), "samples are not in pairs"
    above, below = (np.asarray(samples, dtype=np.float64) for samples in (numerators, denominators))
    picks = _resampled(len(above))
    ratios = np.median(above[picks], axis=1) / np.median(below[picks], axis=1)
    return _estimate(float(np.median(above) / np.median(below)), ratios)


def _resampled(count: int) -> NDArray[np.int64]:
    assert count > 0, "no samples"
    return np.random.default_rng(_SEED).integers(0, count, size=(_RESAMPLES, count))


def _estimate(median: float, resampled: NDArray[np.float64]) -> Estimate:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(resampled, (tail, 1 - tail))
    return Estimate(median, float(low), float(high))
