"""Functions of few instructions: conversions, NaN-propagating extremes, a division without its checks.

Each row is one PTX instruction, with a select where its own NaN rule differs from ours, and what corrects it. Their
meaning for the CPU is the simulator's; one GPU test per row compares the two. Source of each row:
the PTX ISA section of the instruction it prints.
"""

from agentkern.compiler.codegen.prelude.table import PreludeFunction


def _row(declaration: str, body: str, note: str, section: str, *, min_arch: int = 80) -> PreludeFunction:
    return PreludeFunction(
        declaration=declaration,
        kind="instruction",
        body=body,
        note=note,
        source=f"PTX ISA: {section}",
        min_arch=min_arch,
    )


def _convert(result: str, name: str, parameter: str, mnemonic: str, constraints: str, note: str) -> PreludeFunction:
    """Return a one-operand conversion; constraints: output and input constraint letters."""
    body = f'{result} d;\nasm("{mnemonic} %0, %1;" : "={constraints[0]}"(d) : "{constraints[1]}"(x));\nreturn d;'
    return _row(f"{result} {name}({parameter} x)", body, note, "cvt")


_I64_F32 = """
long long d;
asm("cvt.rzi.s64.f32 %0, %1;" : "=l"(d) : "f"(x));
return x == x ? d : 0;
"""


def _pair(name: str, result: str, letter: str, ptx_type: str, *, min_arch: int) -> PreludeFunction:
    """Return the conversion of two floats to a packed pair."""
    body = f'{result} d;\nasm("cvt.rn.{ptx_type}.f32 %0, %1, %2;" : "={letter}"(d) : "f"(hi), "f"(lo));\nreturn d;'
    return _row(
        f"{result} {name}(float hi, float lo)",
        body,
        "round two floats to nearest even; `hi` goes to the upper half",
        "cvt",
        min_arch=min_arch,
    )


def _widen_pair(name: str, ptx_type: str) -> PreludeFunction:
    """Return the exact conversion of two packed 8-bit floats to two f16."""
    body = f'unsigned int d;\nasm("cvt.rn.f16x2.{ptx_type} %0, %1;" : "=r"(d) : "h"(x));\nreturn d;'
    return _row(
        f"unsigned int {name}(unsigned short x)",
        body,
        "widen two packed 8-bit floats to f16, exactly",
        "cvt",
        min_arch=89,
    )


def _extreme(name: str, mnemonic: str, note: str) -> PreludeFunction:
    body = f'float d;\nasm("{mnemonic} %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));\nreturn d;'
    return _row(f"float {name}(float a, float b)", body, note, mnemonic.split(".", maxsplit=1)[0])


# The operations that the division of the hardware's library does between its checks; the first one is within one ulp.
_USUAL_DIV = """
float y;
asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
y = __fmaf_rn(y, __fmaf_rn(-b, y, 1.0f), y);
float q = __fmul_rn(a, y);
q = __fmaf_rn(__fmaf_rn(b, q, -a), -y, q);
return __fmaf_rn(__fmaf_rn(b, q, -a), -y, q);
"""

_TRUNCATE = "truncating, saturating, NaN gives 0"
_NEAREST = "round to nearest even"

INSTRUCTIONS: tuple[PreludeFunction, ...] = (
    _extreme("ak_max_nan_f32", "max.NaN.f32", "the larger; NaN propagates, -0 < +0"),
    _extreme("ak_min_nan_f32", "min.NaN.f32", "the smaller; NaN propagates, -0 < +0"),
    _row(
        "float ak_usual_div_f32(float a, float b)",
        _USUAL_DIV,
        "a / b, correctly rounded where b, a / b and its error are normal",
        "rcp",
    ),
    _convert("unsigned short", "ak_cvt_bf16_f32", "float", "cvt.rn.bf16.f32", "hf", _NEAREST),
    _convert("unsigned short", "ak_cvt_f16_f32", "float", "cvt.rn.f16.f32", "hf", _NEAREST),
    _convert("float", "ak_cvt_f32_f16", "unsigned short", "cvt.f32.f16", "fh", "exact"),
    _pair("ak_cvt_bf16x2_f32", "unsigned int", "r", "bf16x2", min_arch=80),
    _pair("ak_cvt_f16x2_f32", "unsigned int", "r", "f16x2", min_arch=80),
    _pair("ak_cvt_e4m3x2_f32", "unsigned short", "h", "satfinite.e4m3x2", min_arch=89),
    _pair("ak_cvt_e5m2x2_f32", "unsigned short", "h", "satfinite.e5m2x2", min_arch=89),
    _widen_pair("ak_cvt_f16x2_e4m3x2", "e4m3x2"),
    _widen_pair("ak_cvt_f16x2_e5m2x2", "e5m2x2"),
    _convert("int", "ak_cvt_i32_f32", "float", "cvt.rzi.s32.f32", "rf", _TRUNCATE),
    _row(
        "long long ak_cvt_i64_f32(float x)",
        _I64_F32,
        "truncating, saturating, NaN gives 0 (the instruction alone gives -2^63)",
        "cvt",
    ),
    _convert("float", "ak_cvt_f32_i32", "int", "cvt.rn.f32.s32", "fr", _NEAREST),
    _convert("float", "ak_cvt_f32_i64", "long long", "cvt.rn.f32.s64", "fl", _NEAREST),
)
