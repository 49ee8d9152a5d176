"""Rules for random bits, casts that round in another way, and conditions that must hold."""

from __future__ import annotations

from tests.properties.grammar.scope import FLOATS, INTEGERS, Scope

_NARROWER = {
    "f64": ("f32", "bf16", "f16", "e4m3", "e5m2"),
    "f32": ("bf16", "f16", "e4m3", "e5m2"),
    "bf16": ("f16", "e4m3", "e5m2"),
    "f16": ("e4m3", "e5m2", "bf16"),
}


def philox(scope: Scope) -> None:
    """Four words of random bits for each index."""
    rng, draft = scope.rng, scope.draft
    index = scope.pick(("i64", "i32", "i64", "u32"))
    if index is None:
        return
    scalars = [v.name for v in scope.values if v.axes == () and v.dtype in ("i64", "u64", "i32", "u32")]
    if scalars and rng.random() < 0.4:
        seed = rng.choice(scalars)
    else:
        seed = draft.fresh("s")
        draft.scalars[seed] = rng.choice(("u64", "i64", "i32"))
    words = [draft.fresh("v") for _ in range(4)]
    scope.say(f"{', '.join(words)} = ak.philox({seed}, {index.name})")
    for word in rng.sample(words, 2):
        scope.add(word, "u32", index.axes)


def rounded(scope: Scope) -> None:
    """A cast to a float of fewer bits that does not round to nearest even."""
    rng = scope.rng
    a = scope.pick(tuple(_NARROWER))
    if a is None:
        return
    to = rng.choice(_NARROWER[a.dtype])
    more = rng.choice(("", "", ", saturate=False")) if to in ("e4m3", "e5m2") else ""
    bits = [v for v in scope.values if v.dtype == "u32" and v.axes == a.axes]
    if bits and rng.random() < 0.5:
        scope.add(f'{a.name}.to(ak.{to}, rounding="stochastic", bits={rng.choice(bits).name}{more})', to, a.axes)
        return
    kind = rng.choice(("toward_zero", "nearest_away", "nearest"))
    scope.add(f'{a.name}.to(ak.{to}, rounding="{kind}"{more})', to, a.axes)


def require(scope: Scope) -> None:
    """A condition on every position of a value: one that holds, or one that stops the kernel."""
    rng = scope.rng
    a = scope.pick((*INTEGERS, *FLOATS))
    if a is None:
        return
    if rng.random() < 0.85:
        conditions = ("({0} == {0}) | ({0} != {0})", "({0} < {0}) == ({0} > {0})", "~(({0} <= 1) & ({0} > 1))")
    else:
        conditions = ("{0} >= 0", "{0} != 1", "{0} < 100")
    scope.say(f'ak.require({rng.choice(conditions).format(a.name)}, "holds")')
