"""Prelude functions of generated kernels: one table, and its text in dependency order.

The table holds the functions on values. Those of the instruction tables are found by name, since there are over a
thousand and a kernel uses a dozen.
"""

from collections.abc import Iterable

from agentkern.compiler.codegen.prelude.accessors import ACCESSORS
from agentkern.compiler.codegen.prelude.asynchronous import TENSOR_MAP, WGMMA_DESCRIPTOR, instruction_function
from agentkern.compiler.codegen.prelude.double_math import DOUBLE_MATH
from agentkern.compiler.codegen.prelude.float_math import FLOAT_MATH
from agentkern.compiler.codegen.prelude.formats import FORMATS
from agentkern.compiler.codegen.prelude.functions import FUNCTIONS, USUAL_FORMS
from agentkern.compiler.codegen.prelude.instructions import INSTRUCTIONS
from agentkern.compiler.codegen.prelude.integer_math import INTEGER_MATH
from agentkern.compiler.codegen.prelude.sorting import SORTING
from agentkern.compiler.codegen.prelude.table import Kind, PreludeFunction, PreludeType
from agentkern.compiler.codegen.prelude.word_tables import WORD_TABLE

__all__ = [
    "PRELUDE",
    "Kind",
    "PreludeFunction",
    "PreludeType",
    "find_function",
    "prelude_functions",
    "prelude_names",
    "prelude_text",
]

_ROWS = (
    *ACCESSORS,
    *INSTRUCTIONS,
    *FORMATS,
    *INTEGER_MATH,
    *FLOAT_MATH,
    *DOUBLE_MATH,
    *FUNCTIONS,
    *USUAL_FORMS,
    *SORTING,
)

PRELUDE: dict[str, PreludeFunction] = {row.name: row for row in _ROWS}
"""Every prelude function on values by name; each stands after those that it requires."""

assert len(PRELUDE) == len(_ROWS), "two prelude functions have one name"

_POSITIONS = {name: position for position, name in enumerate(PRELUDE)}
_FOR_INSTRUCTIONS: dict[str, PreludeFunction | PreludeType] = {
    row.name: row for row in (TENSOR_MAP, WGMMA_DESCRIPTOR, WORD_TABLE)
}


def find_function(name: str) -> PreludeFunction | PreludeType | None:
    """The prelude function, or type, of a name: a value function's, an instruction's; None if there is none."""
    return PRELUDE.get(name) or _FOR_INSTRUCTIONS.get(name) or instruction_function(name)


def prelude_functions(names: Iterable[str]) -> tuple[PreludeFunction | PreludeType, ...]:
    """Return the named functions and all that they require, dependencies first, whatever the order asked.

    Errors: KeyError for a name that is not in the tables.
    """
    needed: dict[str, PreludeFunction | PreludeType] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            function = find_function(name)
            if function is None:
                raise KeyError(name)
            needed[name] = function
            waiting.extend(function.requires)
    return tuple(sorted(needed.values(), key=_place))


def _place(function: PreludeFunction | PreludeType) -> tuple[int, int, str]:
    """Types, then the table in its order, then instructions by name: these require types only."""
    if isinstance(function, PreludeType):
        return (0, 0, function.name)
    return (1, _POSITIONS.get(function.name, len(_POSITIONS)), function.name)


def prelude_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return `names` and all that they require, dependencies first."""
    return tuple(function.name for function in prelude_functions(names))


def prelude_text(names: Iterable[str]) -> str:
    """Return the CUDA C++ text of the named functions and all that they require."""
    return "\n".join(function.text for function in prelude_functions(names))
