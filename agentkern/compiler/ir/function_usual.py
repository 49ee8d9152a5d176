"""Short forms of element operations for usual operands: the same bits at fewer operations.

A definition pays for subnormal results, overflow, infinities and NaN in every element. A usual form leaves that out and
says for which operands it is right. Generated code computes it for several neighbours, and the definition where one of
them is not usual. A second, wide form takes what masks leave too: -inf, and zeros to divide. Both parts of a form are
lists of operations as `function_steps.py` has them; that the bits are equal wherever `holds` is true is scanned over
all 2^32 inputs (`evals/functions`), and argued for `divide_by` at its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from agentkern.compiler.ir.function_steps import Definition, define


@dataclass(frozen=True, slots=True)
class UsualForm:
    """`value` is the result wherever `holds` is true of the same operands.

    What holds for two magnitudes of the first operand holds for those between. `gives` bounds the result's magnitude
    where it holds, so that what comes next need not look at every element. `reach`: the magnitude of the first operand
    up to which `value` alone is the result, where that is more than `holds` allows; forms that call it rely on it.
    `wide`: a form that holds for more operands and takes a few operations more; it comes first behind a mask.
    `takes_zeros`: of a wide form, that it adds zeros. They are met without masks too, so it is tried before the
    definition; the text of the others would cost registers that nobody uses.
    """

    value: Definition
    holds: Definition
    gives: tuple[float, float] | None = None
    reach: float | None = None
    wide: "UsualForm | None" = None
    takes_zeros: bool = False

    @property
    def forms(self) -> tuple["UsualForm", ...]:
        """The form, and the wide one behind it."""
        return (self,) if self.wide is None else (self, self.wide)


def _form(
    name: str,
    parameters: str,
    holds: str,
    value: str,
    *,
    gives: tuple[float, float] | None = None,
    reach: float | None = None,
    wide: UsualForm | None = None,
) -> UsualForm:
    return UsualForm(*_definitions("usual", name, parameters, holds, value), gives, reach, wide)


def _wide_form(name: str, parameters: str, holds: str, value: str, *, takes_zeros: bool = False) -> UsualForm:
    return UsualForm(*_definitions("wide", name, parameters, holds, value), takes_zeros=takes_zeros)


def _definitions(kind: str, name: str, parameters: str, holds: str, value: str) -> tuple[Definition, Definition]:
    return (
        define(f"{kind}_{name}", parameters, f"{name} of {kind} operands", value),
        define(f"is_{kind}_{name}", parameters, f"whether {kind}_{name} is {name}", holds),
    )


def _wide_exponential(name: str, usual_to: float, gone_from: float) -> UsualForm:
    """A mask makes -inf of what is not to count: below `gone_from` a result is less than half of the least f32."""
    return _wide_form(
        name,
        "x",
        f"""
        size = abs x
        inside = le size {usual_to}
        gone = lt x {gone_from}
        holds = either inside gone
        """,
        f"""
        e = call usual_{name} x
        gone = lt x {gone_from}
        y = select gone 0.0 e
        """,
    )


# From -87 on e^x is normal, up to 87 it is finite: 2^n is then an addition to the exponent, and the value is right.
# `sigmoid`, `silu`, `tanh` and `softplus` call it that far. By itself the form holds up to 56 only, so that the
# quotient of a result by a sum of many is usual too.
_EXP = _form(
    "exp",
    "x",
    """
    size = abs x
    holds = le size 56.0
    """,
    """
    t = fma x INV_LN2 12582912.0
    n = sub t 12582912.0
    r0 = fnma n LN2_HIGH x
    r = fnma n LN2_LOW r0
    p = horner r EXP
    i = bits t
    i1 = u_shl i 23
    b = bits p
    b1 = u_add b i1
    y = float_of b1
    """,
    gives=(2.0**-81, 2.0**81),
    reach=87.0,
    wide=_wide_exponential("exp", 56.0, -104.0),
)

_EXP2 = _form(
    "exp2",
    "x",
    """
    size = abs x
    holds = le size 80.0
    """,
    """
    t = add x 12582912.0
    n = sub t 12582912.0
    r = sub x n
    p = horner r EXP2
    i = bits t
    i1 = u_shl i 23
    b = bits p
    b1 = u_add b i1
    y = float_of b1
    """,
    gives=(2.0**-81, 2.0**81),
    wide=_wide_exponential("exp2", 80.0, -151.0),
)

# Up to 60 e^-x is within the reach of `exp`'s form, and the divisor is below 2^87; a dividend that small that the
# quotient's error might not be normal has divisor 2.
_SIGMOID = _form(
    "sigmoid",
    "x",
    """
    size = abs x
    holds = le size 60.0
    """,
    """
    n = neg x
    e = call usual_exp n
    d = add e 1.0
    y = usual_div 1.0 d
    """,
)

_SILU = _form(
    "silu",
    "x",
    """
    size = abs x
    holds = le size 60.0
    """,
    """
    n = neg x
    e = call usual_exp n
    d = add e 1.0
    y = usual_div x d
    """,
)

# e^2|x| is then within the reach of `exp`'s form: 80 is below 87.
_TANH = _form(
    "tanh",
    "x",
    """
    size = abs x
    holds = le size 40.0
    """,
    """
    a = abs x
    t = mul a a
    at = mul a t
    p = horner t TANH
    near = fma p at a
    a2 = add a a
    e = call usual_exp a2
    d = add e 1.0
    q = usual_div 2.0 d
    far = sub 1.0 q
    small = lt a 1.0
    y = select small near far
    s = copysign 1.0 x
    result = mul y s
    """,
)

_ERF = _form(
    "erf",
    "x",
    """
    size = abs x
    holds = le size 4.0
    """,
    """
    a = abs x
    t = mul a a
    p = horner t ERF
    near = fma a p a
    c1 = sub a 1.0
    z = horner c1 ERFC
    e = call usual_exp2 z
    far = sub 1.0 e
    small = lt a 1.0
    y = select small near far
    s = copysign 1.0 x
    result = mul y s
    """,
)

# As far as `exp`'s form reaches.
_SOFTPLUS = _form(
    "softplus",
    "x",
    """
    size = abs x
    holds = le size 87.0
    """,
    """
    a = abs x
    n = neg a
    e = call usual_exp n
    l = call log1p e
    m = max x 0.0
    y = add m l
    """,
)

_GELU = _form(
    "gelu",
    "x",
    """
    size = abs x
    holds = le size 5.5
    """,
    """
    h = mul x 0.5
    z = mul x SQRT_HALF
    e = call usual_erf z
    e1 = add e 1.0
    y = mul h e1
    """,
)

_GELU_TANH = _form(
    "gelu_tanh",
    "x",
    """
    size = abs x
    holds = le size 8.0
    """,
    """
    h = mul x 0.5
    xx = mul x x
    xxx = mul xx x
    i = fma xxx GELU_CUBIC x
    z = mul i SQRT_2_OVER_PI
    e = call usual_tanh z
    e1 = add e 1.0
    y = mul h e1
    """,
)

# y is the correctly rounded reciprocal of b (NaN for an extreme b). With |a| and |a / b| at least 2^-99 and |a / b| at
# most 2^126, all products and their errors are normal (Markstein, IA-64 and Elementary Functions, 2000).
_INSIDE = """
    size = abs a
    divisor = abs b
    is_large = gt divisor 1.0
    above = select is_large divisor 1.0
    below = select is_large 1.0 divisor
    least = mul above 0x1p-99
    most = mul below 0x1p126
    not_less = ge size least
    not_more = le size most
    inside = both not_less not_more
    is_number = eq y y
"""

# The product of a zero and the reciprocal is the quotient, with its sign.
_WIDE_DIVIDE_BY = _wide_form(
    "divide_by",
    "a b y",
    f"""
    {_INSIDE}zero = eq size 0.0
    known = either inside zero
    holds = both known is_number
    """,
    """
    q = call usual_divide_by a b y
    q0 = mul a y
    size = abs a
    zero = eq size 0.0
    result = select zero q0 q
    """,
    takes_zeros=True,
)

_DIVIDE_BY = _form(
    "divide_by",
    "a b y",
    f"{_INSIDE}holds = both inside is_number",
    """
    q0 = mul a y
    r = fms b q0 a
    q = fnma r y q0
    """,
    wide=_WIDE_DIVIDE_BY,
)

USUAL: Mapping[str, UsualForm] = {
    "exp": _EXP,
    "exp2": _EXP2,
    "sigmoid": _SIGMOID,
    "silu": _SILU,
    "tanh": _TANH,
    "erf": _ERF,
    "softplus": _SOFTPLUS,
    "gelu": _GELU,
    "gelu_tanh": _GELU_TANH,
    "divide_by": _DIVIDE_BY,
}
"""Forms by element operation, each after those that it calls."""
