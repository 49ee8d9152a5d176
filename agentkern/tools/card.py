"""The language card's table of operations, from the stubs of `agentkern/dsl/operations.py`.

The rest of the card is written by hand: `pages/language/card.md`.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Callable
from pathlib import Path

from agentkern.dsl import operations

CARD = Path(__file__).resolve().parent / "pages" / "language" / "card.md"
START, END = "<!-- operations -->\n", "<!-- end of operations -->"
MOST_TOKENS = 1500
# At most eight letters, three digits or two signs at a time: more than the vocabularies of language models count.
_TOKEN = re.compile(r"[A-Za-z]{1,8}|\d{1,3}|[^\sA-Za-z\d]{1,2}|\n+")


def n_tokens(text: str) -> int:
    """An upper estimate of a text's tokens."""
    return len(_TOKEN.findall(text))


def operation_table() -> str:
    """One line a kind: reductions, functions of one value by name, the rest with arguments (without `axis=`)."""
    found = {
        name: function
        for name, function in inspect.getmembers(operations, inspect.isfunction)
        if function.__module__ == operations.__name__
    }
    order = sorted(found, key=lambda name: found[name].__code__.co_firstlineno)
    arguments = {name: _arguments(found[name]) for name in order}
    reductions = [name for name in order if arguments[name] == ["x", "axis=", "keepdims="]]
    unary = [name for name in order if arguments[name] == ["x"]]
    alone = [name for name in order if name not in (*reductions, *unary)]
    alike = [list(names) for _, names in itertools.groupby(alone, key=arguments.__getitem__)]
    rest = [f"{' '.join(names)}({', '.join(arguments[names[0]])})" for names in alike]
    return (
        f"- of one value: {' '.join(unary)}\n"
        f"- reductions `(x, axis=, keepdims=)`: {' '.join(reductions)}\n"
        f"- {'; '.join(rest)}\n"
    )


def _arguments(function: Callable[..., object]) -> list[str]:
    found: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        found.append(parameter.name if parameter.default is parameter.empty else f"{parameter.name}=")
    return found


def with_table(card: str) -> str:
    """The card with its table made anew."""
    head, _, rest = card.partition(START)
    _, _, tail = rest.partition(END)
    return f"{head}{START}{operation_table()}{END}{tail}"
