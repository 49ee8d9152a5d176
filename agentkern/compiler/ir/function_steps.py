"""How an f32 function of the `portable` mode is defined: a list of rounded operations, one a line.

The list is the definition. `codegen/prelude/functions.py` prints it as CUDA C++; `reference_functions.py` evaluates it
in NumPy; nothing else says what the bits are. A line is `name = operation operand ...`; an operand is a name bound
before, a number (with a point or exponent: f32; else: an unsigned integer) or an upper-case name of
`function_coefficients.py`. `horner x TABLE` is a chain of `fma`, highest coefficient first. `call f a ...` applies
another definition; `choose c a f b ...` is `f b ...` where c holds, else a, and f is not computed where it is not
chosen. This file must not evaluate or print.
"""

from dataclasses import dataclass
from typing import Literal

from agentkern.compiler.ir.function_coefficients import CONSTANTS, POLYNOMIALS, WORDS

ValueType = Literal["f32", "u32", "u64", "bool"]

RESULTS: dict[str, ValueType] = {
    **dict.fromkeys(
        ("add", "sub", "mul", "div", "usual_div", "fma", "fms", "fnma", "max", "min", "abs", "neg", "copysign"), "f32"
    ),
    **dict.fromkeys(("horner", "select", "call", "choose", "float_of", "w_round"), "f32"),
    **dict.fromkeys(("lt", "le", "gt", "ge", "eq", "u_ge", "both", "either"), "bool"),
    **dict.fromkeys(("bits", "u_add", "u_sub", "u_and", "u_or", "u_shl", "u_shr", "u_sar", "w_high", "pick"), "u32"),
    **dict.fromkeys(("w_join", "w_mul", "w_add", "w_sub", "w_shl", "w_shr", "w_whole"), "u64"),
}
"""Result type of each operation. `fms a b c` is a * b - c, `fnma a b c` c - a * b; `usual_div` is `div` of operands far
from overflow and underflow; `u_sar` shifts as if signed; shifts count below the width. `pick TABLE i` is a word of a
table. `w_` operations make or take 64 bits: `w_join` two words, the high one first, `w_mul` the product of two words,
`w_shl` and `w_shr` a shift by a word, `w_high` the high word, `w_round` the f32 nearest to a signed value, `w_whole` a
signed value from an f32 without its fraction.
"""

CALLS = {"call": 0, "choose": 2}
"""Operations whose operand at this position names another definition."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line: a name bound to an operation's result."""

    name: str
    op: str
    operands: tuple[str | float | int, ...]

    def __post_init__(self) -> None:
        if self.op not in RESULTS:
            raise ValueError(f"no operation `{self.op}`")


@dataclass(frozen=True, slots=True)
class Definition:
    """One function of f32 values: its steps, the last of which gives the result.

    formula: what it computes, in one line. bound_ulp: its error is smaller, in units of the last place of the exact
    result, for every input (scanned: `evals/functions`); None where the formula itself is the definition.
    """

    name: str
    parameters: tuple[str, ...]
    steps: tuple[Step, ...]
    formula: str
    bound_ulp: float | None

    @property
    def calls(self) -> tuple[str, ...]:
        """Definitions that the steps name, in order, each once."""
        found = [str(step.operands[CALLS[step.op]]) for step in self.steps if step.op in CALLS]
        return tuple(dict.fromkeys(found))


def _operand(token: str) -> str | float | int:
    if token in CONSTANTS:
        return CONSTANTS[token]
    if token in ("inf", "-inf", "nan"):
        return float(token)
    if token.isidentifier():
        return token
    if "p" in token:
        return float.fromhex(token)
    return int(token, 0) if token.startswith("0x") or token.isdigit() else float(token)


def define(name: str, parameters: str, formula: str, text: str, bound_ulp: float | None = None) -> Definition:
    """Read a definition: `text` has one step a line. Errors: ValueError for a line that is none."""
    bound = set(parameters.split())
    steps: list[Step] = []
    for line in text.strip().splitlines():
        target, equals, rest = line.partition("=")
        op, *tokens = rest.split()
        if equals == "" or not target.strip().isidentifier():
            raise ValueError(f"`{line}` is not a step")
        step = Step(target.strip(), op, tuple(_operand(token) for token in tokens))
        called = CALLS.get(op)
        for position, operand in enumerate(step.operands):
            known = operand in bound or operand in POLYNOMIALS or operand in WORDS or position == called
            if isinstance(operand, str) and not known:
                raise ValueError(f"`{operand}` of `{line.strip()}` is not bound")
        bound.add(step.name)
        steps.append(step)
    return Definition(name, tuple(parameters.split()), tuple(steps), formula, bound_ulp)
