"""Constants and polynomials of the f32 functions. Written by `evals/functions/fit.py`; do not edit."""

CONSTANTS: dict[str, float] = {
    "INV_LN2": float.fromhex("0x1.7154760000000p+0"),
    "LN2_SHORT": float.fromhex("0x1.62e4000000000p-1"),
    "LN2_REST": float.fromhex("0x1.7f7d1c0000000p-20"),
    "LN2_HIGH": float.fromhex("0x1.62e4300000000p-1"),
    "LN2_LOW": float.fromhex("-0x1.05c6100000000p-29"),
    "LOG2E_HIGH": float.fromhex("0x1.7154760000000p+0"),
    "LOG2E_LOW": float.fromhex("0x1.4ae0c00000000p-26"),
    "TWO_OVER_PI": float.fromhex("0x1.45f3060000000p-1"),
    "HALF_PI_1": float.fromhex("0x1.921fb60000000p+0"),
    "HALF_PI_2": float.fromhex("-0x1.777a5c0000000p-25"),
    "HALF_PI_3": float.fromhex("-0x1.ee59da0000000p-50"),
    "SQRT_HALF": float.fromhex("0x1.6a09e60000000p-1"),
    "SQRT_2_OVER_PI": float.fromhex("0x1.9884540000000p-1"),
    "GELU_CUBIC": float.fromhex("0x1.6e4e260000000p-5"),
}

WORDS: dict[str, tuple[int, ...]] = {
    # 32 zero bits, then the first 224 of 2 / pi
    "TWO_OVER_PI_BITS": (
        0x00000000,
        0xA2F9836E,
        0x4E441529,
        0xFC2757D1,
        0xF534DDC0,
        0xDB629599,
        0x3C439041,
        0xFE5163AB,
    ),
}

POLYNOMIALS: dict[str, tuple[float, ...]] = {
    # exp(t); -0.34658 <= t <= 0.34658; largest error 2^-28.3
    "EXP": (
        float.fromhex("0x1.0000000000000p+0"),
        float.fromhex("0x1.0000000000000p+0"),
        float.fromhex("0x1.fffffc0000000p-2"),
        float.fromhex("0x1.5554920000000p-3"),
        float.fromhex("0x1.5558ac0000000p-5"),
        float.fromhex("0x1.12397a0000000p-7"),
        float.fromhex("0x1.6a51300000000p-10"),
    ),
    # 2^t; -0.5 <= t <= 0.5; largest error 2^-28.3
    "EXP2": (
        float.fromhex("0x1.0000000000000p+0"),
        float.fromhex("0x1.62e4300000000p-1"),
        float.fromhex("0x1.ebfbdc0000000p-3"),
        float.fromhex("0x1.c6af7a0000000p-5"),
        float.fromhex("0x1.3b2dd20000000p-7"),
        float.fromhex("0x1.5f09480000000p-10"),
        float.fromhex("0x1.417a700000000p-13"),
    ),
    # (exp(t) - 1 - t) / t^2; -0.34658 <= t <= 0.34658; largest error 2^-31.1
    "EXPM1": (
        float.fromhex("0x1.0000000000000p-1"),
        float.fromhex("0x1.5555540000000p-3"),
        float.fromhex("0x1.5554f80000000p-5"),
        float.fromhex("0x1.1112de0000000p-7"),
        float.fromhex("0x1.6d3a340000000p-10"),
        float.fromhex("0x1.9e654a0000000p-13"),
    ),
    # (log(1 + t) - t) / t^2; -0.2929 <= t <= 0.41422; largest error 2^-27.4
    "LOG": (
        float.fromhex("-0x1.0000000000000p-1"),
        float.fromhex("0x1.5555540000000p-2"),
        float.fromhex("-0x1.0002260000000p-2"),
        float.fromhex("0x1.99a01c0000000p-3"),
        float.fromhex("-0x1.54728a0000000p-3"),
        float.fromhex("0x1.22d9380000000p-3"),
        float.fromhex("-0x1.0d82580000000p-3"),
        float.fromhex("0x1.055e580000000p-3"),
        float.fromhex("-0x1.38c7de0000000p-4"),
    ),
    # (log2(1 + t) - t / log(2)) / t^2; -0.2929 <= t <= 0.41422; largest error 2^-27.7
    "LOG2": (
        float.fromhex("-0x1.7154700000000p-1"),
        float.fromhex("0x1.ec70920000000p-2"),
        float.fromhex("-0x1.715aee0000000p-2"),
        float.fromhex("0x1.277fe20000000p-2"),
        float.fromhex("-0x1.eaa98a0000000p-3"),
        float.fromhex("0x1.a2b5560000000p-3"),
        float.fromhex("-0x1.878f820000000p-3"),
        float.fromhex("0x1.7f78200000000p-3"),
        float.fromhex("-0x1.c6ac560000000p-4"),
    ),
    # (tanh(x) / x - 1) / t, t = x^2; 0.0 <= t <= 1.0; largest error 2^-30.9
    "TANH": (
        float.fromhex("-0x1.5555520000000p-2"),
        float.fromhex("0x1.11103c0000000p-3"),
        float.fromhex("-0x1.b9f6da0000000p-5"),
        float.fromhex("0x1.64c0440000000p-6"),
        float.fromhex("-0x1.18db640000000p-7"),
        float.fromhex("0x1.8f862c0000000p-9"),
        float.fromhex("-0x1.ae8cba0000000p-11"),
        float.fromhex("0x1.e76c160000000p-14"),
    ),
    # erf(x) / x - 1, t = x^2; 0.0 <= t <= 1.0; largest error 2^-29.9
    "ERF": (
        float.fromhex("0x1.06eba80000000p-3"),
        float.fromhex("-0x1.81273e0000000p-2"),
        float.fromhex("0x1.ce2c500000000p-4"),
        float.fromhex("-0x1.b7d3fa0000000p-6"),
        float.fromhex("0x1.50f8f40000000p-8"),
        float.fromhex("-0x1.6548320000000p-11"),
        float.fromhex("-0x1.5a0ace0000000p-14"),
        float.fromhex("0x1.ca6b640000000p-14"),
        float.fromhex("-0x1.eed1900000000p-16"),
    ),
    # log2(1 - erf(1 + t)); 0.0 <= t <= 3.0; largest error 2^-27.5
    "ERFC": (
        float.fromhex("-0x1.558eae0000000p+1"),
        float.fromhex("-0x1.e752fc0000000p+1"),
        float.fromhex("-0x1.3769540000000p+0"),
        float.fromhex("-0x1.e546ea0000000p-5"),
        float.fromhex("0x1.8ee3aa0000000p-7"),
        float.fromhex("0x1.d816560000000p-11"),
        float.fromhex("-0x1.7624f80000000p-9"),
        float.fromhex("0x1.6594be0000000p-10"),
        float.fromhex("-0x1.e44bc60000000p-13"),
    ),
    # (sin(x) / x - 1) / t, t = x^2; 0.0 <= t <= 0.625; largest error 2^-32.5
    "SIN": (
        float.fromhex("-0x1.5555560000000p-3"),
        float.fromhex("0x1.1111720000000p-7"),
        float.fromhex("-0x1.a056b40000000p-13"),
        float.fromhex("0x1.7b65220000000p-19"),
    ),
    # (cos(x) - 1 + t / 2) / t^2; 0.0 <= t <= 0.625; largest error 2^-37.0
    "COS": (
        float.fromhex("0x1.5555560000000p-5"),
        float.fromhex("-0x1.6c175c0000000p-10"),
        float.fromhex("0x1.a06f680000000p-16"),
        float.fromhex("-0x1.3572400000000p-22"),
    ),
}
"""Lowest coefficient first."""
