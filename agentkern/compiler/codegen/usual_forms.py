"""Functions over several registers that compute an element operation's usual form, or its definition where one is not.

The forms are `ir/function_usual.py`'s. All registers are neighbours in one thread, so a branch costs a vector one vote.
"""

from agentkern.compiler.codegen.expressions import operation
from agentkern.compiler.codegen.prelude import PreludeFunction
from agentkern.compiler.codegen.prelude.functions import function_name
from agentkern.compiler.codegen.printing import Printer
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.function_usual import USUAL
from agentkern.compiler.ir.gpu_types import RegisterArray
from agentkern.dsl.dtypes import DTYPES


def usual_functions(name: str) -> tuple[str, ...]:
    """Prelude functions that the vector form of an operation calls: the usual form, its condition, the definition."""
    definition = operation(name, DTYPES["f32"]).partition("(")[0]
    return (function_name(f"usual_{name}"), function_name(f"is_usual_{name}"), definition)


def usual_vector(name: str, count: int, arrays: tuple[bool, ...]) -> PreludeFunction:
    """`count` results; `arrays` tells for each operand whether it is an array or one scalar for all."""
    usual, is_usual, definition = usual_functions(name)
    names = USUAL[name].value.parameters
    kinds = "".join("v" if is_array else "s" for is_array in arrays)
    suffix = "" if all(arrays) else f"_{kinds}"
    parameters = ", ".join(
        f"const float* {n}" if is_array else f"float {n}" for n, is_array in zip(names, arrays, strict=True)
    )
    operands = ", ".join(f"{n}[i]" if is_array else n for n, is_array in zip(names, arrays, strict=True))
    loop = f"#pragma unroll\nfor (int i = 0; i < {count}; ++i)"
    return PreludeFunction(
        f"void ak_{name}_f32x{count}{suffix}(float* to, {parameters})",
        "math",
        f"bool is_usual = true;\n"
        f"{loop} is_usual = is_usual & {is_usual}({operands});\n"
        f"{loop} to[i] = {usual}({operands});\n"
        f"if (is_usual) return;\n"
        f"{loop} to[i] = {definition}({operands});",
        f"`{name}` of {count} neighbours: its usual form, or its definition where one of them is not usual",
        "compiler/ir/function_usual.py",
        (usual, is_usual, definition),
    )


def print_usual(f: Printer, op: Op) -> None:
    """One call. Arrays come with their first register, scalars alone."""
    name, count = op.attrs["name"], op.attrs["count"]
    assert isinstance(name, str) and isinstance(count, int)
    spelled: list[str] = []
    arrays: list[bool] = []
    rest = list(op.operands)
    while rest:
        value = rest.pop(0)
        is_array = isinstance(value.type, RegisterArray)
        at = f.summand(rest.pop(0)) if is_array else "0"
        spelled.append(f.bare(value) if at == "0" else f"{f.bare(value)} + {at}")
        arrays.append(is_array)
    for function in usual_functions(name):
        f.use(function)
    f.line(f"{f.helper(usual_vector(name, count, tuple(arrays[1:])))}({', '.join(spelled)});", op)
