"""Mistakes that writers of kernels make, as a table: a row makes one of them in a right kernel, place by place. Pure.

A mutation is an edit of the kernel's text. Whether the compiler refuses the result is for the caller to see: some
mutations give another kernel that is in order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agentkern.tools.kernel_text import KernelText, Place, kernel_text

PER_OPERATOR = 2
"""Places of a kernel at which one mistake is made."""
# How other libraries call dtypes, and how the language does.
_ELSEWHERE = {
    "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "e4m3": "float8_e4m3fn",
    "i32": "int32", "i64": "int64", "u32": "uint32", "u8": "uint8", "i8": "int8",
}  # fmt: skip
_AS_METHOD = {"f32": "float", "f16": "half", "bf16": "bfloat16", "i32": "int", "i64": "long"}
_REDUCING = ("sum", "max", "min", "mean", "argmax", "argmin", "cumsum", "any", "all")
_PROMISES = ("values", "distinct", "offsets")


@dataclass(frozen=True, slots=True)
class Operator:
    """One kind of mistake: its name, what it is in words, and the texts that have it, one for each place."""

    name: str
    what: str
    mutate: Callable[[KernelText], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A kernel's text with one mistake; `number` counts the places of its operator."""

    operator: Operator
    number: int
    source: str


def mutants(source: str, kernel: str) -> Iterator[Mutant]:
    """Make every mistake of the table at up to `PER_OPERATOR` places of a kernel; no text comes twice."""
    text = kernel_text(source, kernel)
    seen = {source}
    for operator in OPERATORS:
        number = 0
        for mutated in operator.mutate(text):
            if mutated not in seen and number < PER_OPERATOR:
                seen.add(mutated)
                yield Mutant(operator, number, mutated)
                number += 1


def _casts(text: KernelText) -> Iterator[tuple[Place, ast.expr]]:
    """Where each `.to(dtype)` stands, and the dtype; the value before it keeps its parentheses."""
    for call in text.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and call.args:
            dot = text.source.index(".", text.place(call.func.value)[1])
            yield (dot, text.place(call)[1]), call.args[0]


def _dropped_cast(text: KernelText) -> Iterator[str]:
    return (text.put(place, "") for place, _ in _casts(text))


def _method_cast(text: KernelText) -> Iterator[str]:
    for place, dtype in _casts(text):
        if isinstance(dtype, ast.Attribute) and dtype.attr in _AS_METHOD:
            yield text.put(place, f".{_AS_METHOD[dtype.attr]}()")


def _wrong_axis(text: KernelText) -> Iterator[str]:
    for keyword in text.keywords("axis"):
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, int):
            yield text.replaced(keyword.value, str(keyword.value.value + 1))
            yield text.replaced(keyword.value, str(keyword.value.value - 1))


def _dropped(name: str) -> Callable[[KernelText], Iterator[str]]:
    return lambda text: (text.without_argument(keyword) for keyword in text.keywords(name))


def _renamed_argument(text: KernelText) -> Iterator[str]:
    for name, other in (("axis", "dim"), ("keepdims", "keepdim"), ("where", "mask"), ("fill", "other")):
        for keyword in text.keywords(name):
            yield text.replaced(keyword, f"{other}={text.of(keyword.value)}")


def _plain_loop(text: KernelText) -> Iterator[str]:
    return (text.replaced(call.func, "range") for _, call in text.grids() if len(call.args) == 1)


def _no_grid(text: KernelText) -> Iterator[str]:
    for loop, _ in text.grids():
        body = "\n".join(line[4:] for line in _lines(text, loop.body).splitlines())
        yield text.put((text.place(loop)[0] - loop.col_offset, text.place(loop)[1]), body)


def _lines(text: KernelText, body: list[ast.stmt]) -> str:
    return text.source[text.place(body[0])[0] - body[0].col_offset : text.place(body[-1])[1]]


def _tile_condition(text: KernelText) -> Iterator[str]:
    for store in text.stores():
        inner = text.of(store).replace("\n", "\n    ")
        yield text.replaced(store, f"if {text.of(store.value)} > 0:\n{text.indent(store)}    {inner}")


def _past_the_end(text: KernelText) -> Iterator[str]:
    for access in text.accesses():
        first = _entries(access)[0]
        if isinstance(first, ast.Name):
            yield text.replaced(first, f"{first.id} + 1")


def _entries(access: ast.Subscript) -> list[ast.expr]:
    return access.slice.elts if isinstance(access.slice, ast.Tuple) else [access.slice]


def _missing_entry(text: KernelText) -> Iterator[str]:
    for access in text.accesses():
        entries = _entries(access)
        if len(entries) > 1:
            yield text.put((text.place(entries[-2])[1], text.place(entries[-1])[1]), "")


def _extra_entry(text: KernelText) -> Iterator[str]:
    for access in text.accesses():
        end = text.place(_entries(access)[-1])[1]
        yield text.put((end, end), ", :")


def _swapped_entries(text: KernelText) -> Iterator[str]:
    for access in text.accesses():
        entries = _entries(access)
        if len(entries) > 1 and text.of(entries[0]) != text.of(entries[1]):
            (start, first_end), (second_start, end) = text.place(entries[0]), text.place(entries[1])
            between = text.source[first_end:second_start]
            yield text.put((start, end), f"{text.of(entries[1])}{between}{text.of(entries[0])}")


def _missing_new_axis(text: KernelText) -> Iterator[str]:
    for node in text.expressions():
        if isinstance(node, ast.Subscript) and any(
            isinstance(e, ast.Constant) and e.value is None for e in _entries(node)
        ):
            bracket = text.source.index("[", text.place(node.value)[1])
            yield text.put((bracket, text.place(node)[1]), "")


def _misspelt(text: KernelText) -> Iterator[str]:
    for _, called in text.operations():
        if called.attr != "grid" and len(called.attr) > 2:
            yield text.replaced(called, f"ak.{called.attr[:-1]}")


def _of_other_library(text: KernelText) -> Iterator[str]:
    for library in ("torch", "np"):
        for _, called in text.operations():
            if called.attr != "grid":
                yield text.replaced(called, f"{library}.{called.attr}")


def _as_method(text: KernelText) -> Iterator[str]:
    for call, called in text.operations():
        if called.attr in _REDUCING and call.args:
            rest = text.source[text.place(call.args[0])[1] : text.place(call)[1]].removeprefix(",").lstrip()
            yield text.replaced(call, f"({text.of(call.args[0])}).{called.attr}({rest}")


def _other_dtype(text: KernelText) -> Iterator[str]:
    for node in [*(n for a in text.annotations() for n in ast.walk(a)), *text.expressions()]:
        if isinstance(node, ast.Attribute) and text.is_language(node.value) and node.attr in _ELSEWHERE:
            yield text.replaced(node, f"ak.{_ELSEWHERE[node.attr]}")


def _dropped_promise(text: KernelText) -> Iterator[str]:
    for annotation in text.annotations():
        for node in ast.walk(annotation):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PROMISES:
                yield text.replaced(node, text.of(node.func.value))


def _output_as_input(text: KernelText) -> Iterator[str]:
    for node in (n for annotation in text.annotations() for n in ast.walk(annotation)):
        if isinstance(node, ast.Attribute) and text.is_language(node.value) and node.attr in ("Out", "InOut"):
            yield text.replaced(node, "ak.In")


def _missing_store(text: KernelText) -> Iterator[str]:
    return (text.replaced(store, "pass") for store in text.stores())


def _store_as_update(text: KernelText) -> Iterator[str]:
    for store in text.stores():
        yield text.replaced(store, f"{text.of(store.targets[0])} += {text.of(store.value)}")


def _unknown_name(text: KernelText) -> Iterator[str]:
    bound = {n.id for n in text.expressions() if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in text.expressions():
        if isinstance(node, ast.Name) and node.id in bound and isinstance(node.ctx, ast.Load) and len(node.id) > 1:
            yield text.replaced(node, f"{node.id}_f32")


def _no_decorator(text: KernelText) -> Iterator[str]:
    start, end = text.place(text.function.decorator_list[0])
    yield text.put((start - 1, end + 1), "")


def _no_colon(text: KernelText) -> Iterator[str]:
    for _, call in text.grids():
        end = text.place(call)[1]
        yield text.put((end, end + 1), "")


def _printed(text: KernelText) -> Iterator[str]:
    for store in text.stores():
        start = text.place(store)[0]
        yield text.put((start, start), f"print({text.of(store.value)})\n{text.indent(store)}")


OPERATORS: tuple[Operator, ...] = (
    Operator("dropped_cast", "a `.to(dtype)` is left out", _dropped_cast),
    Operator("method_cast", "a cast as PyTorch writes it, `.float()`", _method_cast),
    Operator("wrong_axis", "an axis beside the right one", _wrong_axis),
    Operator("missing_keepdims", "`keepdims=True` is left out", _dropped("keepdims")),
    Operator("missing_axis", "`axis=` is left out", _dropped("axis")),
    Operator("renamed_argument", "an argument as other libraries call it", _renamed_argument),
    Operator("plain_loop", "`range` over a size of the run in place of a grid", _plain_loop),
    Operator("no_grid", "statements without the grid around them", _no_grid),
    Operator("tile_condition", "a Python `if` on values of the run", _tile_condition),
    Operator("past_the_end", "an index one too large, without `where`", _past_the_end),
    Operator("dropped_where", "the condition of an access is left out", _dropped("where")),
    Operator("dropped_fill", "what a load gives outside is left out", _dropped("fill")),
    Operator("dropped_promise", "a promise about indices is left out", _dropped_promise),
    Operator("missing_entry", "one subscript too few", _missing_entry),
    Operator("extra_entry", "one subscript too many", _extra_entry),
    Operator("swapped_entries", "two subscripts in the wrong order", _swapped_entries),
    Operator("missing_new_axis", "`[:, None]` is left out", _missing_new_axis),
    Operator("misspelt", "an operation that does not exist", _misspelt),
    Operator("other_library", "an operation of torch or NumPy", _of_other_library),
    Operator("as_method", "a reduction as a method of the tile", _as_method),
    Operator("other_dtype", "a dtype as other libraries call it", _other_dtype),
    Operator("output_as_input", "an output declared `ak.In`", _output_as_input),
    Operator("missing_store", "an output that is not written", _missing_store),
    Operator("store_as_update", "`+=` to an output that holds nothing yet", _store_as_update),
    Operator("unknown_name", "a name that is not bound", _unknown_name),
    Operator("no_decorator", "`@ak.kernel` is left out", _no_decorator),
    Operator("no_colon", "a colon is left out", _no_colon),
    Operator("printed", "a `print` in the kernel", _printed),
)
