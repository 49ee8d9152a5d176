"""Integer division and the rarer conversions to and from integers, as text for CPU and GPU.

Divisors are never zero: the prover excludes that. The smallest integer divided by -1 wraps.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction

_PYTHON = "Python language reference, 6.7: floor division"
_CPP = "C++17, 7.8 to 7.10: conversions of values in range; to nearest even"
_SIGNED = (("i32", "int", "unsigned int"), ("i64", "long long", "unsigned long long"))


def _math(declaration: str, body: str, note: str, *requires: str, source: str = _PYTHON) -> PreludeFunction:
    return PreludeFunction(declaration, "math", body, note, source, requires)


def _divisions(suffix: str, signed: str, unsigned: str) -> tuple[PreludeFunction, ...]:
    trunc = f"""
if (b == -1) return ({signed})(({unsigned})0 - ({unsigned})a);
return a / b;
"""
    floor = f"""
{signed} q = ak_trunc_div_{suffix}(a, b);
{signed} r = ({signed})(({unsigned})a - ({unsigned})q * ({unsigned})b);
return q - ({signed})(r != 0 && (r ^ b) < 0);
"""
    trunc_mod = """
if (b == -1) return 0;
return a % b;
"""
    mod = f"""
{signed} r = ak_trunc_mod_{suffix}(a, b);
return r != 0 && (r ^ b) < 0 ? r + b : r;
"""
    parameters = f"({signed} a, {signed} b)"
    return (
        _math(f"{signed} ak_trunc_div_{suffix}{parameters}", trunc, "a / b toward zero"),
        _math(f"{signed} ak_trunc_mod_{suffix}{parameters}", trunc_mod, "remainder, sign of a"),
        _math(
            f"{signed} ak_floor_div_{suffix}{parameters}",
            floor,
            "a / b rounded down",
            f"ak_trunc_div_{suffix}",
        ),
        _math(
            f"{signed} ak_floor_mod_{suffix}{parameters}",
            mod,
            "a - floor(a / b) * b, sign of b",
            f"ak_trunc_mod_{suffix}",
        ),
    )


def _narrowed(suffix: str, c_type: str, low: int, high: int) -> tuple[PreludeFunction, ...]:
    """Return the saturating conversions of f32 and f64 to an 8- or 16-bit integer."""
    return tuple(
        _math(
            f"{c_type} ak_cvt_{suffix}_{source}({parameter} x)",
            f"int d = ak_cvt_i32_{source}(x);\nreturn ({c_type})(d < {low} ? {low} : (d > {high} ? {high} : d));",
            "truncating, saturating, NaN gives 0",
            f"ak_cvt_i32_{source}",
            source=_CPP,
        )
        for source, parameter in (("f32", "float"), ("f64", "double"))
    )


def _truncated(suffix: str, c_type: str, source: str, low: str, high: str) -> PreludeFunction:
    """Return a saturating conversion; low and high: the first values outside, exact in the source."""
    parameter = "float" if source == "f32" else "double"
    unsigned = suffix.startswith("u")
    bits = suffix[1:]
    top = f"({c_type})-1" if unsigned else f"({c_type})(((unsigned {c_type})1 << {bits}-1) - 1)"
    bottom = "0" if unsigned else f"({c_type})((unsigned {c_type})1 << {bits}-1)"
    body = f"""
if (x != x) return 0;
if (x >= {high}) return {top};
if (x <= {low}) return {bottom};
return ({c_type})x;
"""
    return _math(
        f"{c_type} ak_cvt_{suffix}_{source}({parameter} x)",
        body,
        "truncating, saturating, NaN gives 0",
        source=_CPP,
    )


def _plain(result: str, name: str, parameter: str, note: str) -> PreludeFunction:
    """Return a conversion that C++ itself defines as we do."""
    return _math(f"{result} {name}({parameter} x)", f"return ({result})x;", note, source=_CPP)


_NEAREST = "round to nearest even"
_ODD_NOTE = "round to odd: rounding the result again, to 16 or 8 bits, rounds x once"
_BOLDO = "Boldo, Melquiond, Emulation of FMA and correctly rounded sums, 2008"

_ODD_F64 = """
if (x != x) return __uint_as_float(0x7fffffffu);
float y = (float)x;
if ((double)y == x) return y;
unsigned int bits = __float_as_uint(y);
// toward zero where the nearest lies beyond x (an overflow becomes the largest finite), then odd
bits -= (unsigned int)((y < 0.0f ? -(double)y : (double)y) > (x < 0.0 ? -x : x));
return __uint_as_float(bits | 1u);
"""
_ODD_U64 = """
if (x < 0x1000000ull) return (float)x;
int drop = 40 - __clzll((long long)x);  // keeps 24 bits
unsigned int kept = (unsigned int)(x >> drop);
kept |= (unsigned int)(((unsigned long long)kept << drop) != x);
return __fmul_rn((float)kept, __uint_as_float((unsigned int)(127 + drop) << 23));
"""
_ODD_I64 = """
float size = ak_odd_f32_u64(x < 0 ? 0ull - (unsigned long long)x : (unsigned long long)x);
return x < 0 ? -size : size;
"""
_2_31, _2_32 = "2147483648.0", "4294967296.0"
_2_63, _2_64 = "9223372036854775808.0", "18446744073709551616.0"

_CONVERSIONS: tuple[PreludeFunction, ...] = (
    _plain("double", "ak_cvt_f64_f32", "float", "exact"),
    _math(
        "float ak_cvt_f32_f64(double x)",
        "return x == x ? (float)x : __uint_as_float(0x7fffffffu);",
        _NEAREST,
        source=_CPP,
    ),
    _math("float ak_odd_f32_f64(double x)", _ODD_F64, _ODD_NOTE, source=_BOLDO),
    _math("float ak_odd_f32_u64(unsigned long long x)", _ODD_U64, _ODD_NOTE, source=_BOLDO),
    _math("float ak_odd_f32_i64(long long x)", _ODD_I64, _ODD_NOTE, "ak_odd_f32_u64", source=_BOLDO),
    _plain("float", "ak_cvt_f32_u32", "unsigned int", _NEAREST),
    _plain("float", "ak_cvt_f32_u64", "unsigned long long", _NEAREST),
    _plain("double", "ak_cvt_f64_i64", "long long", _NEAREST),
    _plain("double", "ak_cvt_f64_u64", "unsigned long long", _NEAREST),
    _truncated("u32", "unsigned int", "f32", "-1.0f", f"{_2_32}f"),
    _truncated("u64", "unsigned long long", "f32", "-1.0f", f"{_2_64}f"),
    _truncated("i32", "int", "f64", "-2147483649.0", _2_31),
    _truncated("u32", "unsigned int", "f64", "-1.0", _2_32),
    _truncated("i64", "long long", "f64", f"-{_2_63}", _2_63),
    _truncated("u64", "unsigned long long", "f64", "-1.0", _2_64),
)

INTEGER_MATH: tuple[PreludeFunction, ...] = (
    *(row for names in _SIGNED for row in _divisions(*names)),
    *_CONVERSIONS,
    *_narrowed("i8", "signed char", -128, 127),
    *_narrowed("u8", "unsigned char", 0, 255),
    *_narrowed("i16", "short", -32768, 32767),
    *_narrowed("u16", "unsigned short", 0, 65535),
)
