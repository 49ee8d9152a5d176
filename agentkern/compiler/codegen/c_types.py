"""How element types and numbers are spelled in CUDA C++. Tables only."""

import math
import struct

from agentkern.dsl.dtypes import DType

C_TYPES: dict[str, str] = {
    "f64": "double", "f32": "float", "tf32": "float", "f16": "unsigned short", "bf16": "unsigned short",
    "e4m3": "unsigned char", "e5m2": "unsigned char", "e8m0": "unsigned char",
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int", "u64": "unsigned long long",
    "bool": "bool",
}  # fmt: skip

UNSIGNED: dict[int, str] = {8: "unsigned char", 16: "unsigned short", 32: "unsigned int", 64: "unsigned long long"}


def scalar_type(dtype: DType) -> str:
    """The C type of one value in a register."""
    return C_TYPES[dtype.name]


def storage_type(dtype: DType) -> str:
    """The C type of an element in memory and in register arrays."""
    return "unsigned char" if dtype.kind == "bool" else C_TYPES[dtype.name]


def float_literal(number: float, dtype: DType) -> str:
    """A float constant, exact for every value: by its bits where decimal text cannot say it."""
    if dtype.name == "f64":
        if math.isfinite(number):
            return repr(number)
        bits = 0x7FFFFFFFFFFFFFFF if math.isnan(number) else 0x7FF0000000000000 + (number < 0) * (1 << 63)
        return f"__longlong_as_double({bits:#x}ull)"
    if math.isnan(number):
        return "__uint_as_float(0x7fffffffu)"
    if math.isinf(number):
        return f"__uint_as_float({'0xff800000u' if number < 0 else '0x7f800000u'})"
    rounded = struct.unpack("<f", struct.pack("<f", number))[0]
    text = repr(rounded)
    shortest = next(
        (f"{rounded:.{digits}g}" for digits in range(1, 10) if _reads_as(f"{rounded:.{digits}g}", rounded)), text
    )
    if "e" not in shortest and "." not in shortest:
        shortest += ".0"
    return f"{shortest}f"


def _reads_as(text: str, number: float) -> bool:
    return struct.pack("<f", float(text)) == struct.pack("<f", number)


def integer_literal(number: int, dtype: DType) -> str:
    """An integer constant of its type."""
    if dtype.name == "i32":
        return str(number) if number > -(2**31) else "(-2147483647 - 1)"
    if dtype.name == "i64":
        return f"{number}ll" if number > -(2**63) else "(-9223372036854775807ll - 1)"
    suffix = {"u32": "u", "u64": "ull"}.get(dtype.name, "")
    return f"{number}{suffix}" if suffix else f"({C_TYPES[dtype.name]}){number}"


def small_float_bits(number: float, dtype: DType) -> int:
    """A number's bits in a type of at most 16 bits: nearest even; 8-bit types saturate, wider ones become infinite."""
    if not dtype.has_sign:
        return _exponent_byte(number)
    bias = (1 << (dtype.exponent_bits - 1)) - 1
    sign = (1 << (dtype.bits - 1)) if math.copysign(1.0, number) < 0 else 0
    if math.isnan(number):
        return (1 << (dtype.bits - 1)) - 1
    infinity = ((1 << dtype.exponent_bits) - 1) << dtype.mantissa_bits
    magnitude = abs(number)
    if magnitude == 0.0:
        return sign
    largest = _small_bits(dtype.max_finite, bias, dtype)
    if math.isinf(magnitude):
        return sign | (largest if dtype.bits == 8 else infinity)
    bits = _small_bits(magnitude, bias, dtype)
    if bits > largest:
        bits = largest if dtype.bits == 8 else infinity
    return sign | bits


def _exponent_byte(number: float) -> int:
    """The biased exponent of the nearest power of two, halfway up; 255 is NaN."""
    if math.isnan(number):
        return 255
    if math.isinf(number):
        return 254
    fraction, exponent = math.frexp(abs(number))
    return min(max(exponent - (fraction < 0.75) + 127, 0), 254) if fraction else 0


def _small_bits(magnitude: float, bias: int, dtype: DType) -> int:
    """Bits of a positive finite number, rounded to nearest even, as if exponents had no end."""
    exponent = max(math.frexp(magnitude)[1] - 1, 1 - bias)
    units = round(math.ldexp(magnitude, dtype.mantissa_bits - exponent))
    return units + ((exponent + bias - 1) << dtype.mantissa_bits)
