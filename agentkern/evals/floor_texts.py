"""What agents without a model hand in: zeros, or the nearest kernel of the corpus with its parameters renamed.

Renaming is mechanical: parameter for parameter in their order, and the sizes that stand in the same places. Nothing
else of a kernel is changed.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from agentkern.compiler.abi import ScalarParam, TensorParam
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir import dims
from agentkern.evals.interface import signature_line
from agentkern.evals.task_model import Task, TaskTensor
from agentkern.evals.task_text import agentkern_signature
from agentkern.tools.corpus_index import find, index_of, without
from agentkern.tools.corpus_search import Filters, corpus_search
from agentkern.tools.verify_model import Signature, signature_of

_WORD = re.compile(r"[A-Za-z0-9]+")
_HEAD_START, _HEAD_END = "```python\n", "    ...\n```"


@dataclass(frozen=True, slots=True)
class Text:
    """A text with the kernel that is meant, and how it was come by."""

    source: str
    kernel: str | None
    how: str


def zeros_text(task: Task) -> Text:
    """Return a kernel with the task's parameters that writes zeros everywhere."""
    head = agentkern_signature(task).removeprefix(_HEAD_START).removesuffix(_HEAD_END)
    body = "".join(_zero_loop(tensor) for tensor in task.tensors if tensor.access != "in")
    return Text(head + body, task.name, "zeros in every output")


def _zero_loop(tensor: TaskTensor) -> str:
    zeros = f"ak.zeros(({{names}}), ak.{tensor.dtype})"
    names = ", ".join(f"i{axis}" for axis in range(len(tensor.shape)))
    if not names:
        return f"    for i in ak.grid(1):\n        {tensor.name}[()] = {zeros.format(names='')}\n"
    tuple_text = names if len(tensor.shape) > 1 else f"{names},"
    extents = ", ".join(map(str, tensor.shape))
    store = f"{tensor.name}[{names}] = {zeros.format(names=tuple_text)}"
    return f"    for {names} in ak.grid({extents}):\n        {store}\n"


def nearest_text(task: Task, *, is_open: bool = False) -> Text | None:
    """Return the kernel that the search over the corpus finds first, without the task's own solution and its like.

    is_open: with them. None where the search finds nothing. Errors: UsageError for a corpus that is none.
    """
    is_hidden = not is_open and task.solution is not None and task.solution.entry
    hidden = (task.solution.entry,) if is_hidden and task.solution is not None else ()
    found = next(
        (rows for words, asked in _queries(task, hidden) if (rows := corpus_search(words, asked, 1)).kernels), None
    )
    if found is None:
        return None
    nearest = find(found.kernels[0].name, without(index_of(), hidden))
    source, kernel = nearest.entry.source, nearest.kernel
    names = _renaming(task, source, kernel)
    how = f"{nearest.entry.family}/{kernel}" + "".join(f", {old} -> {new}" for old, new in names.items())
    return Text(renamed(source, names), kernel, how)


def _queries(task: Task, hidden: tuple[str, ...]) -> Iterator[tuple[str, Filters]]:
    """What is searched for until something is found.

    The task's words among kernels of a like signature, fewer words, the signature alone, single words at last.
    """
    named = _WORD.findall(f"{task.name} {task.family}".replace("_", " "))
    alike = Filters(signature=_signature(task), hidden=hidden)
    for words in (" ".join([*named, *_WORD.findall(task.text)]), " ".join(named), ""):
        yield words, alike
    for words in (" ".join(named), *named, *(word for feature in task.features for word in _WORD.findall(feature))):
        yield words, Filters(hidden=hidden)


def _signature(task: Task) -> str:
    """The task's parameters as the search reads a signature."""
    return f"{task.name}{signature_line(task.signature)}"


def _renaming(task: Task, source: str, kernel: str) -> dict[str, str]:
    """Return the kernel's names that are not the task's, with the task's; none where its parameters are others."""
    outline = lower_source(source, "kernel.py", kernel).outline
    if outline is None:
        return {}
    ours, theirs = signature_of(outline), task.signature
    pairs = [*_paired(ours.tensors, theirs.tensors), *_paired(ours.scalars, theirs.scalars)]
    if not pairs or _count(ours) != _count(theirs):
        return {}
    names = {mine.name: other.name for mine, other in pairs}
    for mine, other in pairs:
        if isinstance(mine, TensorParam) and isinstance(other, TensorParam):
            names |= _sizes(mine, other)
    kept = {p.name for p in (*ours.tensors, *ours.scalars)} | {info.name for info in outline.sizes}
    kept -= names.keys()
    return {old: new for old, new in names.items() if old != new and new not in kept}


def _count(signature: Signature) -> tuple[int, int]:
    return len(signature.tensors), len(signature.scalars)


Params = Sequence[TensorParam] | Sequence[ScalarParam]


def _paired(mine: Params, others: Params) -> list[tuple[TensorParam | ScalarParam, TensorParam | ScalarParam]]:
    """Pair parameters in order, those of one access with one another."""
    found: list[tuple[TensorParam | ScalarParam, TensorParam | ScalarParam]] = []
    for access in ("in", "inout", "out", ""):
        some, rest = ([p for p in listed if getattr(p, "access", "") == access] for listed in (mine, others))
        if len(some) != len(rest):
            return []
        found += zip(some, rest, strict=True)
    return found


def _sizes(mine: TensorParam, other: TensorParam) -> dict[str, str]:
    """The sizes that stand alone in the same place of two shapes."""
    found: dict[str, str] = {}
    for one, two in zip(mine.shape, other.shape, strict=False):
        if (str(one),) == dims.symbols(one) and (str(two),) == dims.symbols(two):
            found.setdefault(str(one), str(two))
    return found


def renamed(source: str, names: Mapping[str, str]) -> str:
    """Return a text with names exchanged, all at once; attributes, keywords of calls and other strings stay."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    lines = source.splitlines(keepends=True)
    for place in range(len(tokens) - 2, -1, -1):
        token = tokens[place]
        new = _new_name(tokens, place, names)
        if new is not None:
            row, start, end = token.start[0] - 1, token.start[1], token.end[1]
            lines[row] = lines[row][:start] + new + lines[row][end:]
    return "".join(lines)


def _new_name(tokens: Sequence[tokenize.TokenInfo], place: int, names: Mapping[str, str]) -> str | None:
    token, before, after = tokens[place], tokens[place - 1].string, tokens[place + 1].string
    if token.type == tokenize.NAME and before != "." and not (after == "=" and before in ("(", ",")):
        return names.get(token.string)
    if token.type == tokenize.STRING and before == "(" and tokens[place - 2].string in ("dim", "static"):
        new = names.get(token.string.strip("'\""))
        return None if new is None else f'"{new}"'
    return None
