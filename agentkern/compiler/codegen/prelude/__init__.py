"""Prelude functions of generated kernels: one table, and its text in dependency order."""

from collections.abc import Iterable

from agentkern.compiler.codegen.prelude.accessors import ACCESSORS
from agentkern.compiler.codegen.prelude.float_math import FLOAT_MATH
from agentkern.compiler.codegen.prelude.formats import FORMATS
from agentkern.compiler.codegen.prelude.instructions import INSTRUCTIONS
from agentkern.compiler.codegen.prelude.integer_math import INTEGER_MATH
from agentkern.compiler.codegen.prelude.table import Kind, PreludeFunction

__all__ = ["PRELUDE", "Kind", "PreludeFunction", "prelude_names", "prelude_text"]

_ROWS = (*ACCESSORS, *INSTRUCTIONS, *FORMATS, *INTEGER_MATH, *FLOAT_MATH)

PRELUDE: dict[str, PreludeFunction] = {row.name: row for row in _ROWS}
"""Every prelude function by name; each stands after those that it requires."""

assert len(PRELUDE) == len(_ROWS), "two prelude functions have one name"


def prelude_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return `names` and all that they require, in table order (dependencies first)."""
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting.extend(PRELUDE[name].requires)
    return tuple(name for name in PRELUDE if name in needed)


def prelude_text(names: Iterable[str]) -> str:
    """Return the CUDA C++ text of the named functions and all that they require."""
    return "\n".join(PRELUDE[name].text for name in prelude_names(names))
