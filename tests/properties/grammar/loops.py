"""Rules for loops in order: steps with carried values, written and free blocks, single indices, bounds, stores."""

from __future__ import annotations

from collections.abc import Callable

from tests.properties.grammar.access import load
from tests.properties.grammar.scope import FLOATS, INTEGERS, Axis, Draft, Scope, Value, joined, numbers, shape_text
from tests.properties.grammar.stores import store

Body = Callable[[Scope, int], None]
"""Adds so many lines of any rule to a scope."""
DEEPEST = 2
MOST_RUNS = 1000
"""Of one region, which the interpreter runs one after another."""
_WRITTEN = (1, 3, 8, 16, 64, 128)
_UPDATES = ("{0} + {1}", "{0} * 0.5 + {1}", "ak.maximum({0}, {1})", "{1} - {0}", "ak.where({0} < {1}, {1}, {0})", "{1}")
_INTEGER_UPDATES = ("{0} + {1}", "{0} * 3 + {1}", "ak.maximum({0}, {1})", "{0} ^ {1}", "{1}")


def loop(scope: Scope, body: Body) -> None:
    """One loop of steps."""
    rng = scope.rng
    if scope.depth >= DEEPEST or len(scope.axes) > 3:
        return
    if any(not axis.block and not axis.fixed for axis in scope.axes) and rng.random() < 0.85:
        return  # values of a run-time length are not kept over steps yet
    dim = rng.choice(("N", "N", "H", "B", "L", *scope.spans, *scope.spans))
    if scope.draft.sizes[dim] > 600 or (any(axis.dim == dim for axis in scope.axes) and rng.random() < 0.7):
        return
    if scope.runs * max(scope.draft.sizes[dim], 1) > MOST_RUNS:
        return
    kind = rng.random()
    if kind < 0.3:
        _each(scope, body, dim)
    elif kind < 0.5:
        _free(scope, dim)
    else:
        _written(scope, body, dim)


def _fresh_axis(draft: Draft, dim: str, *, reducible: bool) -> Axis:
    name = draft.fresh("k")
    return Axis(name, dim, name, draft.sizes[dim], reducible=reducible, block=True)


def _inits(scope: Scope, dtypes: tuple[str, ...], axes: tuple[Axis, ...]) -> list[Value]:
    """Names bound before the loop."""
    found: list[Value] = []
    for _ in range(scope.rng.choice((1, 1, 2, 3))):
        dtype = scope.rng.choice(dtypes)
        some = tuple(axis for axis in axes if scope.rng.random() < 0.8)
        same = [v for v in scope.values if v.dtype == dtype and v.axes == some and v.name.startswith("v")]
        text = f"ak.full({shape_text(some)}, {numbers(dtype, scope.rng)}, ak.{dtype})"
        if same and scope.rng.random() < 0.4:
            text = scope.rng.choice(same).name
        value = scope.add(text, dtype, some)
        if value is not None:
            found.append(value)
    return found


def _bounds(scope: Scope, dim: str) -> str:
    """What the steps run over."""
    rng = scope.rng
    kind = rng.random()
    if dim in scope.spans and kind < 0.8:
        return scope.spans[dim]
    if kind < 0.6:
        return dim
    if kind < 0.8:
        return f"{rng.choice((0, 1, 2, 5))}, {dim}"
    scalars = [v for v in scope.values if v.axes == () and v.dtype in ("i32", "i64")]
    if len(scalars) < 2:
        return dim
    low, high = (rng.choice(scalars).name for _ in range(2))
    return rng.choice(
        (f"ak.maximum({low}, 0), ak.minimum({high}, {dim})", f"ak.clip({low}, 0, 3), ak.minimum({high}, {dim})")
    )


def _each(scope: Scope, body: Body, dim: str) -> None:
    """One scalar index at a time."""
    carried = _inits(scope, (*FLOATS, *INTEGERS), scope.axes)
    pair = _pair(scope)
    name = scope.draft.fresh("k")
    inner = scope.nested(lead=((name, dim),))
    inner.runs *= scope.draft.sizes[dim]
    bounds = _bounds(scope, dim)
    inner.breaks = scope.rng.random() < 0.1
    inner.partial |= bounds != dim or inner.breaks
    scope.say(f"for {name} in ak.steps(ak.each({bounds})):")
    load(inner)
    body(inner, scope.rng.randint(0, 5))
    _update(inner, carried)
    _update_pair(inner, pair)
    if scope.rng.random() < 0.5:
        store(inner, 1)
    _close(scope, inner, carried)


def _written(scope: Scope, body: Body, dim: str) -> None:
    """Blocks of a written size."""
    rng = scope.rng
    carried = _inits(scope, (*FLOATS, *INTEGERS), scope.axes)
    axis = _fresh_axis(scope.draft, dim, reducible=True)
    block = rng.choice(_WRITTEN)
    axes = (axis, *scope.axes) if rng.random() < 0.3 else (*scope.axes, axis)
    inner = scope.nested(axes)
    inner.runs *= -(-scope.draft.sizes[dim] // block)
    inner.counts[axis.shape] = f"ak.cdiv({dim}, {block})"
    bounds, limits = _bounds(scope, dim), _limits(scope, carried)
    inner.breaks = rng.random() < 0.1
    inner.partial |= bounds != dim or inner.breaks
    inner.silent |= bool(limits)
    if bounds != dim:
        del inner.counts[axis.shape]
    scope.say(f"for {axis.shape} in ak.steps({bounds}, block={block}{limits}):")
    load(inner)
    body(inner, rng.randint(0, 6))
    _update(inner, carried, axis)
    if rng.random() < 0.5:
        store(inner, 1)
    _close(scope, inner, carried)


def _limits(scope: Scope, carried: list[Value]) -> str:
    """`until=` and `since=`, of all rows or of each."""
    rng = scope.rng
    leading = {value.axes[0] if value.axes else None for value in carried}
    found = ""
    for name in ("until", "since"):
        if rng.random() < 0.85:
            continue
        scalars = [v.name for v in scope.values if v.axes == () and v.dtype in ("i32", "i64", "i16", "u8")]
        rows = [
            v.name
            for v in scope.values
            if len(v.axes) == 1 and leading == {v.axes[0]} and v.dtype in ("i32", "i64", "i16", "u8")
        ]
        found += f", {name}={rng.choice([*scalars, *rows, *rows, '3', 'N'])}"
    return found


def _update(inner: Scope, carried: list[Value], axis: Axis | None = None) -> None:
    """Rebind what is carried to something of the step."""
    rng = inner.rng
    old = {v.name for v in carried} | inner.outer
    for value in carried:
        if axis is not None:
            _reduced(inner, value.dtype, axis)
        found = [v for v in inner.values if v.dtype == value.dtype and joined(v.axes, value.axes) == value.axes]
        found = [v for v in found if len(v.axes) <= len(value.axes)]
        fresh = [v for v in found if v.name not in old] or _read(inner, value, axis) or found
        other = rng.choice(fresh if rng.random() < 0.8 else found)
        forms = _UPDATES if value.dtype in FLOATS else _INTEGER_UPDATES
        text = rng.choice(forms).format(value.name, other.name)
        if text == other.name and other.axes != value.axes:
            text = f"{value.name} + {other.name}"
        inner.add(text, value.dtype, value.axes, into=value.name)
        if inner.breaks and rng.random() < 0.5:
            _break(inner)


def _pair(scope: Scope) -> Value | None:
    """A tuple of two values that a loop carries."""
    value = scope.pick((*FLOATS, *INTEGERS))
    if value is None or scope.rng.random() < 0.75:
        return None
    name = scope.draft.fresh("q")
    scope.say(f"{name} = ({value.name}, {value.name})")
    found = [Value(f"{name}[{k}]", value.dtype, value.axes) for k in range(2)]
    scope.values += found
    return found[0]


def _update_pair(inner: Scope, pair: Value | None) -> None:
    """Rebind a tuple to another of the same types."""
    if pair is None:
        return
    name = pair.name.partition("[")[0]
    found = [v for v in inner.values if v.dtype == pair.dtype and joined(v.axes, pair.axes) == pair.axes]
    other = inner.rng.choice([v for v in found if len(v.axes) <= len(pair.axes)])
    inner.say(f"{name} = ({name}[1], ak.maximum({name}[0], {other.name}))")


def _read(inner: Scope, value: Value, axis: Axis | None) -> list[Value]:
    """A tensor of the step, of a carried value's type, reduced over the step."""
    axes = (*value.axes, axis) if axis is not None else value.axes
    dims = [*(dim for _, dim in inner.lead), *(a.dim for a in axes)]
    subscripts = [*(text for text, _ in inner.lead), *(a.subscript for a in axes)]
    name = inner.draft.tensor("x", value.dtype, dims or ["1"])
    read = inner.add(f"{name}[{', '.join(subscripts) or '0'}]", value.dtype, axes)
    if read is not None and axis is not None:
        operation = inner.rng.choice(("sum", "max", "min", "prod"))
        read = inner.add(f"ak.{operation}({read.name}, axis={len(axes) - 1})", value.dtype, value.axes)
    return [] if read is None else [read]


def _break(inner: Scope) -> None:
    """End the loop on a scalar of the step."""
    scalars = [v for v in inner.values if v.axes == () and v.dtype in (*FLOATS, *INTEGERS)]
    if scalars:
        scalar = inner.rng.choice(scalars)
        inner.say(f"if {scalar.name} > {numbers(scalar.dtype, inner.rng)}:")
        inner.say("    break")


def _reduced(inner: Scope, dtype: str, axis: Axis) -> None:
    """Bring a reduction over the step into sight."""
    found = [v for v in inner.values if v.dtype == dtype and axis in v.axes and v.axes.count(axis) == 1]
    if found:
        value = inner.rng.choice(found)
        k = value.axes.index(axis)
        name = inner.rng.choice(("sum", "max", "min", "prod"))
        inner.add(f"ak.{name}({value.name}, axis={k})", dtype, (*value.axes[:k], *value.axes[k + 1 :]))


def _close(scope: Scope, inner: Scope, carried: list[Value]) -> None:
    """End the region: its lines stand in the outer one, its names are gone."""
    if not inner.lines:
        inner.say("pass")
    scope.lines += inner.lines
    for value in carried:
        scope.know(value)


def _free(scope: Scope, dim: str) -> None:
    """Blocks of the compiler's size, where the carried values cannot show it."""
    rng = scope.rng
    kinds = (("maximum", "max", FLOATS), ("minimum", "min", FLOATS), ("maximum", "absmax", FLOATS))
    more = (("maximum", "max", INTEGERS), ("+", "sum", INTEGERS), ("minimum", "min", INTEGERS))
    axis = _fresh_axis(scope.draft, dim, reducible=False)
    inner = scope.nested((*scope.axes, axis))
    carried: list[Value] = []
    updates: list[tuple[Value, str, str]] = []
    for _ in range(rng.choice((1, 1, 2))):
        update, reduction, dtypes = rng.choice((*kinds, *more))
        dtype = rng.choice(dtypes)
        start = scope.add(f"ak.full({shape_text(scope.axes)}, {numbers(dtype, rng)}, ak.{dtype})", dtype, scope.axes)
        if start is not None:
            carried.append(start)
            updates.append((start, update, reduction))
    bounds = _bounds(scope, dim)
    inner.partial |= bounds != dim
    scope.say(f"for {axis.shape} in ak.steps({bounds}):")
    for value, update, reduction in updates:
        name = scope.draft.tensor("x", value.dtype, inner.dims())
        read = inner.add(f"{name}[{', '.join(inner.subscripts())}]", value.dtype, inner.axes)
        if read is None:
            continue
        changed = rng.choice(("{0}", "{0} * {0}", "{0} + {0}", "ak.abs({0})")).format(read.name)
        reduced = f"ak.{reduction}({changed}, axis={len(scope.axes)})"
        text = f"{value.name} + {reduced}" if update == "+" else f"ak.{update}({value.name}, {reduced})"
        inner.add(text, value.dtype, value.axes, into=value.name)
    if rng.random() < 0.3:
        inner.values = [v for v in inner.values if v not in carried]
        store(inner, 1)
    _close(scope, inner, carried)
