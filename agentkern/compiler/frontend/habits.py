"""Warnings about kernels that are in order but seldom what was meant. Reads operations only.

What works elsewhere by habit and here too, with a surprise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from agentkern.compiler.frontend.lowering import Lowering
from agentkern.compiler.ir.core import Op, Value, walk
from agentkern.compiler.ir.loop_ops import loop_parts
from agentkern.diagnostics import Diagnostic, Span, error

ONE_VALUE = 8192
"""Longest axis of which a loop in steps is spoken of: what is longer is read twice as one value."""
_VIEWS = ("broadcast", "reshape")
Makers = Mapping[Value, Op]


def habit_warnings(lw: Lowering, ops: Sequence[Op]) -> tuple[Diagnostic, ...]:
    """AK429, AK507, each operation once."""
    makers = {value: op for op in walk(ops) for value in op.results}
    found: dict[tuple[str, object], Diagnostic] = {}
    for op in walk(ops):
        if op.name == "exp" and _is_masked_row(op, makers):
            found.setdefault(("AK507", op.location), error("AK507", _span(lw, op)))
        elif op.name == "loop" and _is_online(op, makers):
            axis = loop_parts(op).type
            name = axis.name.removeprefix("%")
            found.setdefault(("AK429", op.location), error("AK429", _span(lw, op), block=name, extent=axis.extent))
    return tuple(found.values())


def _span(lw: Lowering, op: Op) -> Span:
    if op.location is None:
        return Span(lw.source.path)
    line, column, end_line, end_column = op.location
    return Span(lw.source.path, (line, column), (end_line, end_column))


def _behind(value: Value, makers: Makers) -> Value:
    """The value that a view shows."""
    while value in makers and makers[value].name in _VIEWS:
        value = makers[value].operands[0]
    return value


def _made(value: Value, name: str, makers: Makers) -> Op | None:
    op = makers.get(_behind(value, makers))
    return op if op is not None and op.name == name else None


def _is_masked_row(op: Op, makers: Makers) -> bool:
    """e^(x - max(x)) of an x that is -inf where a condition says so: all of a row, and -inf minus -inf is NaN."""
    difference = _made(op.operands[0], "sub", makers)
    if difference is None:
        return False
    row = _behind(difference.operands[0], makers)
    largest = _made(difference.operands[1], "max", makers)
    if largest is None or _behind(largest.operands[0], makers) is not row:
        return False
    choice = makers.get(row)
    if choice is None or choice.name != "where":
        return False
    return any(_is_minus_infinity(value, makers) for value in choice.operands[1:])


def _is_minus_infinity(value: Value, makers: Makers) -> bool:
    constant = _made(value, "constant", makers)
    return constant is not None and constant.attrs["value"] == -inf


def _is_online(op: Op, makers: Makers) -> bool:
    """A maximum carried over the steps of a whole axis, and a sum rescaled by e^(the old one - the new one)."""
    parts = loop_parts(op)
    whole = not parts.limits and parts.type.first == 0 and parts.stop is None
    extent = parts.type.extent
    inside = tuple(walk(op.regions[0].ops))
    if not whole or not isinstance(extent, int) or extent > ONE_VALUE or any(o.name == "dot" for o in inside):
        return False
    return any(_is_rescaling(arg, inside, makers) for arg in parts.args)


def _is_rescaling(top: Value, inside: Sequence[Op], makers: Makers) -> bool:
    raised = {o.result for o in inside if o.name == "maximum" and top in o.operands}
    falls = [o for o in inside if o.name == "sub" and o.operands[0] is top and o.operands[1] in raised]
    return any(_made(o.operands[0], "sub", makers) in falls for o in inside if o.name == "exp")
