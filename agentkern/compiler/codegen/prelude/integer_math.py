"""Integer division that rounds down and saturating integer results, as text for CPU and GPU.

Divisors are never zero: the prover excludes that. The smallest integer divided by -1 wraps.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction

_PYTHON = "Python language reference, 6.7: floor division"
_SIGNED = (("i32", "int", "unsigned int"), ("i64", "long long", "unsigned long long"))


def _math(declaration: str, body: str, note: str, *requires: str) -> PreludeFunction:
    return PreludeFunction(declaration, "math", body, note, _PYTHON, requires)


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
        )
        for source, parameter in (("f32", "float"), ("f64", "double"))
    )


INTEGER_MATH: tuple[PreludeFunction, ...] = (
    *(row for names in _SIGNED for row in _divisions(*names)),
    *_narrowed("i8", "signed char", -128, 127),
    *_narrowed("u8", "unsigned char", 0, 255),
    *_narrowed("i16", "short", -32768, 32767),
    *_narrowed("u16", "unsigned short", 0, 65535),
)
