"""Which values are what a mask leaves: many of their elements are -inf, or zeros, whatever is computed of the others.

A hint for which of two right forms of an operation to take; nothing depends on it but speed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import TileType

DEEPEST = 16
"""Operations between a mask and what it reaches."""
_SAME_PLACES = frozenset({"convert", "extend"})


def is_masked(value: Value, makers: Mapping[Value, Op], *, zeros: bool, depth: int = DEEPEST) -> bool:
    """Whether a `where` that gives a constant -inf (or, with `zeros`, 0) is behind a value, element for element."""
    op = makers.get(value)
    if op is None or not depth:
        return False
    if op.name == "where" and any(_is_left(v, makers, zeros=zeros) for v in op.operands[1:]):
        return True
    if "elementwise" not in op.spec.traits and op.name not in _SAME_PLACES:
        return False
    tiles = [v for v in op.operands if isinstance(v.type, TileType) and v.type.shape]
    return any(is_masked(v, makers, zeros=zeros, depth=depth - 1) for v in tiles)


def _is_left(value: Value, makers: Mapping[Value, Op], *, zeros: bool) -> bool:
    """Whether a value is the constant that stands where a mask does not hold."""
    op = makers.get(value)
    while op is not None and op.name in ("broadcast", "cast"):
        op = makers.get(op.operands[0])
    number = op.attrs["value"] if op is not None and op.name == "constant" else None
    return number == -math.inf or (zeros and number == 0 and not isinstance(number, bool))
