"""Tensor maps: what the copy engine knows of a tensor, checked, and encoded for the driver or for the simulator.

The driver's encoding is opaque and made by the driver. The simulator's is ours, 16 little-endian words of 64 bits, so
that its copies go through an encoded map too and never receive logical tiles:

    word 0      MAGIC
    word 1      address of the first element
    word 2      rank, bytes of an element << 8, swizzle code << 16
    words 3-7   extents, innermost axis first; 0 beyond the rank
    words 8-11  strides in bytes of axes 1 to 4
    word 12     box extents of axes 0 to 3, 16 bits each
    word 13     box extent of axis 4, then element strides of axes 0 to 4, 8 bits each, from bit 16 on
    word 14     0
    word 15     bits of the element that stands for those outside the tensor

Coordinates are no part of a map; a copy gives them, innermost first. Measured on an H200 with elements of 16 bits
(2026-11-29), with every swizzle; what breaks a rule ends as an illegal instruction:

- The innermost coordinate is a multiple of 16 bytes, of loads and of stores.
- A load may begin at negative coordinates; what lies outside the tensor is filled.
- A store has no negative coordinate. It may reach past the extents or begin there; what lies outside is not written.

Source: CUDA Driver API 13.0, Tensor Map Object Management, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Literal

from agentkern.compiler.targets.instructions_swizzles import SWIZZLES
from agentkern.dsl.dtypes import DTYPES, DType
from agentkern.runtime.driver import Driver

MAGIC = 0x3150414D544B4141
MAP_BYTES = 128
MAP_ALIGNMENT = 64
MAX_RANK = 5
MAX_EXTENT = 1 << 32
MAX_STRIDE_BYTES = 1 << 40
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
GRANULE_BYTES = 16
"""Addresses, strides and the box's innermost width are multiples of this."""

Fill = Literal["zero", "nan"]

# CUtensorMapDataType. Types of equal width copy alike; float types are told apart for the NaN that fills.
_DATA_TYPES = {1: 0, 2: 1, 4: 2, 8: 4}
_FLOAT_DATA_TYPES = {"f16": 6, "f32": 7, "f64": 8, "bf16": 9, "tf32": 7}
# bf16 as an H200 fills it (2026-11-29); the others are not measured
_NANS = {"f16": 0x7FFF, "bf16": 0x7FF7, "f32": 0x7FFFFFFF, "tf32": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF}
_NO_INTERLEAVE = 0
# CUtensorMapL2promotion, by the bytes that one miss brings into L2
_L2_PROMOTIONS = {0: 0, 64: 1, 128: 2, 256: 3}
_WORDS = struct.Struct("<16Q")


class TensorMapError(ValueError):
    """A tensor that the copy engine cannot describe; the text says which limit and what would be allowed."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor and the box that one copy moves; axes outermost first, the innermost being contiguous.

    strides_bytes: of all axes. box: elements of each axis that a copy spans. swizzle: width in bytes of the rows
    permuted in shared memory, 0 for none. element_strides: steps between the elements copied, 1 for all. fill: what
    stands for elements outside the tensor. l2_promotion_bytes: how much a miss brings into L2.

    Errors: TensorMapError for what the copy engine cannot do.
    """

    dtype: DType
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0
    element_strides: tuple[int, ...] = ()
    fill: Fill = "zero"
    l2_promotion_bytes: int = 128

    def __post_init__(self) -> None:
        if not self.element_strides:
            object.__setattr__(self, "element_strides", (1,) * len(self.shape))
        problem = next(_problems(self), None)
        if problem is not None:
            raise TensorMapError(problem)

    @property
    def rank(self) -> int:
        """Axes."""
        return len(self.shape)

    @property
    def copied(self) -> tuple[int, ...]:
        """Elements of each axis that one copy moves."""
        return tuple(-(-span // step) for span, step in zip(self.box, self.element_strides, strict=True))

    @property
    def copy_bytes(self) -> int:
        """Bytes that one copy writes to shared memory and counts at its barrier, those outside the tensor included."""
        return prod(self.copied) * self.dtype.nbytes

    @property
    def fill_bits(self) -> int:
        """Bits of an element outside the tensor."""
        return _NANS[self.dtype.name] if self.fill == "nan" else 0

    def simulator_words(self, address: int) -> bytes:
        """The map for the simulator, as the module's description says.

        Errors: TensorMapError for a misaligned address.
        """
        _check_address(address)
        swizzle = SWIZZLES[self.swizzle].map_code
        box, steps = _inner_first(self.box, 0), _inner_first(self.element_strides, 0)
        words = [
            MAGIC,
            address,
            self.rank | self.dtype.nbytes << 8 | swizzle << 16,
            *_inner_first(self.shape, 0),
            *_inner_first(self.strides_bytes, 0)[1:],
            _packed(box[:4], 16),
            box[4] | _packed(steps, 8) << 16,
            0,
            self.fill_bits,
        ]
        return _WORDS.pack(*words)

    def driver_words(self, address: int, driver: Driver) -> bytes:
        """The map for the GPU, encoded by the driver, in whose context `address` lies.

        Errors: TensorMapError for a misaligned address; DriverError when the driver refuses the map.
        """
        _check_address(address)
        storage = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGNMENT)
        place = -(-ctypes.addressof(storage) // MAP_ALIGNMENT) * MAP_ALIGNMENT
        rank = self.rank
        strides = self.strides_bytes[::-1][1:]
        driver.call(
            "cuTensorMapEncodeTiled",
            ctypes.c_void_p(place),
            ctypes.c_int(self._data_type()),
            ctypes.c_uint32(rank),
            ctypes.c_void_p(address),
            (ctypes.c_uint64 * rank)(*self.shape[::-1]),
            (ctypes.c_uint64 * max(rank - 1, 1))(*strides),
            (ctypes.c_uint32 * rank)(*self.box[::-1]),
            (ctypes.c_uint32 * rank)(*self.element_strides[::-1]),
            ctypes.c_int(_NO_INTERLEAVE),
            ctypes.c_int(SWIZZLES[self.swizzle].map_code),
            ctypes.c_int(_L2_PROMOTIONS[self.l2_promotion_bytes]),
            ctypes.c_int(self.fill == "nan"),
        )
        return ctypes.string_at(place, MAP_BYTES)

    def _data_type(self) -> int:
        if self.fill == "nan":
            return _FLOAT_DATA_TYPES[self.dtype.name]
        return _DATA_TYPES[self.dtype.nbytes]


@dataclass(frozen=True, slots=True)
class DecodedMap:
    """What a map for the simulator says; axes innermost first. `strides_bytes` starts with the second axis."""

    address: int
    element_bytes: int
    swizzle: int
    extents: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    fill_bits: int


def decode_simulator_words(data: bytes) -> DecodedMap:
    """Read `TensorMap.simulator_words` back.

    Errors: TensorMapError when `data` is no such map.
    """
    if len(data) != MAP_BYTES:
        raise TensorMapError(f"a tensor map has {MAP_BYTES} bytes, not {len(data)}")
    words = _WORDS.unpack(data)
    if words[0] != MAGIC:
        raise TensorMapError(f"not a tensor map of the simulator: it begins with {words[0]:#x}")
    rank, element_bytes, code = words[2] & 0xFF, words[2] >> 8 & 0xFF, words[2] >> 16
    widths = [mode.width_bytes for mode in SWIZZLES.values() if mode.map_code == code]
    if not 1 <= rank <= MAX_RANK or element_bytes not in _DATA_TYPES or not widths:
        raise TensorMapError(f"not a tensor map of the simulator: word 2 is {words[2]:#x}")
    box = (*_unpacked(words[12], 16, 4), words[13] & 0xFFFF)
    return DecodedMap(
        address=words[1],
        element_bytes=element_bytes,
        swizzle=widths[0],
        extents=words[3 : 3 + rank],
        strides_bytes=words[8 : 7 + rank],
        box=box[:rank],
        element_strides=_unpacked(words[13] >> 16, 8, rank),
        fill_bits=words[15],
    )


def contiguous_map(dtype: DType, shape: tuple[int, ...], box: tuple[int, ...], swizzle: int = 0) -> TensorMap:
    """The map of a row-major tensor.

    Errors: TensorMapError.
    """
    strides = tuple(prod(shape[axis + 1 :]) * dtype.nbytes for axis in range(len(shape)))
    return TensorMap(dtype, shape, strides, box, swizzle)


def _inner_first(values: tuple[int, ...], absent: int) -> tuple[int, ...]:
    """Five values, innermost axis first."""
    return (*values[::-1], *(absent,) * (MAX_RANK - len(values)))


def _packed(values: tuple[int, ...], bits: int) -> int:
    return sum(value << bits * place for place, value in enumerate(values))


def _unpacked(word: int, bits: int, count: int) -> tuple[int, ...]:
    return tuple(word >> bits * place & (1 << bits) - 1 for place in range(count))


def _check_address(address: int) -> None:
    if address % GRANULE_BYTES:
        raise TensorMapError(f"the tensor begins at {address:#x}, which {GRANULE_BYTES} does not divide")


def _problems(map_: TensorMap) -> Iterator[str]:
    """What the copy engine cannot do, most basic first."""
    rank = map_.rank
    if not 1 <= rank <= MAX_RANK:
        yield f"a tensor map has 1 to {MAX_RANK} axes, not {rank}"
    for what, values in (
        ("strides", map_.strides_bytes),
        ("box extents", map_.box),
        ("element strides", map_.element_strides),
    ):
        if len(values) != rank:
            yield f"{len(values)} {what} for {rank} axes"
    if map_.dtype.name not in DTYPES or map_.dtype.nbytes not in _DATA_TYPES:
        yield f"no element type `{map_.dtype.name}` in a tensor map"
    if map_.swizzle not in SWIZZLES:
        yield f"a swizzle is 0, 32, 64 or 128 bytes wide, not {map_.swizzle}"
    if map_.l2_promotion_bytes not in _L2_PROMOTIONS:
        yield f"a miss brings 0, 64, 128 or 256 bytes into L2, not {map_.l2_promotion_bytes}"
    if map_.fill == "nan" and map_.dtype.name not in _NANS:
        yield f"`{map_.dtype.name}` cannot be filled with NaN: only f16, bf16, f32, tf32 and f64 can"
    yield from _axis_problems(map_)
    yield from _innermost_problems(map_)


def _axis_problems(map_: TensorMap) -> Iterator[str]:
    for axis, extent in enumerate(map_.shape):
        if not 1 <= extent <= MAX_EXTENT:
            yield f"axis {axis} has {extent} elements; a tensor map takes 1 to 2^32"
    for axis, stride in enumerate(map_.strides_bytes[:-1]):
        if stride % GRANULE_BYTES or not 0 <= stride < MAX_STRIDE_BYTES:
            yield f"axis {axis} has a stride of {stride} bytes; a tensor map takes multiples of 16 below 2^40"
    for axis, span in enumerate(map_.box):
        if not 1 <= span <= MAX_BOX:
            yield f"the box has {span} elements along axis {axis}; a copy takes 1 to {MAX_BOX}"
    for axis, step in enumerate(map_.element_strides):
        if not 1 <= step <= MAX_ELEMENT_STRIDE:
            yield f"an element stride of {step} along axis {axis}; a copy takes 1 to {MAX_ELEMENT_STRIDE}"


def _innermost_problems(map_: TensorMap) -> Iterator[str]:
    n_bytes = map_.dtype.nbytes
    if map_.strides_bytes[-1] != n_bytes:
        yield f"the innermost axis has a stride of {map_.strides_bytes[-1]} bytes; it must be contiguous ({n_bytes})"
    if map_.element_strides[-1] != 1:
        yield f"an element stride of {map_.element_strides[-1]} along the innermost axis; only 1 is possible there"
    width = map_.box[-1] * n_bytes
    if width % GRANULE_BYTES:
        yield f"the box is {width} bytes wide; a copy takes multiples of {GRANULE_BYTES}"
    if map_.swizzle and width > map_.swizzle:
        yield f"the box is {width} bytes wide, more than the {map_.swizzle} bytes of its swizzle"
