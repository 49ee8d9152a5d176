"""Exponentials and what is made of them as lists of operations: exp, exp2, expm1, tanh, erf.

x = n ln 2 + r with |r| <= ln 2 / 2, n through the addition of 1.5 * 2^23, whose low bits then hold n; the result is
scaled by 2^n in two halves, so that subnormals are rounded once. This file must not compute anything.
"""

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

EXPONENTIALS: tuple[Definition, ...] = (_EXP, _EXP2, _EXPM1, _TANH, _ERF)
