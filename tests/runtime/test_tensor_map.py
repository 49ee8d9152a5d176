"""Tensor maps: limits of the copy engine, and the simulator's encoding."""

import ctypes

import pytest

from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.tensor_map import (
    MAP_ALIGNMENT,
    MAP_BYTES,
    TensorMap,
    TensorMapError,
    contiguous_map,
    decode_simulator_words,
)

BF16 = DTYPES["bf16"]


def test_simulator_words_read_back_innermost_axis_first():
    map_ = TensorMap(BF16, (3, 70, 200), (1 << 20, 512, 2), (1, 64, 32), 64, (1, 2, 1), "nan")
    decoded = decode_simulator_words(map_.simulator_words(0x7F0000001230))
    assert decoded.address == 0x7F0000001230
    assert (decoded.element_bytes, decoded.swizzle, decoded.fill_bits) == (2, 64, 0x7FF7)
    assert (decoded.extents, decoded.strides_bytes) == ((200, 70, 3), (512, 1 << 20))
    assert (decoded.box, decoded.element_strides) == ((32, 64, 1), (1, 2, 1))


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
def test_every_rank_and_swizzle_reads_back(rank, swizzle):
    shape, box = (5, 6, 7, 8, 64)[-rank:], (1, 256, 3, 4, 16)[-rank:]
    decoded = decode_simulator_words(contiguous_map(BF16, shape, box, swizzle).simulator_words(4096))
    assert (decoded.extents, decoded.box, decoded.swizzle) == (shape[::-1], box[::-1], swizzle)
    assert len(decoded.strides_bytes) == rank - 1


def test_largest_extent_stride_and_box_read_back():
    stride = (1 << 40) - 16
    map_ = TensorMap(DTYPES["u8"], (1 << 32, 1 << 32), (stride, 1), (256, 256), 0, (8, 1))
    decoded = decode_simulator_words(map_.simulator_words(16))
    assert (decoded.extents, decoded.strides_bytes) == ((1 << 32, 1 << 32), (stride,))
    assert (decoded.box, decoded.element_strides) == ((256, 256), (1, 8))


def test_copy_counts_every_element_of_the_box_that_the_element_stride_meets():
    map_ = TensorMap(BF16, (100, 64), (128, 2), (9, 64), 128, (4, 1))
    assert map_.copied == (3, 64)
    assert map_.copy_bytes == 3 * 64 * 2


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"shape": (1,) * 6, "strides_bytes": (16,) * 6, "box": (8,) * 6}, "1 to 5 axes, not 6"),
        ({"shape": (), "strides_bytes": (), "box": ()}, "1 to 5 axes, not 0"),
        ({"box": (64,)}, "1 box extents for 2 axes"),
        ({"element_strides": (1,)}, "1 element strides for 2 axes"),
        ({"shape": (0, 128)}, "axis 0 has 0 elements"),
        ({"shape": ((1 << 32) + 1, 128)}, "1 to 2^32"),
        ({"strides_bytes": (264, 2)}, "axis 0 has a stride of 264 bytes; a tensor map takes multiples of 16"),
        ({"strides_bytes": (1 << 40, 2)}, "below 2^40"),
        ({"strides_bytes": (-256, 2)}, "axis 0 has a stride of -256 bytes"),
        ({"strides_bytes": (256, 4)}, "must be contiguous (2)"),
        ({"box": (257, 64)}, "the box has 257 elements along axis 0; a copy takes 1 to 256"),
        ({"box": (0, 64)}, "the box has 0 elements"),
        ({"box": (64, 12)}, "the box is 24 bytes wide; a copy takes multiples of 16"),
        ({"swizzle": 128, "box": (64, 128)}, "more than the 128 bytes of its swizzle"),
        ({"swizzle": 48}, "0, 32, 64 or 128 bytes wide, not 48"),
        ({"element_strides": (9, 1)}, "an element stride of 9 along axis 0"),
        ({"element_strides": (1, 2)}, "an element stride of 2 along the innermost axis"),
        ({"dtype": DTYPES["i16"], "fill": "nan"}, "`i16` cannot be filled with NaN"),
        ({"l2_promotion_bytes": 32}, "0, 64, 128 or 256 bytes into L2"),
    ],
)
def test_what_the_copy_engine_cannot_do_is_named(change, text):
    usual = {"dtype": BF16, "shape": (100, 128), "strides_bytes": (256, 2), "box": (64, 64), "swizzle": 128}
    TensorMap(**usual)
    with pytest.raises(TensorMapError) as error:
        TensorMap(**{**usual, **change})
    assert text in str(error.value)


def test_misaligned_tensor_is_refused_where_the_address_is_known():
    map_ = contiguous_map(BF16, (8, 64), (8, 64))
    map_.simulator_words(4112)
    with pytest.raises(TensorMapError, match="begins at 0x1018, which 16 does not divide"):
        map_.simulator_words(4120)


@pytest.mark.parametrize("change", [b"\0", b"driver"])
def test_bytes_that_are_no_map_are_refused(change):
    words = contiguous_map(BF16, (8, 64), (8, 64)).simulator_words(4096)
    decode_simulator_words(words)
    with pytest.raises(TensorMapError, match="not a tensor map of the simulator"):
        decode_simulator_words((change + words)[:MAP_BYTES])
    with pytest.raises(TensorMapError, match="128 bytes, not 120"):
        decode_simulator_words(words[:120])


def test_map_with_an_impossible_rank_or_swizzle_is_refused():
    words = bytearray(contiguous_map(BF16, (8, 64), (8, 64)).simulator_words(4096))
    words[16] = 6
    with pytest.raises(TensorMapError, match="word 2"):
        decode_simulator_words(bytes(words))


class RecordingDriver:
    """Stands in for the driver: keeps the arguments and writes a pattern where the map goes."""

    def __init__(self) -> None:
        self.calls: list[tuple] = []

    def call(self, name, *arguments):
        self.calls.append((name, arguments))
        ctypes.memmove(arguments[0].value, bytes(range(MAP_BYTES)), MAP_BYTES)


def test_driver_receives_axes_innermost_first_and_an_aligned_place():
    gpu = RecordingDriver()
    map_ = TensorMap(BF16, (3, 70, 200), (28000, 400, 2), (1, 64, 32), 64, (1, 2, 1), "nan")
    assert map_.driver_words(0x1000, gpu) == bytes(range(MAP_BYTES))
    (name, (place, data_type, rank, address, shape, strides, box, steps, *modes)) = gpu.calls[0]
    assert name == "cuTensorMapEncodeTiled"
    assert place.value % MAP_ALIGNMENT == 0
    assert (data_type.value, rank.value, address.value) == (9, 3, 0x1000)
    assert (list(shape), list(strides)) == ([200, 70, 3], [400, 28000])
    assert (list(box), list(steps)) == ([32, 64, 1], [1, 2, 1])
    assert [mode.value for mode in modes] == [0, 2, 2, 1]


@pytest.mark.parametrize(("dtype", "code"), [("e4m3", 0), ("bf16", 1), ("f32", 2), ("tf32", 2), ("f64", 4), ("i64", 4)])
def test_types_of_equal_width_are_copied_alike(dtype, code):
    gpu = RecordingDriver()
    contiguous_map(DTYPES[dtype], (8, 64), (8, 32)).driver_words(0, gpu)
    assert gpu.calls[0][1][1].value == code
