"""Conversions between f32 and narrow float formats in integer arithmetic, for CPU and GPU.

Widening is exact and keeps NaN a NaN (canonical for 8-bit formats, whose payload means nothing).
The `soft` encodings serve architectures without the instruction. Formats: IEEE 754-2019; OCP 8-bit
floating point specification 1.0.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction

_OCP = "OCP 8-bit floating point specification 1.0"


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
        "float ak_cvt_tf32_f32(float x)",
        _TF32,
        "round to nearest even at ten mantissa bits, kept in 32 bits",
        source="PTX ISA: alternate floating-point data formats, tf32",
    ),
)
