"""The f32 functions of the `portable` mode, each as its list of operations (`function_steps.py`).

Exponentials: x = n ln 2 + r with |r| <= ln 2 / 2, n through the addition of 1.5 * 2^23, whose low bits then hold n; the
result is scaled by 2^n in two halves, so that subnormals are rounded once. Logarithms: x = 2^n m with m in
[sqrt 1/2, sqrt 2), n log 2 and m - 1 added exactly in two parts. The four written in terms of the others are their
formula. Error bounds are those of the scans in `evals/functions/results`. This file must not compute anything.
"""

from agentkern.compiler.ir.function_coefficients import POLYNOMIALS
from agentkern.compiler.ir.function_steps import Definition, define

_SCALE = """
    i = bits t
    h = u_shr i 1
    h1 = u_shl h 23
    b1 = u_add h1 0x3f800000
    s1 = float_of b1
    k = u_sub i h
    k1 = u_shl k 23
    b2 = u_add k1 0x3f800000
    s2 = float_of b2
    p1 = mul p s1
    y = mul p1 s2
"""

_EXP = define(
    "exp",
    "x",
    "e^x",
    f"""
    c0 = max x -104.0
    c = min c0 89.0
    t = fma c INV_LN2 12582912.0
    n = sub t 12582912.0
    r0 = fnma n LN2_HIGH c
    r = fnma n LN2_LOW r0
    p = horner r EXP
    {_SCALE.strip()}
    """,
    bound_ulp=1.0,
)

_EXP2 = define(
    "exp2",
    "x",
    "2^x",
    f"""
    c0 = max x -151.0
    c = min c0 129.0
    t = add c 12582912.0
    n = sub t 12582912.0
    r = sub c n
    p = horner r EXP2
    {_SCALE.strip()}
    """,
    bound_ulp=1.0,
)

_EXPM1 = define(
    "expm1",
    "x",
    "e^x - 1",
    """
    c0 = max x -26.0
    c = min c0 89.0
    t = fma c INV_LN2 12582912.0
    n = sub t 12582912.0
    r0 = fnma n LN2_HIGH c
    r = fnma n LN2_LOW r0
    e0 = sub r0 r
    e = fnma n LN2_LOW e0
    rr = mul r r
    q = horner r EXPM1
    w = fma q rr e
    i = bits t
    i1 = u_shl i 23
    b = u_add i1 0x3f000000
    s = float_of b
    a = sub s 0.5
    a1 = sub s a
    a2 = sub a1 0.5
    sr = mul s r
    z = add a sr
    z1 = sub z a
    z2 = sub sr z1
    v = fma s w z2
    v1 = add v a2
    y0 = add z v1
    y = mul y0 2.0
    size = abs x
    tiny = lt size 0x1p-25
    result = select tiny x y
    """,
    bound_ulp=1.0,
)

_LOG_SPECIAL = define(
    "log_special",
    "x",
    "a logarithm of zero, a negative value, infinity or NaN",
    """
    zero = eq x 0.0
    positive = gt x 0.0
    other = select positive inf nan
    y = select zero -inf other
    """,
)

_LIFT = """
    subnormal = lt x 0x1p-126
    lifted = mul x 0x1p23
    positive = select subnormal lifted x
    u = bits positive
    offset = select subnormal 12582935.0 12582912.0
"""

_SPLIT = """
    d = u_sub u 0x3f3504f3
    e = u_sar d 23
    e1 = u_shl e 23
    m0 = u_sub u e1
    m = float_of m0
    f = sub m 1.0
    e2 = u_add e 0x4b400000
    e3 = float_of e2
    n = sub e3 offset
"""

_ADD_LOG = """
    a = mul n LN2_SHORT
    s = add a f
    s1 = sub s a
    s2 = sub f s1
    v0 = fma n LN2_REST w
    v = add v0 s2
    y = add s v
"""

_LOG = define(
    "log",
    "x",
    "log_e(x)",
    f"""
    {_LIFT.strip()}
    {_SPLIT.strip()}
    ff = mul f f
    q = horner f LOG
    w = mul q ff
    {_ADD_LOG.strip()}
    given = bits x
    below = u_sub given 1
    special = u_ge below 0x7f7fffff
    result = choose special y log_special x
    """,
    bound_ulp=1.0,
)

_LOG2 = define(
    "log2",
    "x",
    "log_2(x)",
    f"""
    {_LIFT.strip()}
    {_SPLIT.strip()}
    ff = mul f f
    q = horner f LOG2
    g = mul f LOG2E_HIGH
    g0 = fms f LOG2E_HIGH g
    g1 = fma f LOG2E_LOW g0
    w = fma q ff g1
    s = add n g
    s1 = sub s n
    s2 = sub g s1
    v = add w s2
    y = add s v
    given = bits x
    below = u_sub given 1
    special = u_ge below 0x7f7fffff
    result = choose special y log_special x
    """,
    bound_ulp=1.0,
)

_LOG1P = define(
    "log1p",
    "x",
    "log_e(1 + x)",
    f"""
    one = add x 1.0
    x0 = sub one 1.0
    x1 = sub x x0
    one0 = sub one x0
    one1 = sub 1.0 one0
    lost = add one1 x1
    u = bits one
    {_SPLIT.strip().replace("f = sub", "f0 = sub").replace("offset", "12582912.0")}
    b = u_sub 0x3f800000 e1
    b1 = float_of b
    scale = max b1 0.0
    c = mul lost scale
    f = add f0 c
    f1 = sub f f0
    c0 = sub c f1
    c1 = fnma f c0 c0
    ff = mul f f
    q = horner f LOG
    w = fma q ff c1
    {_ADD_LOG.strip()}
    below = u_sub u 1
    special = u_ge below 0x7f7fffff
    y1 = choose special y log_special one
    size = abs x
    tiny = lt size 0x1p-25
    result = select tiny x y1
    """,
    bound_ulp=1.0,
)

_TANH = define(
    "tanh",
    "x",
    "tanh(x): a polynomial below 1, 1 - 2 / (e^2|x| + 1) from there",
    """
    a = abs x
    t = mul a a
    at = mul a t
    p = horner t TANH
    near = fma p at a
    a2 = add a a
    e = call exp a2
    d = add e 1.0
    q = div 2.0 d
    far = sub 1.0 q
    small = lt a 1.0
    y = select small near far
    s = copysign 1.0 x
    result = mul y s
    """,
    bound_ulp=1.0,
)

_ERF = define(
    "erf",
    "x",
    "erf(x): a polynomial below 1, 1 - 2^p(|x| - 1) from there",
    """
    a = abs x
    t = mul a a
    p = horner t ERF
    near = fma a p a
    c = min a 4.0
    c1 = sub c 1.0
    z = horner c1 ERFC
    e = call exp2 z
    far = sub 1.0 e
    small = lt a 1.0
    y = select small near far
    s = copysign 1.0 x
    result = mul y s
    """,
    bound_ulp=1.0,
)

_REDUCE = """
    t0 = fma x TWO_OVER_PI 12582912.0
    n = sub t0 12582912.0
    r0 = fnma n HALF_PI_1 x
    p2 = mul n HALF_PI_2
    lost2 = fms n HALF_PI_2 p2
    r = sub r0 p2
    z = sub r r0
    z1 = sub r z
    z2 = sub r0 z1
    z3 = add p2 z
    z4 = sub z2 z3
    z5 = sub z4 lost2
    d = fnma n HALF_PI_3 z5
    quarter = bits t0
"""

_REDUCE_LARGE = """
    given = bits x
    fraction = u_and given 0x7fffff
    whole = u_or fraction 0x800000
    raised = u_shr given 23
    exponent = u_and raised 0xff
    place = u_sub exponent 120
    word = u_shr place 5
    word1 = u_add word 1
    word2 = u_add word 2
    word3 = u_add word 3
    shift = u_and place 31
    a0 = pick TWO_OVER_PI_BITS word
    a1 = pick TWO_OVER_PI_BITS word1
    a2 = pick TWO_OVER_PI_BITS word2
    a3 = pick TWO_OVER_PI_BITS word3
    b0 = w_join a0 a1
    b1 = w_join a1 a2
    b2 = w_join a2 a3
    c0 = w_shl b0 shift
    c1 = w_shl b1 shift
    c2 = w_shl b2 shift
    d0 = w_high c0
    d1 = w_high c1
    d2 = w_high c2
    e0 = w_mul whole d0
    e1 = w_mul whole d1
    e2 = w_mul whole d2
    e3 = w_shl e0 32
    e4 = w_shr e2 32
    e5 = w_add e3 e1
    turns = w_add e5 e4
    half = w_join 0x20000000 0
    nearest = w_add turns half
    top = w_high nearest
    count = u_shr top 30
    count1 = u_shl count 30
    count2 = w_join count1 0
    rest = w_sub turns count2
    high0 = w_round rest
    high1 = w_whole high0
    low1 = w_sub rest high1
    low0 = w_round low1
    high = mul high0 0x1p-62
    low = mul low0 0x1p-62
    r = mul high HALF_PI_1
    r1 = fms high HALF_PI_1 r
    r2 = fma high HALF_PI_2 r1
    d = fma low HALF_PI_1 r2
    sign = u_and given 0x80000000
"""

_QUARTER = """
    t = mul r r
    p = horner t SIN
    rt = mul r t
    s0 = fma p rt d
    s = add r s0
    q = horner t COS
    h = mul t 0.5
    w = sub 1.0 h
    w1 = sub 1.0 w
    w2 = sub w1 h
    w3 = fnma r d w2
    tt = mul t t
    w4 = fma q tt w3
    c = add w w4
    odd1 = u_and quarter 1
    odd = u_ge odd1 1
    v = select odd c s
    negative = u_and quarter 2
    side = u_shl negative 30
"""

_SIN_LARGE = define(
    "sin_large",
    "x",
    "sin(x) of |x| >= 2^16",
    f"""
    {_REDUCE_LARGE.strip()}
    quarter = u_add count 0
    {_QUARTER.strip()}
    side1 = u_add side sign
    one = u_or side1 0x3f800000
    factor = float_of one
    y = mul v factor
    size = abs x
    finite = lt size inf
    result = select finite y nan
    """,
)

_SIN = define(
    "sin",
    "x",
    "sin(x)",
    f"""
    {_REDUCE.strip()}
    {_QUARTER.strip()}
    one = u_or side 0x3f800000
    factor = float_of one
    y = mul v factor
    size = abs x
    large = ge size 65536.0
    y1 = choose large y sin_large x
    tiny = lt size 0x1p-12
    result = select tiny x y1
    """,
    bound_ulp=1.0,
)

_COS_LARGE = define(
    "cos_large",
    "x",
    "cos(x) of |x| >= 2^16",
    f"""
    {_REDUCE_LARGE.strip()}
    quarter = u_add count 1
    {_QUARTER.strip()}
    one = u_or side 0x3f800000
    factor = float_of one
    y = mul v factor
    size = abs x
    finite = lt size inf
    result = select finite y nan
    """.replace("    sign = u_and given 0x80000000\n", ""),
)

_COS = define(
    "cos",
    "x",
    "cos(x)",
    f"""
    {_REDUCE.strip().replace("quarter = bits t0", "quarter0 = bits t0")}
    quarter = u_add quarter0 1
    {_QUARTER.strip()}
    one = u_or side 0x3f800000
    factor = float_of one
    y = mul v factor
    size = abs x
    large = ge size 65536.0
    result = choose large y cos_large x
    """,
    bound_ulp=1.0,
)

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

DEFINITIONS: dict[str, Definition] = {
    row.name: row
    for row in (
        _EXP,
        _EXP2,
        _EXPM1,
        _LOG_SPECIAL,
        _LOG,
        _LOG2,
        _LOG1P,
        _TANH,
        _ERF,
        _SIN_LARGE,
        _SIN,
        _COS_LARGE,
        _COS,
        _SIGMOID,
        _SILU,
        _SOFTPLUS,
        _GELU,
        _GELU_TANH,
    )
}
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
