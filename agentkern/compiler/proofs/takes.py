"""Every position at which a tile is taken along an axis is inside that axis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentkern.compiler.analysis.accesses import KernelFacts, Scope, spelled
from agentkern.compiler.analysis.element_forms import ALWAYS, ElementForms
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.bounds import conditions
from agentkern.compiler.proofs.obligation import Case, Obligation
from agentkern.compiler.proofs.violation import (
    Form,
    at_most,
    less,
    make_violation,
    number,
    scope_unknowns,
    size_unknowns,
)


def take_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per operation that takes elements at computed positions."""
    for scope in facts.scopes:
        for op in scope.ops:
            if op.name == "take":
                yield _obligation(facts, scope.around(op), op)


def _obligation(facts: KernelFacts, scope: Scope, op: Op) -> Obligation:
    source, axis = op.operands[0], op.attrs["axis"]
    assert isinstance(source.type, TileType) and isinstance(axis, int)
    extent: Form = source.type.shape[axis]
    place = ElementForms(scope.forms).form(op.operands[1])
    runs = scope.conditions.get(op, ALWAYS)
    name = source.name or f"axis {axis}"
    required = [one for name in dims.symbols(place) for one in scope.forms.required_of(name) if not one.nonzero]
    known = scope.forms.facts.positive(block.length for block in scope.blocks).assuming(runs.nonnegative)
    known = known.assuming(one.form for one in required)

    def describe(values: Mapping[str, int]) -> Mapping[str, object]:
        where = f"index {number(place, values)} of axis {axis}, extent {number(extent, values)}"
        return {
            "text": wording.with_setting(facts, values, where),
            "sizes": wording.sizes_of(facts, values),
            "scalars": wording.scalars_of(facts, values),
            "blocks": wording.blocks_of(scope, values),
        }

    return Obligation(
        "bounds",
        f"positions along axis {axis} of `{name}` are inside its extent {extent}",
        op.location,
        shown=known.nonnegative(place) and known.at_most(dims.add(place, 1), extent),
        cases=(
            Case(
                lambda: make_violation(
                    [*size_unknowns(facts), *scope_unknowns(scope)],
                    [(less(place, 0), at_most(extent, place)), *conditions(runs)],
                    scope.forms.data,
                    (extent, place),
                ),
                describe,
            ),
        ),
        tensor=name,
        access="ak.take_along_axis",
        hint=_hint(scope, op.operands[1], place, extent),
    )


def _hint(scope: Scope, positions: Value, place: Form, extent: Form) -> str:
    """What to write: the positions clipped, or a promise where they are a tensor's own elements."""
    name = spelled(positions, place, scope.forms)
    last = dims.add(extent, -1)
    clip = f"take at `ak.clip({'positions' if name == '...' else name}, 0, {last})`"
    origin = scope.forms.origins.get(str(place))
    if origin is None:
        return f"{clip}, or promise with `.values(...)` what they follow from"
    return f"{clip}, or promise `.values(0, {extent})` on `{origin.operands[0].name}`"
