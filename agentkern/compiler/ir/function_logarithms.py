"""Logarithms as lists of operations: log, log2, log1p.

x = 2^n m with m in [sqrt 1/2, sqrt 2); n log 2 and m - 1 are added exactly in two parts, the rest to the small one.
This file must not compute anything.
"""

from agentkern.compiler.ir.function_steps import Definition, define

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

LOGARITHMS: tuple[Definition, ...] = (_LOG_SPECIAL, _LOG, _LOG2, _LOG1P)
