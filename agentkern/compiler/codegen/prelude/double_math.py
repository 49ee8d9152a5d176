"""The exact elementwise f64 functions, as text for CPU and GPU.

Every text uses the `__d*_rn` intrinsics, bit casts and integer operations only. What f64 arithmetic makes of a NaN
differs between machines, so a pass puts `ak_canonical_nan_f64` wherever its bits could be seen.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction

_IEEE = "IEEE 754-2019"
_NAN = "__longlong_as_double(0x7fffffffffffffffll)"


def _math(declaration: str, body: str, note: str, *requires: str) -> PreludeFunction:
    return PreludeFunction(declaration, "math", body, note, _IEEE, requires)


def _extreme(relation: str, of_equals: str) -> str:
    """Body of the larger or smaller; equal operands differ only where both are zeros."""
    return f"""
if (a != a || b != b) return {_NAN};
if (a == b) return __longlong_as_double(__double_as_longlong(a) {of_equals} __double_as_longlong(b));
return a {relation} b ? a : b;
"""


_ROUND = """
double size = ak_abs_f64(x);
if (!(size < 4503599627370496.0)) return ak_canonical_nan_f64(x);  // 2^52 and above, infinity, NaN
double whole = __dsub_rn(__dadd_rn(size, 4503599627370496.0), 4503599627370496.0);
return ak_copysign_f64(whole, x);
"""


def _directed(bump: str) -> str:
    """Body of a directed rounding: the nearest integer, moved by one where it lies on the wrong side."""
    return f"""
double whole = ak_round_f64(x);
{bump}
return whole == whole ? ak_copysign_f64(whole, x) : whole;
"""


_FLOOR = _directed("if (whole > x) whole = __dsub_rn(whole, 1.0);")
_CEIL = _directed("if (whole < x) whole = __dadd_rn(whole, 1.0);")
_TRUNC = """
double size = ak_abs_f64(x);
double whole = ak_round_f64(size);
if (whole > size) whole = __dsub_rn(whole, 1.0);
return whole == whole ? ak_copysign_f64(whole, x) : whole;
"""
_COPYSIGN = """
long long bits = __double_as_longlong(magnitude) & 0x7fffffffffffffffll;
return __longlong_as_double(bits | (__double_as_longlong(sign) & ~0x7fffffffffffffffll));
"""

DOUBLE_MATH: tuple[PreludeFunction, ...] = (
    _math(
        "double ak_canonical_nan_f64(double x)",
        f"return x == x ? x : {_NAN};",
        "every NaN becomes 0x7fffffffffffffff",
    ),
    _math("double ak_max_nan_f64(double a, double b)", _extreme(">", "&"), "the larger; NaN propagates, -0 < +0"),
    _math("double ak_min_nan_f64(double a, double b)", _extreme("<", "|"), "the smaller; NaN propagates, -0 < +0"),
    _math(
        "double ak_rsqrt_f64(double x)",
        "return __ddiv_rn(1.0, __dsqrt_rn(x));",
        "1 / sqrt(x): two operations, each correctly rounded",
    ),
    _math(
        "double ak_copysign_f64(double magnitude, double sign)",
        _COPYSIGN,
        "magnitude with the sign bit of sign; NaN payloads are kept",
    ),
    _math(
        "double ak_neg_f64(double x)",
        "return __longlong_as_double(__double_as_longlong(x) ^ ~0x7fffffffffffffffll);",
        "-x, on bits",
    ),
    _math(
        "double ak_abs_f64(double x)",
        "return __longlong_as_double(__double_as_longlong(x) & 0x7fffffffffffffffll);",
        "|x|, on bits",
    ),
    _math(
        "double ak_sign_f64(double x)",
        f"if (x != x) return {_NAN};\nreturn x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0);",
        "-1, +0 or 1; NaN gives NaN",
    ),
    _math("bool ak_isnan_f64(double x)", "return x != x;", "whether x is NaN"),
    _math(
        "bool ak_isinf_f64(double x)",
        "return (__double_as_longlong(x) & 0x7fffffffffffffffll) == 0x7ff0000000000000ll;",
        "whether x is infinite",
    ),
    _math(
        "double ak_round_f64(double x)",
        _ROUND,
        "nearest integer, halves to even, sign kept",
        "ak_canonical_nan_f64",
        "ak_abs_f64",
        "ak_copysign_f64",
    ),
    _math(
        "double ak_floor_f64(double x)",
        _FLOOR,
        "largest integer not above x, sign of zero kept",
        "ak_round_f64",
        "ak_copysign_f64",
    ),
    _math(
        "double ak_ceil_f64(double x)",
        _CEIL,
        "smallest integer not below x, sign of zero kept",
        "ak_round_f64",
        "ak_copysign_f64",
    ),
    _math(
        "double ak_trunc_f64(double x)",
        _TRUNC,
        "x without its fraction, sign kept",
        "ak_round_f64",
        "ak_abs_f64",
        "ak_copysign_f64",
    ),
)
