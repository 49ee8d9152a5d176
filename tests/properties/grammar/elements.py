"""Rules for operations on elements: operators, functions, choices, casts, made tiles."""

from __future__ import annotations

from tests.properties.grammar.scope import (
    EVERY,
    FLOATS,
    INTEGERS,
    NARROW,
    OF_FUNCTIONS,
    Scope,
    joined,
    numbers,
    shape_text,
)

_ANY_FLOAT = FLOATS
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_OF_BOTH = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "ak.maximum({0}, {1})", "ak.minimum({0}, {1})")
_OF_FLOATS = ("{0} / {1}", "{0} / {1}", "ak.copysign({0}, {1})", "ak.fma({0}, {1}, {0})")
_OF_INTEGERS = (
    "{0} & {1}",
    "{0} | {1}",
    "{0} ^ {1}",
    "{0} // ak.where({1} == 0, 1, {1})",
    "{0} % ak.where({1} == 0, 3, {1})",
    "ak.trunc_div({0}, ak.where({1} == 0, 1, {1}))",
    "ak.trunc_mod({0}, ak.where({1} == 0, 5, {1}))",
    "{0} << ({1} & 7)",
    "{0} >> ({1} & 7)",
)
_FLOAT_AND_LITERAL = ("{0} + N", "{0} * N", "{0} / N", "N - {0}", "N / {0}", "ak.maximum({0}, N)", "ak.minimum(N, {0})")
_FLOAT_FORMS = ("ak.clip({0}, -1.0, 1.0)", "{0} ** 2", "{0} ** 3", "{0} ** 0", "{0} ** 1", "{0} ** 7")
_INTEGER_FORMS = (
    "{0} + 3",
    "{0} * 5",
    "{0} // 3",
    "{0} % 7",
    "{0} << 2",
    "{0} >> 1",
    "7 - {0}",
    "ak.clip({0}, 0, 9)",
    "{0} ** 2",
    "{0} ** 5",
    "ak.trunc_div({0}, 3)",
    "ak.trunc_mod({0}, 7)",
    "{0} // 1",
    "{0} % 1",
    "{0} // 64",
    "{0} % 64",
)
_SIGNED_FORMS = ("{0} // -3", "{0} % -7", "ak.trunc_div({0}, -2)")
_ROUNDINGS = ("abs", "sign", "sqrt", "rsqrt", "floor", "ceil", "round", "trunc", "isnan", "isinf", "-")
_FUNCTIONS = (
    *("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "erf", "sin", "cos", "sigmoid", "silu", "softplus"),
    *("gelu", "gelu_tanh"),
)
_SAME_WIDTH = (
    ("f32", "i32", "u32"),
    ("bf16", "f16", "i16", "u16"),
    ("i64", "u64", "f64"),
    ("i8", "u8", "e4m3", "e5m2", "e8m0"),
)


def binary(scope: Scope) -> None:
    """An operator of two values."""
    rng = scope.rng
    a = scope.pick((*_ANY_FLOAT, *INTEGERS, "bool")) if rng.random() < 0.9 else scope.pick(("bool",))
    if a is None:
        return
    if a.dtype == "bool":
        forms: tuple[str, ...] = ("{0} & {1}", "{0} | {1}", "{0} ^ {1}", "{0} == {1}", "{0} != {1}")
    else:
        forms = (*_OF_BOTH, *_OF_BOTH, *(_OF_FLOATS if a.dtype in _ANY_FLOAT else _OF_INTEGERS))
    b = scope.partner(a)
    axes = joined(a.axes, b.axes)
    assert axes is not None
    if a.dtype != "bool" and rng.random() < 0.25:
        scope.add(f"{a.name} {rng.choice(_COMPARISONS)} {b.name}", "bool", axes)
        return
    scope.add(rng.choice(forms).format(a.name, b.name), a.dtype, axes)


def with_literal(scope: Scope) -> None:
    """An operator of a value and a literal, a scalar parameter or a size."""
    rng, draft = scope.rng, scope.draft
    a = scope.pick((*FLOATS, *INTEGERS))
    if a is None:
        return
    if rng.random() < 0.15:
        name = draft.fresh("s")
        known = {"bf16": "float", "f16": "float", "f32": "float", "f64": "float", "i32": "int", "i64": "int"}
        if rng.random() < 0.3 and a.dtype in known:
            draft.settings[name] = (
                rng.choice((0.1, -2.0, 1e-9)) if known[a.dtype] == "float" else rng.choice((0, 7, -3))
            )
            draft.parameters.append(f"{name}: ak.static_{known[a.dtype]}")
        else:
            draft.scalars[name] = a.dtype
        form = rng.choice(("{0} + N", "{0} * N", "ak.maximum(N, {0})", "ak.where({0} < N, {0}, N)"))
        scope.add(form.replace("N", name).format(a.name), a.dtype, a.axes)
    elif a.dtype in FLOATS:
        number = numbers(a.dtype, rng)
        forms = rng.choice((_FLOAT_AND_LITERAL, _FLOAT_FORMS))
        scope.add(rng.choice(forms).replace("N", number).format(a.name), a.dtype, a.axes)
    elif a.dtype in ("i32", "i64", "i16", "i8") and rng.random() < 0.2:
        scope.add(rng.choice(_SIGNED_FORMS).format(a.name), a.dtype, a.axes)
    elif a.dtype == "i64" and rng.random() < 0.3:
        size = rng.choice(sorted(draft.sizes))
        scope.add(rng.choice((f"{a.name} * {size}", f"{a.name} + {size}", f"{size} - {a.name}")), "i64", a.axes)
    else:
        scope.add(rng.choice(_INTEGER_FORMS).format(a.name), a.dtype, a.axes)


def unary(scope: Scope) -> None:
    """An operation of one value."""
    rng = scope.rng
    a = scope.pick((*_ANY_FLOAT, *INTEGERS, "bool"))
    if a is None:
        return
    if a.dtype == "bool":
        scope.add(f"~{a.name}", "bool", a.axes)
    elif a.dtype in _ANY_FLOAT:
        name = rng.choice(_ROUNDINGS)
        text = f"-{a.name}" if name == "-" else f"ak.{name}({a.name})"
        scope.add(text, "bool" if name.startswith("is") else a.dtype, a.axes)
    else:
        forms = ("~{0}", "ak.sign({0})", "-{0}", "ak.abs({0})")
        scope.add(rng.choice(forms).format(a.name), a.dtype, a.axes)


def function(scope: Scope) -> None:
    """A function that is computed in f32."""
    a = scope.pick(OF_FUNCTIONS)
    if a is None:
        return
    name = scope.rng.choice(_FUNCTIONS)
    text = f'ak.gelu({a.name}, approximate="tanh")' if name == "gelu_tanh" else f"ak.{name}({a.name})"
    scope.add(text, a.dtype, a.axes)


def choice(scope: Scope) -> None:
    """`where` of three values, or of two and a literal."""
    rng = scope.rng
    condition, a = scope.pick(("bool",)), scope.pick(EVERY)
    if condition is None or a is None:
        return
    if rng.random() < 0.3:
        axes = joined(a.axes, condition.axes)
        if axes is not None and a.dtype not in NARROW:
            texts = [a.name, numbers(a.dtype, rng)]
            rng.shuffle(texts)
            scope.add(f"ak.where({condition.name}, {', '.join(texts)})", a.dtype, axes)
        return
    b = scope.partner(a)
    axes = joined(a.axes, b.axes)
    axes = joined(axes, condition.axes) if axes is not None else None
    if axes is not None:
        scope.add(f"ak.where({condition.name}, {a.name}, {b.name})", a.dtype, axes)


def cast(scope: Scope) -> None:
    """Another element type: converted, or the same bits."""
    rng = scope.rng
    a = scope.pick(EVERY)
    if a is None:
        return
    same = [d for group in _SAME_WIDTH if a.dtype in group for d in group if d != a.dtype]
    if same and rng.random() < 0.25:
        to = rng.choice(same)
        scope.add(f"{a.name}.bitcast(ak.{to})", to, a.axes)
        return
    to = rng.choice([d for d in ("f32", "f32", "f32", *EVERY) if d != a.dtype])
    scope.add(f"{a.name}.to(ak.{to})", to, a.axes)


def made(scope: Scope) -> None:
    """A tile of one number, a tile repeated along new axes, the numbers from 0."""
    rng = scope.rng
    kind = rng.random()
    if kind < 0.4:
        dtype = rng.choice((*FLOATS, *INTEGERS, *NARROW, "bool"))
        scope.add(f"ak.full({shape_text(scope.axes)}, {numbers(dtype, rng)}, ak.{dtype})", dtype, scope.axes)
        return
    if kind < 0.6:
        whole = [axis for axis in scope.axes if not axis.block]
        if whole:
            axis = rng.choice(whole)
            scope.add(f"ak.arange({axis.shape})", "i64", (axis,))
        return
    a = scope.pick(EVERY)
    if a is not None and scope.is_full(a):
        scope.add(f"ak.broadcast_to({a.name}, {shape_text(scope.axes)})", a.dtype, scope.axes)
