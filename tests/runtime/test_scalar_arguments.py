"""A scalar argument is stored exactly, rounded once, or refused."""

import math
import struct

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.scalar_arguments import bind_scalar, round_to


def bits(dtype: str, value: object) -> bytes:
    return bind_scalar("s", DTYPES[dtype], value).data


@pytest.mark.parametrize(
    ("dtype", "value", "data"),
    [
        ("i8", -128, b"\x80"),
        ("u8", 255, b"\xff"),
        ("i32", -2, b"\xfe\xff\xff\xff"),
        ("u64", 2**64 - 1, b"\xff" * 8),
        ("i64", -(2**63), b"\x00" * 7 + b"\x80"),
        ("bool", True, b"\x01"),
        ("f32", 1, struct.pack("<f", 1.0)),
        ("f64", 0.1, struct.pack("<d", 0.1)),
        ("bf16", -0.0, b"\x00\x80"),
        ("e5m2", math.inf, b"\x7c"),
        ("f32", math.nan, b"\xff\xff\xff\x7f"),
        ("bf16", math.nan, b"\xff\x7f"),
        ("e4m3", math.nan, b"\x7f"),
        ("e4m3", 448.0, b"\x7e"),
        ("e8m0", 1, b"\x7f"),
        ("e8m0", 2.0**-127, b"\x00"),
        ("e8m0", 2.9, b"\x80"),
        ("e8m0", 3.0, b"\x81"),
        ("e8m0", 1e-300, b"\x00"),
        ("e8m0", math.nan, b"\xff"),
        ("i32", np.int64(7), b"\x07\x00\x00\x00"),
        ("f32", np.float32(0.5), struct.pack("<f", 0.5)),
        ("bool", np.bool_(True), b"\x01"),
    ],
)
def test_number_that_fits_has_the_bits_of_its_dtype(dtype: str, value: object, data: bytes):
    assert bits(dtype, value) == data


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i8", 128),
        ("i8", -129),
        ("u8", -1),
        ("u32", 2**32),
        ("i32", 1.0),
        ("i32", True),
        ("f32", True),
        ("bool", 1),
        ("f32", 3.5e38),
        ("f32", 10**400),
        ("bf16", 3.4e38),
        ("f16", 65520.0),
        ("e4m3", 465.0),
        ("e4m3", math.inf),
        ("e8m0", math.inf),
        ("e8m0", 0.0),
        ("e8m0", -1.0),
        ("e8m0", 2.6e38),
        ("f32", "1.0"),
        ("f32", None),
        ("f32", np.zeros(1)),
    ],
)
def test_number_that_does_not_fit_is_refused(dtype: str, value: object):
    with pytest.raises(CallError) as caught:
        bits(dtype, value)
    assert (caught.value.code, caught.value.field("name")) == ("AK707", "s")


NARROW = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "e5m2": torch.float8_e5m2,
    "e4m3": torch.float8_e4m3fn,
    "e8m0": torch.float8_e8m0fnu,
}


@pytest.mark.parametrize("dtype", list(NARROW))
def test_every_number_of_a_narrow_format_keeps_its_bits(dtype: str):
    unsigned = DTYPES[dtype].storage
    codes = np.arange(1 << DTYPES[dtype].bits, dtype=unsigned)
    values = torch.from_numpy(codes).view(NARROW[dtype]).double().numpy()
    finite = np.isfinite(values)
    packed = b"".join(bits(dtype, float(value)) for value in values[finite])
    assert packed == codes[finite].tobytes()


@settings(max_examples=300, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["f32", "f16"]))
def test_rounding_is_that_of_ieee_754(value: float, dtype: str):
    with np.errstate(over="ignore", under="ignore"):
        expected = float({"f32": np.float32, "f16": np.float16}[dtype](value))
    got = round_to(value, DTYPES[dtype])
    assert (got, math.copysign(1, got)) == (expected, math.copysign(1, expected))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 0x7F7E), st.sampled_from([0.25, 0.5, 0.75]))
def test_rounding_to_bf16_takes_the_nearer_neighbour_and_the_even_one_of_a_tie(code: int, share: float):
    low, high = (struct.unpack("<f", (c << 16).to_bytes(4, "little"))[0] for c in (code, code + 1))
    even = low if code % 2 == 0 else high
    expected = {0.25: low, 0.5: even, 0.75: high}[share]
    assert round_to(low + (high - low) * share, DTYPES["bf16"]) == expected


def test_value_just_past_a_tie_is_not_rounded_twice():
    # Through f32 this would first fall on the tie between 1 and 1 + 2**-7, and then on 1.
    assert round_to(1 + 2**-8 + 2**-40, DTYPES["bf16"]) == 1 + 2**-7
