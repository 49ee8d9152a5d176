"""Seeded input tensors with the same bytes on every machine, and digests of raw arrays.

Bits come from Philox4x64-10 (Random123) through `numpy.random.Philox(key=..., counter=0).random_raw`, never from a
distribution of NumPy's, whose streams may change between releases. The 128-bit key is the start of the SHA-256 of
`seed/name/kind`. What follows is integer arithmetic and single exact or IEEE-rounded operations, so that a digest made
on one machine can be compared on another.
"""

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_casts import cast
from agentkern.compiler.ir.reference_formats import STORAGE, Raw
from agentkern.dsl.dtypes import DType

Kind = Literal["random", "wide", "integers", "special", "edge"]
KINDS: tuple[Kind, ...] = get_args(Kind)
U64 = NDArray[np.uint64]

LARGEST_INTEGER = 3
"""Integer inputs lie in -3..3 without 0: sums of products of two stay exact in f32 up to 1.8 million elements."""

_PIECE = 1 << 18
"""Elements converted at a time, which keeps intermediate arrays in the caches; no effect on the values."""


def digest(raw: Raw) -> str:
    """Return the SHA-256 of an array's bytes in row-major order."""
    return hashlib.sha256(np.ascontiguousarray(raw).tobytes()).hexdigest()


def generate(kind: Kind, dtype: DType, shape: tuple[int, ...], seed: int, name: str) -> Raw:
    """Return raw storage of `shape`, the same for the same arguments everywhere.

    random: bell-shaped floats (the sum of four uniforms, standard deviation 1.15), all bits of integers. wide: floats
    over 2**-20 to 2**20. integers: -3..3 without 0. special: NaNs, infinities, zeros, denormals, the largest and
    smallest, by rows of different menus. edge: values next to and at the midpoints between narrower formats' values.
    """
    count = int(np.prod(shape, dtype=np.int64))
    bits = raw_bits(count, seed, name, kind)
    if dtype.kind == "bool":
        return (bits & np.uint64(1)).astype(np.bool_).reshape(shape)
    if not dtype.is_float:
        return _INTEGER[kind](dtype, bits).astype(STORAGE[dtype.name]).reshape(shape)
    if kind == "special":
        return _special_float(dtype, bits, shape or (1,)).reshape(shape)
    pieces = [bits[k : k + _PIECE] for k in range(0, count, _PIECE)] or [bits]
    floats = [cast("f32", dtype.name, _FLOAT[kind](piece).astype(np.float32)) for piece in pieces]
    return np.concatenate(floats).reshape(shape)


def generate_for(kind: Kind, param: TensorParam, shape: tuple[int, ...], seed: int) -> Raw:
    """Return raw storage for a parameter; of records each field has values of its own kind."""
    if param.record is None:
        return generate(kind, param.dtype, shape, seed, param.name)
    rows = math.prod(shape[:-1])
    made = np.zeros((rows, shape[-1]), np.uint8)
    for leaf in param.record.leaves:
        extents = tuple(extent for extent in leaf.shape if isinstance(extent, int))
        strides = tuple(stride for stride in leaf.strides if isinstance(stride, int))
        values = generate(kind, leaf.dtype, (*shape[:-1], *extents), seed, f"{param.name}.{leaf.path}")
        if values.size:
            assert isinstance(leaf.offset, int)
            each = (rows, *extents, leaf.dtype.nbytes)
            place = np.lib.stride_tricks.as_strided(made[:, leaf.offset :], each, (shape[-1], *strides, 1))
            place[...] = np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(each)
    return made.reshape(shape)


def generate_all(kind: Kind, tensors: Mapping[str, tuple[DType, tuple[int, ...]]], seed: int) -> dict[str, Raw]:
    """Return one array for each named (dtype, shape)."""
    return {name: generate(kind, dtype, shape, seed, name) for name, (dtype, shape) in tensors.items()}


def raw_bits(count: int, seed: int, name: str, kind: str) -> U64:
    """Return `count` words of the stream that (seed, name, kind) names."""
    key = int.from_bytes(hashlib.sha256(f"{seed}/{name}/{kind}".encode()).digest()[:16], "little")
    return np.random.Philox(key=key, counter=0).random_raw(count)


def _bell(bits: U64) -> Raw:
    """Four 16-bit uniforms added and centred: a multiple of 2**-15 in [-4, 4), exact in f32."""
    halves = bits.view(np.uint16).reshape(-1, 4)
    total = halves[:, 0].astype(np.int32) + halves[:, 1] + halves[:, 2] + halves[:, 3] - 131072
    return total.astype(np.float32) * np.float32(2.0**-15)


def _wide(bits: U64) -> Raw:
    """Return 24-bit significands with signs, scaled by powers of two from 2**-20 to 2**20."""
    exponent = (bits >> np.uint64(32)).astype(np.int64) % 41 - 20
    significand = (bits & np.uint64(0xFFFFFF)).astype(np.float64) * 2.0**-24 + 1.0
    sign = np.where(bits >> np.uint64(63), -1.0, 1.0)
    return np.ldexp(sign * significand, exponent)


def _small_integers(bits: U64) -> Raw:
    """-3..3 without 0."""
    pick = ((bits >> np.uint64(16)) % np.uint64(2 * LARGEST_INTEGER)).astype(np.int64)
    return np.where(pick < LARGEST_INTEGER, pick - LARGEST_INTEGER, pick - LARGEST_INTEGER + 1)


def _edge(bits: U64) -> Raw:
    """Short significands with a half and a last f32 bit more or less: ties and their neighbours in 1 to 10 bits."""
    kept = (bits & np.uint64(0xF)).astype(np.int64) % 10 + 1
    exponent = (bits >> np.uint64(8)).astype(np.int64) % 24 - 12
    lead = (bits >> np.uint64(16)).astype(np.int64) % (1 << kept)
    nudge = (bits >> np.uint64(40)).astype(np.int64) % 3 - 1
    significand = 1.0 + (lead + 0.5) * np.ldexp(1.0, -kept) + nudge * 2.0**-23
    sign = np.where(bits >> np.uint64(63), -1.0, 1.0)
    return np.ldexp(sign * significand, exponent)


_FLOAT: dict[Kind, Callable[[U64], Raw]] = {
    "random": _bell,
    "wide": _wide,
    "integers": _small_integers,
    "edge": _edge,
}


def _all_bits(dtype: DType, bits: U64) -> Raw:
    return bits.view(np.uint8).reshape(-1, 8)[:, : dtype.nbytes].copy().view(f"u{dtype.nbytes}").reshape(-1)


def _special_integers(dtype: DType, bits: U64) -> Raw:
    low, high = dtype.integer_range
    menu = np.asarray([low, low + 1, 0, 1, high - 1, high], dtype=STORAGE[dtype.name])
    return menu[(bits % np.uint64(len(menu))).astype(np.int64)]


def _counting_integers(dtype: DType, bits: U64) -> Raw:
    small = _small_integers(bits)
    return np.abs(small) if dtype.kind == "unsigned" else small


_INTEGER: dict[Kind, Callable[[DType, U64], Raw]] = {
    "random": _all_bits,
    "wide": _all_bits,
    "integers": _counting_integers,
    "special": _special_integers,
    "edge": _special_integers,
}


def _float_menu(dtype: DType) -> dict[str, list[int]]:
    """Bit patterns of a float dtype's special magnitudes by group; signs are added by the caller."""
    if not dtype.has_sign:
        ends = {"largest": [0xFE, 0xFD], "smallest": [0, 1], "one": [0x7F, 0x80, 0x7E], "nan": [0xFF]}
        return {**ends, "infinite": [], "zero": [0], "denormal": [0]}
    mantissa, exponent = dtype.mantissa_bits, dtype.exponent_bits
    top_exponent = ((1 << exponent) - 1) << mantissa
    one = ((1 << (exponent - 1)) - 1) << mantissa
    if dtype.name == "e4m3":
        menu = {"nan": [0x7F], "infinite": [], "largest": [0x7E, 0x7D]}
    else:
        quiet = top_exponent | 1 << (mantissa - 1)
        nans = [quiet, top_exponent | 1, top_exponent | (1 << mantissa) - 1]
        menu = {"nan": nans, "infinite": [top_exponent], "largest": [top_exponent - 1, top_exponent - (1 << mantissa)]}
    menu["zero"] = [0]
    menu["denormal"] = [1, 2, (1 << mantissa) - 1]
    menu["smallest"] = [1 << mantissa, (1 << mantissa) + 1]
    menu["one"] = [one, one + 1, one - 1]
    if dtype.name == "tf32":
        # ten stored bits above thirteen zeros
        menu = {group: [code << 13 for code in codes] for group, codes in menu.items()}
    return menu


_ROW_MENUS: tuple[tuple[str, ...], ...] = (
    ("zero", "denormal", "smallest", "one", "largest", "infinite", "nan"),
    ("zero", "denormal", "smallest", "one"),
    ("zero", "denormal"),
    ("one", "largest"),
    ("zero", "one", "infinite"),
    ("smallest", "one", "zero"),
)


def _special_float(dtype: DType, bits: U64, shape: tuple[int, ...]) -> Raw:
    """Fill rows of the leading axis from six menus in turn, so that a NaN does not drown every row.

    A tensor of rank 1 takes the first menu throughout. Where the first menu holds, three elements of four are ordinary.
    """
    groups = _float_menu(dtype)
    unsigned = np.dtype(f"u{dtype.nbytes}")
    codes = np.empty(shape, unsigned)
    words = bits.reshape(shape)
    signs = ((words >> np.uint64(62)) & np.uint64(1)).astype(unsigned) << unsigned.type(8 * unsigned.itemsize - 1)
    if not dtype.has_sign:
        signs = np.zeros_like(signs)
    rows = len(_ROW_MENUS) if len(shape) > 1 else 1
    for k in range(rows):
        menu = np.asarray([c for group in _ROW_MENUS[k] for c in groups[group]], dtype=unsigned)
        pick = (words[k::rows] >> np.uint64(8)) % np.uint64(len(menu))
        codes[k::rows] = menu[pick.astype(np.int64)] | signs[k::rows]
    ordinary = cast("f32", dtype.name, _bell(bits)).view(unsigned).reshape(shape)
    quiet = (words[::rows] & np.uint64(3)) != 0
    codes[::rows] = np.where(quiet, ordinary[::rows], codes[::rows])
    return codes.view(STORAGE[dtype.name])
