"""The reference's arithmetic and casts against exact rational arithmetic and PyTorch's casts."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from agentkern.compiler.ir import reference_math
from agentkern.compiler.ir.reference_casts import cast
from agentkern.compiler.ir.reference_formats import STORAGE, as_storage, decode, encode

SPECIAL_BITS = """
    00000000 80000000 00000001 80000001 007fffff 00800000 80800000 3f800000 3f800001 bf800000 3fffffff
    34000000 33800000 4b000000 7f7fffff ff7fffff 7f800000 ff800000 7fc00000 ff812345
"""
SPECIAL = np.array([int(word, 16) for word in SPECIAL_BITS.split()], np.uint32).view(np.float32)


def random_floats(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)


def f32_bits(x) -> np.ndarray:
    return np.asarray(x, dtype=np.float32).view(np.uint32)


def round_exactly(exact: Fraction) -> np.uint32:
    """Round a non-zero rational to f32, to nearest even, by integer arithmetic."""
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = max(exponent - 23, -149)
    scaled = size / Fraction(2) ** unit
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    code = whole + ((unit + 149) << 23)
    return np.uint32(min(code, 0x7F800000) | (0x80000000 if exact < 0 else 0))


def adversarial_triples() -> tuple[np.ndarray, ...]:
    """Random triples, all triples of special values, and sums that cancel or tie."""
    a, b, c = (random_floats(20000, seed) for seed in (1, 2, 3))
    grid = np.meshgrid(SPECIAL, SPECIAL, SPECIAL)
    with np.errstate(all="ignore"):
        near = -(a * b)
        nudged = (f32_bits(near) ^ np.uint32(1)).view(np.float32)
        tiny = np.ldexp(near, -25).astype(np.float32)
    joined = [(a, b, c), (a, b, near), (a, b, nudged), (a, b, tiny), tuple(g.reshape(-1) for g in grid)]
    return tuple(np.concatenate([row[k] for row in joined]) for k in range(3))


def test_fma_rounds_the_exact_value_once():
    a, b, c = adversarial_triples()
    got = f32_bits(reference_math.fma("f32", a, b, c))
    finite = np.isfinite(a) & np.isfinite(b) & np.isfinite(c)
    wrong = []
    for i in np.flatnonzero(finite)[::3]:
        exact = Fraction(float(a[i])) * Fraction(float(b[i])) + Fraction(float(c[i]))
        if exact != 0 and got[i] != round_exactly(exact):
            wrong.append((float(a[i]), float(b[i]), float(c[i])))
    assert wrong == []


def test_fma_whose_product_is_a_tie_sees_an_addend_that_f64_loses():
    # 4097 * 5001 has 25 bits and ends in a one: half-way between two f32
    a, b, c = (np.array([v, v], np.float32) for v in (4097.0, 5001.0, 0.0))
    c[:] = [2.0**-60, -(2.0**-60)]
    down, up = 4097 * 5001 - 1, 4097 * 5001 + 1
    assert reference_math.fma("f32", a, b, c).tolist() == [up, down]
    twice = (a.astype(np.float64) * b + c).astype(np.float32)
    assert twice[0] == twice[1]


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        (1.0, -0.0, -0.0, 0x80000000),
        (1.0, -0.0, 0.0, 0),
        (2.0, 3.0, -6.0, 0),
        (-2.0, 3.0, 6.0, 0),
        (np.inf, 0.0, 1.0, 0x7FFFFFFF),
        (np.inf, 1.0, -np.inf, 0x7FFFFFFF),
        (3e38, 2.0, -np.inf, 0xFF800000),
    ],
)
def test_fma_of_zeros_and_infinities(a, b, c, expected):
    got = reference_math.fma("f32", *(np.array([v], np.float32) for v in (a, b, c)))
    assert f32_bits(got).tolist() == [expected]


def test_f64_fma_rounds_the_exact_value_once():
    x = np.array([1.0 + 2.0**-52, 0.1, 1e308, 5e-324, 1e-320])
    y = np.array([1.0 - 2.0**-53, 10.0, 10.0, 0.5, 1e-10])
    z = np.array([-1.0, -1.0, -np.inf, 5e-324, 0.0])
    got = reference_math.fma("f64", x, y, z)
    for i in range(2):
        assert got[i] == float(Fraction(float(x[i])) * Fraction(float(y[i])) + Fraction(float(z[i])))
    assert got[2:].tolist() == [-np.inf, 1e-323, 0.0]


def test_arithmetic_nans_are_canonical():
    nan = np.array([0xFFC12345], np.uint32).view(np.float32)
    one = np.ones(1, np.float32)
    for op in (reference_math.add, reference_math.mul, reference_math.maximum, reference_math.minimum):
        assert f32_bits(op("f32", nan, one)).tolist() == [0x7FFFFFFF]
    for op in (reference_math.neg, reference_math.absolute, reference_math.sign, reference_math.floor):
        assert f32_bits(op("f32", nan)).tolist() == [0x7FFFFFFF]


def test_copysign_keeps_a_payload():
    nan = np.array([0x7FC12345], np.uint32).view(np.float32)
    got = reference_math.copysign("f32", nan, np.array([-1.0], np.float32))
    assert f32_bits(got).tolist() == [0xFFC12345]


def test_maximum_and_minimum_order_zeros():
    a, b = np.array([-0.0, 0.0], np.float32), np.array([0.0, -0.0], np.float32)
    assert f32_bits(reference_math.maximum("f32", a, b)).tolist() == [0, 0]
    assert f32_bits(reference_math.minimum("f32", a, b)).tolist() == [0x80000000, 0x80000000]


def test_rsqrt_is_right_by_exact_comparison():
    # 0x3a18e3 is the mantissa whose results lie nearest to a midpoint
    hard = [(e << 23) | 0x3A18E3 for e in range(1, 255)]
    x = np.concatenate([np.array(hard, np.uint32).view(np.float32), np.abs(random_floats(3000, 4)), SPECIAL[2:11:2]])
    x = np.abs(x[np.isfinite(x)])
    y = reference_math.rsqrt("f32", x)
    for value, result in zip(x, y, strict=True):
        below = Fraction(float(np.nextafter(result, np.float32(0)))) + Fraction(float(result))
        above = Fraction(float(np.nextafter(result, np.float32(np.inf)))) + Fraction(float(result))
        assert Fraction(float(value)) * below**2 < 4 < Fraction(float(value)) * above**2


def test_rsqrt_of_zeros_infinity_and_negatives():
    x = np.array([0.0, -0.0, np.inf, -1.0, -np.inf], np.float32)
    expected = [0x7F800000, 0xFF800000, 0, 0x7FFFFFFF, 0x7FFFFFFF]
    assert f32_bits(reference_math.rsqrt("f32", x)).tolist() == expected


def test_bf16_arithmetic_is_the_f32_operation_rounded_once():
    a, b = encode("bf16", np.array([1.0, 256.0], np.float32)), encode("bf16", np.array([2.0**-9, 1.0], np.float32))
    assert decode("bf16", reference_math.add("bf16", a, b)).tolist() == [1.0, 256.0]
    assert decode("bf16", reference_math.mul("bf16", a, a)).tolist() == [1.0, 65536.0]


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64"])
def test_integer_division_matches_python(dtype):
    values = [-128, -127, -7, -3, -1, 0, 1, 2, 7, 100, 127]
    a, b = (g.reshape(-1).astype(STORAGE[dtype]) for g in np.meshgrid(values, [v for v in values if v != 0]))
    bits = np.iinfo(STORAGE[dtype]).bits

    def wrap(v: int) -> int:
        return (v + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))

    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    truncated = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    assert reference_math.floor_div(dtype, a, b).tolist() == [wrap(x // y) for x, y in pairs]
    assert reference_math.floor_mod(dtype, a, b).tolist() == [x % y for x, y in pairs]
    assert reference_math.trunc_div(dtype, a, b).tolist() == [wrap(q) for q in truncated]
    assert reference_math.trunc_mod(dtype, a, b).tolist() == [
        x - q * y for (x, y), q in zip(pairs, truncated, strict=True)
    ]


TORCH = {
    "bf16": torch.bfloat16,
    "f16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}


def all_codes(dtype: str) -> np.ndarray:
    width = np.dtype(STORAGE[dtype]).itemsize
    return as_storage(dtype, np.arange(1 << (8 * width), dtype=np.dtype(f"u{width}")))


def agree(dtype: str, x: np.ndarray, got: np.ndarray, want: np.ndarray) -> bool:
    """Whether two casts of x agree; releases of torch differ about e4m3 past its largest value."""
    same = np.where(np.isnan(want), np.isnan(got), f32_bits(got) == f32_bits(want))
    return bool((same | (np.abs(x) > 448)).all() if dtype == "e4m3" else same.all())


def torch_view(dtype: str, raw: np.ndarray) -> torch.Tensor:
    signed = raw.view(np.int16 if raw.dtype.itemsize == 2 else np.int8)
    return torch.from_numpy(signed.copy()).view(TORCH[dtype])


@pytest.mark.parametrize("dtype", TORCH)
def test_every_code_widens_as_in_torch(dtype):
    raw = all_codes(dtype)
    want, got = torch_view(dtype, raw).to(torch.float32).numpy(), decode(dtype, raw)
    same = np.where(np.isnan(want), f32_bits(got) == 0x7FFFFFFF, f32_bits(got) == f32_bits(want))
    assert same.all()


@pytest.mark.parametrize("dtype", TORCH)
def test_upper_halves_and_their_ties_round_as_in_torch(dtype):
    """All 65,536 upper halves of an f32 with the lower halves that decide every rounding."""
    upper = np.arange(1 << 16, dtype=np.uint32)[:, None] << np.uint32(16)
    lower = np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    x = (upper | lower).reshape(-1).view(np.float32)
    got = decode(dtype, encode(dtype, x, saturate=False))
    want = torch.from_numpy(x).to(TORCH[dtype]).to(torch.float32).numpy()
    assert agree(dtype, x, got, want)


@pytest.mark.parametrize(("source", "target"), [(a, b) for a in TORCH for b in TORCH if a != b])
def test_every_code_between_narrow_types_rounds_as_in_torch(source, target):
    raw = all_codes(source)
    got = decode(target, cast(source, target, raw, saturate=False))
    want = torch_view(source, raw).to(torch.float32).to(TORCH[target]).to(torch.float32).numpy()
    assert agree(target, decode(source, raw), got, want)


def test_exponents_are_the_nearest_powers_of_two():
    codes = np.arange(255)
    powers = np.ldexp(1.0, codes - 127)
    assert (decode("e8m0", all_codes("e8m0")[:255]) == powers).all()
    assert np.isnan(decode("e8m0", np.array([255], np.uint8)))
    up, down = 1.5 * powers, np.nextafter(1.5 * powers, 0)
    assert encode("e8m0", down).tolist() == codes.tolist()
    assert encode("e8m0", up).tolist() == [*codes[1:], 254]
    assert encode("e8m0", up, saturate=False).tolist() == [*codes[1:], 255]
    assert encode("e8m0", up, rounding="toward_zero").tolist() == codes.tolist()
    x = np.array([0.0, -0.0, -3.0, 1e-300, np.inf, -np.inf, np.nan])
    assert encode("e8m0", x).tolist() == [0, 0, 129, 0, 254, 254, 255]
    assert encode("e8m0", x, saturate=False).tolist() == [0, 0, 129, 0, 255, 255, 255]


def test_exponents_of_normal_values_are_those_of_torch():
    x = np.concatenate([random_floats(50000, 5), np.ldexp(np.float32(1.5), np.arange(-126, 127)).astype(np.float32)])
    x = x[(np.abs(x) >= 2.0**-126) | np.isnan(x)]
    want = torch.from_numpy(x).to(torch.float8_e8m0fnu).view(torch.uint8).numpy()
    assert (encode("e8m0", x, saturate=False) == want).all()


def test_overflow_without_saturation_gives_the_one_nan():
    x = np.array([1e30, -1e30, 464.0, -465.0, np.inf, -np.inf], np.float32)
    assert encode("e4m3", x, saturate=False).tolist() == [0x7F, 0x7F, 0x7E, 0x7F, 0x7F, 0x7F]


def test_fp8_saturates_infinities_and_keeps_nan():
    x = np.array([np.inf, -np.inf, 464.1, 1e30, np.nan, -np.nan], np.float32)
    assert encode("e4m3", x).tolist() == [0x7E, 0xFE, 0x7E, 0x7E, 0x7F, 0x7F]
    assert encode("e5m2", x).tolist() == [0x7B, 0xFB, 0x5F, 0x7B, 0x7F, 0x7F]
    assert encode("e5m2", x, saturate=False).tolist() == [0x7C, 0xFC, 0x5F, 0x7C, 0x7F, 0x7F]


@pytest.mark.parametrize("target", ["f32", "f16", "bf16", "e4m3", "e5m2"])
def test_f64_is_rounded_once_not_by_way_of_f32(target):
    # just above the midpoint of 1 and the next value: f32 drops the excess and a second rounding would tie to 1
    step = {"f32": 23, "f16": 10, "bf16": 7, "e4m3": 3, "e5m2": 2}[target]
    x = np.array([1.0 + 2.0 ** -(step + 1) + 2.0**-50])
    assert decode(target, cast("f64", target, x)).tolist() == [1.0 + 2.0**-step]


def test_large_integers_are_rounded_once():
    # 2^60 + 2^52 is a tie of bf16; one more must not be lost on the way
    x = np.array([(1 << 60) + (1 << 52), (1 << 60) + (1 << 52) + 1, -(1 << 63), (1 << 63) - 1], np.int64)
    assert decode("bf16", cast("i64", "bf16", x)).tolist() == [2.0**60, 2.0**60 + 2.0**53, -(2.0**63), 2.0**63]


def test_float_to_integer_truncates_saturates_and_drops_nan():
    x = np.array([-1.9, 1.9, 3e9, -3e9, np.inf, -np.inf, np.nan, 1e30], np.float32)
    top, low = (1 << 31) - 1, -(1 << 31)
    assert cast("f32", "i32", x).tolist() == [-1, 1, top, low, top, low, 0, top]
    assert cast("f32", "u8", x).tolist() == [0, 1, 255, 0, 255, 0, 0, 255]
    assert cast("f32", "i64", x[-1:]).tolist() == [(1 << 63) - 1]
    assert cast("f32", "u64", x[-1:]).tolist() == [(1 << 64) - 1]


def test_integer_narrowing_keeps_the_low_bits():
    assert cast("i32", "i8", np.array([300, -129], np.int32)).tolist() == [44, 127]
    assert cast("i64", "u16", np.array([-1], np.int64)).tolist() == [65535]


def test_to_bool_asks_for_a_value_other_than_zero():
    x = np.array([0.0, -0.0, np.nan, 1e-45], np.float32)
    assert cast("f32", "bool", x).tolist() == [False, False, True, True]


@pytest.mark.parametrize("rounding", ["toward_zero", "nearest_away"])
def test_other_roundings_of_ties_and_overflow(rounding):
    x = np.array([1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, -1.0 - 2.0**-8, 3.4e38], np.float32)
    away = [1.0 + 2.0**-7, 1.0 + 2.0**-6, -1.0 - 2.0**-7, np.inf]
    zero = [1.0, 1.0 + 2.0**-7, -1.0, 3.3895313892515355e38]
    got = decode("bf16", encode("bf16", x, rounding=rounding))
    assert got.tolist() == (zero if rounding == "toward_zero" else away)


def test_wrong_storage_is_rejected():
    with pytest.raises(TypeError, match="`bf16` is stored as uint16, got float32"):
        decode("bf16", np.zeros(1, np.float32))
