"""Buffers show every byte that a run should not have touched."""

from __future__ import annotations

import numpy as np
import pytest

from agentkern.dsl.dtypes import DTYPES
from agentkern.tools.verify_buffers import GUARD_BYTES, GuardedArray, guarded, poison

SHAPES = [(), (0, 3), (5,), (3, 4), (2, 3, 4)]


def contents(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype=np.uint16).reshape(shape)


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_buffer_holds_its_contents_and_writing_them_is_no_damage(shape: tuple[int, ...], strided: bool) -> None:
    buffer = guarded("x", contents(shape), strided=strided)
    assert np.array_equal(buffer.array, contents(shape))
    assert buffer.damage(writable=False) == ()
    buffer.array[...] = 7
    assert buffer.damage(writable=True) == ()


def test_contiguous_buffers_are_aligned_and_strided_ones_to_an_element_only() -> None:
    plain, strided = guarded("x", contents((3, 4))), guarded("x", contents((3, 4)), strided=True)
    assert plain.array.ctypes.data % GUARD_BYTES == 0
    assert strided.array.ctypes.data % 4 == 2
    assert strided.array.strides == (18, 4)


def spoiled(buffer: GuardedArray, byte: int) -> tuple[str, ...]:
    buffer.memory[byte] ^= 0xFF
    return buffer.damage(writable=True)


def test_bytes_before_between_and_after_the_elements_are_each_noticed() -> None:
    assert "before" in spoiled(guarded("x", contents((3, 4))), GUARD_BYTES - 1)[0]
    assert "byte 0 past the end" in spoiled(guarded("x", contents((3, 4))), GUARD_BYTES + 24)[0]
    assert (
        "byte 2 of `x`, which lies between"
        in spoiled(guarded("x", contents((3, 4)), strided=True), GUARD_BYTES + 2 + 2)[0]
    )


def test_a_changed_input_is_damage() -> None:
    buffer = guarded("x", contents((3, 4)))
    buffer.array[2, 3] += 1
    assert buffer.damage(writable=False) == ("input `x` was changed",)
    assert buffer.damage(writable=True) == ()


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_the_two_poisons_of_a_dtype_differ_in_every_element(dtype: object) -> None:
    pair = [poison(dtype, (3,), which).view(f"u{dtype.nbytes}") for which in (0, 1)]
    assert (pair[0] != pair[1]).all()
