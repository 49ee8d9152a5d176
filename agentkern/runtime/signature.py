"""What calls of a kernel are checked against, and which argument is whose. Looks at names, not at tensors."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import SupportsIndex

from agentkern.compiler.abi import KernelAbi, ScalarParam, TensorParam
from agentkern.compiler.ir.core import SizeInfo
from agentkern.runtime.call_errors import CallError


@dataclass(frozen=True, slots=True)
class Signature:
    """What a call is checked against; a kernel has it before it is compiled."""

    name: str
    params: tuple[TensorParam | ScalarParam, ...]
    sizes: tuple[SizeInfo, ...]
    statics: tuple[tuple[str, int], ...] = ()

    @property
    def tensors(self) -> tuple[TensorParam, ...]:
        """Tensor parameters, scratch included."""
        return tuple(param for param in self.params if isinstance(param, TensorParam))


def signature_of(abi: KernelAbi) -> Signature:
    """Return what calls of a compiled kernel are checked against."""
    return Signature(abi.name, abi.params, abi.sizes, abi.statics)


def arguments_by_name(
    signature: Signature, positional: tuple[object, ...], named: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments of a call by parameter or size; outputs that are left out or None are absent.

    Errors: AK701.
    """
    callable_params = [p for p in signature.params if not (isinstance(p, TensorParam) and p.access == "scratch")]
    names = [param.name for param in callable_params]
    if len(positional) > len(names):
        raise CallError(
            "AK701",
            f"`{signature.name}` takes {len(names)} arguments, got {len(positional)}",
            got=str(len(positional)),
            expected=str(len(names)),
        )
    given = dict(zip(names, positional, strict=False))
    known = {*names, *(info.name for info in signature.sizes), *(name for name, _ in signature.statics)}
    for name, value in named.items():
        if name in given:
            raise CallError("AK701", f"`{name}` is given twice", parameter=name, got="twice", expected="once")
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), 1)
            hint = f": is `{near[0]}` meant?" if near else f", expected one of {', '.join(sorted(known))}"
            raise CallError(
                "AK701", f"`{signature.name}` has no parameter or size `{name}`{hint}", parameter=name, got=name
            )
        given[name] = value
    for param in callable_params:
        optional = param.default is not None if isinstance(param, ScalarParam) else param.access == "out"
        if param.name not in given and not optional:
            raise CallError(
                "AK701",
                f"argument `{param.name}` of `{signature.name}` is missing",
                parameter=param.name,
                got="nothing",
                expected=param.dtype.name,
            )
    # An output given as None is one to allocate.
    outputs = {p.name for p in signature.tensors if p.access == "out"}
    return {name: value for name, value in given.items() if not (value is None and name in outputs)}


def named_sizes(signature: Signature, given: Mapping[str, object]) -> dict[str, int]:
    """Return the sizes that are fixed before any tensor is looked at: the build's, and those given by name.

    Errors: AK705 no size; AK706 another than the build's.
    """
    named = dict(signature.statics)
    for name in {*named, *(info.name for info in signature.sizes)} & given.keys():
        value = _size(name, given[name])
        if named.setdefault(name, value) != value:
            raise CallError(
                "AK706",
                f"size `{name}` is {value}, expected {named[name]}, which this build was made for",
                parameter=name,
                got=str(value),
                expected=str(named[name]),
            )
    return named


def _size(name: str, given: object) -> int:
    number = given.__index__() if isinstance(given, SupportsIndex) and not isinstance(given, bool) else -1
    if number < 0:
        raise CallError(
            "AK705",
            f"size `{name}` is {given!r}, expected an integer of at least 0",
            parameter=name,
            got=repr(given),
            expected="an integer of at least 0",
        )
    return number
