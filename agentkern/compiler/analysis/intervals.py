"""Intervals of integers and their arithmetic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IndexRange:
    """All integers from `low` to `high`, both included; None is no bound."""

    low: int | None
    high: int | None

    def __add__(self, other: IndexRange) -> IndexRange:
        low = None if self.low is None or other.low is None else self.low + other.low
        high = None if self.high is None or other.high is None else self.high + other.high
        return IndexRange(low, high)

    def __mul__(self, other: IndexRange) -> IndexRange:
        return product(self, other)

    def within(self, low: int, high: int) -> bool:
        """Whether every member lies in `low..high`."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high

    def excludes(self, number: int) -> bool:
        """Whether `number` is not a member."""
        return (self.low is not None and number < self.low) or (self.high is not None and self.high < number)


def product(a: IndexRange, b: IndexRange) -> IndexRange:
    """The range of products."""
    if None not in (a.low, a.high, b.low, b.high):
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high) if x is not None and y is not None]
        return IndexRange(min(corners), max(corners))
    if a.low is not None and b.low is not None and a.low >= 0 and b.low >= 0:
        high = None if a.high is None or b.high is None else a.high * b.high
        return IndexRange(a.low * b.low, high)
    for number, other in ((a, b), (b, a)):
        if number.low is not None and number.low == number.high:
            scale = number.low
            low = None if other.low is None else other.low * scale
            high = None if other.high is None else other.high * scale
            return IndexRange(low, high) if scale >= 0 else IndexRange(high, low)
    return IndexRange(None, None)


def quotient(numerator: IndexRange, denominator: IndexRange) -> IndexRange:
    """The range of floor quotients by positive numbers; everything where a divisor may not be positive."""
    if denominator.low is None or denominator.low < 1:
        return IndexRange(None, None)
    high_divisor = denominator.high
    low: int | None = None
    if numerator.low is not None:
        if numerator.low >= 0:
            low = 0 if high_divisor is None else numerator.low // high_divisor
        else:
            low = numerator.low // denominator.low
    high: int | None = None
    if numerator.high is not None:
        if numerator.high >= 0:
            high = numerator.high // denominator.low
        else:
            high = -1 if high_divisor is None else numerator.high // high_divisor
    return IndexRange(low, high)
