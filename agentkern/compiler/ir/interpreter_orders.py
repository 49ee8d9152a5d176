"""Which elements of what float atomics have summed are the same in every order of threads: judged by their terms.

Shares no code with the lowering and must not import it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from agentkern.compiler.ir.reference_formats import Raw
from agentkern.dsl.dtypes import DTYPES

FIXED, ANY_NAN, OPEN = 0, 1, 2
"""An element's bits are the same in every order; it is NaN in every order; they depend on the order."""
SLACK = 1 + 2.0**-20
"""What a sum of magnitudes in f64 may be short by, far more than it is."""
LEAST_F32 = 2.0**-126
"""Numbers below may count as 0 in a sum of f32."""
NAN, INFINITY, MINUS_INFINITY = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Sums:
    """The terms of each element of one tensor in the running grid, what it held before included.

    `count`: terms added. `magnitude`: sum of the finite terms' magnitudes. `quantum`: the largest power of two that
    divides all of them. `specials`: NAN, INFINITY and MINUS_INFINITY among them. `least`: the smallest magnitude but 0
    of a term, or of a term and what it was added to.
    """

    dtype: str
    count: Raw
    magnitude: Raw
    quantum: Raw
    specials: Raw
    least: Raw

    def parts(self) -> tuple[Raw, ...]:
        """The arrays, in the order of the fields."""
        return (self.count, self.magnitude, self.quantum, self.specials, self.least)

    def add(self, places: tuple[Raw, ...], old: Raw, terms: Raw) -> None:
        """Note terms and what they are added to, as f64."""
        with np.errstate(all="ignore"):
            np.add.at(self.count, places, 1)
            np.add.at(self.magnitude, places, np.abs(np.where(np.isfinite(terms), terms, 0.0)))
            np.minimum.at(self.quantum, places, _quantum(terms))
            np.bitwise_or.at(self.specials, places, _specials(terms))
            np.minimum.at(self.least, places, np.minimum(_positive(terms), _positive(old + terms)))


@dataclass(slots=True)
class Orders:
    """How the tensors that float atomics change depend on the order of threads.

    `states`: FIXED, ANY_NAN or OPEN by tensor and element. `spread`: such a tensor was read afterwards, and anything
    may depend on the order. `running`: the sums of the running grid.
    """

    states: dict[str, Raw] = field(default_factory=dict[str, Raw])
    spread: bool = False
    running: dict[str, Sums] = field(default_factory=dict[str, Sums])

    def read(self, tensor: str) -> None:
        """Note that a tensor is read."""
        states = self.states.get(tensor)
        self.spread = self.spread or (states is not None and bool(states.any()))

    def end_grid(self) -> None:
        """Judge the sums of the grid that has ended."""
        for name, sums in self.running.items():
            found = _judge(sums)
            self.states[name] = np.maximum(self.states.get(name, found), found)
        self.running = {}


def started(dtype: str, values: Raw) -> Sums:
    """The sums of a grid before it adds anything: what the tensor holds is a term of each."""
    values = values.astype(np.float64)
    magnitude = np.abs(np.where(np.isfinite(values), values, 0.0))
    count = np.zeros(values.shape, np.int64)
    return Sums(dtype, count, magnitude, _quantum(values), _specials(values), _positive(values))


def _positive(values: Raw) -> Raw:
    """Magnitudes, infinity for 0 and NaN."""
    magnitude = np.abs(values)
    return np.where(magnitude > 0, magnitude, np.inf)


def _specials(values: Raw) -> Raw:
    found = np.where(np.isnan(values), NAN, 0)
    found |= np.where(values == np.inf, INFINITY, 0) | np.where(values == -np.inf, MINUS_INFINITY, 0)
    return found.astype(np.uint8)


def _quantum(values: Raw) -> Raw:
    """The largest power of two of which each finite number is a multiple; infinity for 0."""
    known = np.isfinite(values) & (values != 0)
    fraction, exponent = np.frexp(np.where(known, np.abs(values), 1.0))
    whole = np.ldexp(fraction, 53).astype(np.int64)
    return np.where(known, np.ldexp((whole & -whole).astype(np.float64), exponent - 53), np.inf)


def _judge(sums: Sums) -> Raw:
    """FIXED, ANY_NAN or OPEN for each element.

    A sum is the same in every order where it has two terms, or where no partial sum can round: all terms are multiples
    of one power of two, and their magnitudes together stay below its 2^p-th multiple, p being the bits of a number.
    """
    info = DTYPES[sums.dtype]
    normal = LEAST_F32 if sums.dtype == "f32" else 0.0
    with np.errstate(all="ignore"):
        total = sums.magnitude * SLACK
        bounded = total <= info.max_finite
        exact = (total <= sums.quantum * 2.0 ** (info.mantissa_bits + 1)) & (sums.quantum >= normal)
    two = (sums.count == 1) & (sums.least >= normal)
    signs = sums.specials & (INFINITY | MINUS_INFINITY)
    nan = ((sums.specials & NAN) != 0) | (signs == INFINITY | MINUS_INFINITY)
    fixed = (sums.count == 0) | two | (bounded & (exact | (signs != 0)))
    found = np.where(fixed, FIXED, OPEN)
    return np.where((sums.count > 0) & nan, ANY_NAN, found).astype(np.uint8)
