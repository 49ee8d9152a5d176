"""The f32 functions of the `portable` mode: every definition, and those written in terms of others.

Each is its list of operations (`function_steps.py`); error bounds are those of the scans in `evals/functions/results`.
"""

from agentkern.compiler.ir.function_angles import ANGLES
from agentkern.compiler.ir.function_coefficients import POLYNOMIALS
from agentkern.compiler.ir.function_exponentials import EXPONENTIALS
from agentkern.compiler.ir.function_logarithms import LOGARITHMS
from agentkern.compiler.ir.function_steps import Definition, define

_SIGMOID = define(
    "sigmoid",
    "x",
    "1 / (1 + exp(-x))",
    """
    n = neg x
    e = call exp n
    d = add e 1.0
    y = div 1.0 d
    """,
)

_SILU = define(
    "silu",
    "x",
    "x / (1 + exp(-x))",
    """
    n = neg x
    e = call exp n
    d = add e 1.0
    y = div x d
    """,
)

_SOFTPLUS = define(
    "softplus",
    "x",
    "maximum(x, 0) + log1p(exp(-|x|))",
    """
    a = abs x
    n = neg a
    e = call exp n
    l = call log1p e
    m = max x 0.0
    y = add m l
    """,
)

_GELU = define(
    "gelu",
    "x",
    "(x * 0.5) * (1 + erf(x * sqrt(1/2)))",
    """
    h = mul x 0.5
    z = mul x SQRT_HALF
    e = call erf z
    e1 = add e 1.0
    y = mul h e1
    """,
)

_GELU_TANH = define(
    "gelu_tanh",
    "x",
    "(x * 0.5) * (1 + tanh(sqrt(2/pi) * fma(x * x * x, 0.044715, x)))",
    """
    h = mul x 0.5
    xx = mul x x
    xxx = mul xx x
    i = fma xxx GELU_CUBIC x
    z = mul i SQRT_2_OVER_PI
    e = call tanh z
    e1 = add e 1.0
    y = mul h e1
    """,
)

_FORMULAS = (_SIGMOID, _SILU, _SOFTPLUS, _GELU, _GELU_TANH)

DEFINITIONS: dict[str, Definition] = {row.name: row for row in (*EXPONENTIALS, *LOGARITHMS, *ANGLES, *_FORMULAS)}
"""Every definition by name; each stands after those that it calls."""


def operation_count(name: str) -> int:
    """Operations of a function for a usual input: those of definitions that it calls, not of those that it may choose.

    `bits` and `float_of` are free.
    """
    count = 0
    for step in DEFINITIONS[name].steps:
        if step.op == "horner":
            count += len(POLYNOMIALS[str(step.operands[1])]) - 1
        elif step.op == "call":
            count += operation_count(str(step.operands[0]))
        elif step.op not in ("bits", "float_of"):
            count += 1
    return count


FUNCTIONS: tuple[str, ...] = tuple(name for name in DEFINITIONS if "_special" not in name and "_large" not in name)
"""Definitions that are operations of the language."""
