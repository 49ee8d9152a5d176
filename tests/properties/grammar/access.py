"""Rules that read tensors: full tiles, windows, masks, gathers, promised indices, optional tensors."""

from __future__ import annotations

from dataclasses import replace

from tests.properties.grammar.scope import FLOATS, INTEGERS, NARROW, Axis, Scope, Value, fill, joined, numbered
from tests.properties.grammar.views import tensor_or_view

READ = (*FLOATS, *FLOATS, *INTEGERS, *NARROW, "bool")
_INDICES = ("i32", "i64", "i16", "u8", "u32")
Part = tuple[str, str]
"""A subscript and the dim that it is within."""


def load(scope: Scope) -> None:
    """A full tile, one row for all of them, or a slice."""
    rng = scope.rng
    dtype = rng.choice(READ)
    if len(scope.axes) > 1 and rng.random() < 0.25:
        axis = rng.choice(scope.axes)
        name = scope.draft.tensor("x", dtype, (axis.dim,))
        scope.add(f"{name}[{axis.subscript}]", dtype, (axis,))
        return
    parts = list(zip(scope.subscripts(), scope.dims(), strict=True))
    axes = list(scope.axes)
    if axes and axes[-1].fixed and not axes[-1].block and axes[-1].extent > 2 and rng.random() < 0.12:
        low = rng.randrange(axes[-1].extent - 1)
        high = rng.randrange(low + 1, axes[-1].extent + 1)
        parts[-1] = (f"{low}:{high}", axes[-1].dim)
        axes[-1] = numbered(high - low)
    name = tensor_or_view(scope.draft, "x", dtype, [dim for _, dim in parts] or ["1"])
    scope.add(f"{name}[{', '.join(s for s, _ in parts) or '0'}]", dtype, axes)


def again(scope: Scope) -> None:
    """What an earlier grid wrote."""
    found = scope.draft.earlier
    if not found:
        return
    tensor = scope.rng.choice(found)
    if tuple(a.dim for a in tensor.axes) == scope.dims():
        scope.add(f"{tensor.name}[{', '.join(scope.subscripts())}]", tensor.dtype, scope.axes)
        return
    axes = tuple(_whole(scope, axis) for axis in tensor.axes)
    if all(axis is not None for axis in axes):
        scope.add(f"{tensor.name}[{', '.join(':' for _ in axes)}]", tensor.dtype, [a for a in axes if a is not None])


def _whole(scope: Scope, axis: Axis) -> Axis | None:
    """A tensor's axis read as a whole, where that is no longer than a short row."""
    extent = axis.extent
    if extent > 300 or not axis.dim.isidentifier():
        return None
    return scope.draft.whole(axis.dim)


def _window(scope: Scope, axis: Axis) -> tuple[Part, bool] | None:
    """A form of a block on an axis, and whether it may leave it."""
    if not axis.block:
        return None
    t, dim, k = axis.subscript, axis.dim, scope.rng.randrange(1, 4)
    return scope.rng.choice(
        (
            ((f"{t} + {k}", f"{dim} + {k}"), False),
            ((f"{k} * {t} + 1", f"{k} * {dim} + 1"), False),
            ((f"2 * {t}", f"2 * {dim}"), False),
            ((f"{t} - {k}", dim), True),
            ((f"{t} + {k}", dim), True),
            ((f"{dim} - 1 - {t}", dim), True),
            ((f"2 * {t} - {k}", dim), True),
            ((t, f"{dim} + {k}"), False),
        )
    )


def window(scope: Scope) -> None:
    """A tile read through affine forms of its blocks; `fill` where they may leave the tensor."""
    rng = scope.rng
    parts: list[Part] = list(scope.lead)
    leaves = False
    for axis in scope.axes:
        found = _window(scope, axis) if rng.random() < 0.7 else None
        parts.append(found[0] if found else (axis.subscript, axis.dim))
        leaves |= found is not None and found[1]
    dtype = rng.choice(READ)
    name = tensor_or_view(scope.draft, "x", dtype, [dim for _, dim in parts] or ["1"])
    text = f"{name}[{', '.join(s for s, _ in parts) or '0'}]"
    if leaves or rng.random() < 0.2:
        text = f"ak.load({text}, fill={fill(dtype, rng)})"
    scope.add(text, dtype, scope.axes)


def masked(scope: Scope) -> None:
    """A tile read where a condition in sight holds."""
    conditions = [v for v in scope.values if v.dtype == "bool" and scope.is_full(v)]
    if not conditions or not scope.axes:
        return
    rng = scope.rng
    dtype = rng.choice(READ)
    name = scope.draft.tensor("x", dtype, scope.dims())
    where = rng.choice(conditions).name
    scope.add(
        f"ak.load({name}[{', '.join(scope.subscripts())}], where={where}, fill={fill(dtype, rng)})", dtype, scope.axes
    )


def _index(scope: Scope, axes: tuple[Axis, ...], dim: str) -> tuple[str, bool]:
    """A name of indices over axes, and whether they are promised to be inside `dim`."""
    rng = scope.rng
    found = [v for v in scope.values if v.dtype in _INDICES and v.axes == axes]
    if found and rng.random() < 0.5:
        return rng.choice(found).name, False
    dtype = rng.choice(_INDICES)
    promised = rng.random() < 0.4 and scope.draft.sizes[dim] > 0
    promise = f".values(0, {dim})" if promised else ""
    name = scope.draft.tensor("i", dtype, [a.dim for a in axes], promise=promise)
    value = scope.add(f"{name}[{', '.join(a.subscript for a in axes)}]", dtype, axes)
    assert value is not None
    return value.name, promised


def gather(scope: Scope) -> None:
    """Rows or elements by tiles of indices: checked by `fill`, by `where`, or promised."""
    rng = scope.rng
    if not scope.axes:
        return
    at = rng.randrange(len(scope.axes))
    axis = scope.axes[at]
    dim = "N"
    index, promised = _index(scope, (axis,), dim)
    parts: list[Part] = list(scope.lead)
    axes: list[Axis] = []
    for k, other in enumerate(scope.axes):
        axes.append(other)
        parts.append((index, dim) if k == at else (other.subscript, other.dim))
    dtype = rng.choice(READ)
    name = scope.draft.tensor("x", dtype, [d for _, d in parts])
    text = f"{name}[{', '.join(s for s, _ in parts)}]"
    if promised and rng.random() < 0.7:
        scope.add(text, dtype, axes)
        return
    if rng.random() < 0.5:
        scope.add(f"ak.load({text}, fill={fill(dtype, rng)})", dtype, axes)
        return
    ok = scope.add(f"({index} >= 0) & ({index} < {dim})", "bool", (axis,))
    assert ok is not None
    spread = ", ".join([":", *("None" for _ in axes[at + 1 :])])
    where = ok.name if at == len(axes) - 1 else f"{ok.name}[{spread}]"
    scope.add(f"ak.load({text}, where={where}, fill={fill(dtype, rng)})", dtype, axes)


def pick_elements(scope: Scope) -> None:
    """One element for each position of a tile of indices: `x[t.index, i]`, or two tiles of indices."""
    rng = scope.rng
    found = [v for v in scope.values if v.dtype in _INDICES and v.axes]
    if not found:
        return
    first = rng.choice(found)
    second = scope.partner(first) if rng.random() < 0.5 else None
    dtype = rng.choice(READ)
    if second is not None and second.dtype in _INDICES:
        axes = joined(first.axes, second.axes)
        name = scope.draft.tensor("x", dtype, ("N", "N"))
        if axes is not None:
            scope.add(f"ak.load({name}[{first.name}, {second.name}], fill={fill(dtype, rng)})", dtype, axes)
        return
    if len(first.axes) == 1 and first.axes[0].block:
        axis = first.axes[0]
        name = scope.draft.tensor("x", dtype, (axis.dim, "N"))
        scope.add(f"ak.load({name}[{axis.shape}.index, {first.name}], fill={fill(dtype, rng)})", dtype, (axis,))
        return
    name = scope.draft.tensor("x", dtype, ("N",))
    scope.add(f"ak.load({name}[{first.name}], fill={fill(dtype, rng)})", dtype, first.axes)


def optional(scope: Scope) -> None:
    """A tensor that may be left out, read where it is there."""
    rng, draft = scope.rng, scope.draft
    value = scope.pick((*FLOATS, *INTEGERS))
    if value is None or not scope.axes or not scope.is_full(value):
        return
    name = draft.fresh("m")
    draft.parameters.append(f"{name}: ak.In[ak.{value.dtype}, {', '.join(scope.dims())}] | None")
    draft.settings[name] = rng.random() < 0.7
    result = scope.add(f"{value.name}", value.dtype, value.axes)
    if result is None or value.axes != scope.axes:
        return
    scope.say(f"if {name} is not None:")
    scope.say(f"    {result.name} = {result.name} + {name}[{', '.join(scope.subscripts())}]")


def one_of_the_lead(scope: Scope) -> None:
    """A value for the scalar indices of the grid alone."""
    parts = [part for part in (*scope.lead, *scope.near) if scope.rng.random() < 0.8]
    if not parts:
        return
    dtype = scope.rng.choice(READ)
    name = scope.draft.tensor("x", dtype, [dim for _, dim in parts])
    scope.add(f"{name}[{', '.join(s for s, _ in parts)}]", dtype, ())


def index(scope: Scope) -> None:
    """The global indices of a block."""
    blocks = [axis for axis in scope.axes if axis.block]
    if blocks:
        axis = scope.rng.choice(blocks)
        scope.add(f"{axis.shape}.index", "i64", (replace(axis),))


def value_of(scope: Scope, dtype: str, axes: tuple[Axis, ...]) -> Value | None:
    """A value in sight of exactly this type."""
    found = [v for v in scope.values if v.dtype == dtype and v.axes == axes]
    return scope.rng.choice(found) if found else None
