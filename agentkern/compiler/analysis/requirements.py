"""What `ak.require` shows, for the operations that run behind it. Facts only."""

from __future__ import annotations

from collections.abc import Sequence

from agentkern.compiler.analysis.element_forms import ElementForms
from agentkern.compiler.analysis.extents import Facts
from agentkern.compiler.analysis.index_forms import Form, IndexForms, Required
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.types import TileType


def required_by(op: Op, forms: IndexForms) -> tuple[Required, ...]:
    """The parts of a required condition that are understood."""
    type_ = op.operands[0].type
    assert isinstance(type_, TileType)
    condition = ElementForms(forms).condition(op.operands[0])
    found = [Required(form) for form in condition.nonnegative]
    found += [Required(form, nonzero=True) for form in condition.nonzero]
    if not type_.shape:
        return tuple(found)
    return tuple(each for one in found if (each := _of_elements(one, type_)) is not None)


def _of_elements(one: Required, type_: TileType) -> Required | None:
    """What holds of every element of one tile; None where the condition may have looked at none or at a part of it."""
    names = [name for name in dims.symbols(one.form) if "@" in name]
    if len(names) != 1:
        return None
    base, _, bound = names[0].partition("@")
    axes = {str(type_.rank - axis) for axis, extent in enumerate(type_.shape) if extent != 1}
    if base.startswith("%") or set(bound.split(".")) - {""} != axes:
        return None
    return Required(dims.substitute(one.form, {names[0]: dims.symbol(base)}), one.nonzero, base)


def assume(forms: IndexForms, known: Sequence[Required]) -> None:
    """Let the facts hold what is required from here on."""
    before = forms.facts
    forms.required = (*forms.required, *known)
    forms.facts = with_required(before, known)
    for name, fact in forms.facts.symbols.items():
        if fact is not before.symbols.get(name):
            forms.unassumed.setdefault(name, before.fact(name))


def with_required(facts: Facts, known: Sequence[Required]) -> Facts:
    """Facts that hold where scalars are as required."""
    return facts.assuming(one.form for one in known if not one.of and not one.nonzero)


def forget(forms: IndexForms, before: Facts, required: tuple[Required, ...]) -> None:
    """Take back what was required since `before`; symbols that are new since then stay."""
    forms.required = required
    forms.facts = Facts({**forms.facts.symbols, **forms.unassumed, **before.symbols}, forms.facts.meanings)


def clauses_of(known: Sequence[Required]) -> list[tuple[Form, ...]]:
    """What is required of scalars, as clauses of which each has a nonnegative member."""
    found: list[tuple[Form, ...]] = []
    for one in known:
        if one.of:
            continue
        below, above = dims.add(dims.mul(one.form, -1), -1), dims.add(one.form, -1)
        found.append((below, above) if one.nonzero else (one.form,))
    return found
