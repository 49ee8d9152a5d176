"""Which texts get the shim of asynchronous instructions, and which functions are written for them."""

import re
from pathlib import Path

import pytest

from agentkern.runtime.simulator import FindingKind, SimulatorBuildError, build
from agentkern.runtime.simulator.complaints import COMPLAINTS
from agentkern.runtime.simulator.hopper_names import family_definitions, launch_attributes, uses_asynchronous

_INTERFACE = Path(__file__).parents[3] / "agentkern" / "runtime" / "simulator" / "engine" / "interface.h"
_PLAIN = """
extern "C" __global__ void __launch_bounds__(32, 1) plain(unsigned* out) { ak_st_u32(out, 1u); }  // ak_wgmma_fence
"""


def enumerators(name: str) -> list[str]:
    body = re.search(rf"enum {name} : uint32_t \{{(.*?)\}};", _INTERFACE.read_text(), re.DOTALL)
    assert body is not None
    return re.findall(r"^    (\w+),", body.group(1), re.MULTILINE)


def test_every_complaint_has_its_words():
    assert len(enumerators("Complaint")) == len(COMPLAINTS)


def test_finding_kinds_are_the_engines():
    engine = enumerators("FindingKind")
    assert [kind.name for kind in FindingKind][: len(engine)] == engine


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ak_mbarrier_init(bar, 1);", True),
        ("ak_cp_async_16(to, from);", True),
        ("__cluster_dims__(2) __launch_bounds__(32)", True),
        ("ak_ld_u32(p); ak_cvt_bf16_f32(v); __syncthreads();", False),
        ("my_ak_mbarrier_init(bar, 1);", False),
    ],
)
def test_names_decide(text, expected):
    assert uses_asynchronous(text) is expected


@pytest.mark.toolchain
def test_comments_do_not_count(simulator_cache):
    assert not build(_PLAIN, simulator_cache).asynchronous


def test_families_are_written_once_for_the_names_used():
    name = "ak_wgmma_m64n8k16_f32_bf16_ss"
    assert family_definitions(f"{name}(d, a, b, 1); {name}(d, a, b, 1);").splitlines() == [
        f"AK_SIM_WGMMA_SS({name}, float, 8, 16, AK_SIM_BF16, AK_SIM_BF16, 0, 0)"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "ak_wgmma_m64n12k16_f32_bf16_ss",
        "ak_wgmma_m64n264k16_f32_bf16_ss",
        "ak_wgmma_m64n8k32_f32_bf16_ss",
        "ak_wgmma_m64n8k32_f32_e4m3_e4m3_ss_bt",
        "ak_wgmma_m64n8k16_f32_bf16_rs_at",
        "ak_wgmma_m64n8k16_f32_bf16_f16_ss",
        "ak_wgmma_m64n8k32_f32_s8_s8_ss",
        "ak_mma_m16n8k8_f32_bf16",
    ],
)
def test_products_that_no_hardware_has_are_not_written(name):
    assert family_definitions(f"{name}(d, a, b, 1);") == ""


@pytest.mark.toolchain
def test_product_that_no_hardware_has_does_not_build(simulator_cache):
    text = _PLAIN.replace("ak_st_u32(out, 1u);", "float d[6]; ak_wgmma_m64n12k16_f32_bf16_ss(d, 0, 0, 1);")
    with pytest.raises(SimulatorBuildError, match="ak_wgmma_m64n12k16_f32_bf16_ss"):
        build(text, simulator_cache)


def test_clusters_and_registers_are_read_from_the_head_of_each_kernel():
    text = """
    extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64, 1) pair(int x) { f(x); }
    extern "C" __global__ void __maxnreg__(168) alone(int x) { pair_of(x); }
    """
    pair, alone = (launch_attributes(text, name) for name in ("pair", "alone"))
    assert (pair.cluster_blocks, pair.registers) == (2, 0)
    assert (alone.cluster_blocks, alone.registers) == (1, 168)
