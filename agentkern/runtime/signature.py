"""What calls of a kernel are checked against, and which argument is whose. Looks at names, not at tensors."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import SupportsIndex

from agentkern.compiler.abi import KernelAbi, ListParam, ScalarParam, TensorParam, lists_of, params_of
from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.runtime.call_errors import CallError


@dataclass(frozen=True, slots=True)
class Signature:
    """What a call is checked against; a kernel has it before it is compiled."""

    name: str
    params: tuple[TensorParam | ScalarParam, ...]
    sizes: tuple[SizeInfo, ...]
    statics: tuple[tuple[str, int], ...] = ()
    lists: tuple[ListParam, ...] = ()

    @property
    def tensors(self) -> tuple[TensorParam, ...]:
        """Tensor parameters, scratch included."""
        return tuple(param for param in self.params if isinstance(param, TensorParam))


def signature_of(abi: KernelAbi) -> Signature:
    """Return what calls of a compiled kernel are checked against."""
    return Signature(abi.name, abi.params, abi.sizes, abi.statics, abi.lists)


def signature_of_tile(kernel: Kernel) -> Signature:
    """Return what calls of a kernel are checked against, whichever of its static sizes have numbers."""
    statics = kernel.attrs.get("statics", ())
    assert isinstance(statics, tuple)
    fixed = tuple((str(name), int(number)) for name, number in statics)
    return Signature(kernel.name, params_of(kernel), kernel.sizes, fixed, lists_of(kernel))


def arguments_by_name(
    signature: Signature, positional: tuple[object, ...], named: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments of a call by parameter, list or size; outputs that are left out or None are absent.

    Errors: AK706.
    """
    names = callers_names(signature)
    form = form_of(signature)
    if len(positional) > len(names):
        raise CallError("AK706", reason=f"{len(positional)} arguments for {len(names)} parameters", form=form)
    given = dict(zip(names, positional, strict=False))
    entries = {name for listed in signature.lists for name in listed.entries}
    known = {*names, *entries, *(info.name for info in signature.sizes), *(name for name, _ in signature.statics)}
    for name, value in named.items():
        if name in given:
            raise CallError("AK706", name=name, reason=f"argument `{name}` is given twice", form=form)
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known - entries), 1)
            meant = f": is `{near[0]}` meant?" if near else ""
            raise CallError("AK706", name=name, reason=f"no parameter or size is called `{name}`{meant}", form=form)
        given[name] = value
    lists = {name: listed.name for listed in signature.lists for name in listed.entries}
    for param in _callers_params(signature):
        if param.name not in given and lists.get(param.name) not in given and not _may_be_left_out(param):
            has_others = any(name in given and lists.get(param.name) == owner for name, owner in lists.items())
            name = param.name if has_others else lists.get(param.name, param.name)
            raise CallError("AK706", name=name, reason=f"argument `{name}` is missing", form=form)
    # An output given as None is one to allocate.
    outputs = {param.name for param in signature.tensors if param.access == "out"}
    outputs |= {lists[name] for name in outputs & lists.keys()}
    return {name: value for name, value in given.items() if not (value is None and name in outputs)}


def form_of(signature: Signature) -> str:
    """Return how the kernel is called: `k(x, weight, out=None, eps=1e-06)`."""
    by_name = {param.name: param for param in signature.params}
    firsts = {listed.name: listed.entries[0] for listed in signature.lists if listed.entries}
    parts: list[str] = []
    for name in callers_names(signature):
        param = by_name.get(firsts.get(name, name))
        default = param.default if isinstance(param, ScalarParam) else None
        parts.append(f"{name}={default!r}" if param is not None and _may_be_left_out(param) else name)
    return f"{signature.name}({', '.join(parts)})"


def callers_names(signature: Signature) -> list[str]:
    """Return the names of a call's arguments in order: parameters without scratch, one name for a list's tensors."""
    owners = {name: listed.name for listed in signature.lists for name in listed.entries}
    empty = [listed for listed in signature.lists if not listed.entries]
    found: list[str] = []
    for number, param in enumerate(signature.params):
        found += [listed.name for listed in empty if listed.first == number]
        if not (isinstance(param, TensorParam) and param.access == "scratch"):
            found.append(owners.get(param.name, param.name))
    found += [listed.name for listed in empty if listed.first >= len(signature.params)]
    return list(dict.fromkeys(found))


def _callers_params(signature: Signature) -> list[TensorParam | ScalarParam]:
    return [p for p in signature.params if not (isinstance(p, TensorParam) and p.access == "scratch")]


def _may_be_left_out(param: TensorParam | ScalarParam) -> bool:
    return param.default is not None if isinstance(param, ScalarParam) else param.access == "out"


def named_sizes(signature: Signature, given: Mapping[str, object]) -> dict[str, int]:
    """Return the sizes that are fixed before any tensor is looked at: the build's, and those given by name.

    Errors: AK707 no size; AK708 another than the build's.
    """
    named = dict(signature.statics)
    for name in {*named, *(info.name for info in signature.sizes)} & given.keys():
        value = _size(name, given[name])
        if named.setdefault(name, value) != value:
            raise CallError("AK708", name=name, got=value, expected=f"{named[name]}, its value in this build")
    return named


def _size(name: str, given: object) -> int:
    number = given.__index__() if isinstance(given, SupportsIndex) and not isinstance(given, bool) else -1
    if number < 0:
        raise CallError("AK707", name=name, value=repr(given), expected="size")
    return number
