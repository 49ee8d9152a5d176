"""What tensors promise of the values that an access' condition lets through."""

from __future__ import annotations

from collections.abc import Sequence

from agentkern.compiler.analysis.element_forms import Condition
from agentkern.compiler.analysis.index_forms import Form, IndexForms
from agentkern.compiler.ir import dims


def with_promises(condition: Condition, elements: Sequence[Form | None], forms: IndexForms) -> Condition:
    """The condition, and what tensors promise of their elements once it excludes the ignored value."""
    more: list[Form] = []
    known = forms.facts.assuming(condition.nonnegative)
    used = {name for form in elements if form is not None for name in dims.symbols(form)}
    for name in sorted(used):
        more += [one.form for one in forms.required_of(name) if not one.nonzero]
    for name in sorted(used.intersection(forms.origins)):
        promise = forms.promise_of(forms.origins[name])
        if promise is None or promise.ignore is None or promise.low is None or promise.high is None:
            continue
        gap = dims.add(dims.symbol(name), -promise.ignore)
        excluded = gap in condition.nonzero or dims.mul(gap, -1) in condition.nonzero
        if excluded or known.at_most(1, gap) or known.at_most(gap, -1):
            value = dims.symbol(name)
            more += [dims.add(value, dims.mul(promise.low, -1))]
            more += [dims.add(dims.add(promise.high, -1), dims.mul(value, -1))]
    return Condition((*condition.nonnegative, *more), condition.nonzero, condition.complete)
