"""Rules for lists of tensors, of which a number picks one: known, promised, checked, or of a grid or loop."""

from __future__ import annotations

from tests.properties.grammar.scope import FLOATS, INTEGERS, NARROW, Scope, Value, fill
from tests.properties.grammar.views import viewed

COUNT = "L"
"""The size that says how many tensors a list has."""
_READ = (*FLOATS, *INTEGERS, *NARROW, "bool")


def pick(scope: Scope) -> None:
    """A tile of one tensor of a list."""
    rng, draft = scope.rng, scope.draft
    numbers = [text for text, dim in scope.lead if dim == COUNT]
    lead = [part for part in scope.lead if part[1] != COUNT]
    axes = scope.axes if rng.random() < 0.8 else scope.axes[-1:]
    lead = lead if axes == scope.axes else []
    dims = [*(dim for _, dim in lead), *(axis.dim for axis in axes)] or ["1"]
    places = ", ".join([*(text for text, _ in lead), *(axis.subscript for axis in axes)]) or "0"
    dtype = rng.choice(_READ)
    name = draft.fresh("x")
    stored, steps = dtype, ""
    if rng.random() < 0.2:
        stored, dims, steps = viewed(draft, dtype, dims, cuts=True)
    draft.parameters.append(f"{name}: ak.List[ak.In[ak.{stored}, {', '.join(dims)}], {COUNT}]")
    if not numbers or rng.random() < 0.4:
        numbers = [*numbers, *_known(scope), *_promised(scope)]
    at = rng.choice(numbers)
    checked = _checked(scope) if rng.random() < 0.2 else None
    if checked is not None:
        where = f"({checked} >= 0) & ({checked} < {COUNT})"
        scope.add(f"ak.load({name}[{checked}]{steps}[{places}], where={where}, fill={fill(dtype, rng)})", dtype, axes)
        return
    first = scope.add(f"{name}[{at}]{steps}[{places}]", dtype, axes)
    if first is not None and dtype in (*FLOATS, *INTEGERS) and rng.random() < 0.3:
        scope.add(f"{first.name} - {name}[{rng.choice(numbers)}]{steps}[{places}]", dtype, axes)


def _known(scope: Scope) -> list[str]:
    """Numbers that the text shows."""
    of_lead = [f"{COUNT} - 1 - {text}" for text, dim in scope.lead if dim == COUNT]
    return ["0", "-1", *of_lead]


def _promised(scope: Scope) -> list[str]:
    """A number of the run, promised to be one of the list's."""
    if scope.rng.random() < 0.4:
        return []
    parts = [part for part in (*scope.lead, *scope.near) if scope.rng.random() < 0.7] or [("0", "1")]
    dtype = scope.rng.choice(("i32", "i64", "u8"))
    name = scope.draft.tensor("i", dtype, [dim for _, dim in parts], promise=f".values(0, {COUNT})")
    return [f"{name}[{', '.join(text for text, _ in parts)}]"]


def _checked(scope: Scope) -> str | None:
    """A number of the run that may be outside."""
    found = [v for v in scope.values if v.axes == () and v.dtype in ("i32", "i64", "i16")]
    return scope.rng.choice(found).name if found else None


def all_of(scope: Scope) -> None:
    """A value of every tensor of a list, in an unrolled loop."""
    rng, draft = scope.rng, scope.draft
    dtype = rng.choice((*FLOATS, *INTEGERS))
    name = draft.fresh("x")
    dims = ", ".join(scope.dims() or ("1",))
    draft.parameters.append(f"{name}: ak.List[ak.In[ak.{dtype}, {dims}], {COUNT}]")
    places = ", ".join(scope.subscripts() or ("0",))
    result = scope.add(f"{name}[0][{places}]", dtype, scope.axes)
    if result is None:
        return
    item = draft.fresh("j")
    scope.say(f"for {item} in {rng.choice((name, name, f'{name}[1:]'))}:")
    scope.say(f"    {result.name} = {rng.choice(('ak.maximum({0}, {1})', '{0} + {1}', '{0} * {1}'))}".format(
        result.name, f"{item}[{places}]"))  # fmt: skip


def listed(scope: Scope, value: Value) -> bool:
    """A store to the tensor of a list that a number of the grid or loop picks."""
    rng, draft = scope.rng, scope.draft
    numbers = [part for part in scope.lead if part[1] == COUNT]
    if len(numbers) != 1 or rng.random() < 0.3:
        return False
    lead = [part for part in scope.lead if part[1] != COUNT]
    dims = [*(dim for _, dim in lead), *(axis.dim for axis in scope.axes)]
    if not dims:
        return False
    places = ", ".join([*(text for text, _ in lead), *(axis.subscript for axis in scope.axes)])
    name, at = draft.fresh("y"), numbers[0][0]
    changed = value.dtype in (*FLOATS, *INTEGERS) and value.axes == scope.axes and scope.depth == 0
    if changed and rng.random() < 0.3:
        draft.parameters.append(f"{name}: ak.List[ak.InOut[ak.{value.dtype}, {', '.join(dims)}], {COUNT}]")
        scope.say(f"{name}[{at}][{places}] = ak.maximum({name}[{at}][{places}], {value.name})")
        return True
    promise = ".partial()" if scope.partial else ""
    at = rng.choice((at, f"{COUNT} - 1 - {at}"))
    draft.parameters.append(f"{name}: ak.List[ak.Out[ak.{value.dtype}, {', '.join(dims)}]{promise}, {COUNT}]")
    scope.say(f"{name}[{at}][{places}] = {value.name}")
    return True
