"""A task as the text of a prompt. What it says of a language is the signature alone, which each language spells."""

from __future__ import annotations

from collections.abc import Iterable

from agentkern.compiler.ir.core import SizeInfo
from agentkern.evals.task_model import Task, TaskScalar, TaskTensor
from agentkern.tools.verify_model import Sizes

_ACCESS = {"in": "In", "out": "Out", "inout": "InOut"}


def task_text(task: Task, signature: str) -> str:
    """Return what a writer is told: the task, the signature as its language has it, sizes, values and the criterion."""
    lines = [f"# {task.name}", "", task.text, "", "## Signature", "", signature, "", "## Sizes", ""]
    lines += [f"- `{size.name}`: {_size_text(size)}" for size in task.sizes] or ["- none"]
    values = [line for tensor in task.tensors for line in _values_texts(tensor)]
    if values:
        lines += ["", "## Given", "", *(f"- {line}" for line in values)]
    if task.scalars:
        lines += ["", "## Scalars", "", *(f"- {_scalar_text(scalar)}" for scalar in task.scalars)]
    lines += [
        "",
        "## Right",
        "",
        _criterion_text(task),
        "",
        f"Shapes, among others: {_shapes_text(task.shapes.shown)}.",
    ]
    return "\n".join(lines) + "\n"


def agentkern_signature(task: Task) -> str:
    """Return the sizes and the function's head as agentkern writes them, in a code block."""
    lines = ["```python", "import agentkern as ak", "", *size_lines(task)]
    return "\n".join(
        [*lines, "", "", "@ak.kernel", f"def {task.name}(", *parameter_lines(task), "):", "    ...", "```"]
    )


def size_lines(task: Task) -> list[str]:
    """Return the sizes as agentkern declares them."""
    return [f"{size.name} = {_size_call(size)}" for size in task.sizes]


def parameter_lines(task: Task, *, partial: bool = False) -> list[str]:
    """Return the parameters as agentkern writes them; `partial`: no output need be written."""
    settings = {bool: "static_bool", int: "static_int", float: "static_float"}
    params = [f"    {tensor.name}: {_annotation(tensor, partial=partial)}," for tensor in task.tensors]
    params += [f"    {scalar.name}: ak.{scalar.dtype}," for scalar in task.scalars]
    return params + [f"    {name}: ak.{settings[type(value)]}," for name, value in task.settings.items()]


def _size_call(size: SizeInfo) -> str:
    rules = [f"multiple_of={size.multiple_of}"] if size.multiple_of != 1 else []
    rules += [f"min={size.minimum}"] if size.minimum else []
    rules += [f"max={size.maximum}"] if size.maximum is not None else []
    kind = "static" if size.static else "dim"
    return f"ak.{kind}({', '.join([_quoted(size.name), *rules])})"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _annotation(tensor: TaskTensor, *, partial: bool) -> str:
    extents = "".join(f", {extent}" for extent in tensor.shape)
    is_partial = tensor.is_partial or (partial and tensor.access == "out")
    calls = ".partial()" if is_partial else _promise_calls(tensor)
    return f"ak.{_ACCESS[tensor.access]}[ak.{tensor.dtype}{extents}]{calls}"


def _promise_calls(tensor: TaskTensor) -> str:
    promise = tensor.values.promise
    if promise is None:
        return ""
    calls = ""
    if promise.low is not None:
        ignored = "" if promise.ignore is None else f", ignore={promise.ignore}"
        calls += f".values({promise.low}, {promise.high}{ignored})"
    if promise.end is not None:
        calls += f".offsets({promise.end})"
    if promise.distinct:
        calls += ".distinct()" if promise.ignore_same is None else f".distinct(ignore={promise.ignore_same})"
    return calls


def _size_text(size: SizeInfo) -> str:
    when = "fixed when the kernel is built; other numbers are built too" if size.static else "any number at a call"
    rules = [f"at least {size.minimum}" if size.minimum else "0 included"]
    rules += [f"at most {size.maximum}"] if size.maximum is not None else []
    rules += [f"a multiple of {size.multiple_of}"] if size.multiple_of != 1 else []
    return f"{when}, {', '.join(rules)}"


def _values_texts(tensor: TaskTensor) -> list[str]:
    values, name = tensor.values, tensor.name
    found = [] if values.promise is None else values.promise.texts(name)
    found += [f"`{name}` is positive"] if values.positive else []
    found += [f"values of `{name}` are from -1 to 1"] if values.unit else []
    found += [f"`{name}` is finite"] if values.finite else []
    found += [f"`{name}` has equal values, and no -0"] if values.coarse else []
    found += [f"`{name}` does not descend along its last axis"] if values.is_sorted else []
    if tensor.is_partial:
        found.append(f"elements of `{name}` that the text does not name keep what they held")
    return found


def _scalar_text(scalar: TaskScalar) -> str:
    return f"`{scalar.name}` ({scalar.dtype}): any number, {scalar.value} for instance"


def _criterion_text(task: Task) -> str:
    criteria = {name: c for name, c in task.criterion.outputs.items() if name not in task.criterion.free}
    exact = [f"`{name}`" for name, c in criteria.items() if c.kind == "bit_exact"]
    lines: list[str] = []
    if exact:
        lines.append(f"{', '.join(exact)}: the exact bits of the definition, rounded where the text rounds.")
    for name, c in criteria.items():
        if c.kind != "bit_exact":
            lines.append(f"`{name}`: {_bound_text(c.max_ulp, c.min_equal_share, c.max_error_ratio)}.")
    lines += [f"`{name}`: any answer that the text allows." for name in task.criterion.free]
    return "\n".join(lines)


def _bound_text(max_ulp: float | None, share: float | None, ratio: float | None) -> str:
    parts = (
        [] if max_ulp is None else [f"at most {max_ulp:g} units in the last place from the exact value rounded once"]
    )
    parts += [] if share is None else [f"at least {share:.4%} of the elements equal to it".replace("0000%", "0%")]
    parts += (
        []
        if ratio is None
        else [f"error in root mean square at most {ratio:g} times that of rounding the exact value once"]
    )
    return ", ".join(parts)


def _shapes_text(shapes: Iterable[Sizes]) -> str:
    return "; ".join(", ".join(f"{name} = {n}" for name, n in sizes.items()) for sizes in shapes)
