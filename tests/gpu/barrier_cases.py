"""Runs of barriers, fences, clusters, election, registers of a warpgroup, and the order of products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from agentkern.compiler.targets.instructions import Instruction
from agentkern.compiler.targets.instructions_barriers import REGISTER_COUNTS
from agentkern.compiler.targets.instructions_index import find_instruction, instruction_names
from tests.gpu.copy_cases import bulk_load_case, bulk_store_case, random_words
from tests.gpu.instruction_case import Case, Kernel, as_bytes, words_of
from tests.gpu.product_cases import integer_product, wgmma_case

LANES = 32
CLUSTER = "__cluster_dims__(2, 1, 1)"
MEET = "ak_cluster_arrive();\nak_cluster_wait();"


def _case(row: str, body: str, expected: np.ndarray, words: np.ndarray | None = None, blocks: int = 1) -> Case:
    kernel = Kernel(f"t_{row}", body, shared_bytes=1024, attributes=CLUSTER if blocks == 2 else "")
    return Case(row, row, kernel, words_of([0]) if words is None else words, as_bytes(expected), blocks)


def phases_case(row: str, wait: str) -> Case:
    """A barrier of 32 arrivals: parities before, after the first phase, after the second, and after a new start.

    Bits of each lane's answer: parity 0 and 1 at each of the four moments. Only `test_wait` is asked of phases that have
    not ended: `try_wait` may sleep, also until other lanes have arrived and the phase has ended.
    """
    both = "(unsigned int)ak_mbarrier_test_wait(ak_smem, 0) | (unsigned int)ak_mbarrier_test_wait(ak_smem, 1) << 1"
    waits = [wait.format(parity=parity) for parity in (0, 1)]
    body = f"""
if (t == 0) ak_mbarrier_init(ak_smem, {LANES});
__syncthreads();
unsigned int seen = {both};
__syncthreads();
ak_mbarrier_arrive(ak_smem);
{waits[0]}
seen |= ({both}) << 2;
__syncthreads();
ak_mbarrier_arrive(ak_smem);
{waits[1]}
seen |= ({both}) << 4;
__syncthreads();
if (t == 0) {{
  ak_mbarrier_invalidate(ak_smem);
  ak_mbarrier_init(ak_smem, 1);
  ak_mbarrier_arrive(ak_smem);
}}
__syncthreads();
seen |= ({both}) << 6;
ak_st_u32(out + t, seen);
"""
    return _case(row, body, np.full(LANES, 0b01_10_01_10, np.uint32))


def arrive_remote_case() -> Case:
    """Each block's barrier is completed by the other block's lanes."""
    row = "ak_mbarrier_arrive_remote"
    body = f"""
const unsigned int rank = ak_cluster_rank();
if (t == 0) {{
  ak_mbarrier_init(ak_smem, {LANES});
  ak_mbarrier_fence_init();
}}
{MEET}
{row}(ak_smem, rank ^ 1u);
ak_mbarrier_wait(ak_smem, 0);
ak_st_u32(out + {LANES} * rank + t, 100u * rank + t);
{MEET}
"""
    expected = np.concatenate([np.arange(LANES), 100 + np.arange(LANES)]).astype(np.uint32)
    return _case(row, body, expected, blocks=2)


def ended_phases_case() -> Case:
    """`try_wait` says yes to phases that have ended, the one of a fresh barrier's other parity among them."""
    row = "ak_mbarrier_try_wait"
    body = f"""
if (t == 0) ak_mbarrier_init(ak_smem, {LANES});
__syncthreads();
unsigned int seen = (unsigned int){row}(ak_smem, 1);
__syncthreads();
ak_mbarrier_arrive(ak_smem);
__syncthreads();
seen |= (unsigned int){row}(ak_smem, 0) << 1;
__syncthreads();
ak_mbarrier_arrive(ak_smem);
__syncthreads();
seen |= (unsigned int){row}(ak_smem, 1) << 2;
ak_st_u32(out + t, seen);
"""
    return replace(_case(f"{row}_ended", body, np.full(LANES, 0b111, np.uint32)), row=row)


_TEST = "while (!ak_mbarrier_test_wait(ak_smem, {parity})) {{\n}}"
_TRY = "while (!ak_mbarrier_try_wait(ak_smem, {parity})) {{\n}}"
_WAIT = "ak_mbarrier_wait(ak_smem, {parity});"


def mbarrier_cases() -> Iterator[Case]:
    """Every row of mbarriers."""
    for row in ("init", "arrive", "test_wait", "invalidate"):
        yield phases_case(f"ak_mbarrier_{row}", _TEST)
    yield phases_case("ak_mbarrier_try_wait", _TRY)
    yield ended_phases_case()
    yield phases_case("ak_mbarrier_wait", _WAIT)
    yield bulk_load_case("ak_mbarrier_fence_init")
    yield bulk_load_case("ak_mbarrier_arrive_expect_tx")
    yield arrive_remote_case()


def named_barrier_cases() -> Iterator[Case]:
    """Two warps of four exchange words; one warp hands words to another without waiting."""
    source = random_words(4 * LANES, 3)
    swap = """
ak_sts_u32(ak_smem + 4 * t, ak_ldg_u32(in + t));
ak_bar_sync(1 + t / 64, 64);
ak_st_u32(out + t, ak_lds_u32(ak_smem + 4 * (t ^ 32)));
"""
    expected = source[np.arange(128) ^ 32]
    yield Case("ak_bar_sync", "swap", Kernel("t_ak_bar_sync", swap, 128, 512), words_of(source), as_bytes(expected))
    hand = """
if (t < 32) {
  ak_sts_u32(ak_smem + 4 * t, ak_ldg_u32(in + t));
  ak_bar_arrive(15, 64);
} else {
  ak_bar_sync(15, 64);
  ak_st_u32(out + t - 32, ak_lds_u32(ak_smem + 4 * (t ^ 32)));
}
"""
    yield Case(
        "ak_bar_arrive", "hand", Kernel("t_ak_bar_arrive", hand, 64, 512), words_of(source), as_bytes(source[:32])
    )


def proxy_global_case() -> Case:
    """Ordinary writes to global memory are read back by a bulk copy."""
    row = "ak_fence_proxy_async_global"
    source = random_words(LANES, 4)
    body = f"""
if (t == 0) {{
  ak_mbarrier_init(ak_smem, 1);
  ak_mbarrier_fence_init();
}}
ak_st_u32(out + t, ak_ldg_u32(in + t));
{row}();
__syncthreads();
if (t == 0) {{
  ak_mbarrier_arrive_expect_tx(ak_smem, 128);
  ak_bulk_load(ak_smem + 128, out, 128, ak_smem);
}}
ak_mbarrier_wait(ak_smem, 0);
ak_st_u32(out + 32 + t, ak_lds_u32(ak_smem + 128 + 4 * t));
"""
    return _case(row, body, np.concatenate([source, source]), words_of(source))


def exchange_case(row: str, before: str = "") -> Case:
    """Each block of a cluster of two writes to the other's shared memory, and reads its own."""
    body = f"""
const unsigned int rank = ak_cluster_rank();
{MEET}
ak_sts_cluster_u32(ak_mapa(ak_smem + 4 * t, rank ^ 1u), 1000u * rank + (unsigned int)t);
{before}
{MEET}
ak_st_u32(out + {LANES} * rank + t, ak_lds_u32(ak_smem + 4 * t));
"""
    expected = np.concatenate([1000 + np.arange(LANES), np.arange(LANES)]).astype(np.uint32)
    return _case(row, body, expected, blocks=2)


def remote_case(row: str) -> Case:
    """As above by 16 bytes, or by loads from the other's shared memory."""
    source = random_words(2 * LANES * 4, 12)
    words = "".join(f"r[{i}] = ak_ldg_u32(in + ({LANES} * rank + t) * 4 + {i});\n" for i in range(4))
    stores = row.startswith("ak_sts")
    there = "ak_mapa(ak_smem + 16 * t, rank ^ 1u)"
    put = f"{row}({there}, r);" if stores else "for (int i = 0; i < 4; ++i) ak_sts_u32(ak_smem + 16 * t + 4 * i, r[i]);"
    get = "for (int i = 0; i < 4; ++i) r[i] = ak_lds_u32(ak_smem + 16 * t + 4 * i);"
    if row == "ak_lds_cluster_u32":
        get = f"for (int i = 0; i < 4; ++i) r[i] = {row}((unsigned char*){there} + 4 * i);"
    elif not stores:
        get = f"{row}(r, {there});"
    body = f"""
const unsigned int rank = ak_cluster_rank();
unsigned int r[4];
{words}
{MEET}
{put}
{MEET}
{get}
for (int i = 0; i < 4; ++i) ak_st_u32(out + ({LANES} * rank + t) * 4 + i, r[i]);
{MEET}
"""
    expected = np.concatenate([source[LANES * 4 :], source[: LANES * 4]])
    return _case(row, body, expected, words_of(source), blocks=2)


def cluster_and_fence_cases() -> Iterator[Case]:
    """Every row of fences, clusters and election."""
    yield bulk_store_case("ak_fence_proxy_async")
    yield proxy_global_case()
    yield exchange_case("ak_fence_acq_rel_cluster", "ak_fence_acq_rel_cluster();")
    for row in ("ak_cluster_rank", "ak_cluster_arrive", "ak_cluster_wait", "ak_mapa", "ak_sts_cluster_u32"):
        yield exchange_case(row)
    for row in ("ak_lds_cluster_u32", "ak_lds_cluster_x4", "ak_sts_cluster_x4"):
        yield remote_case(row)
    elect = """
const bool first = ak_elect_one();
const bool again = ak_elect_one();
const unsigned int elected = __ballot_sync(0xffffffffu, first);
ak_st_u32(out + t, (unsigned int)(first == again && __popc(elected) == 1));
"""
    yield _case("ak_elect_one", elect, np.ones(LANES, np.uint32))


def register_kernel(row: Instruction) -> Kernel:
    """Two warpgroups: the first gives registers up, the second takes them; both go on with their values.

    The launch gives each thread a few less than are asked for, or a few more than are kept.
    """
    assert row.number is not None
    takes = "_inc_" in row.name
    if not takes:
        at_launch, first, second = min(row.number + 8, 255), row.name, row.name
    elif row.number < 40:
        at_launch, first, second = row.number, f"ak_setmaxnreg_dec_{row.number}", row.name
    else:
        at_launch, first, second = row.number - 8, "ak_setmaxnreg_dec_24", row.name
    body = f"""
const unsigned int mine = ak_ldg_u32(in + t);
if (t < 128) {{
  {first}();
  ak_st_u32(out + t, mine + 1u);
}} else {{
  {second}();
  ak_st_u32(out + t, mine + 2u);
}}
"""
    return Kernel(f"t_{row.name}", body, threads=256, registers=at_launch)


def register_cases() -> Iterator[Case]:
    """Every row of `setmaxnreg`."""
    source = random_words(256, 6)
    added = source + np.where(np.arange(256) < 128, 1, 2).astype(np.uint32)
    for direction, counts in REGISTER_COUNTS.items():
        for count in counts:
            row = find_instruction(f"ak_setmaxnreg_{direction}_{count}")
            assert row is not None
            yield Case(row.name, "registers", register_kernel(row), words_of(source), as_bytes(added))


def wgmma_wait_kernel(row: Instruction) -> Kernel:
    """Groups of one product each; the first result is read while `number` groups may run.

    Words in: as for one product of n = 8, whose operands every group shares.
    """
    assert row.number is not None
    groups = row.number + 1
    body = f"""
const int words = (int)ak_ldg_u32(in);
for (int i = t; i < words; i += 128) ak_sts_u32(ak_smem + 4 * i, ak_ldg_u32(in + 16 + i));
float d[{groups}][4];
for (int g = 0; g < {groups}; ++g)
  for (int i = 0; i < 4; ++i) d[g][i] = __uint_as_float(ak_ldg_u32(in + 16 + words + i * 128 + t));
const unsigned long long a = ak_wgmma_desc(ak_smem + ak_ldg_u32(in + 1), ak_ldg_u32(in + 2), ak_ldg_u32(in + 3), ak_ldg_u32(in + 4));
const unsigned long long b = ak_wgmma_desc(ak_smem + ak_ldg_u32(in + 5), ak_ldg_u32(in + 6), ak_ldg_u32(in + 7), ak_ldg_u32(in + 8));
ak_fence_proxy_async();
__syncthreads();
for (int g = 0; g < {groups}; ++g) ak_wgmma_pin_f32_4(d[g]);
ak_wgmma_fence();
for (int g = 0; g < {groups}; ++g) {{
  ak_wgmma_m64n8k16_f32_bf16_ss(d[g], a, b, 1);
  ak_wgmma_commit();
}}
{row.name}();
ak_wgmma_pin_f32_4(d[0]);
for (int i = 0; i < 4; ++i) ak_st_u32(out + i * 128 + t, __float_as_uint(d[0][i]));
ak_wgmma_wait_0();
for (int g = 0; g < {groups}; ++g) ak_wgmma_pin_f32_4(d[g]);
for (int g = 1; g < {groups}; ++g)
  for (int i = 0; i < 4; ++i) ak_st_u32(out + (g * 4 + i) * 128 + t, __float_as_uint(d[g][i]));
"""
    return Kernel(f"t_{row.name}", body, threads=128, shared_bytes=16 * 1024)


def pin_case(row: Instruction) -> Case:
    """Registers pass unchanged."""
    d = row.parameters[0]
    to, back = {
        "float": ("__uint_as_float", "__float_as_uint"),
        "int": ("(int)", "(unsigned int)"),
        "unsigned int": ("", ""),
    }[d.element]
    source = random_words(d.count * LANES, d.count)
    body = f"""
{d.element} d[{d.count}];
for (int i = 0; i < {d.count}; ++i) d[i] = {to}(ak_ldg_u32(in + i * {LANES} + t));
{row.name}(d);
for (int i = 0; i < {d.count}; ++i) ak_st_u32(out + i * {LANES} + t, {back}(d[i]));
"""
    return _case(row.name, body, source, words_of(source))


def wgmma_order_cases() -> Iterator[Case]:
    """Fence, commit, waits and pins of products."""
    product = find_instruction("ak_wgmma_m64n8k16_f32_bf16_ss")
    assert product is not None
    one = wgmma_case(product, integer_product(product, 1), 128)
    for name in instruction_names():
        row = find_instruction(name)
        if row is None or row.family != "wgmma_order":
            continue
        if name.startswith("ak_wgmma_pin_"):
            yield pin_case(row)
        elif row.number is not None:
            expected = np.tile(one.expected, row.number + 1)
            yield Case(name, "groups", wgmma_wait_kernel(row), one.words, expected)
        else:
            kernel = Kernel(f"t_{name}", one.kernel.body, threads=128, shared_bytes=16 * 1024)
            yield Case(name, "one product", kernel, one.words, one.expected)
