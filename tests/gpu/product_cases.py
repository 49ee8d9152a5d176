"""Runs of `mma.sync` and `wgmma`: integers small enough that every sum is exact, so that only the layout can be wrong.

Registers are filled and read by the fragments of the rows; operands in shared memory by the canonical layouts of matrix
descriptors, in every swizzle and with both major axes. Source: PTX ISA, wgmma, Matrix Descriptor Format and Strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from agentkern.compiler.ir.reference_formats import STORAGE, encode
from agentkern.compiler.targets.instructions import Fragment, Instruction
from agentkern.compiler.targets.instructions_index import find_instruction, instruction_names
from agentkern.compiler.targets.instructions_swizzles import SWIZZLES
from tests.gpu.instruction_case import Bytes, Case, Kernel, Words, as_bytes, words_of

HEADER_WORDS = 16
PIN_SUFFIX = {"float": "f32", "int": "s32"}


def codes(dtype: str, values: NDArray[np.int64]) -> NDArray[np.generic]:
    """Small integers as an element type stores them."""
    if dtype in ("i8", "u8"):
        return values.astype(STORAGE[dtype])
    return encode(dtype, values.astype(np.float32))


def small_integers(dtype: str, shape: tuple[int, ...], seed: int) -> NDArray[np.int64]:
    """Integers that every operand type holds exactly, negative ones too where it has any."""
    low = 0 if dtype == "u8" else -8
    return np.random.default_rng(seed).integers(low, 9, shape)


@lru_cache(maxsize=256)
def held(fragment: Fragment, threads: int) -> tuple[NDArray[np.int64], ...]:
    """Coordinates along each axis of element e (first index) of each thread (second)."""
    layout = fragment.layout
    thread = np.arange(threads)
    numbers = (np.arange(layout.register_count)[:, None], thread % 32, thread // 32)
    found = [np.zeros((layout.register_count, threads), np.int64) for _ in range(layout.rank)]
    for number, digits in zip(numbers, (layout.registers, layout.lanes, layout.warps), strict=True):
        rest = number
        for digit in digits:
            found[digit.axis] += rest % digit.extent * digit.stride
            rest = rest // digit.extent
    return tuple(found)


def fragment_words(fragment: Fragment, stored: NDArray[np.generic], threads: int) -> Words:
    """What each thread's registers hold, register after register, threads side by side."""
    unsigned = stored.view(np.dtype(f"u{stored.dtype.itemsize}")).astype(np.uint32)
    elements = unsigned[held(fragment, threads)].reshape(fragment.register_count, fragment.packed, threads)
    shifts = np.arange(fragment.packed, dtype=np.uint32)[:, None] * np.uint32(32 // fragment.packed)
    return np.bitwise_or.reduce(elements << shifts, axis=1).reshape(-1)


@dataclass(frozen=True, slots=True)
class SharedOperand:
    """A matrix in shared memory: its bytes from a 1024-byte boundary on, and the fields of its descriptor."""

    image: Bytes
    start: int
    leading_bytes: int
    stride_bytes: int
    swizzle_code: int


def shared_operand(stored: NDArray[np.generic], major: str, width: int) -> SharedOperand:
    """Place a matrix (rows along m or n, columns along k) for a swizzle of `width` bytes."""
    size = stored.dtype.itemsize
    rows, columns = (grid.astype(np.int64) for grid in np.indices(stored.shape))
    start = 0
    if width == 0:
        # core matrices of 8 by 16 bytes, two along k beside each other
        across = rows if major == "k" else columns
        along = (columns if major == "k" else rows) * size
        leading, stride = 128, 256
        next_along, next_across = (leading, stride) if major == "k" else (stride, leading)
        offsets = across // 8 * next_across + along // 16 * next_along + across % 8 * 16 + along % 16
    elif major == "k":
        # lines of `width` bytes along k; the step is the last 32 bytes of them
        leading, stride, start = 16, 8 * width, width - 32
        offsets = rows // 8 * stride + rows % 8 * width + start + columns * size
    else:
        # lines of `width` bytes along m or n, one for each k; eight make a group, two groups a step
        leading, stride = 16 * width, 8 * width
        per_line = width // size
        offsets = rows // per_line * leading + columns // 8 * stride + columns % 8 * width + rows % per_line * size
    mode = SWIZZLES[width]
    permuted = mode.permutation(offsets)
    image = np.zeros(-(-(int(permuted.max()) + size) // 1024) * 1024, np.uint8)
    raw = as_bytes(stored).reshape(*stored.shape, size)
    for byte in range(size):
        image[permuted + byte] = raw[..., byte]
    return SharedOperand(image, start, leading, stride, mode.descriptor_code)


@dataclass(frozen=True, slots=True)
class Product:
    """Operands as stored, a (m, k) and b (k, n), with accumulator and result as 32-bit words, (m, n)."""

    label: str
    a: NDArray[np.generic]
    b: NDArray[np.generic]
    c: NDArray[np.uint32]
    d: NDArray[np.uint32]
    adds: bool = True


def integer_product(row: Instruction, seed: int, *, adds: bool = True) -> Product:
    """Random small integers, whose sums are exact."""
    a, b, d = (row.operand(role) for role in ("a", "b", "d"))
    left, right = small_integers(a.dtype, a.shape, seed), small_integers(b.dtype, b.shape, seed + 1)
    c = np.random.default_rng(seed + 2).integers(-100, 101, d.shape)
    accumulator = np.float32 if d.dtype == "f32" else np.int32
    before, after = c.astype(accumulator), (left @ right + (c if adds else 0)).astype(accumulator)
    label = f"integers{'' if adds else ', no accumulator'}"
    stored = codes(a.dtype, left), codes(b.dtype, right)
    return Product(label, *stored, before.view(np.uint32), after.view(np.uint32), adds)


def accumulator_words(row: Instruction, words: NDArray[np.uint32], threads: int) -> Words:
    """Accumulator registers."""
    d = row.operand("d")
    assert d.fragment is not None
    return fragment_words(d.fragment, words, threads)


def mma_kernel(row: Instruction) -> Kernel:
    """Registers in, one product, registers out."""
    element = row.parameters[0].element
    to, back = ("__uint_as_float", "__float_as_uint") if element == "float" else ("(int)", "(unsigned int)")
    body = f"""
{element} d[4];
unsigned int a[4], b[2];
for (int i = 0; i < 4; ++i) a[i] = ak_ldg_u32(in + i * 32 + t);
for (int i = 0; i < 2; ++i) b[i] = ak_ldg_u32(in + (4 + i) * 32 + t);
for (int i = 0; i < 4; ++i) d[i] = {to}(ak_ldg_u32(in + (6 + i) * 32 + t));
{row.name}(d, a, b);
for (int i = 0; i < 4; ++i) ak_st_u32(out + i * 32 + t, {back}(d[i]));
"""
    return Kernel(f"t_{row.name}", body)


def mma_case(row: Instruction, product: Product) -> Case:
    """One product of a warp."""
    a, b = row.operand("a"), row.operand("b")
    assert a.fragment is not None and b.fragment is not None
    words = words_of(
        fragment_words(a.fragment, product.a, 32),
        fragment_words(b.fragment, product.b, 32),
        accumulator_words(row, product.c, 32),
    )
    return Case(row.name, product.label, mma_kernel(row), words, as_bytes(accumulator_words(row, product.d, 32)))


def rows_of(family: str) -> list[Instruction]:
    """All rows of a family."""
    rows = (find_instruction(name) for name in instruction_names())
    return [row for row in rows if row is not None and row.family == family]


def mma_cases() -> Iterator[Case]:
    """Every row of `mma.sync`."""
    return (mma_case(row, integer_product(row, seed=7 * i)) for i, row in enumerate(rows_of("mma")))


def wgmma_kernel(row: Instruction) -> Kernel:
    """Matrices to shared memory, one product, registers out.

    Words in: 0 words of shared memory; 1 to 4 and 5 to 8 start, leading, stride, swizzle of A and B; 9 scale_d; from 16 on
    shared memory, accumulator, registers of A.
    """
    d, a = row.parameters[0], row.parameters[1]
    to, back = ("__uint_as_float", "__float_as_uint") if d.element == "float" else ("(int)", "(unsigned int)")
    pin = f"ak_wgmma_pin_{PIN_SUFFIX[d.element]}_{d.count}"

    def descriptor(first: int) -> str:
        fields = ", ".join(f"ak_ldg_u32(in + {first + i})" for i in (1, 2, 3))
        return f"ak_wgmma_desc(ak_smem + ak_ldg_u32(in + {first}), {fields})"

    in_registers = a.count > 0
    load_a = (
        f"unsigned int a[4];\nfor (int i = 0; i < 4; ++i) a[i] = ak_ldg_u32(in + 16 + words + {d.count * 128} + i * 128 + t);"
        if in_registers
        else f"const unsigned long long a = {descriptor(1)};"
    )
    body = f"""
const int words = (int)ak_ldg_u32(in);
for (int i = t; i < words; i += 128) ak_sts_u32(ak_smem + 4 * i, ak_ldg_u32(in + 16 + i));
{d.element} d[{d.count}];
for (int i = 0; i < {d.count}; ++i) d[i] = {to}(ak_ldg_u32(in + 16 + words + i * 128 + t));
{load_a}
const unsigned long long b = {descriptor(5)};
const int scale = (int)ak_ldg_u32(in + 9);
ak_fence_proxy_async();
__syncthreads();
{pin}(d);
ak_wgmma_fence();
{row.name}(d, a, b, scale);
ak_wgmma_commit();
ak_wgmma_wait_0();
{pin}(d);
for (int i = 0; i < {d.count}; ++i) ak_st_u32(out + i * 128 + t, {back}(d[i]));
"""
    return Kernel(f"t_{row.name}", body, threads=128, shared_bytes=48 * 1024)


def wgmma_case(row: Instruction, product: Product, width: int) -> Case:
    """One product of a warpgroup with both shared operands in one swizzle."""
    a, b = row.operand("a"), row.operand("b")
    assert b.major is not None
    right = shared_operand(np.ascontiguousarray(product.b.T), b.major, width)
    if a.major is None:
        assert a.fragment is not None
        left, registers = None, fragment_words(a.fragment, product.a, 128)
    else:
        left, registers = shared_operand(product.a, a.major, width), np.zeros(0, np.uint32)
    left_bytes = 0 if left is None else left.image.size
    header = np.zeros(HEADER_WORDS, np.uint32)
    images = ([] if left is None else [left.image]) + [right.image]
    if left is not None:
        header[1:5] = left.start, left.leading_bytes, left.stride_bytes, left.swizzle_code
    header[0] = sum(image.size for image in images) // 4
    header[5:9] = left_bytes + right.start, right.leading_bytes, right.stride_bytes, right.swizzle_code
    header[9] = product.adds
    words = words_of(header, *images, accumulator_words(row, product.c, 128), registers)
    expected = as_bytes(accumulator_words(row, product.d, 128))
    return Case(row.name, f"{product.label}, swizzle {width}", wgmma_kernel(row), words, expected)


def wgmma_cases(row: Instruction) -> Iterator[Case]:
    """A row in every swizzle; once without the accumulator."""
    for seed, width in enumerate(SWIZZLES):
        yield wgmma_case(row, integer_product(row, 10 * seed, adds=width != 64), width)


def wgmma_rows() -> list[Instruction]:
    """All product rows of a warpgroup."""
    return rows_of("wgmma")
