"""Mutants of a task's solution: its text with one thing wrong, in the ways kernels are wrong.

Three sorts, none of which knows a task: an input is spoiled before the solution reads it, an output after the solution
wrote it (both with grids around its own), or one place of its text is changed (`mutants_text`). A kind lists texts in
the order in which they are to be tried: what does not build or changes no bit gives way to the next.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from agentkern.evals.mutants_text import Source, changed_texts, read_source
from agentkern.evals.nulls import Wrong, extent_text, flat_text
from agentkern.evals.task_model import Task, TaskTensor

LOWER = {
    "f64": ("f32",),
    "f32": ("bf16", "e4m3"),
    "tf32": ("bf16",),
    "f16": ("e4m3", "e5m2"),
    "bf16": ("e4m3", "e5m2"),
    "e4m3": ("e5m2",),
    "i64": ("i8",),
    "i32": ("i8",),
    "i16": ("i8",),
    "u64": ("u8",),
    "u32": ("u8",),
    "u16": ("u8",),
}
"""What a value may be rounded to on its way; the first that changes an answer counts."""
_INDENT = "    "


def mutants(task: Task) -> Mapping[str, tuple[Wrong, ...]]:
    """Return by kind the mutants of a solution, in the order in which they are to be tried."""
    assert task.solution is not None
    source = read_source(task.solution.text, task.solution.kernel)
    found: dict[str, tuple[Wrong, ...]] = {}
    for kind, texts in (*_spoiled_outputs(task, source), *_spoiled_inputs(task, source), *changed_texts(task, source)):
        found[kind] = tuple(Wrong(kind, what, text, source.kernel.name) for what, text in texts)
    return found


Texts = Sequence[tuple[str, str]]


def _spoiled_outputs(task: Task, source: Source) -> Iterator[tuple[str, Texts]]:
    outputs = [t for t in task.tensors if t.access != "in"]
    yield "dropped tail", [(f"`{t.name}`", _after(source, t, _tail(t))) for t in outputs]
    shifts = [
        (f"`{t.name}` by {by}", _after(source, t, _moved(t, f"n.index - {by}"))) for t in outputs for by in (1, -1)
    ]
    yield "off by one", shifts
    whole = [(f"`{t.name}`", _after(source, t, _moved(t, f"{extent_text(t)} - 1 - n.index"))) for t in outputs]
    turned = [(f"the last axes of `{t.name}`", _after(source, t, _turned(t))) for t in outputs if len(t.shape) > 1]
    yield "transposed", [*turned, *whole]
    lowered = [(f"`{t.name}` to {name}", _after(source, t, _cast(t, name))) for t in outputs for name in _lower(t)]
    yield "lower precision of the result", lowered
    for tensor in outputs:
        if tensor.is_partial:
            yield f"overwritten rest of `{tensor.name}`", [("NaN or zeros", _before(source, tensor))]
    for tensor in outputs if len(outputs) > 1 else ():
        yield f"dropped output `{tensor.name}`", [("zeros", _after(source, tensor, _zeros(tensor)))]


def _lower(tensor: TaskTensor) -> tuple[str, ...]:
    return LOWER.get(tensor.dtype.name, ())


def _zero(tensor: TaskTensor) -> str:
    return "False" if tensor.dtype.kind == "bool" else "0"


def _zeros(tensor: TaskTensor) -> list[str]:
    return [f"for n in ak.grid({extent_text(tensor)}):", f"    {flat_text(tensor)}[n] = {_zero(tensor)}"]


def _kept(tensor: TaskTensor) -> list[str]:
    """A copy of what the solution wrote."""
    return [
        f"kept = ak.scratch(({extent_text(tensor)},), ak.{tensor.dtype})",
        f"for n in ak.grid({extent_text(tensor)}):",
        f"    kept[n] = {flat_text(tensor)}[n]",
    ]


def _tail(tensor: TaskTensor) -> list[str]:
    """The last element is as if it had not been computed."""
    last = f"ak.where(n.index == {extent_text(tensor)} - 1, {_zero(tensor)}, kept[n])"
    return [*_kept(tensor), f"for n in ak.grid({extent_text(tensor)}):", f"    {flat_text(tensor)}[n] = {last}"]


def _moved(tensor: TaskTensor, place: str) -> list[str]:
    inside = f"(p >= 0) & (p < {extent_text(tensor)})"
    return [
        *_kept(tensor),
        f"for n in ak.grid({extent_text(tensor)}):",
        f"    p = {place}",
        f"    {flat_text(tensor)}[n] = ak.load(kept[p], where={inside}, fill={_zero(tensor)})",
    ]


def _turned(tensor: TaskTensor) -> list[str]:
    """Rows for columns, as far as both have them."""
    names = [f"a{axis}" for axis in range(len(tensor.shape))]
    extents = [str(extent) for extent in tensor.shape]
    leading = [f"ak.each({extent})" for extent in extents[:-2]]
    blocks = ", ".join(names)
    swapped = ", ".join([*names[:-2], "j", "i"])
    return [
        f"kept = ak.scratch(({', '.join(extents)},), ak.{tensor.dtype})",
        f"for {blocks} in ak.grid({', '.join([*leading, *extents[-2:]])}):",
        f"    kept[{blocks}] = {tensor.name}[{blocks}]",
        f"for {blocks} in ak.grid({', '.join([*leading, *extents[-2:]])}):",
        f"    i, j = {names[-2]}.index[:, None], {names[-1]}.index[None, :]",
        f"    inside = (j < {extents[-2]}) & (i < {extents[-1]})",
        f"    {tensor.name}[{blocks}] = ak.load(kept[{swapped}], where=inside, fill={_zero(tensor)})",
    ]


def _cast(tensor: TaskTensor, lower: str) -> list[str]:
    return [
        *_kept(tensor),
        f"for n in ak.grid({extent_text(tensor)}):",
        f"    {flat_text(tensor)}[n] = kept[n].to(ak.{lower}).to(ak.{tensor.dtype})",
    ]


def _after(source: Source, tensor: TaskTensor, lines: list[str]) -> str:
    """The solution with grids after its own."""
    return source.text_with([*source.kernel.body, *_statements(source, lines)])


def _before(source: Source, tensor: TaskTensor) -> str:
    """The solution behind a grid that fills an output, so that what it should keep is lost."""
    value = "ak.nan" if tensor.dtype.is_float else _zero(tensor)
    lines = [f"for n in ak.grid({extent_text(tensor)}):", f"    {flat_text(tensor)}[n] = {value}"]
    return source.text_with([*_statements(source, lines), *source.kernel.body])


def _statements(source: Source, lines: list[str]) -> list[ast.stmt]:
    renamed = source.spell_sizes(ast.parse("\n".join(lines)))
    return list(renamed.body)


def _spoiled_inputs(task: Task, source: Source) -> Iterator[tuple[str, Texts]]:
    inputs = [t for t in task.tensors if t.access == "in"]
    for tensor in inputs:
        yield (
            f"dropped input `{tensor.name}`",
            [*_replaced(source, tensor, _zero(tensor)), *_constant_loads(source, tensor)],
        )
    lowered = [
        (f"`{t.name}` as {name}", text)
        for t in inputs
        for name in _lower(t)
        for _, text in _replaced(source, t, f"{flat_text(t)}[n].to(ak.{name}).to(ak.{t.dtype})")
    ]
    yield "lower precision of an input", lowered
    yield (
        "last element masked",
        [
            (f"of `{t.name}`", text)
            for t in inputs
            for _, text in _replaced(
                source, t, f"ak.where(n.index == {extent_text(t)} - 1, {_zero(t)}, {flat_text(t)}[n])"
            )
        ],
    )
    yield "swapped inputs", [*_swapped(source, inputs)]


def _replaced(source: Source, tensor: TaskTensor, value: str) -> Texts:
    """The solution reads a copy of an input, each element of which is `value`."""
    name = f"{tensor.name}_spoiled"
    shape = ", ".join(str(extent) for extent in tensor.shape)
    lines = [
        f"{name} = ak.scratch(({shape},), ak.{tensor.dtype})",
        f"for n in ak.grid({extent_text(tensor)}):",
        f"    {flat_text(tensor, name)}[n] = {value}",
    ]
    body = source.renamed({tensor.name: name})
    return [("a copy", source.text_with([*_statements(source, lines), *body]))]


def _constant_loads(source: Source, tensor: TaskTensor) -> Texts:
    """Every load of an integer input gives one value: for those whose promised range a copy would not keep."""
    if tensor.dtype.is_float or tensor.dtype.kind == "bool":
        return []
    promise = tensor.values.promise
    values = [0, -1] if promise is None else [v for v in (promise.ignore, promise.low) if isinstance(v, int)]
    return [(f"every element {v}", source.text_with(source.loads_replaced(tensor.name, v))) for v in values]


def _swapped(source: Source, inputs: Sequence[TaskTensor]) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(inputs):
        for other in inputs[number + 1 :]:
            if (one.dtype, one.shape) == (other.dtype, other.shape):
                body = source.renamed({one.name: other.name, other.name: one.name})
                yield f"`{one.name}` and `{other.name}`", source.text_with(body)
