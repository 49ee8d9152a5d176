"""Sine and cosine as lists of operations.

x = n pi / 2 + r + d with |r| <= pi / 4, a little more: below 2^16 by three parts of pi / 2, from there by a window of
96 bits of 2 / pi in integers. This file must not compute anything.
"""

from agentkern.compiler.ir.function_steps import Definition, define

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
    m = mul high HALF_PI_1
    m1 = fms high HALF_PI_1 m
    m2 = fma high HALF_PI_2 m1
    m3 = fma low HALF_PI_1 m2
    r = add m m3
    r1 = sub r m
    d = sub m3 r1
"""

_QUARTER = """
    t = mul r r
    p = horner t SIN
    rt = mul r t
    h = mul t 0.5
    w = sub 1.0 h
    dw = mul d w
    s0 = fma p rt dw
    s = add r s0
    q = horner t COS
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
    sign = u_and given 0x80000000
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
    quarter = bits t0
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
    """,
)

_COS = define(
    "cos",
    "x",
    "cos(x)",
    f"""
    {_REDUCE.strip()}
    quarter0 = bits t0
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

ANGLES: tuple[Definition, ...] = (_SIN_LARGE, _SIN, _COS_LARGE, _COS)
