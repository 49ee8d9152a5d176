"""Intervals of rates over tasks: samples of one task are alike, so tasks are drawn anew, not samples. Pure, seeded.

Where all tasks have one value, as a single task has, drawing tasks anew says nothing. A share then has the interval of
so many tasks that each ended one way or the other: exact at 0 and 1, Wilson's between. What is no share has none.

Sources: Field and Welsh 2007, Bootstrapping clustered data (the randomised cluster bootstrap), percentile intervals;
Clopper and Pearson 1934, The use of confidence or fiducial limits, for the ends; Wilson 1927, Probable inference, the
law of succession, and statistical inference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ROUNDS = 2000
"""Draws: the ends of a 95% interval then move by less than half a point from seed to seed at 40 tasks."""
LEVEL = 0.95
_KEY = 0x5EED
_ALIKE = 1e-12
_Z = 1.959964
"""The normal deviate of LEVEL."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate with its 95% interval; None where there is nothing to measure, or to tell how far it moves.

    `n`: what it is a rate of.
    """

    value: float | None
    low: float | None
    high: float | None
    n_tasks: int
    n: int


NOTHING = Estimate(None, None, None, 0, 0)


def mean_over_tasks(values: Sequence[float], n: int | None = None, seed: int = 0, *, is_share: bool = True) -> Estimate:
    """Return the mean of one value a task. `n`: the samples that they are made of. is_share: it lies in 0 to 1."""
    found = ratio_over_tasks(values, [1.0] * len(values), seed, is_share=is_share)
    return Estimate(found.value, found.low, found.high, len(values), len(values) if n is None else n)


def ratio_over_tasks(
    parts: Sequence[float], wholes: Sequence[float], seed: int = 0, *, is_share: bool = True
) -> Estimate:
    """Return the sum of `parts` over that of `wholes`, one of each a task; tasks without a whole count for nothing."""
    kept = [(part, whole) for part, whole in zip(parts, wholes, strict=True) if whole]
    if not kept:
        return NOTHING
    part, whole = (np.asarray(column, np.float64) for column in zip(*kept, strict=True))
    count = len(kept)
    bits = np.random.Philox(key=(_KEY, seed)).random_raw(ROUNDS * count)
    drawn = (bits % np.uint64(count)).astype(np.int64).reshape(ROUNDS, count)
    means = np.sort(part[drawn].sum(axis=1) / whole[drawn].sum(axis=1))
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    value = float(part.sum() / whole.sum())
    if np.ptp(part / whole) < _ALIKE:
        if not is_share:
            return Estimate(value, None, None, count, round(float(whole.sum())))
        low, high = _alike(value, count)
    # rounding of sums in another order must not put the value outside its own interval
    return Estimate(value, min(float(low), value), max(float(high), value), count, round(float(whole.sum())))


def _alike(value: float, count: int) -> tuple[float, float]:
    """Return the interval of a share that is the same in all of `count` tasks."""
    far = ((1 - LEVEL) / 2) ** (1 / count)
    if value in (0.0, 1.0):
        return (0.0, 1.0 - far) if value == 0.0 else (far, 1.0)
    square = _Z * _Z / count
    middle = (value + square / 2) / (1 + square)
    half = _Z * math.sqrt(value * (1 - value) / count + square / (4 * count)) / (1 + square)
    return middle - half, middle + half
