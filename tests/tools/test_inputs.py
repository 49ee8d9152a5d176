"""Seeded inputs: the same bytes everywhere, and each kind what it says."""

import numpy as np
import pytest

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.records import Field, Record, layout_of
from agentkern.compiler.ir.reference_formats import STORAGE, decode
from agentkern.dsl.dtypes import DTYPES
from agentkern.tools.inputs import KINDS, digest, generate, generate_for, raw_bits

PINNED = {
    "random": "bc8d4998b684765e19bc6b9d30db4da148399be7b9fcddf00cb832ae6cfb4d13",
    "special": "4b90edd185d61593b23f5fcae8286639334d85965fcb2f8589efc61b1673bea9",
}


def test_philox_words_are_those_of_the_random123_test_vector() -> None:
    # philox4x64-10 with counter 0 and key 0 (Random123 kat_vectors); NumPy counts before it generates
    words = np.random.Philox(key=0, counter=[2**64 - 1] * 4).random_raw(4)
    want = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
    assert [int(w) for w in words] == want


def test_bytes_are_pinned_so_that_digests_can_be_compared_across_machines() -> None:
    assert digest(generate("random", DTYPES["bf16"], (3, 5), 7, "x")) == PINNED["random"]
    assert digest(generate("special", DTYPES["bf16"], (3, 5), 7, "x")) == PINNED["special"]


def test_a_longer_tensor_begins_with_the_shorter_one() -> None:
    long, short = (generate("random", DTYPES["f32"], (n,), 1, "x") for n in (1 << 19, 100))
    assert np.array_equal(long[:100], short)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_kind_fills_every_dtype_at_every_rank(kind: str, dtype: object) -> None:
    for shape in ((), (0, 4), (5,), (7, 3)):
        raw = generate(kind, dtype, shape, 0, "x")
        assert raw.shape == shape
        assert raw.dtype == np.dtype(STORAGE[dtype.name])


def test_names_seeds_and_kinds_give_different_streams() -> None:
    streams = [raw_bits(4, 0, "x", "a"), raw_bits(4, 1, "x", "a"), raw_bits(4, 0, "y", "a"), raw_bits(4, 0, "x", "b")]
    assert len({s.tobytes() for s in streams}) == 4


def test_integer_inputs_are_small_and_never_zero() -> None:
    values = generate("integers", DTYPES["f32"], (1000,), 0, "x")
    assert set(values.tolist()) == {-3.0, -2.0, -1.0, 1.0, 2.0, 3.0}


def test_special_inputs_hold_nan_infinity_zero_and_denormals_but_not_in_every_row() -> None:
    values = decode("bf16", generate("special", DTYPES["bf16"], (6, 400), 0, "x"))
    assert np.isnan(values[0]).any()
    assert np.isinf(values[0]).any()
    assert not np.isnan(values[1:4]).any()
    assert (np.abs(values[2]) < 2.0**-126).all()
    assert np.signbit(values[2][values[2] == 0]).any()


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_each_field_of_a_record_has_values_of_its_own_dtype(rows: int) -> None:
    inner = Record("INNER", (Field("half", DTYPES["f16"], (3,)), Field("flag", DTYPES["bool"])))
    record = Record("OUTER", (Field("tag", DTYPES["u8"]), Field("items", inner, (2,)), Field("sum", DTYPES["f32"])))
    param = TensorParam("kv", DTYPES["u8"], (rows, 19), "in", layout_of(record))
    made = generate_for("special", param, (rows, 19), 3)
    packed = np.dtype([("tag", "u1"), ("items", [("half", "<u2", 3), ("flag", "u1")], 2), ("sum", "<f4")])
    assert packed.itemsize == 19
    found = made.view(packed).reshape(rows) if rows else np.empty(0, packed)
    want = generate("special", DTYPES["f16"], (rows, 2, 3), 3, "kv.items.half")
    assert np.array_equal(found["items"]["half"], want.view(np.uint16))
    assert found["sum"].tobytes() == generate("special", DTYPES["f32"], (rows,), 3, "kv.sum").tobytes()
