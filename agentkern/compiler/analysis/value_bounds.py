"""Bounds over sizes of integers that an operation picks: positions along an axis, one of two values. Facts only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from agentkern.compiler.analysis.extents import Facts, SymbolFact
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.dims import Dim
from agentkern.compiler.ir.types import TileType

Form = int | Dim
FormOf = Callable[[Value], "Form | None"]
PICKS = ("where", "reshape", "take", "sort", "last", "concat", "maximum", "minimum")
"""Operations each of whose elements is an element of an operand."""


def picked(op: Op) -> tuple[Value, ...]:
    """The operands that an operation's elements come from; none of an operation that computes."""
    if op.name not in PICKS:
        return ()
    first, last = {"where": (1, 3), "take": (0, 1)}.get(op.name, (0, len(op.operands)))
    return op.operands[first:last]


def with_bounds(op: Op, value: Value, fact: SymbolFact, form_of: FormOf, facts: Facts) -> SymbolFact:
    """What is known of an element that `op` makes: `fact`, and bounds over sizes."""
    if op.name in ("argmax", "argmin", "topk"):
        return _position(op, fact) if value is op.results[-1] else fact
    forms = [form for v in picked(op) if (form := form_of(v)) is not None]
    if not forms or len(forms) != len(picked(op)):
        return fact
    low_of = (lambda f, bound: facts.at_most(bound, f), any if op.name == "maximum" else all)
    high_of = (facts.at_most, any if op.name == "minimum" else all)
    lows, highs = (_common(forms, facts, holds, many) for holds, many in (low_of, high_of))
    return replace(fact, lows=(*fact.lows, *lows), highs=(*fact.highs, *highs))


def _position(op: Op, fact: SymbolFact) -> SymbolFact:
    """An index over axes: less than their product."""
    type_ = op.operands[0].type
    axes = op.attrs.get("axes", (op.attrs.get("axis"),))
    assert isinstance(type_, TileType) and isinstance(axes, tuple)
    count = dims.product(tuple(type_.shape[int(axis)] for axis in axes))
    return replace(fact, highs=(*fact.highs, dims.add(count, -1))) if isinstance(count, Dim) else fact


def _common(
    forms: Sequence[Form],
    facts: Facts,
    holds: Callable[[Form, Form], bool],
    many: Callable[[Iterator[bool]], bool],
) -> tuple[Form, ...]:
    """Bounds that hold for all forms, or for one, among those that are known of any."""
    known = dict.fromkeys(bound for form in forms for bound in _bounds(form, facts))
    return tuple(bound for bound in known if many(holds(form, bound) for form in forms))


def _bounds(form: Form, facts: Facts) -> Iterator[Form]:
    """Sizes that a form is compared with."""
    if _is_plain(form):
        yield form
        return
    names = dims.symbols(form)
    if form == dims.symbol(names[0]):
        fact = facts.fact(names[0])
        yield from (bound for bound in (*fact.lows, *fact.highs) if _is_plain(bound))


def _is_plain(form: Form) -> bool:
    """Whether a form is the same for every element."""
    return isinstance(form, int) or not any("@" in name or name[0] in "#%$" for name in dims.symbols(form))
