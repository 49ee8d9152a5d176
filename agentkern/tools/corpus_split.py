"""Divide kernels into training, validation and test sets so that nothing in one gives away another. Pure.

What belongs together stays together: a family, and near duplicates across families. The division depends on the names
of families and on their sizes alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

Split = Literal["train", "valid", "test"]

SHARES: dict[Split, float] = {"train": 0.8, "valid": 0.1, "test": 0.1}


def splits(kernels: Sequence[tuple[str, str]]) -> tuple[Split, ...]:
    """Return the set of each kernel, given as (family, group of near duplicates)."""
    parts = _parts(kernels)
    names = sorted(set(parts), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    filled: dict[Split, int] = dict.fromkeys(SHARES, 0)
    chosen: dict[str, Split] = {}
    for name in names:
        # whichever set lacks most of its share, as a part of that share
        lacking: dict[Split, float] = {
            split: 1 - filled[split] / (share * len(kernels)) for split, share in SHARES.items()
        }
        chosen[name] = max(SHARES, key=lacking.__getitem__)
        filled[chosen[name]] += parts.count(name)
    return tuple(chosen[name] for name in parts)


def _parts(kernels: Sequence[tuple[str, str]]) -> list[str]:
    """For each kernel the first family, in alphabetical order, of all that hang together with it."""
    part_of = {family: family for family, _ in kernels}
    for group in {group for _, group in kernels}:
        joined = {part_of[family] for family, its in kernels if its == group}
        part_of = {family: min(joined) if part in joined else part for family, part in part_of.items()}
    return [part_of[family] for family, _ in kernels]
