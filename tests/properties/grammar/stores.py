"""Rules that write: whole tiles, values of rows and blocks, masks, windows, scatters, in place, between grids."""

from __future__ import annotations

from tests.properties.grammar.lists import listed
from tests.properties.grammar.records import written_records
from tests.properties.grammar.scope import FLOATS, NARROW, Scope, Value, numbers
from tests.properties.grammar.views import tensor_or_view

_INDICES = ("i32", "i64", "i16")


def store(scope: Scope, number: int) -> int:
    """Write so many values in sight, late ones first; how many were written."""
    done = 0
    for value in reversed(scope.values):
        if done == number or scope.silent:
            break
        if value.name[0] == "v" and _store(scope, value):
            done += 1
    return done


def _store(scope: Scope, value: Value) -> bool:
    rng = scope.rng
    blocks = [axis for axis in scope.axes if axis.block]
    named = [axis for axis in value.axes if axis.block]
    if len(set(named)) < len(named) or any(axis not in blocks for axis in named):
        return False
    missing = [axis for axis in blocks if axis not in value.axes]
    if not scope.dims():
        return False
    if scope.is_full(value):
        if rng.random() < 0.06 and _combined(scope, value):
            return True
        if listed(scope, value) or written_records(scope, value):
            return True
        kind = rng.random()
        form = _masked if kind < 0.12 else _pieces if kind < 0.2 else _scattered if kind < 0.3 else _window
        if kind >= 0.36 or not form(scope, value):
            _whole(scope, value)
        return True
    if missing and all(axis.shape in scope.counts for axis in missing):
        subscripts = [*(text for text, _ in scope.lead), *(f"{axis.shape}.ordinal" for axis in missing)]
        dims = [*(dim for _, dim in scope.lead), *(scope.counts[axis.shape] for axis in missing)]
    elif not missing:
        subscripts, dims = [text for text, _ in scope.lead], [dim for _, dim in scope.lead]
    else:
        return False
    subscripts += [axis.subscript for axis in value.axes]
    dims += [axis.dim for axis in value.axes]
    if not dims:
        return False
    name = scope.draft.tensor("y", value.dtype, dims, "Out", _promise(scope))
    scope.say(f"{name}[{', '.join(subscripts)}] = {value.name}")
    return True


def _whole(scope: Scope, value: Value) -> None:
    """The full tile: to an output, to memory between grids, or in place."""
    rng, draft = scope.rng, scope.draft
    subscripts = ", ".join(scope.subscripts())
    kind = rng.random()
    axes = (*(draft.whole(dim) for _, dim in scope.lead), *scope.axes)
    if kind < 0.12 and scope.depth == 0 and not scope.partial:
        name = draft.fresh("p")
        draft.before.append(f"{name} = ak.scratch(({', '.join(scope.dims())},), ak.{value.dtype})")
        draft.written.append(Value(name, value.dtype, axes))
        scope.say(f"{name}[{subscripts}] = {value.name}")
        # an output of its own, so that the kernel has one
        _plain(scope, value)
        return
    if kind < 0.22 and value.dtype not in (*NARROW, "bool") and value.axes == scope.axes and scope.depth == 0:
        name = tensor_or_view(draft, "r", value.dtype, scope.dims(), "InOut")
        text = rng.choice((f"{name}[{subscripts}] + {value.name}", f"ak.maximum({value.name}, {name}[{subscripts}])"))
        scope.say(f"{name}[{subscripts}] = {text}")
        if rng.random() < 0.4:
            scope.say(f"{name}[{subscripts}] = {name}[{subscripts}] - {value.name}")
        return
    name = _plain(scope, value)
    if scope.depth == 0 and not scope.partial:
        draft.written.append(Value(name, value.dtype, axes))


def _plain(scope: Scope, value: Value) -> str:
    name = tensor_or_view(scope.draft, "y", value.dtype, scope.dims(), "Out", _promise(scope))
    places = ", ".join(scope.subscripts())
    scope.say(f"{name}[{places}] = {value.name}")
    if scope.rng.random() < 0.04:
        also = scope.draft.fresh("m")
        dims = ", ".join(scope.dims())
        scope.draft.parameters.append(f"{also}: ak.Out[ak.{value.dtype}, {dims}]{_promise(scope)} | None")
        scope.draft.settings[also] = scope.rng.random() < 0.7
        scope.say(f"if {also} is not None:")
        scope.say(f"    {also}[{places}] = {value.name}")
    return name


def _promise(scope: Scope) -> str:
    return ".partial()" if scope.partial else ""


def _masked(scope: Scope, value: Value) -> bool:
    """Where a condition holds: over a first value, or leaving the rest as it is."""
    rng, draft = scope.rng, scope.draft
    conditions = [v for v in scope.values if v.dtype == "bool" and scope.is_full(v) and v.axes]
    if not conditions:
        return False
    condition, subscripts = rng.choice(conditions), ", ".join(scope.subscripts())
    partial = scope.partial or rng.random() < 0.5
    name = draft.tensor("y", value.dtype, scope.dims(), "Out", ".partial()" if partial else "")
    if not partial:
        scope.say(f"{name}[{subscripts}] = {numbers(value.dtype, rng)}")
    scope.say(f"ak.store({name}[{subscripts}], {value.name}, where={condition.name})")
    return True


def _pieces(scope: Scope, value: Value) -> bool:
    """The last axis in two slices."""
    axes = scope.axes
    if not axes or not axes[-1].fixed or axes[-1].block or axes[-1].extent < 2 or value.axes != axes:
        return False
    at = scope.rng.randrange(1, axes[-1].extent)
    lead = scope.subscripts()[:-1]
    every = [":"] * (len(axes) - 1)
    name = scope.draft.tensor("y", value.dtype, scope.dims(), "Out", _promise(scope))
    for piece in (f":{at}", f"{at}:"):
        scope.say(f"{name}[{', '.join((*lead, piece))}] = {value.name}[{', '.join((*every, piece))}]")
    return True


def _window(scope: Scope, value: Value) -> bool:
    """Every second element of a block's axis, and those between."""
    blocks = [k for k, axis in enumerate(scope.axes) if axis.block]
    if not blocks:
        return False
    k = scope.rng.choice(blocks) + len(scope.lead)
    dims, subscripts = list(scope.dims()), list(scope.subscripts())
    t = subscripts[k]
    dims[k] = f"2 * {dims[k]}"
    name = scope.draft.tensor("y", value.dtype, dims, "Out", _promise(scope))
    for form in (f"2 * {t}", f"2 * {t} + 1"):
        subscripts[k] = form
        scope.say(f"{name}[{', '.join(subscripts)}] = {value.name}")
    return True


def _scattered(scope: Scope, value: Value) -> bool:
    """Rows to distinct places, those outside left out."""
    rng, draft = scope.rng, scope.draft
    if scope.lead or not scope.axes or scope.depth:
        return False
    at = rng.randrange(len(scope.axes))
    axis = scope.axes[at]
    dtype = rng.choice(_INDICES)
    index = draft.tensor("i", dtype, (axis.dim,), promise=".distinct(ignore=-1)")
    rows = scope.add(f"{index}[{axis.subscript}]", dtype, (axis,))
    dims, subscripts = list(scope.dims()), list(scope.subscripts())
    assert rows is not None
    dims[at], subscripts[at] = "N", rows.name
    name = draft.tensor("y", value.dtype, dims, "Out", ".partial()")
    spread = ", ".join([":", *("None" for _ in scope.axes[at + 1 :])])
    condition = f"({rows.name} >= 0) & ({rows.name} < N)"
    if at < len(scope.axes) - 1:
        condition = f"({condition})[{spread}]"
    scope.say(f"ak.store({name}[{', '.join(subscripts)}], {value.name}, where={condition})")
    return True


def _combined(scope: Scope, value: Value) -> bool:
    """Added to elements of a tensor that others add to as well, or the extreme of both."""
    rng, draft = scope.rng, scope.draft
    if value.dtype not in (*FLOATS, "i32", "u32", "i64", "u64") or not scope.axes or value.axes != scope.axes:
        return False
    sums = () if value.dtype in FLOATS else ("atomic_add",)  # of floats they depend on the order of threads
    operation = rng.choice((*sums, "atomic_max", "atomic_min"))
    at = rng.randrange(len(scope.axes))
    axis = scope.axes[at]
    index = draft.tensor("i", rng.choice(_INDICES), (axis.dim,), promise=".values(0, N, ignore=-1)")
    rows = scope.add(f"{index}[{axis.subscript}]", "i32", (axis,))
    assert rows is not None
    scope.values.pop()  # its element type is the tensor's
    dims, subscripts = list(scope.dims()), list(scope.subscripts())
    k = at + len(scope.lead)
    dims[k], subscripts[k] = "N", rows.name
    name = draft.tensor("r", value.dtype, dims, "InOut")
    condition = f"({rows.name} >= 0)"
    if at < len(scope.axes) - 1:
        condition += f"[{', '.join([':', *('None' for _ in scope.axes[at + 1 :])])}]"
    scope.say(f"ak.{operation}({name}[{', '.join(subscripts)}], {value.name}, where={condition})")
    return True
