"""Float formats that casts may round to in other ways than to nearest, as rows. Source: IEEE 754-2019, OCP FP8."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """`fraction_bits` behind the leading one, the exponent of the smallest normal number, the largest number."""

    fraction_bits: int
    smallest_exponent: int
    largest: float

    def largest_bits(self, fraction: int, bias: int) -> int:
        """The bits of the largest number in a wider format of so many fraction bits."""
        exponent = self.largest.hex().partition("p")[2]
        numerator, denominator = self.largest.as_integer_ratio()
        assert denominator == 1
        digits = (
            numerator >> (int(exponent) - fraction)
            if int(exponent) >= fraction
            else numerator << (fraction - int(exponent))
        )
        return ((int(exponent) + bias) << fraction) + digits - (1 << fraction)


NARROW_FLOATS: Mapping[str, FloatFormat] = {
    "f32": FloatFormat(23, -126, (2 - 2.0**-23) * 2.0**127),
    "tf32": FloatFormat(10, -126, (2 - 2.0**-10) * 2.0**127),
    "bf16": FloatFormat(7, -126, (2 - 2.0**-7) * 2.0**127),
    "f16": FloatFormat(10, -14, 65504.0),
    "e4m3": FloatFormat(3, -6, 448.0),
    "e5m2": FloatFormat(2, -14, 57344.0),
}
