"""Rules that read a value at places of the run: along an axis, or in a subscript."""

from __future__ import annotations

from tests.properties.grammar.scope import EVERY, Axis, Scope, Value, numbered

_INDICES = ("i32", "i64", "i16", "u8", "u32")


def _inside(scope: Scope, axes: tuple[Axis, ...], extent: Axis) -> str | None:
    """A tile of places that are inside an axis: promised, or taken modulo its extent."""
    rng = scope.rng
    found = [v for v in scope.values if v.dtype in _INDICES and v.axes == axes]
    if extent.fixed and 0 < extent.extent < 128 and found and rng.random() < 0.6:
        return f"{rng.choice(found).name} % {extent.extent}"
    if extent.block or not extent.extent:
        return None
    dims = [axis.dim for axis in axes] or ["1"]
    name = scope.draft.tensor("i", rng.choice(_INDICES[:2]), dims, promise=f".values(0, {extent.dim})")
    return f"{name}[{', '.join(axis.subscript for axis in axes) or '0'}]"


def _of(scope: Scope) -> tuple[Value, int] | None:
    a = scope.pick(EVERY, rank=1)
    axes = [k for k, axis in enumerate(a.axes) if axis.reducible and axis.extent] if a is not None else []
    if a is None or not axes or len(set(a.axes)) < len(a.axes):
        return None
    return a, scope.rng.choice(axes)


def along(scope: Scope) -> None:
    """`take_along_axis`, by places of as many rows as the value has."""
    found = _of(scope)
    if found is None:
        return
    a, k = found
    many = scope.rng.choice((a.axes[k], numbered(1), numbered(scope.rng.randint(1, 9))))
    axes = (*a.axes[:k], many, *a.axes[k + 1 :])
    if many.block or len(set(axes)) < len(axes):
        return
    places = _inside(scope, axes, a.axes[k])
    if places is not None:
        scope.add(f"ak.take_along_axis({a.name}, {places}, axis={k})", a.dtype, axes)


def at(scope: Scope) -> None:
    """A value's rows at places: a scalar or a tile of them in one subscript."""
    found = _of(scope)
    if found is None:
        return
    a, k = found
    picked = () if scope.rng.random() < 0.5 else (numbered(scope.rng.randint(1, 5)),)
    places = _inside(scope, picked, a.axes[k])
    if places is None:
        return
    text = ", ".join(places if j == k else ":" for j in range(len(a.axes)))
    scope.add(f"{a.name}[{text}]", a.dtype, (*a.axes[:k], *picked, *a.axes[k + 1 :]))
