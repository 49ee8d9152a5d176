"""Rules that move elements: new axes, splits, joins, slices, transposes, concatenation, repetition, wider bits."""

from __future__ import annotations

from tests.properties.grammar.scope import EVERY, FLOATS, ONE, Scope, numbered

_BYTES = {"u8": 1, "i8": 1, "e4m3": 1, "i16": 2, "u16": 2, "bf16": 2, "f16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8}


def shape(scope: Scope) -> None:
    """One of the moves of one value."""
    scope.rng.choice((_new_axis, _split, _split, _merge, _slice, _transpose, _position))(scope)


def _new_axis(scope: Scope) -> None:
    a = scope.pick(EVERY)
    if a is None or not a.axes:
        return
    at = scope.rng.randrange(len(a.axes) + 1)
    text = ", ".join("None" if k == at else ":" for k in range(len(a.axes) + 1))
    scope.add(f"{a.name}[{text}]", a.dtype, (*a.axes[:at], ONE, *a.axes[at:]))


def _transpose(scope: Scope) -> None:
    a = scope.pick(EVERY, rank=2)
    if a is None:
        return
    if len(a.axes) == 2 and scope.rng.random() < 0.6:
        scope.add(f"{a.name}.T", a.dtype, a.axes[::-1])
        return
    order = list(range(len(a.axes)))
    scope.rng.shuffle(order)
    scope.add(f"{a.name}.transpose({', '.join(map(str, order))})", a.dtype, [a.axes[k] for k in order])


def _slice(scope: Scope) -> None:
    a = scope.pick(EVERY, rank=1)
    fixed = [k for k, axis in enumerate(a.axes) if axis.fixed and axis.extent > 1] if a is not None else []
    if a is None or not fixed:
        return
    k = scope.rng.choice(fixed)
    n = a.axes[k].extent
    low = scope.rng.randrange(n)
    high = scope.rng.randrange(low + 1, n + 1)
    text = ", ".join(f"{low}:{high}" if j == k else ":" for j in range(len(a.axes)))
    scope.add(f"{a.name}[{text}]", a.dtype, (*a.axes[:k], numbered(high - low), *a.axes[k + 1 :]))


def _position(scope: Scope) -> None:
    a = scope.pick(EVERY, rank=1)
    fixed = [k for k, axis in enumerate(a.axes) if axis.fixed and axis.extent] if a is not None else []
    if a is None or not fixed:
        return
    k = scope.rng.choice(fixed)
    at = scope.rng.choice((0, scope.rng.randrange(a.axes[k].extent), -1))
    text = ", ".join(str(at) if j == k else ":" for j in range(len(a.axes)))
    scope.add(f"{a.name}[{text}]", a.dtype, (*a.axes[:k], *a.axes[k + 1 :]))


def _split(scope: Scope) -> None:
    a = scope.pick(EVERY, rank=1)
    fixed = [k for k, axis in enumerate(a.axes) if axis.fixed and axis.extent > 1] if a is not None else []
    if a is None or not fixed:
        return
    k = scope.rng.choice(fixed)
    n = a.axes[k].extent
    divisors = [d for d in (1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 128) if n % d == 0 and d < n]
    d = scope.rng.choice(divisors)
    axes = (*a.axes[:k], numbered(n // d), numbered(d), *a.axes[k + 1 :])
    scope.add(f"{a.name}.reshape({', '.join(axis.shape for axis in axes)})", a.dtype, axes)


def _merge(scope: Scope) -> None:
    a = scope.pick(EVERY, rank=2)
    if a is None:
        return
    pairs = [k for k in range(len(a.axes) - 1) if a.axes[k].fixed and a.axes[k + 1].fixed]
    if not pairs:
        return
    k = scope.rng.choice(pairs)
    axes = (*a.axes[:k], numbered(a.axes[k].extent * a.axes[k + 1].extent), *a.axes[k + 2 :])
    scope.add(f"{a.name}.reshape({', '.join(axis.shape for axis in axes)})", a.dtype, axes)


def join(scope: Scope) -> None:
    """`concat` and `stack`."""
    rng = scope.rng
    a = scope.pick(EVERY, rank=1)
    if a is None:
        return
    others = [v for v in scope.values if v.dtype == a.dtype and len(v.axes) == len(a.axes)]
    if rng.random() < 0.4:
        same = [v for v in others if v.axes == a.axes]
        picked = [a, *(rng.choice(same) for _ in range(rng.choice((1, 1, 2))))]
        at = rng.randrange(len(a.axes) + 1)
        names = ", ".join(v.name for v in picked)
        axes = (*a.axes[:at], numbered(len(picked)), *a.axes[at:])
        scope.add(f"ak.stack(({names}), axis={at})", a.dtype, axes)
        return
    fixed = [k for k, axis in enumerate(a.axes) if axis.fixed]
    if not fixed:
        return
    k = rng.choice(fixed)
    same = [v for v in others if v.axes[k].fixed and (*v.axes[:k], *v.axes[k + 1 :]) == (*a.axes[:k], *a.axes[k + 1 :])]
    picked = [a, *(rng.choice(same) for _ in range(rng.choice((1, 1, 2))))]
    rng.shuffle(picked)
    axes = (*a.axes[:k], numbered(sum(v.axes[k].extent for v in picked)), *a.axes[k + 1 :])
    scope.add(f"ak.concat(({', '.join(v.name for v in picked)}), axis={k})", a.dtype, axes)


def repeat(scope: Scope) -> None:
    """Each element several times in a row."""
    rng = scope.rng
    a = scope.pick(EVERY, rank=1)
    fixed = [k for k, axis in enumerate(a.axes) if axis.fixed] if a is not None else []
    if a is None or not fixed:
        return
    k, times = rng.choice(fixed), rng.choice((1, 2, 3, 4))
    axes = (*a.axes[:k], numbered(a.axes[k].extent * times), *a.axes[k + 1 :])
    scope.add(f"ak.repeat({a.name}, {times}, axis={k})", a.dtype, axes)


def regroup_bits(scope: Scope) -> None:
    """The last axis read in elements of another width."""
    rng = scope.rng
    a = scope.pick(tuple(_BYTES), rank=1)
    if a is None or not a.axes[-1].fixed:
        return
    n_bytes = a.axes[-1].extent * _BYTES[a.dtype]
    widths = [d for d, width in _BYTES.items() if n_bytes % width == 0 and width != _BYTES[a.dtype]]
    if not widths or not n_bytes:
        return
    to = rng.choice(widths)
    scope.add(f"{a.name}.bitcast(ak.{to})", to, (*a.axes[:-1], numbered(n_bytes // _BYTES[to])))


def like(scope: Scope) -> None:
    """A float value again in f32, which most rules take."""
    a = scope.pick(EVERY)
    if a is not None and a.dtype not in FLOATS:
        scope.add(f"{a.name}.to(ak.f32)", "f32", a.axes)
