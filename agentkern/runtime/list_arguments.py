"""Lists of tensors in calls: one argument for several parameters, and several outputs as one list.

A list's parameters are called `pre[0]`, `pre[1]` and so on; a call gives a Python list or tuple under the list's name,
or single tensors under theirs. An output may be None, to be allocated.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.compiler.abi import ListParam, TensorParam
from agentkern.compiler.ir.dims import Dim, solve, substitute, symbols
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.signature import Signature, callers_names, named_sizes
from agentkern.runtime.tensor_view import view_tensor


def with_entries(signature: Signature, given: Mapping[str, object]) -> dict[str, object]:
    """Return a call's arguments with each tensor of a list under its own name.

    Errors: AK706 a tensor given twice; AK717 no list, or one of another length.
    """
    if not signature.lists:
        return dict(given)
    names = {listed.name for listed in signature.lists}
    outputs = {param.name for param in signature.tensors if param.access == "out"}
    found = {name: value for name, value in given.items() if name not in names}
    for listed in signature.lists:
        if listed.name not in given:
            continue
        for name, tensor in zip(listed.entries, _checked(listed, given[listed.name], signature), strict=True):
            if name in found:
                reason = f"argument `{name}` is given twice, in `{listed.name}` too"
                raise CallError("AK706", name=name, reason=reason, form=f"{listed.name}=[...]")
            if tensor is not None or name not in outputs:
                found[name] = tensor
    return found


def _checked(listed: ListParam, tensors: object, signature: Signature) -> list[object] | tuple[object, ...]:
    count = listed.count
    if not isinstance(tensors, list | tuple):
        expected = f"a list of {count} tensors"
        raise CallError("AK717", name=listed.name, got=f"a `{type(tensors).__name__}`", expected=expected)
    if len(tensors) != count:
        statics = ", ".join(f"{name} = {number}" for name, number in signature.statics)
        known = f" ({statics})" if statics else ""
        got = f"a list of {len(tensors)} tensors"
        raise CallError("AK717", name=listed.name, got=got, expected=f"{count} tensors{known}")
    return tensors


def sizes_of_lists(signature: Signature, positional: tuple[object, ...], named: Mapping[str, object]) -> dict[str, int]:
    """Return the static sizes that open lengths of lists rest on: named, or shown by a list or by a tensor's shape.

    Errors: AK707, AK708; AK710 a size that nothing shows; AK717 no list.
    """
    open_counts = [listed.count for listed in signature.lists if isinstance(listed.count, Dim)]
    wanted = {name for count in open_counts for name in symbols(count)}
    if not wanted:
        return {}
    given = dict(zip(callers_names(signature), positional, strict=False)) | dict(named)
    known = named_sizes(signature, given)
    lengths: list[tuple[int | Dim, int]] = []
    for listed in signature.lists:
        tensors = given.get(listed.name)
        if isinstance(tensors, list | tuple):
            lengths.append((listed.count, len(tensors)))
        elif listed.name in given and not (tensors is None and listed.access == "out"):
            expected = f"a list of `{listed.count}` tensors"
            raise CallError("AK717", name=listed.name, got=f"a `{type(tensors).__name__}`", expected=expected)
    _learn(lengths, known)
    if wanted - known.keys():
        _learn(_shapes(signature, given), known)
    for name in sorted(wanted - known.keys()):
        raise CallError("AK710", name=name)
    return {name: known[name] for name in sorted(wanted)}


def _shapes(signature: Signature, given: Mapping[str, object]) -> list[tuple[int | Dim, int]]:
    found: list[tuple[int | Dim, int]] = []
    for param in signature.params:
        value = given.get(param.name)
        if isinstance(param, TensorParam) and value is not None:
            found += zip(param.shape, view_tensor(value, param.name).shape, strict=False)
    return found


def _learn(equations: list[tuple[int | Dim, int]], known: dict[str, int]) -> None:
    """Add the sizes that equations of one unknown show; what contradicts is left to the call's checks."""
    for _ in equations:
        before = len(known)
        for extent, number in equations:
            if isinstance(extent, Dim) and isinstance(substitute(extent, known), Dim):
                found = solve(extent, number, known)
                if found is not None and found[1] >= 0:
                    known.setdefault(*found)
        if len(known) == before:
            return


def returned_outputs(
    names: tuple[str, ...], lists: tuple[ListParam, ...], outputs: Mapping[str, object], made: frozenset[str]
) -> tuple[object, ...]:
    """Return what a call gives back, in the order of its arguments' `names`: the outputs that it `made`.

    A list is given back whole where the call made one of its tensors, or where it was left out and has none.
    """
    by_name = {listed.name: listed for listed in lists}
    found: list[object] = []
    for name in names:
        if name not in by_name:
            found += [outputs[name]] if name in made else []
        elif made & {name, *by_name[name].entries}:
            found.append([outputs[entry] for entry in by_name[name].entries])
    return tuple(found)
