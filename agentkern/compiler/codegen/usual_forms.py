"""Functions over several registers that compute an element operation's usual form, or its definition where one is not.

The forms are `ir/function_usual.py`'s; wide ones are tried for a few registers where the first does not hold for all.
All registers are neighbours in one thread, so a branch costs a vector one vote.
"""

import re
from collections.abc import Sequence
from math import gcd

from agentkern.compiler.codegen.expressions import operation
from agentkern.compiler.codegen.prelude import PreludeFunction
from agentkern.compiler.codegen.prelude.functions import function_name
from agentkern.compiler.codegen.printing import Printer
from agentkern.compiler.ir.core import Op
from agentkern.compiler.ir.function_usual import USUAL
from agentkern.compiler.ir.gpu_types import RegisterArray
from agentkern.dsl.dtypes import DTYPES


def definition_function(name: str) -> str:
    """The prelude function of an operation's definition."""
    return operation(name, DTYPES["f32"]).partition("(")[0]


def form_functions(name: str) -> tuple[tuple[str, str], ...]:
    """Prelude functions of the forms of an operation, the usual one first: the value, and whether it holds."""
    return tuple((function_name(form.value.name), function_name(form.holds.name)) for form in USUAL[name].forms)


_CHAINS = 4  # conditions that do not wait for each other
_FEW = 8
"""Registers that take their wide form together: more would double the text of a kernel for what few of them meet.
In loops of as many the definitions stay out of registers too: cross_entropy of 32000 columns, 118 to 80 of them."""


def usual_vector(
    name: str,
    count: int,
    arrays: tuple[bool, ...],
    within: tuple[float, float] | None = None,
    *,
    masked: bool = False,
) -> PreludeFunction:
    """`count` results. `arrays` tells for each operand whether it is an array or one scalar for all.

    `within`: bounds of the first operand's magnitude, given where the last parameter is true. `masked`: the wide form
    in place of the usual one.
    """
    (usual, is_usual), *wide = form_functions(name)[masked:]
    few = gcd(count, _FEW) if wide else 1
    wide = wide if within is None and USUAL[name].forms[-1].takes_zeros else []
    definition = definition_function(name)
    names = USUAL[name].value.parameters
    kinds = "".join("v" if is_array else "s" for is_array in arrays)
    suffix = ("" if all(arrays) else f"_{kinds}") + (
        "_masked" if masked else "" if within is None else f"_{_tag(within)}"
    )
    parameters = [f"const float* {n}" if is_array else f"float {n}" for n, is_array in zip(names, arrays, strict=True)]
    parameters += [] if within is None else ["bool given"]
    operands = [f"{n}[i]" if is_array else n for n, is_array in zip(names, arrays, strict=True)]
    each = f"for (int i = 0; i < {count}; ++i)"
    condition = (
        _each_is_usual(is_usual, operands, count) if within is None else _ends_are_usual(is_usual, names, within)
    )
    varying = [n for n, is_array in zip(names, arrays, strict=True) if is_array]
    kept = " ".join(f"own_{n}[i] = {n}[i];" for n in varying)
    local = [f"own_{n}" for n in varying] or ["own_result"]
    at = "i" if few == 1 else "i + k"
    own = ", ".join(f"own_{n}[{at}]" if is_array else n for n, is_array in zip(names, arrays, strict=True))
    body = [
        *condition,
        "if (is_usual) {",
        "  #pragma unroll",
        f"  {each} to[i] = {usual}({', '.join(operands)});",
        "} else {  // seldom: a loop as short as can be, over copies that it may index",
        *(f"  float {name}[{count}];" for name in local),
        "  #pragma unroll",
        f"  {each} {{ {kept} }}",
        *(f"  {line}" for line in _few_by_few(count, few, wide, definition, own, f"{local[0]}[{at}]")),
        "  #pragma unroll",
        f"  {each} to[i] = {local[0]}[i];",
        "}",
        "return is_usual;",
    ]
    return PreludeFunction(
        f"bool ak_{name}_f32x{count}{suffix}(float* to, {', '.join(parameters)})",
        "math",
        "\n".join(body),
        f"`{name}` of {count} registers: its usual form, or its definition where one of them is not usual",
        "compiler/ir/function_usual.py",
        (usual, is_usual, *(function for pair in wide for function in pair), definition),
    )


def _each_is_usual(is_usual: str, operands: list[str], count: int) -> list[str]:
    chains = min(count, _CHAINS)
    together = " & ".join(f"usual[{k}]" for k in range(chains))
    return [
        f"bool usual[{chains}] = {{{', '.join(['true'] * chains)}}};",
        "#pragma unroll",
        f"for (int i = 0; i < {count}; ++i) usual[i % {chains}] = usual[i % {chains}] & "
        f"{is_usual}({', '.join(operands)});",
        f"const bool is_usual = {together};",
    ]


def _few_by_few(
    count: int, few: int, wide: Sequence[tuple[str, str]], definition: str, operands: str, result: str
) -> list[str]:
    """The registers a few at a time: their wide form where it holds for these, else their definition."""
    if few == 1:
        return ["#pragma unroll 1", f"for (int i = 0; i < {count}; ++i) {result} = {definition}({operands});"]
    lines = ["#pragma unroll 1", f"for (int i = 0; i < {count}; i += {few}) {{"]
    for value, holds in wide:
        lines += [
            "  bool is_wide = true;",
            "  #pragma unroll",
            f"  for (int k = 0; k < {few}; ++k) is_wide = is_wide & {holds}({operands});",
            "  if (is_wide) {",
            "    #pragma unroll",
            f"    for (int k = 0; k < {few}; ++k) {result} = {value}({operands});",
            "    continue;",
            "  }",
        ]
    return [
        *lines,
        "  #pragma unroll 1",
        f"  for (int k = 0; k < {few}; ++k) {result} = {definition}({operands});",
        "}",
    ]


def _ends_are_usual(is_usual: str, names: tuple[str, ...], within: tuple[float, float]) -> list[str]:
    """What holds for both ends of an interval holds inside."""
    rest = "".join(f", {name}" for name in names[1:])
    low, high = (f"{is_usual}({bound!r}f{rest})" for bound in within)
    return [f"const bool is_usual = given & {low} & {high};"]


def _tag(within: tuple[float, float]) -> str:
    """A name for bounds."""
    return "in_" + "_".join(re.sub(r"\W", "", bound.hex()) for bound in within)


def print_usual(f: Printer, op: Op) -> None:
    """One call. Arrays come with their first register, scalars alone, a flag last."""
    name, count, within = op.attrs["name"], op.attrs["count"], op.attrs.get("within")
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
    kinds, bounds = arrays[1:], None
    if isinstance(within, tuple):
        kinds, bounds = kinds[:-1], (float(str(within[0])), float(str(within[1])))
    made = usual_vector(name, count, tuple(kinds), bounds, masked=bool(op.attrs.get("masked")))
    for required in made.requires:
        f.use(required)
    function = f.helper(made)
    flag = f.names[op.result] = f.fresh(op.result.name or "is_usual")
    f.line(f"const bool {flag} = {function}({', '.join(spelled)});", op)
