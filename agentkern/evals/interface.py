"""Compare a kernel's parameters and promises with the task's. Extents are compared as numbers at the task's sizes.

A kernel may take as run-time what the task fixes for a build, never the other way round, and may promise less than the
task gives, never more: what it promises is not checked where it runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentkern.compiler.abi import ListParam, ScalarParam, TensorParam
from agentkern.compiler.analysis.accesses import kernel_facts
from agentkern.compiler.analysis.promises import Form, Promise
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Kernel, SizeInfo
from agentkern.evals.task_model import Task
from agentkern.tools.verify_model import Signature, Sizes, concrete

ALIGNMENT_BYTES = 16
"""What any allocator gives: a kernel may ask for it."""
_ACCESS = {"in": "In", "out": "Out", "inout": "InOut", "scratch": "scratch"}


def signature_line(signature: Signature) -> str:
    """Return parameters on one line, tensors before scalars."""
    tensors = [_tensor_text(p) for p in signature.tensors if p.access != "scratch"]
    return f"({', '.join((*tensors, *(f'{p.name}: {p.dtype}' for p in signature.scalars)))})"


def _tensor_text(param: TensorParam) -> str:
    extents = "".join(f", {extent}" for extent in param.shape)
    return f"{param.name}: {_ACCESS[param.access]}[{param.dtype}{extents}]"


def wrong_parameter(task: Task, got: Signature, sizes: Iterable[SizeInfo]) -> str | None:
    """Return how a kernel's parameters differ from the task's, None if they do not."""
    difference = _difference(task, got, tuple(sizes))
    return None if difference is None else f"{difference}; the task's parameters are {signature_line(task.signature)}"


def _difference(task: Task, got: Signature, sizes: tuple[SizeInfo, ...]) -> str | None:
    want = task.signature
    mine = [p for p in got.tensors if p.access != "scratch"]
    names, wanted_names = _names(mine, got.scalars), _names(want.tensors, want.scalars)
    if got.lists:
        return _list_difference(got.lists)
    if names != wanted_names:
        return f"the kernel's parameters are {_listed(names)}, not {_listed(wanted_names)}, in that order"
    known = {info.name: info for info in task.sizes}
    for info in sizes:
        if info.name not in known:
            return f"the kernel has a size `{info.name}`; the task's sizes are {_listed(known)}"
        if info.static and not known[info.name].static:
            return f"`{info.name}` is a run-time size of the task: `ak.dim`, not `ak.static`"
    for ours, theirs in zip(mine, want.tensors, strict=True):
        wrong = _tensor_difference(task, ours, theirs)
        if wrong is not None:
            return wrong
    for one, other in zip(got.scalars, want.scalars, strict=True):
        if one.dtype != other.dtype:
            return f"scalar `{one.name}` is {one.dtype}, not {other.dtype}"
    return None


def _names(tensors: Iterable[TensorParam], scalars: Iterable[ScalarParam]) -> list[str]:
    return [*(p.name for p in tensors), *(p.name for p in scalars)]


def _list_difference(lists: tuple[ListParam, ...]) -> str:
    return f"`{lists[0].name}` is a list of tensors, of which the task has none"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _tensor_difference(task: Task, got: TensorParam, want: TensorParam) -> str | None:
    if got.access != want.access:
        return f"`{got.name}` is {_ACCESS[got.access]}, not {_ACCESS[want.access]}"
    if got.record is not None or got.dtype != want.dtype:
        of = "records" if got.record is not None else str(got.dtype)
        return f"`{got.name}` is of {of}, not {want.dtype}"
    if got.strides is not None:
        return f"`{got.name}` has prescribed strides; the task's tensors are contiguous"
    for sizes in _probes(task):
        if concrete(got.shape, sizes) != concrete(want.shape, sizes):
            shapes = [", ".join(map(str, p.shape)) or "no axes" for p in (got, want)]
            return f"`{got.name}` has the shape ({shapes[0]}), not ({shapes[1]})"
    return None


def _probes(task: Task) -> tuple[Sizes, ...]:
    """The sizes to compare at: the task's own, and ones that tell apart what happens to be equal there."""
    primes = (101, 211, 307, 401, 503, 601, 701, 809, 907, 1009)
    apart = {info.name: primes[k % len(primes)] + k for k, info in enumerate(task.sizes)}
    return (*task.shapes.shown, *task.shapes.hidden, apart)


def excess_promise(task: Task, got: Signature, sizes: Iterable[SizeInfo]) -> str | None:
    """Return what a kernel assumes of its arguments that the task does not give, None if nothing."""
    known = {info.name: info for info in task.sizes}
    for info in sizes:
        wrong = _size_excess(info, known[info.name])
        if wrong is not None:
            return f"{wrong}, which the task does not promise"
    given = task.signature.promises
    for name, promise in got.promises.items():
        wrong = _promise_excess(task, name, promise, given.get(name, Promise()))
        if wrong is not None:
            return f"{wrong}, which the task does not promise"
    return None


def excess_alignment(got: Signature) -> str | None:
    """Return which address a build assumes to be rounder than any allocator makes it, None if none."""
    for param in got.tensors:
        asked = max(param.aligned, param.granule * param.dtype.nbytes)
        if asked > max(ALIGNMENT_BYTES, param.dtype.nbytes):
            return f"the address of `{param.name}` is assumed to be a multiple of {asked} bytes, not {ALIGNMENT_BYTES}"
    return None


def excess_requirement(task: Task, kernel: Kernel) -> str | None:
    """Return at which of the task's sizes a kernel's own `ak.require` would end a call, None if at none.

    Of sizes alone: what it requires of values and scalars shows where they are drawn.
    """
    facts = kernel_facts(kernel)
    known = [one for scope in facts.scopes for some in scope.required.values() for one in some]
    names = {size.name for size in task.sizes}
    of_sizes = [one for one in (*facts.required, *known) if not one.of and names.issuperset(dims.symbols(one.form))]
    for one in dict.fromkeys(of_sizes):
        for sizes in (*task.shapes.shown, *task.shapes.hidden, *task.shapes.bench):
            number = dims.evaluate(one.form, sizes)
            if number == 0 if one.nonzero else number < 0:
                shown = ", ".join(f"{name} = {n}" for name, n in sizes.items())
                return f"`ak.require` ends a call at {shown}, which the task allows"
    return None


def _size_excess(got: SizeInfo, given: SizeInfo) -> str | None:
    if given.multiple_of % got.multiple_of:
        return f"`{got.name}` is assumed to be a multiple of {got.multiple_of}"
    if got.minimum > given.minimum:
        return f"`{got.name}` is assumed to be at least {got.minimum}"
    if got.maximum is not None and (given.maximum is None or got.maximum < given.maximum):
        return f"`{got.name}` is assumed to be at most {got.maximum}"
    return None


def _promise_excess(task: Task, name: str, got: Promise, given: Promise) -> str | None:
    if got.partial and not given.partial:
        return f"`{name}` is an output of which not every element is written"
    if got.distinct and not (given.distinct and given.ignore_same in (None, got.ignore_same)):
        return f"values of `{name}` are assumed to be distinct"
    if got.end is not None and (given.end is None or not _same(task, got.end, given.end)):
        return f"`{name}` is assumed to be offsets that end at {got.end}"
    if got.low is None or got.high is None:
        return None
    text = f"values of `{name}` are assumed to be from {got.low} to {got.high} - 1"
    if given.low is None or given.high is None:
        return text
    inside = all(_covers(got, given, sizes) for sizes in _probes(task))
    return None if inside else text


def _covers(got: Promise, given: Promise, sizes: Sizes) -> bool:
    """Whether every value that the task may give is one that the kernel expects."""
    assert got.low is not None
    assert got.high is not None
    assert given.low is not None
    assert given.high is not None
    low, high = dims.evaluate(got.low, sizes), dims.evaluate(got.high, sizes)
    least, end = dims.evaluate(given.low, sizes), dims.evaluate(given.high, sizes)
    is_inside = least >= end or (low <= least and end <= high)
    return is_inside and (given.ignore is None or given.ignore == got.ignore or low <= given.ignore < high)


def _same(task: Task, one: Form, other: Form) -> bool:
    return all(dims.evaluate(one, sizes) == dims.evaluate(other, sizes) for sizes in _probes(task))
