"""Ranges of integer tiles: bounds that hold for each element. Facts only.

What may wrap has its type's range.
"""

from collections.abc import Callable, Mapping
from functools import reduce

from agentkern.compiler.analysis.extents import LARGEST_SIZE
from agentkern.compiler.analysis.intervals import IndexRange
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import BlockType, TileType

RangeOf = Callable[[Value], IndexRange]


def dtype_range(value: Value) -> IndexRange:
    """The range of a value's type; of what is no integer, everything."""
    if isinstance(value.type, TileType) and not value.type.dtype.is_float:
        return IndexRange(*value.type.dtype.integer_range)
    return IndexRange(None, None)


def value_range(op: Op, range_of: RangeOf) -> IndexRange:
    """The range of an operation's integer result, from those of its operands."""
    whole = dtype_range(op.result)
    rule = RANGE_RULES.get(op.name)
    if rule is None or whole.low is None or whole.high is None:
        return whole
    found = rule(op, [range_of(v) for v in op.operands])
    return found if found.within(whole.low, whole.high) else whole


def _negated(a: IndexRange) -> IndexRange:
    return IndexRange(None if a.high is None else -a.high, None if a.low is None else -a.low)


def _largest(a: IndexRange, b: IndexRange) -> IndexRange:
    lows = [x for x in (a.low, b.low) if x is not None]
    return IndexRange(max(lows, default=None), None if a.high is None or b.high is None else max(a.high, b.high))


def _joined(a: IndexRange, b: IndexRange) -> IndexRange:
    low = None if a.low is None or b.low is None else min(a.low, b.low)
    return IndexRange(low, None if a.high is None or b.high is None else max(a.high, b.high))


def _remainder(op: Op, operands: list[IndexRange]) -> IndexRange:
    divisor = operands[1]
    if divisor.low is None or divisor.low < 1 or divisor.high is None:
        return IndexRange(None, None)
    return IndexRange(0, divisor.high - 1)


def _quotient(op: Op, operands: list[IndexRange]) -> IndexRange:
    number, divisor = operands
    bounds = (number.low, number.high, divisor.low, divisor.high)
    if divisor.low is None or divisor.low < 1 or None in bounds:
        return IndexRange(None, None)
    corners = [n // d for n in bounds[:2] for d in bounds[2:] if n is not None and d is not None]
    return IndexRange(min(corners), max(corners))


def _cut(op: Op, operands: list[IndexRange]) -> IndexRange:
    """Of a quotient toward zero, which grows with the number."""
    number, divisor = operands
    if number.low is None or number.high is None or divisor.low is None or divisor.low < 1 or divisor.high is None:
        return IndexRange(None, None)
    bounds = ((n, d) for n in (number.low, number.high) for d in (divisor.low, divisor.high))
    corners = [abs(n) // d if n >= 0 else -(-n // d) for n, d in bounds]
    return IndexRange(min(corners), max(corners))


def _rest(op: Op, operands: list[IndexRange]) -> IndexRange:
    """Of a remainder with the number's sign."""
    number, divisor = operands
    if divisor.low is None or divisor.low < 1 or divisor.high is None:
        return IndexRange(None, None)
    below = number.low is None or number.low < 0
    above = number.high is None or number.high > 0
    return IndexRange(1 - divisor.high if below else 0, divisor.high - 1 if above else 0)


def _index(op: Op, operands: list[IndexRange]) -> IndexRange:
    block = op.operands[0].type
    assert isinstance(block, BlockType)
    return IndexRange(0, block.extent - 1 if isinstance(block.extent, int) else LARGEST_SIZE)


def _positions(op: Op, operands: list[IndexRange]) -> IndexRange:
    type_ = op.result.type
    assert isinstance(type_, TileType)
    extent = type_.shape[0]
    return IndexRange(0, extent - 1 if isinstance(extent, int) else LARGEST_SIZE)


def positions_range(op: Op) -> IndexRange:
    """The range of positions along the axes that an operation names."""
    type_ = op.operands[0].type
    axes = op.attrs.get("axes", (op.attrs.get("axis"),))
    assert isinstance(type_, TileType) and isinstance(axes, tuple)
    count = 1
    for axis in axes:
        extent = type_.shape[int(axis)]
        if not isinstance(extent, int):
            return IndexRange(0, LARGEST_SIZE)
        count *= extent
    return IndexRange(0, max(count - 1, 0))


def _counted(op: Op, operands: list[IndexRange]) -> IndexRange:
    return IndexRange(0, (1 << 31) - 1)


def _bits(op: Op, operands: list[IndexRange]) -> IndexRange:
    highs = [o.high for o in operands if o.low is not None and o.low >= 0 and o.high is not None]
    return IndexRange(0, min(highs)) if highs else IndexRange(None, None)


def _shifted(op: Op, operands: list[IndexRange]) -> IndexRange:
    """Of a right shift, which rounds down; amounts of the width or more, and negative ones, give 0 or -1."""
    number, amount = operands
    if number.low is None or number.high is None:
        return IndexRange(None, None)
    least = min(max(amount.low or 0, 0), 64)
    return IndexRange(number.low >> least if number.low < 0 else 0, max(number.high >> least, -1))


def _same(op: Op, operands: list[IndexRange]) -> IndexRange:
    return operands[0]


RANGE_RULES: Mapping[str, Callable[[Op, list[IndexRange]], IndexRange]] = {
    "add": lambda op, o: o[0] + o[1],
    "sub": lambda op, o: o[0] + _negated(o[1]),
    "mul": lambda op, o: o[0] * o[1],
    "neg": lambda op, o: _negated(o[0]),
    "abs": lambda op, o: _largest(o[0], _negated(o[0])),
    "maximum": lambda op, o: _largest(o[0], o[1]),
    "minimum": lambda op, o: _negated(_largest(_negated(o[0]), _negated(o[1]))),
    "floor_div": _quotient,
    "mod": _remainder,
    "trunc_div": _cut,
    "trunc_mod": _rest,
    "and": _bits,
    "shr": _shifted,
    "where": lambda op, o: _joined(o[1], o[2]),
    "index": _index,
    "arange": _positions,
    "argmax": lambda op, o: positions_range(op),
    "argmin": lambda op, o: positions_range(op),
    "occurrence": _counted,
    "bincount": _counted,
    "sort": _same,
    "cast": _same,
    "broadcast": _same,
    "reshape": _same,
    "transpose": _same,
    "slice": _same,
    "last": _same,
    "take": _same,
    "concat": lambda op, o: reduce(_joined, o),
}
