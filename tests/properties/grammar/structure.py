"""Rules for compile-time structure: helpers, tuples, unrolled loops, flags; and choices by a scalar of the run."""

from __future__ import annotations

from tests.properties.grammar.scope import FLOATS, INTEGERS, Scope, Value, joined, numbers, shape_text

_FLOAT_BODIES = ("a * b + a", "ak.maximum(a, b) - a", "(a + b) * 0.5", "ak.where(a < b, a, -b)", "a / (b * b + 1.0)")
_INTEGER_BODIES = ("a * b + a", "ak.maximum(a, b) - a", "(a ^ b) + 3", "ak.where(a < b, a, b)")


def _bodies(dtype: str) -> tuple[str, ...]:
    return _FLOAT_BODIES if dtype in FLOATS else _INTEGER_BODIES


def _two(scope: Scope) -> tuple[Value, Value] | None:
    a = scope.pick((*FLOATS, *INTEGERS))
    return None if a is None else (a, scope.partner(a))


def helper(scope: Scope) -> None:
    """A call of a function of the file, which returns one value or two."""
    rng, draft, pair = scope.rng, scope.draft, _two(scope)
    if pair is None:
        return
    a, b = pair
    axes = joined(a.axes, b.axes)
    assert axes is not None
    first, second = rng.choice(_bodies(a.dtype)), rng.choice(_bodies(a.dtype))
    name = draft.fresh("f")
    if rng.random() < 0.5:
        draft.helpers.append(f"@ak.inline\ndef {name}(a, b):\n    c = {first}\n    return c + b")
        scope.add(f"{name}({a.name}, b={b.name})", a.dtype, axes)
        return
    draft.helpers.append(
        f"@ak.inline\ndef {name}(a, b, n=2):\n    for i in range(n):\n        a = {first}\n    return a, {second}"
    )
    result = draft.fresh("q")
    scope.say(f"{result} = {name}({a.name}, {b.name})")
    scope.add(f"{result}[0]", a.dtype, axes)
    scope.add(f"{result}[-1]", a.dtype, axes)


def unrolled(scope: Scope) -> None:
    """A value rebound in a loop over a static range or tuple."""
    rng, pair = scope.rng, _two(scope)
    if pair is None:
        return
    a, b = pair
    axes = joined(a.axes, b.axes)
    if axes != a.axes:
        return
    result = scope.add(f"{a.name} + {b.name}", a.dtype, a.axes)
    if result is None:
        return
    literals = "0.5, 2.0" if a.dtype in FLOATS else "1, 3"
    over = rng.choice(("range(3)", "range(1, 4)", f"({literals})", "range(0)"))
    scope.say(f"for i in {over}:")
    text = rng.choice((_named(scope, result, b), f"{result.name} * i + {b.name}"))
    scope.say(f"    {result.name} = {text}")


def _named(scope: Scope, a: Value, b: Value) -> str:
    """A body of two values with their names in it."""
    words = scope.rng.choice(_bodies(a.dtype))
    return _renamed(words, {"a": a.name, "b": b.name})


def _renamed(text: str, names: dict[str, str]) -> str:
    """Replace single-letter names."""
    out: list[str] = []
    for k, c in enumerate(text):
        alone = not (text[k - 1 : k].isalnum() or text[k + 1 : k + 2].isalnum() or text[k - 1 : k] == ".")
        out.append(names[c] if alone and c in names else c)
    return "".join(out)


def history(scope: Scope) -> None:
    """A tuple that grows, and is indexed."""
    pair = _two(scope)
    if pair is None:
        return
    a, b = pair
    axes = joined(a.axes, b.axes)
    assert axes is not None
    name = scope.draft.fresh("q")
    scope.say(f"{name} = ({a.name}, {b.name})")
    scope.say(f"for i in range({scope.rng.choice((1, 2, 3))}):")
    scope.say(f"    {name} = (*{name}, {name}[-1] + {name}[i])")
    scope.add(f"{name}[-1]", a.dtype, axes)


def flag(scope: Scope) -> None:
    """A branch by a compile-time flag or number."""
    rng, draft, pair = scope.rng, scope.draft, _two(scope)
    if pair is None:
        return
    a, b = pair
    name = draft.fresh("c")
    draft.settings[name] = rng.random() < 0.5
    draft.parameters.append(f"{name}: ak.static_bool")
    axes = joined(a.axes, b.axes)
    assert axes is not None
    if rng.random() < 0.5:
        scope.add(f"{_named(scope, a, b)} if {name} else {_named(scope, a, b)}", a.dtype, axes)
        return
    result = draft.fresh("v")
    scope.say(f"if {name}:")
    scope.say(f"    {result} = {_named(scope, a, b)}")
    scope.say("else:")
    scope.say(f"    {result} = {_named(scope, a, b)}")
    scope.know(Value(result, a.dtype, axes))


def run_time_choice(scope: Scope) -> None:
    """A branch by a scalar of the run."""
    rng, draft = scope.rng, scope.draft
    pair = _two(scope)
    if pair is None:
        return
    a, b = pair
    axes = joined(a.axes, b.axes)
    if axes != a.axes:
        return
    scalars = [v for v in scope.values if v.axes == () and v.dtype in (*FLOATS, *INTEGERS)]
    if scalars and rng.random() < 0.7:
        scalar = rng.choice(scalars)
        condition = f"{scalar.name} > {numbers(scalar.dtype, rng)}"
    else:
        name = draft.fresh("s")
        draft.scalars[name] = "i32"
        condition = f"{name} > 0"
    result = scope.add(_named(scope, a, b), a.dtype, axes)
    if result is None:
        return
    scope.say(f"if {condition}:")
    scope.say(f"    {result.name} = {_named(scope, result, b)}")
    if rng.random() < 0.5:
        scope.say("else:")
        scope.say(f"    {result.name} = {_named(scope, result, b)}")


def element_loop(scope: Scope) -> None:
    """A tile made element by element, which reads others at its own place, at parts of it, or at fixed places."""
    rng = scope.rng
    a = scope.pick((*FLOATS, *INTEGERS), rank=1)
    if a is None or len(a.axes) > 3 or len(set(a.axes)) < len(a.axes):
        return
    names = [scope.draft.fresh("j") for _ in a.axes]
    at = ", ".join(names)
    terms = [f"{a.name}[{at}]"]
    for other in (scope.partner(a), scope.partner(a)):
        if all(axis in a.axes for axis in other.axes) and other.axes:
            terms.append(f"{other.name}[{', '.join(names[a.axes.index(axis)] for axis in other.axes)}]")
    k = rng.randrange(len(a.axes))
    n = a.axes[k].extent
    if a.axes[k].fixed and n > 1:
        form = rng.choice((f"{names[k]} // 2", f"{names[k]} % {rng.randrange(1, n + 1)}", "0", str(n - 1)))
        terms.append(f"{a.name}[{', '.join(form if j == k else name for j, name in enumerate(names))}]")
    rng.shuffle(terms)
    shapes = ", ".join(axis.shape for axis in a.axes)
    result = scope.add(f"ak.full({shape_text(a.axes)}, {numbers(a.dtype, rng)}, ak.{a.dtype})", a.dtype, a.axes)
    if result is None:
        return
    text = rng.choice(("{0} * {1}", "{0} + {1}", "ak.maximum({0}, {1})", "ak.where({0} < {1}, {0}, {1})"))
    text = text.format(terms[0], terms[-1])
    if rng.random() < 0.3:
        text = f"{result.name}[{at}] + {text}"
    scope.say(f"for {at} in ak.elements({shapes}):")
    scope.say(f"    {result.name}[{at}] = {text}")


def guarded_read(scope: Scope) -> None:
    """A row by a scalar of the run, read in the branch that knows it to be inside, and perhaps stored there."""
    rng, draft = scope.rng, scope.draft
    scalars = [v for v in scope.values if v.axes == () and v.dtype in ("i32", "i64", "i16")]
    if not scalars or not scope.axes:
        return
    dtype = rng.choice((*FLOATS, *INTEGERS))
    place = rng.choice(scalars).name
    result = scope.add(f"ak.full({shape_text(scope.axes)}, {numbers(dtype, rng)}, ak.{dtype})", dtype, scope.axes)
    if result is None:
        return
    axes = [axis.dim for axis in scope.axes]
    name = draft.tensor("x", dtype, ("N", *axes))
    scope.say(f"if ({place} >= 0) & ({place} < N):")
    scope.say(f"    {result.name} = {name}[{', '.join((place, *(axis.subscript for axis in scope.axes)))}]")
    if rng.random() < 0.4 and not scope.silent:
        output = draft.tensor("y", dtype, scope.dims(), "Out", ".partial()")
        scope.say(f"    {output}[{', '.join(scope.subscripts())}] = {result.name}")
