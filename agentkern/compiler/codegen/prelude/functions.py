"""The f32 functions of the `portable` mode as prelude rows, printed from their definitions.

The definition of each is its list of operations in `compiler/ir/function_table.py`; this file gives every operation its
CUDA C++ spelling and must not change their order. Coefficients: `evals/functions/fit.py`.
"""

import math

from agentkern.compiler.codegen.prelude.table import PreludeFunction
from agentkern.compiler.ir.function_coefficients import POLYNOMIALS, WORDS
from agentkern.compiler.ir.function_steps import RESULTS, Definition, Step
from agentkern.compiler.ir.function_table import DEFINITIONS, operation_count
from agentkern.compiler.ir.function_usual import USUAL

_TEMPLATES: dict[str, str] = {
    "add": "__fadd_rn({0}, {1})", "sub": "__fsub_rn({0}, {1})", "mul": "__fmul_rn({0}, {1})",
    "div": "__fdiv_rn({0}, {1})", "usual_div": "ak_usual_div_f32({0}, {1})", "fma": "__fmaf_rn({0}, {1}, {2})",
    "fms": "__fmaf_rn({0}, {1}, -{2})", "fnma": "__fmaf_rn(-{0}, {1}, {2})", "max": "ak_max_nan_f32({0}, {1})",
    "min": "ak_min_nan_f32({0}, {1})", "abs": "fabsf({0})", "neg": "-{0}", "copysign": "ak_copysign_f32({0}, {1})",
    "select": "{0} ? {1} : {2}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}", "ge": "{0} >= {1}",
    "eq": "{0} == {1}", "u_ge": "{0} >= {1}", "both": "{0} & {1}", "either": "{0} | {1}",
    "bits": "__float_as_uint({0})", "float_of": "__uint_as_float({0})",
    "u_add": "{0} + {1}", "u_sub": "{0} - {1}", "u_shl": "{0} << {1}",
    "u_shr": "{0} >> {1}", "u_sar": "(unsigned int)((int){0} >> {1})", "u_and": "{0} & {1}", "u_or": "{0} | {1}",
    "w_join": "(unsigned long long){0} << 32 | {1}", "w_mul": "(unsigned long long){0} * {1}", "w_add": "{0} + {1}",
    "w_sub": "{0} - {1}", "w_shl": "{0} << {1}", "w_shr": "{0} >> {1}", "w_high": "(unsigned int)({0} >> 32)",
    "w_round": "ak_cvt_f32_i64((long long){0})", "w_whole": "(unsigned long long)ak_cvt_i64_f32({0})",
}  # fmt: skip
_C_TYPES = {"f32": "float", "u32": "unsigned int", "u64": "unsigned long long", "bool": "bool"}
_REQUIRES = {
    "usual_div": "ak_usual_div_f32", "max": "ak_max_nan_f32", "min": "ak_min_nan_f32", "copysign": "ak_copysign_f32",
    "w_round": "ak_cvt_f32_i64", "w_whole": "ak_cvt_i64_f32",
}  # fmt: skip


def function_name(name: str) -> str:
    """The prelude function of a definition."""
    return f"ak_{name}_f32"


def _literal(value: float) -> str:
    if math.isfinite(value):
        return f"{value!r}f"
    bits = 0x7FFFFFFF if math.isnan(value) else 0x7F800000 if value > 0 else 0xFF800000
    return f"__uint_as_float({bits:#x}u)"


def _operand(operand: str | float | int) -> str:
    if isinstance(operand, str):
        return operand
    if isinstance(operand, int):
        return f"{operand:#x}u" if operand > 31 else f"{operand}u"
    return _literal(operand)


def _statements(step: Step) -> list[str]:
    operands = [_operand(operand) for operand in step.operands]
    target = f"{_C_TYPES[RESULTS[step.op]]} {step.name}"
    if step.op == "horner":
        low = POLYNOMIALS[operands[1]]
        lines = [f"{target} = {_literal(low[-1])};"]
        chain = [f"{step.name} = __fmaf_rn({step.name}, {operands[0]}, {_literal(c)});" for c in reversed(low[:-1])]
        return lines + chain
    if step.op == "pick":
        return [f"{target} = {operands[0]}[{operands[1]}];"]
    if step.op == "call":
        return [f"{target} = {function_name(operands[0])}({', '.join(operands[1:])});"]
    if step.op == "choose":
        call = f"{function_name(operands[2])}({', '.join(operands[3:])})"
        return [f"{target} = {operands[0]} ? {call} : {operands[1]};"]
    return [f"{target} = {_TEMPLATES[step.op].format(*operands)};"]


def _table(name: str) -> str:
    words = ", ".join(f"{word:#010x}u" for word in WORDS[name])
    return f"const unsigned int {name}[{len(WORDS[name])}] = {{{words}}};"


def _row(definition: Definition, note: str) -> PreludeFunction:
    tables = dict.fromkeys(str(step.operands[0]) for step in definition.steps if step.op == "pick")
    lines = [_table(name) for name in tables]
    lines += [line for step in definition.steps for line in _statements(step)]
    last = definition.steps[-1]
    used = {step.op for step in definition.steps}
    requires = [name for op, name in _REQUIRES.items() if op in used]
    parameters = ", ".join(f"float {name}" for name in definition.parameters)
    return PreludeFunction(
        f"{_C_TYPES[RESULTS[last.op]]} {function_name(definition.name)}({parameters})",
        "math",
        "\n".join([*lines, f"return {last.name};"]),
        note,
        "compiler/ir/function_table.py",
        (*requires, *map(function_name, definition.calls)),
    )


def _counted(definition: Definition) -> PreludeFunction:
    return _row(definition, f"{definition.formula}; {operation_count(definition.name)} operations")


FUNCTIONS: tuple[PreludeFunction, ...] = tuple(_counted(definition) for definition in DEFINITIONS.values())
USUAL_FORMS: tuple[PreludeFunction, ...] = tuple(
    _row(definition, definition.formula)
    for usual in USUAL.values()
    for form in usual.forms
    for definition in (form.holds, form.value)
)
