"""Conversions between f32 and narrow float formats in integer arithmetic, for CPU and GPU.

Widening is exact and keeps NaN a NaN (canonical for 8-bit formats, whose payload means nothing).
The `soft` encodings serve architectures without the instruction. Formats: IEEE 754-2019; OCP 8-bit
floating point specification 1.0.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction

_OCP = "OCP 8-bit floating point specification 1.0"
_MX = "OCP Microscaling formats (MX) specification 1.0: E8M0"


def _widen(bits_up: int, factor: str, first_special: int, special: str) -> str:
    """Body that widens by moving the code to f32's place and fixing the exponent by a product.

    A subnormal code becomes a subnormal f32, and the product by a power of two normalises it.
    """
    return f"""
unsigned int size = x & 0x{(1 << (bits_up - 1)) - 1:x}u;
unsigned int sign = (unsigned int)(x >> {bits_up - 1}) << 31;
if (size >= 0x{first_special:x}u) return __uint_as_float({special});
float value = __fmul_rn(__uint_as_float(size << {_SHIFTS[factor]}), {factor});
return __uint_as_float(__float_as_uint(value) | sign);
"""


# position of the code in f32 for each exponent correction: 2^112 for e5, 2^120 for e4
_E5M10 = "5192296858534827628530496329220096.0f"
_E4M3 = "1329227995784915872903807060280344576.0f"
_SHIFTS = {_E5M10: 13, _E4M3: 20}


def _soft_encode(fmt: "_Narrow") -> str:
    return f"""
unsigned int bits = __float_as_uint(x);
unsigned int sign = (bits >> 24) & 0x80u;
unsigned int size = bits & 0x7fffffffu;
if (size > 0x7f800000u) return 0x7f;
if (size > 0x{fmt.max_bits:08x}u) size = 0x{fmt.max_bits:08x}u;  // saturates, infinities included
unsigned int code;
if (size < 0x{fmt.min_normal_bits:08x}u) {{  // an ulp of the sum is the format's smallest subnormal
  float sum = __fadd_rn(__uint_as_float(size), {fmt.magic}f);
  code = __float_as_uint(sum) - 0x{fmt.magic_bits:08x}u;
}} else {{
  unsigned int nearest = size + 0x{fmt.round_mask:x}u + ((size >> {fmt.drop}) & 1u);
  code = (nearest >> {fmt.drop}) - 0x{fmt.rebias:x}u;
}}
return (unsigned char)(sign | code);
"""


class _Narrow:
    """Constants of the encoding of one 8-bit format, derived from its widths."""

    def __init__(self, mantissa_bits: int, bias: int, max_value_bits: int) -> None:
        self.drop = 23 - mantissa_bits
        self.round_mask = (1 << (self.drop - 1)) - 1
        self.rebias = (127 - bias) << mantissa_bits
        self.min_normal_bits = (128 - bias) << 23
        self.max_bits = max_value_bits
        smallest = 1 - bias - mantissa_bits
        self.magic = f"{2.0 ** (smallest + 23)!r}"
        self.magic_bits = (smallest + 23 + 127) << 23


def _math(declaration: str, body: str, note: str, *requires: str, source: str = _OCP) -> PreludeFunction:
    return PreludeFunction(declaration, "math", body, note, source, requires)


_F16_SPECIAL = "size > 0x7c00u ? 0x7fffffffu : (sign | 0x7f800000u)"

_TF32 = """
unsigned int bits = __float_as_uint(x);
if ((bits & 0x7fffffffu) > 0x7f800000u) return __uint_as_float(0x7fffffffu);
return __uint_as_float((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
"""

_OVERFLOW_E4M3 = """
if ((__float_as_uint(x) & 0x7fffffffu) > 0x43e80000u) return 0x7f;  // past 464, which goes to the even 448
return ak_soft_cvt_e4m3_f32(x);
"""
_OVERFLOW_E5M2 = """
unsigned int bits = __float_as_uint(x), size = bits & 0x7fffffffu;
if (size < 0x47700000u) return ak_soft_cvt_e5m2_f32(x);  // below 61440, halfway to 65536
return (unsigned char)(size > 0x7f800000u ? 0x7fu : (bits >> 24 & 0x80u) | 0x7cu);
"""
_E8M0 = """
unsigned int size = __float_as_uint(x) & 0x7fffffffu;
if (size > 0x7f800000u) return 0xff;
if (size < 0x00800000u) return size >= 0x00600000u;  // subnormal, or zero: codes 0 and 1
unsigned int code = (size + 0x400000u) >> 23;
return (unsigned char)(code > 254u ? 254u : code);
"""
_OVERFLOW_E8M0 = """
if ((__float_as_uint(x) & 0x7fffffffu) >= 0x7f400000u) return 0xff;  // 1.5 * 2^127
return ak_cvt_e8m0_f32(x);
"""

FORMATS: tuple[PreludeFunction, ...] = (
    _math(
        "float ak_bf16_to_f32(unsigned short x)",
        "return __uint_as_float((unsigned int)x << 16);",
        "exact; a NaN keeps its payload",
        source="IEEE 754-2019, first 16 bits of binary32",
    ),
    _math(
        "float ak_f16_to_f32(unsigned short x)",
        _widen(16, _E5M10, 0x7C00, _F16_SPECIAL),
        "exact; NaN is canonical",
        source="IEEE 754-2019, binary16",
    ),
    _math(
        "float ak_e4m3_to_f32(unsigned char x)",
        _widen(8, _E4M3, 0x7F, "0x7fffffffu"),
        "exact; NaN is canonical",
    ),
    _math(
        "float ak_e5m2_to_f32(unsigned char x)",
        "return ak_f16_to_f32((unsigned short)((unsigned int)x << 8));",
        "exact; NaN is canonical (e5m2 is the upper half of binary16)",
        "ak_f16_to_f32",
    ),
    _math(
        "unsigned char ak_soft_cvt_e4m3_f32(float x)",
        _soft_encode(_Narrow(3, 7, 0x43E00000)),
        "round to nearest even, saturating at 448; NaN gives 0x7f",
    ),
    _math(
        "unsigned char ak_soft_cvt_e5m2_f32(float x)",
        _soft_encode(_Narrow(2, 15, 0x47600000)),
        "round to nearest even, saturating at 57344; NaN gives 0x7f",
    ),
    _math(
        "unsigned short ak_soft_cvt_e4m3x2_f32(float hi, float lo)",
        "unsigned int upper = ak_soft_cvt_e4m3_f32(hi);\n"
        "return (unsigned short)((upper << 8) | ak_soft_cvt_e4m3_f32(lo));",
        "round two floats; `hi` goes to the upper half",
        "ak_soft_cvt_e4m3_f32",
    ),
    _math(
        "unsigned short ak_soft_cvt_e5m2x2_f32(float hi, float lo)",
        "unsigned int upper = ak_soft_cvt_e5m2_f32(hi);\n"
        "return (unsigned short)((upper << 8) | ak_soft_cvt_e5m2_f32(lo));",
        "round two floats; `hi` goes to the upper half",
        "ak_soft_cvt_e5m2_f32",
    ),
    _math(
        "unsigned char ak_overflow_cvt_e4m3_f32(float x)",
        _OVERFLOW_E4M3,
        "round to nearest even; what does not fit, and NaN, give 0x7f",
        "ak_soft_cvt_e4m3_f32",
    ),
    _math(
        "unsigned char ak_overflow_cvt_e5m2_f32(float x)",
        _OVERFLOW_E5M2,
        "round to nearest even; what does not fit becomes infinite, NaN gives 0x7f",
        "ak_soft_cvt_e5m2_f32",
    ),
    _math(
        "float ak_e8m0_to_f32(unsigned char x)",
        "return __uint_as_float(x == 0xffu ? 0x7fffffffu : x == 0u ? 0x00400000u : (unsigned int)x << 23);",
        "2^(x - 127), exact; NaN is canonical",
        source=_MX,
    ),
    _math(
        "unsigned char ak_cvt_e8m0_f32(float x)",
        _E8M0,
        "the nearest power of two of the magnitude, halfway up, between 2^-127 and 2^127; NaN gives 0xff",
        source=_MX,
    ),
    _math(
        "unsigned char ak_overflow_cvt_e8m0_f32(float x)",
        _OVERFLOW_E8M0,
        "as ak_cvt_e8m0_f32, but what is past 2^127 gives NaN",
        "ak_cvt_e8m0_f32",
        source=_MX,
    ),
    _math(
        "unsigned short ak_cvt_e8m0x2_f32(float hi, float lo)",
        "return (unsigned short)((unsigned int)ak_cvt_e8m0_f32(hi) << 8 | ak_cvt_e8m0_f32(lo));",
        "round two floats; `hi` goes to the upper half",
        "ak_cvt_e8m0_f32",
        source=_MX,
    ),
    _math(
        "float ak_cvt_tf32_f32(float x)",
        _TF32,
        "round to nearest even at ten mantissa bits, kept in 32 bits",
        source="PTX ISA: alternate floating-point data formats, tf32",
    ),
)
