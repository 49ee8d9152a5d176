"""Which arguments of a call are compile-time values. Looks at a Python function's parameters, not at kernel text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agentkern.dsl import parameters
from agentkern.runtime.call_errors import CallError

Scalar = int | float | bool
_KINDS = (parameters.static_int, parameters.static_bool, parameters.static_float)


@dataclass(frozen=True, slots=True)
class CallForm:
    """A kernel's parameters in order, those of them that are compile-time values, and tensors that may be left out."""

    names: tuple[str, ...]
    settings: frozenset[str]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DividedCall:
    """A call's arguments without compile-time values and absent tensors; those values, and which tensors there are."""

    positional: tuple[object, ...]
    named: Mapping[str, object]
    settings: Mapping[str, Scalar]


def call_form(function: Callable[..., object]) -> CallForm:
    """Return the form of calls; annotations may be texts, as under `from __future__ import annotations`."""
    found = inspect.signature(function).parameters
    settings = frozenset(name for name, parameter in found.items() if _is_setting(parameter.annotation))
    optional = frozenset(name for name, parameter in found.items() if _is_optional(parameter.annotation))
    return CallForm(tuple(found), settings, optional)


def divide_call(form: CallForm, positional: tuple[object, ...], named: Mapping[str, object]) -> DividedCall:
    """Take the compile-time values out of a call.

    Errors: AK706 one given twice; AK707 one that is no number or truth value.
    """
    chosen = {name: value for name, value in zip(form.names, positional, strict=False) if name in form.settings}
    for name in chosen.keys() & named.keys():
        raise CallError("AK706", name=name, reason=f"argument `{name}` is given twice", form=", ".join(form.names))
    chosen |= {name: value for name, value in named.items() if name in form.settings}
    settings: dict[str, Scalar] = {}
    for name, value in chosen.items():
        if not isinstance(value, int | float):
            raise CallError("AK707", name=name, value=repr(value), expected="compile-time value")
        settings[name] = value
    given = dict(zip(form.names, positional, strict=False)) | dict(named)
    absent = {name for name in form.optional if given.get(name) is None}
    settings |= {name: name not in absent for name in form.optional}
    extra = positional[len(form.names) :]
    left_out = form.settings | absent
    kept = tuple(v for name, v in zip(form.names, positional, strict=False) if name not in left_out)
    others = {name: value for name, value in named.items() if name not in left_out}
    return DividedCall((*kept, *extra), others, settings)


def _is_optional(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.replace(" ", "").endswith("]|None")
    return isinstance(annotation, parameters.OptionalAnnotation)


def _is_setting(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] in [kind.__name__ for kind in _KINDS]
    return any(annotation is kind for kind in _KINDS)
