"""Overlap of strided tensors is decided as listing every byte decides it."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.overlap import byte_range, names_an_element_twice, same_elements, share_memory
from agentkern.runtime.tensor_view import Device, TensorView

WIDTHS = {1: "u8", 2: "u16", 4: "u32", 8: "u64"}


def view(pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], width: int) -> TensorView:
    dtype = DTYPES[WIDTHS[width]]
    return TensorView(pointer, dtype, dtype.name, shape, strides, Device("cuda", 0), False, "torch", None)


def addresses(tensor: TensorView, width: int) -> list[int]:
    """The address of each element, in the order of the indices."""
    indices = itertools.product(*(range(extent) for extent in tensor.shape))
    return [
        tensor.pointer + width * sum(i * s for i, s in zip(index, tensor.strides, strict=True)) for index in indices
    ]


def covered(tensor: TensorView, width: int) -> set[int]:
    return {address + byte for address in addresses(tensor, width) for byte in range(width)}


@st.composite
def views(draw: st.DrawFn) -> tuple[TensorView, int]:
    width = draw(st.sampled_from([1, 2, 4, 8]))
    rank = draw(st.integers(0, 3))
    shape = tuple(draw(st.integers(0, 4)) for _ in range(rank))
    strides = tuple(draw(st.integers(0, 12)) for _ in range(rank))
    return view(4096 + width * draw(st.integers(0, 24)), shape, strides, width), width


@settings(max_examples=150, deadline=None)
@given(views(), views())
def test_shared_bytes_are_found_and_only_they(a: tuple[TensorView, int], b: tuple[TensorView, int]):
    assert share_memory(*a, *b) == bool(covered(*a) & covered(*b))


@settings(max_examples=100, deadline=None)
@given(views())
def test_range_is_from_the_first_byte_to_past_the_last(a: tuple[TensorView, int]):
    low, high = byte_range(*a)
    bytes_ = covered(*a)
    assert (low, high) == ((min(bytes_), max(bytes_) + 1) if bytes_ else (a[0].pointer, a[0].pointer))


@settings(max_examples=150, deadline=None)
@given(views())
def test_element_named_twice_is_never_missed(a: tuple[TensorView, int]):
    places = addresses(*a)
    if len(set(places)) < len(places):
        assert names_an_element_twice(a[0].shape, a[0].strides)


@settings(max_examples=100, deadline=None)
@given(st.permutations(range(3)), st.tuples(*[st.integers(1, 4)] * 3), st.tuples(*[st.integers(0, 3)] * 3))
def test_padded_and_transposed_tensors_name_no_element_twice(
    order: list[int], shape: tuple[int, ...], padding: tuple[int, ...]
):
    strides, step = [0, 0, 0], 1
    for axis in order:
        strides[axis] = step
        step *= shape[axis] + padding[axis]
    assert not names_an_element_twice(shape, tuple(strides))


def test_interleaved_columns_are_apart_and_one_column_off_they_are_not():
    even, odd = view(0x1000, (100, 50), (100, 2), 4), view(0x1004, (100, 50), (100, 2), 4)
    assert not share_memory(even, 4, odd, 4)
    assert share_memory(even, 4, view(0x1008, (100, 49), (100, 2), 4), 4)


def test_tensors_on_different_gpus_share_nothing():
    a = view(0x1000, (4,), (1,), 4)
    other = TensorView(0x1000, a.dtype, "u32", (4,), (1,), Device("cuda", 1), False, "torch", None)
    assert not share_memory(a, 4, other, 4)


def test_sameness_needs_the_same_place_shape_and_strides():
    a = view(0x1000, (4, 1), (1, 7), 4)
    assert same_elements(a, view(0x1000, (4, 1), (1, 9), 4))
    assert not same_elements(a, view(0x1000, (4, 1), (2, 7), 4))
    assert not same_elements(a, view(0x1004, (4, 1), (1, 7), 4))
    assert not same_elements(a, view(0x1000, (2, 1), (1, 7), 4))
