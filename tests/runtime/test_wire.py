"""Plain values survive a message; anything else is refused on either side."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentkern.runtime.wire import BadMessage, NotPlain, decode, encode

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
PLAIN = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key != "$bytes"), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_every_plain_value_comes_back(value: object):
    assert decode(encode(value)) == value


def test_nan_negative_zero_and_infinity_come_back():
    nan, zero, infinity = decode(encode([math.nan, -0.0, -math.inf]))
    assert math.isnan(nan)
    assert math.copysign(1.0, zero) == -1.0
    assert infinity == -math.inf


@pytest.mark.parametrize("value", [object(), {1: 2}, {"$bytes": [0, 1]}, [1, {2}], 1j])
def test_other_values_are_refused(value: object):
    with pytest.raises(NotPlain):
        encode(value)


@pytest.mark.parametrize(
    "message", [b"", b"\x00" * 7, encode({"a": b"12345"})[:-1], b"\x02" + bytes(7) + b"{]", bytes([255] * 8) + b"{}"]
)
def test_damaged_message_is_refused(message: bytes):
    with pytest.raises(BadMessage):
        decode(message)
