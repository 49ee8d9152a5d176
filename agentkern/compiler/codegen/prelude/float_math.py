"""Correctly rounded f32 functions and the exact elementwise ones, as text for CPU and GPU.

Every text uses the `__f*_rn` intrinsics, `fabsf`, bit casts and integer operations only (`fabsf` is
free on the GPU where masking bits is an instruction). The claim "correctly
rounded" of each rests on a full scan recorded in `evals/numerics/results`.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction

_SCAN = "evals/numerics: scan of all 2^32 inputs"
_IEEE = "IEEE 754-2019"


def _math(declaration: str, body: str, note: str, source: str, *requires: str) -> PreludeFunction:
    return PreludeFunction(declaration, "math", body, note, source, requires)


_RSQRT = """
unsigned int bits = __float_as_uint(x);
int lift = 127;
if (bits >= 0x7f800000u) {  // infinity, NaN and everything with a sign
  if (bits == 0x7f800000u) return 0.0f;
  return __uint_as_float(bits == 0x80000000u ? 0xff800000u : 0x7fffffffu);
}
if (bits < 0x00800000u) {  // zero, or subnormal: lifted by 2^24
  if (bits == 0u) return __uint_as_float(0x7f800000u);
  bits = __float_as_uint(__fmul_rn(x, 16777216.0f));
  lift = 139;
}
int half = ((int)(bits >> 23) - 127) >> 1;
float m = __uint_as_float(bits - ((unsigned int)half << 24));  // x = m * 4^half, 1 <= m < 4
float y = __uint_as_float(0x5f375a86u - (__float_as_uint(m) >> 1));
for (int i = 0; i < 2; ++i) {  // cubic steps: 3.4e-2, 3e-5, then one ulp
  float e = __fmaf_rn(-m, __fmul_rn(y, y), 1.0f);
  y = __fmaf_rn(__fmul_rn(y, e), __fmaf_rn(e, 0.375f, 0.5f), y);
}
float p = __fmul_rn(m, y);  // 1 - m * y * y with the product m * y in two parts
float r = __fmaf_rn(-__fmaf_rn(m, y, -p), y, __fmaf_rn(-p, y, 1.0f));
y = __fmaf_rn(__fmul_rn(y, r), __fmaf_rn(r, 0.375f, 0.5f), y);
return __fmul_rn(y, __uint_as_float((unsigned int)(lift - half) << 23));
"""

_DIV_ROW = """
float q0 = __fmul_rn(a, y);
float q = __fmaf_rn(__fmaf_rn(b, q0, -a), -y, q0);
const float tiny = 7.8886090522101181e-31f;  // 2^-100
bool plain = (fabsf(a) >= tiny) & (fabsf(q0) >= tiny) & (fabsf(q0) < 1.7014118346046923e+38f);
if (plain) return q;
if ((a == 0.0f || fabsf(a) > 3.4028234663852886e+38f) && q0 == q0) return q0;
return __fdiv_rn(a, b);
"""

_DIV_ROW_RCP = """
float size = fabsf(b);
// between 2^-126 and 2^126 both b and 1 / b are normal; NaN sends every quotient to the division
bool plain = size >= 1.1754943508222875e-38f && size <= 8.5070591730234616e+37f;
return plain ? __fdiv_rn(1.0f, b) : __uint_as_float(0x7fffffffu);
"""

_ROUND = """
float size = fabsf(x);
if (!(size < 8388608.0f)) return ak_canonical_nan_f32(x);  // 2^23 and above, infinity, NaN
float whole = __fsub_rn(__fadd_rn(size, 8388608.0f), 8388608.0f);
return ak_copysign_f32(whole, x);
"""


def _directed(bump: str) -> str:
    """Body of a directed rounding: the nearest integer, moved by one where it lies on the wrong side."""
    return f"""
float whole = ak_round_f32(x);
{bump}
return whole == whole ? ak_copysign_f32(whole, x) : whole;
"""


_FLOOR = _directed("if (whole > x) whole = __fsub_rn(whole, 1.0f);")
_CEIL = _directed("if (whole < x) whole = __fadd_rn(whole, 1.0f);")
_TRUNC = """
float size = fabsf(x);
float whole = ak_round_f32(size);
if (whole > size) whole = __fsub_rn(whole, 1.0f);
return whole == whole ? ak_copysign_f32(whole, x) : whole;
"""

_COPYSIGN = """
unsigned int bits = __float_as_uint(magnitude) & 0x7fffffffu;
return __uint_as_float(bits | (__float_as_uint(sign) & 0x80000000u));
"""

FLOAT_MATH: tuple[PreludeFunction, ...] = (
    _math(
        "float ak_canonical_nan_f32(float x)",
        "return x == x ? x : __uint_as_float(0x7fffffffu);",
        "every NaN becomes 0x7fffffff",
        _IEEE,
    ),
    _math(
        "float ak_rcp_f32(float x)",
        "return __fdiv_rn(1.0f, x);",
        "1 / x, correctly rounded",
        _IEEE,
    ),
    _math(
        "float ak_rsqrt_f32(float x)",
        _RSQRT,
        "1 / sqrt(x), correctly rounded for every x (scanned)",
        _SCAN,
    ),
    _math(
        "float ak_div_row_rcp(float b)",
        _DIV_ROW_RCP,
        "the reciprocal that ak_div_row_f32 takes, once per divisor",
        "Markstein, IA-64 and Elementary Functions, 2000",
    ),
    _math(
        "float ak_div_row_f32(float a, float b, float y)",
        _DIV_ROW,
        "a / b, correctly rounded, with y = ak_div_row_rcp(b)",
        "Markstein, IA-64 and Elementary Functions, 2000",
    ),
    _math(
        "float ak_copysign_f32(float magnitude, float sign)",
        _COPYSIGN,
        "magnitude with the sign bit of sign; NaN payloads are kept",
        _IEEE,
    ),
    _math(
        "float ak_neg_f32(float x)",
        "return __uint_as_float(__float_as_uint(x) ^ 0x80000000u);",
        "-x, on bits",
        _IEEE,
    ),
    _math(
        "float ak_abs_f32(float x)",
        "return fabsf(x);",
        "|x|, on bits",
        _IEEE,
    ),
    _math(
        "float ak_sign_f32(float x)",
        "if (x != x) return __uint_as_float(0x7fffffffu);\nreturn x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : 0.0f);",
        "-1, +0 or 1; NaN gives NaN",
        _IEEE,
    ),
    _math("bool ak_isnan_f32(float x)", "return x != x;", "whether x is NaN", _IEEE),
    _math(
        "bool ak_isinf_f32(float x)",
        "return (__float_as_uint(x) & 0x7fffffffu) == 0x7f800000u;",
        "whether x is infinite",
        _IEEE,
    ),
    _math(
        "float ak_clip_f32(float x, float low, float high)",
        "return ak_min_nan_f32(ak_max_nan_f32(x, low), high);",
        "minimum(maximum(x, low), high)",
        _IEEE,
        "ak_max_nan_f32",
        "ak_min_nan_f32",
    ),
    _math(
        "float ak_round_f32(float x)",
        _ROUND,
        "nearest integer, halves to even, sign kept",
        _IEEE,
        "ak_canonical_nan_f32",
        "ak_copysign_f32",
    ),
    _math(
        "float ak_floor_f32(float x)",
        _FLOOR,
        "largest integer not above x, sign of zero kept",
        _IEEE,
        "ak_round_f32",
        "ak_copysign_f32",
    ),
    _math(
        "float ak_ceil_f32(float x)",
        _CEIL,
        "smallest integer not below x, sign of zero kept",
        _IEEE,
        "ak_round_f32",
        "ak_copysign_f32",
    ),
    _math(
        "float ak_trunc_f32(float x)",
        _TRUNC,
        "x without its fraction, sign kept",
        _IEEE,
        "ak_round_f32",
        "ak_copysign_f32",
    ),
)
