"""The products of the interpreter and those of the simulator, written apart, hold to each other and to exact sums."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.ir.reference_products import MODELS, OPERANDS, dot
from agentkern.runtime.simulator import Buffer, SimulatorModule, build

_KERNELS = Path(__file__).parents[2] / "runtime" / "simulator" / "kernels"
_TILES = 60
_FAMILIES = ("moderate", "wide", "small", "cancelling", "zeros", "specials", "large", "bits")


@pytest.fixture(scope="module")
def products(simulator_cache: Path) -> SimulatorModule:
    return build((_KERNELS / "products.cu").read_text(), simulator_cache)


def codes(rng: np.random.Generator, name: str, family: str, shape: tuple[int, ...]) -> np.ndarray:
    """Operands of a family, as storage."""
    operand = OPERANDS[name]
    storage = np.dtype(operand.storage)
    bits = rng.integers(0, 1 << 8 * storage.itemsize, shape, np.uint64)
    if family == "bits" or operand.exponent_bits == 0:
        return bits.astype(f"u{storage.itemsize}").view(storage)
    width = operand.fraction_bits + operand.dropped_bits
    top, bias = (1 << operand.exponent_bits) - 1, (1 << (operand.exponent_bits - 1)) - 1
    low, high = {
        "moderate": (bias - 3, bias + 2),
        "wide": (bias - min(20, bias), bias + min(20, bias)),
        "small": (0, 3),
        "cancelling": (bias - 1, bias + 2),
        "zeros": (0, 2),
        "specials": (bias - 2, bias + 3),
        "large": (top - 2, top),
    }[family]
    field = rng.integers(max(low, 0), high, shape, np.uint64)
    fraction = bits & np.uint64((1 << width) - 1)
    sign = (bits >> np.uint64(8 * storage.itemsize - 1)) << np.uint64(width + operand.exponent_bits)
    code = sign | field << np.uint64(width) | fraction
    if family == "zeros":
        code = np.where(rng.integers(0, 3, shape) > 0, sign, code)
    if family == "specials":
        special = (
            sign | np.uint64(top << width) | np.where(rng.integers(0, 2, shape) == 0, 0, fraction).astype(np.uint64)
        )
        code = np.where(rng.integers(0, 40, shape) == 0, special, np.where(rng.integers(0, 9, shape) == 0, sign, code))
    if family == "cancelling":
        flip = np.uint64(1 << (8 * storage.itemsize - 1))
        code[..., 1::2] = code[..., ::2] ^ np.where(rng.integers(0, 4, code[..., ::2].shape) > 0, flip, np.uint64(0))
    return code.astype(f"u{storage.itemsize}").view(storage)


def accumulators(rng: np.random.Generator, family: str, shape: tuple[int, ...]) -> np.ndarray:
    bits = rng.integers(0, 1 << 32, shape, np.uint64).astype(np.uint32)
    centre, spread = {"small": (3, 3), "large": (251, 4), "wide": (127, 50), "bits": (127, 128)}.get(family, (127, 5))
    field = np.clip(centre + rng.integers(-spread, spread + 1, shape), 0, 255).astype(np.uint32)
    made = bits & np.uint32(0x807FFFFF) | field << np.uint32(23)
    if family in ("zeros", "cancelling"):
        made = np.where(rng.integers(0, 2, shape) == 0, made & np.uint32(0x80000000), made)
    return made


def stepped(module: SimulatorModule, kernel: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """D of every tile, u32; a (tiles, rows, k), b (tiles, 8, k)."""
    d = Buffer("d", c.copy(), writable=True)
    arguments = [Buffer("a", a.view(np.uint32)), Buffer("b", b.view(np.uint32)), d]
    wide = kernel.startswith("wgmma")
    report = module.launch(kernel, len(a), 128 if wide else 32, 4096 if wide else 0, arguments)
    assert report.clean, report.findings
    return d.array


@pytest.mark.toolchain
@pytest.mark.parametrize("family", _FAMILIES)
@pytest.mark.parametrize(
    ("kernel", "a_name", "b_name"),
    [
        *((f"mma_{name}", name, name) for name in ("bf16", "f16", "tf32", "s8", "u8")),
        *(
            (f"wgmma_{a}_{b}", a, b)
            for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"), ("bf16", "bf16"))
        ),
    ],
)
def test_simulator_and_reference_agree_on_every_bit(products, kernel, a_name, b_name, family):
    rng = np.random.default_rng([_FAMILIES.index(family), len(kernel), ord(kernel[-2])])
    rows, k = 64 if kernel.startswith("wgmma") else 16, MODELS[a_name].k_step
    a = codes(rng, a_name, family, (_TILES, rows, k))
    b = codes(rng, b_name, family, (_TILES, 8, k))
    c = accumulators(rng, family, (_TILES, rows, 8))
    typed = c.view(np.int32 if a_name in ("s8", "u8") else np.float32)
    want = np.stack([dot(a[i], np.ascontiguousarray(b[i].T), typed[i], a_name, b_name) for i in range(_TILES)])
    got = stepped(products, kernel, a, b, c)
    assert (got == want.view(np.uint32)).all()


def _bf16(values: object) -> np.ndarray:
    return (np.array(values, np.float32, ndmin=1).view(np.uint32) >> 16).astype(np.uint16)


def test_small_integers_are_exact_over_any_number_of_steps():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-8, 9, (5, 83)), rng.integers(-8, 9, (83, 7))
    got = dot(_bf16(a), _bf16(b), np.zeros((5, 7), np.float32), "bf16")
    assert (got == a @ b).all()


def test_an_addend_loses_the_bits_below_the_twenty_fifth():
    # 1 + 2^-25 in the first step: the addend is kept by the alignment and lost when the result is truncated
    one, tiny = _bf16(1.0), _bf16(2.0**-13)
    a = np.concatenate([one, *[tiny] * 15])[None]
    b = np.concatenate([one, *[_bf16(2.0**-12)] * 15])[:, None]
    got = dot(a, b, np.zeros((1, 1), np.float32), "bf16")
    exact = 1 + 15 * Fraction(1, 2**25)
    assert Fraction(float(got[0, 0])) == Fraction(int(exact * 2**23), 2**23)


def test_a_zero_result_is_positive():
    negative_zero = np.full((1, 1), -0.0, np.float32)
    got = dot(_bf16(-0.0)[None], _bf16(1.0)[:, None], negative_zero, "bf16")
    assert got.view(np.uint32)[0, 0] == 0


def test_no_step_leaves_the_accumulator():
    accumulator = np.array([[-0.0, np.nan]], np.float32)
    got = dot(np.zeros((1, 0), np.uint16), np.zeros((0, 2), np.uint16), accumulator, "bf16")
    assert got.tobytes() == accumulator.tobytes()


def test_infinity_times_zero_is_the_canonical_nan():
    got = dot(_bf16(np.inf)[None], _bf16(0.0)[:, None], np.ones((1, 1), np.float32), "bf16")
    assert got.view(np.uint32)[0, 0] == 0x7FFFFFFF


def test_integers_wrap():
    largest = np.full((1, 1), 2**31 - 1, np.int32)
    got = dot(np.ones((1, 1), np.int8), np.ones((1, 1), np.int8), largest, "s8")
    assert got[0, 0] == -(2**31)
