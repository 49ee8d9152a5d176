"""Axes that must have so many elements: one for the position of an extreme, `k` for the `k` largest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentkern.compiler.analysis import blocks
from agentkern.compiler.analysis.accesses import KernelFacts, Scope
from agentkern.compiler.analysis.element_forms import ALWAYS
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.order_ops import ARGUMENTS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.proofs import wording
from agentkern.compiler.proofs.bounds import conditions
from agentkern.compiler.proofs.obligation import Case, Obligation
from agentkern.compiler.proofs.violation import Form, make_violation, scope_unknowns, size_unknowns


def extent_obligations(facts: KernelFacts) -> Iterator[Obligation]:
    """One obligation per axis that an operation needs elements of."""
    for scope in facts.scopes:
        for op in scope.ops:
            for axis, least in _needs(op):
                yield _obligation(facts, scope.around(op), op, axis, least)


def _needs(op: Op) -> list[tuple[int, int]]:
    """Axes of the operand, and how many elements each must have."""
    if op.name in ARGUMENTS:
        axes = op.attrs["axes"]
        assert isinstance(axes, tuple)
        return [(int(axis), 1) for axis in axes]
    if op.name in ("last", "topk"):
        axis, least = op.attrs["axis"], op.attrs.get("k", 1)
        assert isinstance(axis, int) and isinstance(least, int)
        return [(axis, least)]
    return []


def _obligation(facts: KernelFacts, scope: Scope, op: Op, axis: int, least: int) -> Obligation:
    type_ = op.operands[0].type
    assert isinstance(type_, TileType)
    extent: Form = type_.shape[axis]
    runs = scope.conditions.get(op, ALWAYS)
    known = scope.forms.facts.positive(block.length for block in scope.blocks).assuming(runs.nonnegative)
    missing = dims.add(least - 1, dims.mul(extent, -1))
    many = "an element" if least == 1 else f"{least} elements"

    def describe(values: Mapping[str, int]) -> Mapping[str, object]:
        text = f"axis {axis} has fewer than {least}" if least > 1 else f"axis {axis} is empty"
        return {
            "text": wording.with_setting(facts, values, text),
            "sizes": wording.sizes_of(facts, values),
            "scalars": wording.scalars_of(facts, values),
            "blocks": wording.blocks_of(scope, values),
        }

    return Obligation(
        "extent",
        f"axis {axis} of `ak.{op.name}` has {many}",
        op.location,
        shown=known.nonnegative(dims.add(extent, -least)),
        cases=(
            Case(
                lambda: make_violation(
                    [*size_unknowns(facts), *scope_unknowns(scope)],
                    [(missing,), *conditions(runs)],
                    scope.forms.data,
                    (extent,),
                ),
                describe,
            ),
        ),
        access=f"ak.{op.name}",
        hint=_hint(scope, extent, least),
    )


def _hint(scope: Scope, extent: Form, least: int) -> str:
    """What shows that a segment is long enough."""
    for ragged in scope.forms.ragged:
        name = blocks.label(ragged.segment)
        if extent == dims.symbol(ragged.names[1]):
            return (
                f'a segment may be shorter; say that none is: `ak.require({name}.end - {name}.start >= {least}, "...")`'
            )
    return ""
