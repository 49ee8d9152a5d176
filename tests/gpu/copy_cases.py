"""Runs of asynchronous copies: `cp.async`, bulk copies, and tensor copies in every rank and swizzle."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from agentkern.compiler.targets.instructions_swizzles import SWIZZLES
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.tensor_map import TensorMap, contiguous_map
from tests.gpu.instruction_case import FILL, Bytes, Case, Kernel, MapPlace, as_bytes, filled, words_of

LANES = 32
SLOT = 16
TILE = 1024
"""Where a tile lies in shared memory, the barrier standing before it."""
START_BARRIER = """
if (t == 0) {
  ak_mbarrier_init(ak_smem, 1);
  ak_mbarrier_fence_init();
}
__syncthreads();
"""


def random_words(count: int, seed: int) -> np.ndarray:
    """Words of any bits."""
    return np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint64).astype(np.uint32)


# cp.async ------------------------------------------------------------------------------------------------------------

_FILL_SLOTS = f"for (int i = t; i < {LANES * 4}; i += {LANES}) ak_sts_u32(ak_smem + 4 * i, 0x{FILL:02x}{FILL:02x}{FILL:02x}{FILL:02x}u);\n__syncthreads();"
_DUMP_SLOTS = (
    f"__syncthreads();\nfor (int i = t; i < {LANES * 4}; i += {LANES}) ak_st_u32(out + i, ak_lds_u32(ak_smem + 4 * i));"
)


def cp_async_case(n_bytes: int, row: str, *, zero_fill: bool) -> Case:
    """Each lane copies one slot from another lane's place; with zero fill, only some bytes of it."""
    source = random_words(LANES * 4, n_bytes)
    order = np.random.default_rng(n_bytes).permutation(LANES)
    counts = np.arange(LANES) % (n_bytes + 1) if zero_fill else np.full(LANES, n_bytes)
    call = f"ak_cp_async_{n_bytes}{'_zfill' if zero_fill else ''}"
    count = f", ak_ldg_u32(in + {LANES} + t)" if zero_fill else ""
    body = f"""
{_FILL_SLOTS}
{call}(ak_smem + {SLOT} * t, in + {2 * LANES} + 4 * ak_ldg_u32(in + t){count});
ak_cp_async_commit();
ak_cp_async_wait_0();
{_DUMP_SLOTS}
"""
    expected = filled(LANES * SLOT).reshape(LANES, SLOT)
    raw = as_bytes(source).reshape(LANES, SLOT)
    for lane in range(LANES):
        expected[lane, :n_bytes] = 0
        expected[lane, : counts[lane]] = raw[order[lane], : counts[lane]]
    words = words_of(order.astype(np.uint32), counts.astype(np.uint32), source)
    return Case(row, call, Kernel(f"t_{row}", body, shared_bytes=LANES * SLOT), words, expected.reshape(-1))


def cp_async_wait_case(pending: int) -> Case:
    """Slot 0 is read while `pending` later groups may still run; then all slots, when all have ended."""
    row = f"ak_cp_async_wait_{pending}"
    source = random_words((pending + 1) * LANES * 4, pending)
    slots = (pending + 1) * LANES
    body = f"""
for (int g = 0; g <= {pending}; ++g) {{
  ak_cp_async_16(ak_smem + {SLOT} * (g * {LANES} + t), in + 4 * (g * {LANES} + t));
  ak_cp_async_commit();
}}
{row}();
for (int i = 0; i < 4; ++i) ak_st_u32(out + 4 * t + i, ak_lds_u32(ak_smem + {SLOT} * t + 4 * i));
ak_cp_async_wait_0();
for (int g = 0; g <= {pending}; ++g)
  for (int i = 0; i < 4; ++i)
    ak_st_u32(out + {4 * LANES} + 4 * (g * {LANES} + t) + i, ak_lds_u32(ak_smem + {SLOT} * (g * {LANES} + t) + 4 * i));
"""
    expected = np.concatenate([as_bytes(source[: LANES * 4]), as_bytes(source)])
    return Case(row, "groups", Kernel(f"t_{row}", body, shared_bytes=slots * SLOT), words_of(source), expected)


def cp_async_arrive_case() -> Case:
    """A barrier that expects 32 arrivals ends its phase by the copies of 32 lanes alone."""
    row = "ak_cp_async_mbarrier_arrive"
    source = random_words(LANES * 4, 5)
    body = f"""
if (t == 0) ak_mbarrier_init(ak_smem + {LANES * SLOT}, {LANES});
__syncthreads();
ak_cp_async_16(ak_smem + {SLOT} * t, in + 4 * t);
{row}(ak_smem + {LANES * SLOT});
while (!ak_mbarrier_test_wait(ak_smem + {LANES * SLOT}, 0)) {{
}}
{_DUMP_SLOTS}
"""
    return Case(
        row, "arrive", Kernel(f"t_{row}", body, shared_bytes=LANES * SLOT + 16), words_of(source), as_bytes(source)
    )


def cp_async_cases() -> Iterator[Case]:
    """Every row of `cp.async`."""
    for n_bytes, zero_fill in product((4, 8, 16), (False, True)):
        yield cp_async_case(n_bytes, f"ak_cp_async_{n_bytes}{'_zfill' if zero_fill else ''}", zero_fill=zero_fill)
    yield cp_async_case(8, "ak_cp_async_commit", zero_fill=False)
    yield from (cp_async_wait_case(pending) for pending in range(8))
    yield cp_async_arrive_case()


# bulk copies ---------------------------------------------------------------------------------------------------------


def bulk_load_case(row: str) -> Case:
    """One thread copies 496 bytes; the barrier counts them."""
    source = random_words(124, 9)
    body = f"""
{START_BARRIER}
if (t == 0) {{
  ak_mbarrier_arrive_expect_tx(ak_smem, 496);
  ak_bulk_load(ak_smem + {TILE}, in, 496, ak_smem);
}}
ak_mbarrier_wait(ak_smem, 0);
for (int i = t; i < 124; i += {LANES}) ak_st_u32(out + i, ak_lds_u32(ak_smem + {TILE} + 4 * i));
"""
    return Case(row, "bulk load", Kernel(f"t_{row}", body, shared_bytes=TILE + 512), words_of(source), as_bytes(source))


def bulk_store_case(row: str) -> Case:
    """Ordinary writes to shared memory, the proxy fence, one bulk store."""
    source = random_words(124, 10)
    body = f"""
for (int i = t; i < 124; i += {LANES}) ak_sts_u32(ak_smem + 4 * i, ak_ldg_u32(in + i));
ak_fence_proxy_async();
__syncthreads();
if (t == 0) {{
  ak_bulk_store(out, ak_smem, 496);
  ak_bulk_commit();
  ak_bulk_wait_0();
}}
"""
    expected = np.concatenate([as_bytes(source), filled(16)])
    return Case(row, "bulk store", Kernel(f"t_{row}", body, shared_bytes=512), words_of(source), expected)


def bulk_wait_case(pending: int, *, read: bool) -> Case:
    """With later groups running, the first group's result is read, or its source overwritten."""
    row = f"ak_bulk_wait{'_read' if read else ''}_{pending}"
    groups = pending + 1
    source = random_words(groups * 4, pending)
    then = (
        "for (int i = 0; i < 4; ++i) ak_sts_u32(ak_smem + 4 * i, 0u);\n"
        if read
        else f"for (int i = 0; i < 4; ++i) ak_st_u32(out + {groups * 4} + i, ak_ld_u32(out + i));\n"
    )
    body = f"""
if (t == 0) {{
  for (int i = 0; i < {groups * 4}; ++i) ak_sts_u32(ak_smem + 4 * i, ak_ldg_u32(in + i));
  ak_fence_proxy_async();
  for (int g = 0; g < {groups}; ++g) {{
    ak_bulk_store(out + 4 * g, ak_smem + {SLOT} * g, {SLOT});
    ak_bulk_commit();
  }}
  {row}();
  {then}  ak_bulk_wait_0();
}}
"""
    tail = filled(16) if read else as_bytes(source[:4])
    expected = np.concatenate([as_bytes(source), tail])
    return Case(row, "groups", Kernel(f"t_{row}", body, shared_bytes=groups * SLOT), words_of(source), expected)


def bulk_cases() -> Iterator[Case]:
    """Every row of bulk copies."""
    yield bulk_load_case("ak_bulk_load")
    yield bulk_store_case("ak_bulk_store")
    yield bulk_store_case("ak_bulk_commit")
    yield from (bulk_wait_case(pending, read=read) for read in (False, True) for pending in range(8))


# tensor copies -------------------------------------------------------------------------------------------------------


def tile_places(map_: TensorMap) -> np.ndarray:
    """Byte offset in shared memory of every element of a copy, swizzled; the tile starts at a multiple of its period."""
    plain = np.arange(prod(map_.copied)).reshape(map_.copied) * map_.dtype.nbytes
    return SWIZZLES[map_.swizzle].permutation(plain)


def met(map_: TensorMap, at: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...] | None]]:
    """Each element of a copy: its index in the tile and in the tensor, None outside."""
    for index in np.ndindex(*map_.copied):
        where = tuple(c + i * s for c, i, s in zip(at, index, map_.element_strides, strict=True))
        inside = all(0 <= w < extent for w, extent in zip(where, map_.shape, strict=True))
        yield index, where if inside else None


def loaded(map_: TensorMap, tensor: np.ndarray, at: tuple[int, ...]) -> Bytes:
    """What a load leaves in shared memory."""
    size = map_.dtype.nbytes
    image = np.zeros(map_.copy_bytes // size, tensor.dtype)
    places = tile_places(map_) // size
    for index, where in met(map_, at):
        image[places[index]] = map_.fill_bits if where is None else tensor[where]
    return as_bytes(image)


def stored(map_: TensorMap, tensor: np.ndarray, image: np.ndarray, at: tuple[int, ...]) -> np.ndarray:
    """The tensor after a store of the tile `image`."""
    after, places = tensor.copy(), tile_places(map_) // map_.dtype.nbytes
    for index, where in met(map_, at):
        if where is not None:
            after[where] = image[places[index]]
    return after


SHAPES = {1: (200,), 2: (30, 104), 3: (3, 9, 104), 4: (3, 2, 9, 104), 5: (2, 3, 2, 9, 72)}
BOXES = {1: (64,), 2: (12, 64), 3: (2, 8, 64), 4: (2, 1, 8, 64), 5: (1, 2, 2, 5, 64)}
# Innermost coordinates of 16-bit elements are multiples of 8. Stores run at those without a negative coordinate.
COORDINATES = {
    1: ((0,), (152,), (-8,), (400,), (-400,)),
    2: ((0, 0), (5, 8), (0, -8), (-2, 0), (-2, -16), (25, 64), (25, 0), (0, 88), (40, 0), (-40, 8)),
    3: ((1, 2, 24), (-1, 5, 64), (2, 5, 64), (3, 0, 0)),
    4: ((1, 1, 0, 8), (2, -1, 3, 80), (2, 1, 3, 80), (0, 0, -3, -8)),
    5: ((1, 2, 0, 4, 8), (-1, 2, 1, 6, 16), (1, 2, 1, 6, 16), (0, 0, 0, -1, -8)),
}


def tensor_map(rank: int, width: int) -> TensorMap:
    """A tensor of 16-bit elements in boxes as wide as the swizzle."""
    inner = width // 2 if width else 24
    return contiguous_map(DTYPES["bf16"], SHAPES[rank], (*BOXES[rank][:-1], inner), width)


def _coordinates(rank: int) -> str:
    return ", ".join(f"(int)ak_ldg_u32(in + {i})" for i in range(rank))


_HEADER_WORDS = 8


def tensor_load_kernel(row: str, rank: int, call: str) -> Kernel:
    """Words in: coordinates, innermost first; 5 bytes of the tile; from 8 on the tensor."""
    prefetch = "ak_tma_prefetch(&map);\n  " if row == "ak_tma_prefetch" else ""
    body = f"""
{START_BARRIER}
const unsigned int bytes = ak_ldg_u32(in + 5);
if (t == 0) {{
  {prefetch}ak_mbarrier_arrive_expect_tx(ak_smem, bytes);
  {call}(ak_smem + {TILE}, &map, ak_smem, {_coordinates(rank)});
}}
ak_mbarrier_wait(ak_smem, 0);
for (int i = t; i < (int)bytes / 4; i += {LANES}) ak_st_u32(out + i, ak_lds_u32(ak_smem + {TILE} + 4 * i));
"""
    return Kernel(f"t_{row}", body, shared_bytes=TILE + 8192, has_map=True)


def multicast_kernel(row: str, rank: int) -> Kernel:
    """Block 0 of a cluster of two copies to both; each waits at its own barrier."""
    body = f"""
{START_BARRIER}
ak_cluster_arrive();
ak_cluster_wait();
const unsigned int bytes = ak_ldg_u32(in + 5), rank = ak_cluster_rank();
if (t == 0) ak_mbarrier_arrive_expect_tx(ak_smem, bytes);
if (t == 0 && rank == 0) {row}(ak_smem + {TILE}, &map, ak_smem, 3, {_coordinates(rank)});
ak_mbarrier_wait(ak_smem, 0);
for (int i = t; i < (int)bytes / 4; i += {LANES}) ak_st_u32(out + rank * bytes / 4 + i, ak_lds_u32(ak_smem + {TILE} + 4 * i));
ak_cluster_arrive();
ak_cluster_wait();
"""
    return Kernel(f"t_{row}", body, shared_bytes=TILE + 8192, attributes="__cluster_dims__(2, 1, 1)", has_map=True)


def tensor_store_kernel(row: str, rank: int) -> Kernel:
    """Words in: coordinates, innermost first; 5 bytes of the tile; from 8 on the tile. `out` is the tensor."""
    body = f"""
const unsigned int bytes = ak_ldg_u32(in + 5);
for (int i = t; i < (int)bytes / 4; i += {LANES}) ak_sts_u32(ak_smem + 4 * i, ak_ldg_u32(in + {_HEADER_WORDS} + i));
ak_fence_proxy_async();
__syncthreads();
if (t == 0) {{
  {row}(&map, ak_smem, {_coordinates(rank)});
  ak_bulk_commit();
  ak_bulk_wait_0();
}}
"""
    return Kernel(f"t_{row}", body, shared_bytes=8192, has_map=True)


def _load_case(row: str, kernel: Kernel, map_: TensorMap, at: tuple[int, ...], blocks: int = 1) -> Case:
    tensor = np.random.default_rng(map_.rank).integers(0, 1 << 16, map_.shape).astype(np.uint16)
    words = words_of([*at[::-1], *[0] * (5 - map_.rank), map_.copy_bytes, 0, 0], tensor)
    expected = np.tile(loaded(map_, tensor, at), blocks)
    label = f"at {at}, swizzle {map_.swizzle}, steps {map_.element_strides}, {map_.fill}"
    return Case(row, label, kernel, words, expected, blocks, MapPlace(map_, "in", 4 * _HEADER_WORDS))


def _store_case(row: str, kernel: Kernel, map_: TensorMap, at: tuple[int, ...]) -> Case:
    random = np.random.default_rng(map_.rank)
    image = random.integers(0, 1 << 16, map_.copy_bytes // 2).astype(np.uint16)
    before = filled(prod(map_.shape) * 2).view(np.uint16).reshape(map_.shape)
    words = words_of([*at[::-1], *[0] * (5 - map_.rank), map_.copy_bytes, 0, 0], image)
    expected = as_bytes(stored(map_, before, image, at))
    return Case(row, f"at {at}, swizzle {map_.swizzle}", kernel, words, expected, 1, MapPlace(map_, "out"))


def special_maps() -> Iterator[tuple[TensorMap, tuple[int, ...]]]:
    """Steps between elements, and NaN outside."""
    usual = tensor_map(2, 128)
    yield TensorMap(usual.dtype, usual.shape, usual.strides_bytes, (12, 64), 128, (3, 1)), (4, 8)
    yield TensorMap(usual.dtype, usual.shape, usual.strides_bytes, (12, 64), 128, (1, 1), "nan"), (25, 64)


def tensor_cases() -> Iterator[Case]:
    """Every row, in every swizzle, at coordinates inside, across each edge, and outside."""
    for rank in range(1, 6):
        load, store = f"ak_tma_load_{rank}d", f"ak_tma_store_{rank}d"
        load_kernel, store_kernel = tensor_load_kernel(load, rank, load), tensor_store_kernel(store, rank)
        multicast = multicast_kernel(f"{load}_multicast", rank)
        for width, at in product(SWIZZLES, COORDINATES[rank]):
            map_ = tensor_map(rank, width)
            yield _load_case(load, load_kernel, map_, at)
            if min(at) >= 0:
                yield _store_case(store, store_kernel, map_, at)
            yield _load_case(f"{load}_multicast", multicast, map_, at, blocks=2)
    kernel = tensor_load_kernel("ak_tma_load_2d", 2, "ak_tma_load_2d")
    for map_, at in special_maps():
        yield _load_case("ak_tma_load_2d", kernel, map_, at)
    prefetch = tensor_load_kernel("ak_tma_prefetch", 2, "ak_tma_load_2d")
    yield _load_case("ak_tma_prefetch", prefetch, tensor_map(2, 128), (5, 8))
