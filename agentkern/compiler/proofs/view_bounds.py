"""Every static slice of a view lies inside what it slices, wherever it is used: then its indices are inside as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentkern.compiler.analysis.accesses import Access, KernelFacts, Scope
from agentkern.compiler.ir.types import TensorType
from agentkern.compiler.ir.views import View, spelled_view, viewed
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.obligation import Case, Obligation
from agentkern.compiler.proofs.violation import (
    Form,
    Violation,
    at_most,
    less,
    make_violation,
    number,
    scope_unknowns,
    size_unknowns,
)


def view_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per axis that a view slices, in each grid and loop that uses it."""
    for scope in facts.scopes:
        seen: set[object] = set()
        for access in scope.accesses:
            for position, step in enumerate(access.view):
                view = access.view[: position + 1]
                key = (access.tensor, view, scope.loops.get(access.op))
                if step[0] == "slice" and key not in seen:
                    seen.add(key)
                    yield from _sliced(facts, scope.around(access.op), access, view)


def _sliced(facts: KernelFacts, scope: Scope, access: Access, view: View) -> Iterator[Obligation]:
    tensor = access.tensor.type
    assert isinstance(tensor, TensorType)
    _, lows, highs = view[-1]
    assert isinstance(lows, tuple)
    assert isinstance(highs, tuple)
    known = scope.forms.facts.positive(block.length for block in scope.blocks)
    name = spelled_view(access.tensor.name or "", tensor, view)
    for axis, (low, high, extent) in enumerate(zip(lows, highs, viewed(tensor, view[:-1]).shape, strict=True)):
        if (low, high) == (0, extent):
            continue
        wrong = [form for form in (at_most(0, low), at_most(low, high), at_most(high, extent))]
        yield Obligation(
            "bounds",
            f"`{name}` is a part of `{access.tensor.name}`: {low} to {high} lie inside the extent {extent}",
            access.op.location,
            shown=all(known.nonnegative(form) for form in wrong),
            cases=tuple(_case(facts, scope, name, axis, (low, high, extent), form) for form in wrong),
            tensor=access.tensor.name or "",
            access=name,
        )


def _case(facts: KernelFacts, scope: Scope, name: str, axis: int, sides: tuple[Form, Form, Form], form: Form) -> Case:
    def violation() -> Violation:
        unknowns = [*size_unknowns(facts), *scope_unknowns(scope)]
        return make_violation(unknowns, [(less(form, 0),)], (), sides)

    def describe(values: Mapping[str, int]) -> Mapping[str, object]:
        low, high, extent = (number(side, values) for side in sides)
        text = f"`{name}` takes {low} to {high} of axis {axis}, extent {extent}"
        return {
            "text": wording.with_setting(facts, values, text),
            "sizes": wording.sizes_of(facts, values),
            "scalars": wording.scalars_of(facts, values),
            "axis": axis,
            "index": low if low < 0 else high,
            "extent": extent,
        }

    return Case(violation, describe)
