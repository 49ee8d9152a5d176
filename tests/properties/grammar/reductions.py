"""Rules that take axes away or run along one: reductions, positions of extremes, scans, orders."""

from __future__ import annotations

from agentkern.compiler.frontend.later import LATER
from tests.properties.grammar.scope import FLOATS, INTEGERS, ONE, Axis, Scope, Value, numbered


def known(name: str) -> bool:
    """Whether the language has an operation yet."""
    return name not in LATER


def reduce(scope: Scope) -> None:
    """A reduction over one axis, or several."""
    rng = scope.rng
    a = scope.pick((*FLOATS, *INTEGERS, "bool"), rank=1)
    axes = _reducible(a)
    if a is None or not axes:
        return
    chosen = sorted(rng.sample(axes, rng.randint(1, len(axes)) if rng.random() < 0.25 else 1))
    names = ("any", "all", "sum") if a.dtype == "bool" else ("sum", "sum", "max", "min", "absmax", "prod")
    names = (*names, "mean") if a.dtype in FLOATS else names
    name = rng.choice(names)
    dtype = "i32" if a.dtype == "bool" and name == "sum" else a.dtype
    _over(scope, name, a, chosen, dtype)


def extreme(scope: Scope) -> None:
    """The position of an extreme; its axes are known to have an element."""
    rng = scope.rng
    a = scope.pick((*FLOATS, *INTEGERS), rank=1)
    axes = [k for k in _reducible(a) if a is not None and (not a.axes[k].block and _has_element(a.axes[k]))]
    if a is None or not axes:
        return
    chosen = sorted(rng.sample(axes, len(axes) if rng.random() < 0.2 else 1))
    _over(scope, rng.choice(("argmax", "argmin")), a, chosen, "i64")


def _over(scope: Scope, name: str, a: Value, chosen: list[int], dtype: str) -> None:
    keep = scope.rng.random() < 0.5
    named = [k - len(a.axes) if scope.rng.random() < 0.2 else k for k in chosen]
    shown = str(named[0]) if len(named) == 1 else f"({', '.join(map(str, named))})"
    axis = "" if len(chosen) == len(a.axes) and scope.rng.random() < 0.3 else f", axis={shown}"
    left = [ONE if k in chosen else axis for k, axis in enumerate(a.axes) if keep or k not in chosen]
    scope.add(f"ak.{name}({a.name}{axis}{', keepdims=True' if keep else ''})", dtype, left)


def _reducible(a: Value | None) -> list[int]:
    return [] if a is None else [k for k, axis in enumerate(a.axes) if axis.reducible]


def _has_element(axis: Axis) -> bool:
    """Whether every block of an axis has an element: pieces may have none."""
    return axis.extent > 0 and (axis.fixed or axis.least > 0 or (axis.block and not axis.ragged))


def scan(scope: Scope) -> None:
    """A running sum or maximum along an axis."""
    rng = scope.rng
    name = rng.choice(("cumsum", "cummax"))
    a = scope.pick((*FLOATS, *INTEGERS), rank=1)
    axes = _reducible(a)
    if a is None or not axes or not known(name):
        return
    more = f"{', reverse=True' if rng.random() < 0.3 else ''}{', exclusive=True' if rng.random() < 0.3 else ''}"
    scope.add(f"ak.{name}({a.name}, axis={rng.choice(axes)}{more})", a.dtype, a.axes)


def last(scope: Scope) -> None:
    """The last position of an axis that is not empty."""
    a = scope.pick((*FLOATS, *INTEGERS, "bool"), rank=1)
    axes = [k for k in _reducible(a) if a is not None and _has_element(a.axes[k])]
    if a is None or not axes:
        return
    k = scope.rng.choice(axes)
    scope.add(f"ak.last({a.name}, axis={k})", a.dtype, (*a.axes[:k], *a.axes[k + 1 :]))


def _is_ordered(axis: Axis, name: str, longest: int) -> bool:
    """Whether an axis has an order that ends soon enough: one of run-time length is promised to be short, or nothing."""
    if axis.fixed:
        return 0 < axis.extent <= longest
    if name == "topk":
        return axis.least > 0 and not axis.ragged
    return axis.most <= longest


def order(scope: Scope) -> None:
    """Sorting, the largest few, counts."""
    rng = scope.rng
    name = rng.choice(("topk", "sort", "bincount", "occurrence"))
    if not known(name):
        return
    a = scope.pick((*FLOATS, *INTEGERS) if name in ("topk", "sort") else INTEGERS, rank=1)
    longest = 1025 if name == "topk" else rng.choice((256, 256, 1025))
    axes = [k for k in _reducible(a) if a is not None and _is_ordered(a.axes[k], name, longest)]
    if a is None or not axes:
        return
    k = rng.choice(axes)
    if name == "topk":
        axis = a.axes[k]
        n = min(axis.extent if axis.fixed else axis.least, rng.choice((rng.randint(1, 9), rng.randint(1, 9), 70)))
        pair = scope.draft.fresh("q")
        scope.say(f"{pair} = ak.topk({a.name}, {n}, axis={k})")
        axes_ = (*a.axes[:k], numbered(n), *a.axes[k + 1 :])
        scope.add(f"{pair}[0]", a.dtype, axes_)
        scope.add(f"{pair}[1]", "i64", axes_)
    elif name == "bincount":
        flat = scope.pick(INTEGERS, rank=1)
        if flat is not None and len(flat.axes) == 1 and flat.axes[0].reducible:
            n = rng.choice((1, 3, 8, 33))
            scope.add(f"ak.bincount({flat.name}, {n})", "i32", (numbered(n),))
    elif name == "sort":
        scope.add(f"ak.sort({a.name}, axis={k})", a.dtype, a.axes)
    else:
        scope.add(f"ak.occurrence({a.name}, axis={k})", "i32", a.axes)
