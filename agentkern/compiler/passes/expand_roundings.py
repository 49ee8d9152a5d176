"""Spell casts to narrower floats that do not round to nearest: first to a number that the format has, then as usual.

The magnitude's bits are an integer whose low `shift` bits the format drops. Cutting them off rounds toward zero; a
carry into what is left rounds away: where they are at least half, or where they and the random bits make up one.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentkern.compiler.ir.core import Builder, Kernel, Op, Value
from agentkern.compiler.ir.narrow_floats import NARROW_FLOATS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.expand_arguments import filled, tile
from agentkern.compiler.passes.rewrite import rewrite
from agentkern.dsl.dtypes import DTYPES

BOOL, F32 = DTYPES["bool"], DTYPES["f32"]
FRACTION_BITS = {"f32": 23, "f64": 52}
BIAS = {"f32": 127, "f64": 1023}
RANDOM_BITS = 32


@dataclass(frozen=True, slots=True)
class _Bits:
    """Unsigned arithmetic on tiles of one type, with numbers as operands."""

    builder: Builder
    type: TileType

    def __call__(self, name: str, a: Value | int, b: Value | int) -> Value:
        pair = tuple(filled(self.builder, self.type, x) if isinstance(x, int) else x for x in (a, b))
        type_ = self.type.with_dtype(BOOL) if name in ("lt", "le", "gt", "ge", "eq", "ne") else self.type
        return self.builder.value(name, pair, type_)

    def where(self, condition: Value, a: Value | int, b: Value | int) -> Value:
        """The first where the condition holds."""
        pair = tuple(filled(self.builder, self.type, x) if isinstance(x, int) else x for x in (a, b))
        return self.builder.value("where", (condition, *pair), self.type)


def _dropped(bits: _Bits, magnitude: Value, source: str, target: str) -> tuple[Value, Value]:
    """(how many low bits the format drops, the significand)."""
    fraction, fmt = FRACTION_BITS[source], NARROW_FLOATS[target]
    exponent = bits("shr", magnitude, fraction)
    least = bits("maximum", exponent, 1)
    smallest = fmt.smallest_exponent + BIAS[source]
    extra = bits("sub", bits("maximum", least, smallest), least)
    lead = bits.where(bits("eq", exponent, 0), 0, 1 << fraction)
    significand = bits("or", bits("and", magnitude, (1 << fraction) - 1), lead)
    return bits("add", extra, fraction - fmt.fraction_bits), significand


def _carries(bits: _Bits, low: Value, shift: Value, fraction: int, random: Value | None) -> Value:
    """Whether what is dropped rounds away from zero."""
    width = bits.type.dtype.bits
    if random is None:
        return bits("ge", low, bits("shl", 1, bits("sub", bits("minimum", shift, width - 1), 1)))
    near = bits("shl", low, bits("sub", width, bits("minimum", shift, width)))
    far = bits(
        "shr", bits("shl", low, width - fraction - 1), bits("sub", bits("maximum", shift, fraction + 1), fraction + 1)
    )
    share = bits.where(bits("lt", shift, fraction + 1), near, far)
    words = bits.builder
    wide = bits.type.with_dtype(DTYPES["u64"])
    parts = [share if width == RANDOM_BITS else bits("shr", share, width - RANDOM_BITS), random]
    total = [v if tile(v).dtype is wide.dtype else words.value("cast", (v,), wide) for v in parts]
    whole = words.value("add", (total[0], total[1]), wide)
    return words.value("ge", (whole, filled(words, wide, 1 << RANDOM_BITS)), wide.with_dtype(BOOL))


def _rounded(builder: Builder, value: Value, target: str, rounding: str, random: Value | None) -> Value:
    """The value as one of the format's, or past its largest."""
    source = tile(value).dtype.name
    fraction, fmt = FRACTION_BITS[source], NARROW_FLOATS[target]
    width = tile(value).dtype.bits
    type_ = tile(value).with_dtype(DTYPES[f"u{width}"])
    bits = _Bits(builder, type_)
    raw = builder.value("bitcast", (value,), type_)
    magnitude = bits("and", raw, (1 << (width - 1)) - 1)
    shift, significand = _dropped(bits, magnitude, source, target)
    mask = bits("sub", bits("shl", 1, bits("minimum", shift, width - 1)), 1)
    low = bits("and", significand, mask)
    is_small = bits("gt", shift, fraction)
    cut = bits.where(is_small, 0, bits("sub", magnitude, low))
    if rounding == "toward_zero":
        largest = fmt.largest_bits(fraction, BIAS[source])
        found = bits("minimum", cut, largest)
    else:
        least = (fmt.smallest_exponent - fmt.fraction_bits + BIAS[source]) << fraction
        up = bits.where(is_small, max(least, 0), bits("add", cut, bits("add", mask, 1)))
        found = bits.where(_carries(bits, low, shift, fraction, random), up, cut)
    infinity = ((1 << (width - 1 - fraction)) - 1) << fraction
    kept = bits.where(bits("lt", magnitude, infinity), found, magnitude)
    signed = bits("or", kept, bits("and", raw, 1 << (width - 1)))
    return builder.value("bitcast", (signed,), tile(value), None, value.name)


def _rule(op: Op, builder: Builder) -> tuple[Value, ...] | None:
    rounding = op.attrs.get("rounding")
    if op.name != "cast" or rounding is None:
        return None
    value, result = op.operands[0], tile(op.result)
    if tile(value).dtype.name not in FRACTION_BITS:
        value = builder.value("cast", (value,), tile(value).with_dtype(F32), None, value.name)
    random = op.operands[1] if len(op.operands) > 1 else None
    value = _rounded(builder, value, result.dtype.name, str(rounding), random)
    attrs = {name: given for name, given in op.attrs.items() if name != "rounding"}
    return (builder.value("cast", (value,), result, attrs or None, op.result.name),)


def expand_roundings(kernel: Kernel) -> Kernel:
    """Casts to nearest alone, of numbers that they do not round."""
    return rewrite(kernel, _rule)
