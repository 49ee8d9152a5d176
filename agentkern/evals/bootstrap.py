"""Intervals of rates over tasks: samples of one task are alike, so tasks are drawn anew, not samples. Pure, seeded.

Where every task is 0, or every task is 1, drawing tasks anew says nothing: then the interval is the exact one of so
many tasks that all ended alike.

Sources: Field and Welsh 2007, Bootstrapping clustered data (the randomised cluster bootstrap), percentile intervals;
Clopper and Pearson 1934, The use of confidence or fiducial limits, for the ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ROUNDS = 2000
"""Draws: the ends of a 95% interval then move by less than half a point from seed to seed at 40 tasks."""
LEVEL = 0.95
_KEY = 0x5EED


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate with its 95% interval; None where there is nothing to measure. `n`: what it is a rate of."""

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
    if is_share and value in (0.0, 1.0):
        far = ((1 - LEVEL) / 2) ** (1 / count)
        low, high = (0.0, 1.0 - far) if value == 0.0 else (far, 1.0)
    # rounding of sums in another order must not put the value outside its own interval
    return Estimate(value, min(float(low), value), max(float(high), value), count, round(float(whole.sum())))
