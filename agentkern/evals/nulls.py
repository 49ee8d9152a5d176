"""Null kernels of a task: texts that compute nothing of it, made from its signature alone. None is ever an answer.

Each is a kernel in the language, to be judged as a submission is. Knows no task by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from agentkern.evals.task_model import Task, TaskTensor
from agentkern.evals.task_text import parameter_lines, size_lines

NAME = "null_kernel"
HEAD = "import agentkern as ak\n"


@dataclass(frozen=True, slots=True)
class Wrong:
    """A kernel that should not pass: its kind, what of the task or solution it is about, its text, its name in it."""

    kind: str
    what: str
    source: str
    kernel: str


def null_kernels(task: Task) -> Mapping[str, tuple[Wrong, ...]]:
    """Return by kind the null kernels in the order in which they are to be tried."""
    found = {
        "zeros": _every(task, "zeros", lambda t: "0"),
        "ones": _every(task, "ones", lambda t: "1"),
        "constant": _every(task, "constant", lambda t: "0.5" if t.dtype.is_float else _some_integer(t)),
        "stale output": _text(task, "stale output", "nothing is written", _unwritten, partial=True),
    }
    if any(t.dtype.is_float for t in _written(task)):
        found["NaN"] = _every(task, "NaN", lambda t: "ak.nan" if t.dtype.is_float else "0")
    inputs = [t for t in task.tensors if t.access != "out"]
    return {kind: (null,) for kind, null in found.items()} | {
        f"copy of `{source.name}`": (_copy(task, source), _copy_of_rows(task, source)) for source in inputs
    }


def extent_text(tensor: TaskTensor) -> str:
    """Return the number of elements as an expression."""
    return " * ".join(f"({extent})" for extent in tensor.shape) or "1"


def flat_text(tensor: TaskTensor, name: str | None = None) -> str:
    """Return a tensor or its stand-in as a vector."""
    return f"{name or tensor.name}.reshape({extent_text(tensor)})"


def _some_integer(tensor: TaskTensor) -> str:
    return "True" if tensor.dtype.kind == "bool" else "7"


def _literal(tensor: TaskTensor, text: str) -> str:
    return {"0": "False", "1": "True"}.get(text, text) if tensor.dtype.kind == "bool" else text


def _written(task: Task) -> Iterator[TaskTensor]:
    return (t for t in task.tensors if t.access != "in")


def _every(task: Task, kind: str, value: Callable[[TaskTensor], str]) -> Wrong:
    """A kernel that fills all outputs."""
    return _text(task, kind, "all outputs", lambda t: f"{flat_text(t)}[n] = {_literal(t, value(t))}")


def _unwritten(tensor: TaskTensor) -> str:
    return f"ak.store({flat_text(tensor)}[n], {_literal(tensor, '0')}, where=n.index < 0)"


def _copy(task: Task, source: TaskTensor) -> Wrong:
    """Each output is the input's elements in order, as many as there are, then zeros."""
    count, fill = extent_text(source), "False" if source.dtype.kind == "bool" else "0"
    read = f"ak.load({flat_text(source)}[n.index], where=n.index < {count}, fill={fill})"
    own = f"{flat_text(source)}[n]"

    def statement(tensor: TaskTensor) -> str:
        value = own if tensor.name == source.name else read
        cast = "" if tensor.dtype == source.dtype else f".to(ak.{tensor.dtype})"
        return f"{flat_text(tensor)}[n] = {value}{cast}"

    return _text(task, f"copy of `{source.name}`", "all outputs", statement)


def _copy_of_rows(task: Task, source: TaskTensor) -> Wrong:
    """Each output's rows are the input's, as far as both have them: what can be shown of any extents."""
    fill = "False" if source.dtype.kind == "bool" else "0"
    rows, columns = _matrix(source)
    read = f"ak.load({source.name}.reshape({rows}, {columns})[i, j], where=(i < {rows}) & (j < {columns}), fill={fill})"

    def statement(tensor: TaskTensor) -> str:
        cast = "" if tensor.dtype == source.dtype else f".to(ak.{tensor.dtype})"
        own = ", ".join(_matrix(tensor))
        return f"i, j = a.index[:, None], b.index[None, :]; {tensor.name}.reshape({own})[a, b] = {read}{cast}"

    written = [t for t in _written(task) if t.name != source.name]
    loops = [(f"for a, b in ak.grid({', '.join(_matrix(t))}):", statement(t)) for t in written]
    return _kernel(task, f"copy of `{source.name}`", "rows of all outputs", loops)


def _matrix(tensor: TaskTensor) -> tuple[str, str]:
    """Return a tensor's first extent and the product of the others."""
    extents = [str(extent) for extent in tensor.shape] or ["1"]
    return extents[0], " * ".join(f"({extent})" for extent in extents[1:]) or "1"


def _text(task: Task, kind: str, what: str, statement: Callable[[TaskTensor], str], *, partial: bool = False) -> Wrong:
    loops = [(f"for n in ak.grid({extent_text(t)}):", statement(t)) for t in _written(task)]
    return _kernel(task, kind, what, loops, partial=partial)


def _kernel(task: Task, kind: str, what: str, loops: Iterable[tuple[str, str]], *, partial: bool = False) -> Wrong:
    lines = [HEAD, *size_lines(task), "", "", "@ak.kernel", f"def {NAME}("]
    lines += [*parameter_lines(task, partial=partial), "):"]
    for loop, statement in loops:
        lines += [f"    {loop}", *(f"        {part}" for part in statement.split("; "))]
    return Wrong(kind, what, "\n".join(lines) + "\n", NAME)
