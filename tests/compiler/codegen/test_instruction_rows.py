"""Rows of the instruction tables as prelude functions: every one assembles for the targets that its row names."""

import re
from collections import defaultdict

import pytest

from agentkern.compiler.codegen.prelude import PRELUDE, find_function, prelude_functions, prelude_text
from agentkern.compiler.targets.instructions import Instruction
from agentkern.compiler.targets.instructions_index import find_instruction, instruction_names
from agentkern.runtime.nvrtc import NvrtcError, NvrtcOptions, compile_cuda
from tests.gpu.instruction_case import module_text
from tests.gpu.instruction_pack import exists_on, grouped_cases, grouped_kernels
from tests.gpu.product_cases import PIN_SUFFIX, wgmma_rows

NAMES = tuple(instruction_names())
TARGETS = ("sm_80", "sm_90a", "sm_100a")
# sm_100a has no `wgmma`, and all else as sm_90a
GROUPS = [(target, group) for target in TARGETS for group in grouped_cases()]


def complaints(text: str, target: str) -> list[str]:
    """What the compiler and the assembler say beyond information; remarks on serialised products are warnings."""
    built = compile_cuda(text, NvrtcOptions(target))
    assert built.performance_remarks == ()
    return [m.text for m in built.messages if m.severity != "info"]


@pytest.mark.toolchain
@pytest.mark.parametrize(("target", "group"), GROUPS)
def test_rows_of_a_group_assemble_without_remark(target, group):
    kernels = grouped_kernels(target).get(group, ())
    expected = {c.kernel.name for c in grouped_cases()[group] if all(exists_on(n, target) for n in c.kernel.functions)}
    assert {kernel.name for kernel in kernels} == expected
    if kernels:
        assert complaints(module_text(kernels), target) == []


def chained(rows: list[Instruction]) -> str:
    """One kernel that runs products of one width after each other on one accumulator."""
    element, count = rows[0].parameters[0].element, rows[0].parameters[0].count
    pin = f"ak_wgmma_pin_{PIN_SUFFIX[element]}_{count}"
    order = ("ak_wgmma_fence", "ak_wgmma_commit", "ak_wgmma_wait_0")
    calls = [f"  {row.name}(d, {row.parameters[1].name}, desc_b, scale);" for row in rows]
    lines = [
        prelude_text([*(row.name for row in rows), *order, pin]),
        'extern "C" __global__ void __launch_bounds__(128)',
        f"chain({element}* io, const unsigned int* r, unsigned long long desc_a, unsigned long long desc_b, int scale) {{",
        f"  {element} d[{count}];\n  unsigned int a[4];",
        f"  for (int i = 0; i < {count}; ++i) d[i] = io[i * 128 + threadIdx.x];",
        "  for (int i = 0; i < 4; ++i) a[i] = r[i * 128 + threadIdx.x];",
        f"  {pin}(d);\n  ak_wgmma_fence();",
        *calls,
        f"  ak_wgmma_commit();\n  ak_wgmma_wait_0();\n  {pin}(d);",
        f"  for (int i = 0; i < {count}; ++i) io[i * 128 + threadIdx.x] = d[i];\n}}",
    ]
    return "\n".join(lines) + "\n"


def products_by_width() -> dict[tuple[int, str], list[Instruction]]:
    found: dict[tuple[int, str], list[Instruction]] = defaultdict(list)
    for row in wgmma_rows():
        assert row.shape_mnk is not None
        found[row.shape_mnk[1], row.parameters[0].element].append(row)
    return found


@pytest.mark.toolchain
@pytest.mark.parametrize(("width", "element"), list(products_by_width()))
def test_products_of_a_width_assemble_without_remark(width, element):
    assert complaints(chained(products_by_width()[width, element]), "sm_90a") == []


@pytest.mark.toolchain
@pytest.mark.parametrize("name", ["ak_wgmma_m64n64k16_f32_bf16_ss", "ak_mma_m16n8k32_f32_e4m3_e4m3", "ak_bulk_commit"])
def test_row_does_not_assemble_below_its_target(name):
    row = find_instruction(name)
    assert row is not None and not row.exists_on("sm_80")
    cases = [c.kernel for cases in grouped_cases().values() for c in cases if c.row == name]
    text = module_text(cases[:1]) if cases else chained([row])
    with pytest.raises(NvrtcError):
        compile_cuda(text, NvrtcOptions("sm_80"))


@pytest.mark.toolchain
def test_products_of_warpgroups_are_not_on_sm_100a():
    row = find_instruction("ak_wgmma_m64n64k16_f32_bf16_ss")
    assert row is not None and not row.exists_on("sm_100a")
    with pytest.raises(NvrtcError):
        compile_cuda(chained([row]), NvrtcOptions("sm_100a"))


def test_every_row_has_a_run_on_the_gpu():
    covered = {case.row for cases in grouped_cases().values() for case in cases} | {row.name for row in wgmma_rows()}
    assert sorted(set(NAMES) - covered) == []


def test_names_are_distinct_and_found():
    assert len(NAMES) == len(set(NAMES))
    assert [name for name in NAMES if getattr(find_instruction(name), "name", None) != name] == []
    assert set(NAMES).isdisjoint(PRELUDE)


@pytest.mark.parametrize(
    "name",
    [
        "ak_wgmma_m64n12k16_f32_bf16_ss",
        "ak_wgmma_m64n264k16_f32_bf16_ss",
        "ak_wgmma_m64n40k32_s32_s8_s8_ss",
        "ak_wgmma_m64n64k32_f32_e4m3_e4m3_ss_bt",
        "ak_wgmma_m64n64k8_f32_tf32_rs_bt",
        "ak_wgmma_m64n64k16_f32_bf16_rs_at",
        "ak_wgmma_m64n64k32_f32_bf16_ss",
        "ak_wgmma_m64n64k32_f32_s8_s8_ss",
        "ak_wgmma_m64n64k16_f32_bf16_ss_bt_at",
        "ak_mma_m16n8k8_f32_bf16",
        "ak_ldmatrix_x3",
        "ak_cp_async_16_fill",
        "ak_cp_async_wait_8",
        "ak_setmaxnreg_inc_25",
        "ak_setmaxnreg_dec_16",
        "ak_setmaxnreg_dec_256",
        "ak_tma_load_6d",
        "ak_max_nan_f64x2",
    ],
)
def test_what_the_hardware_lacks_has_no_function(name):
    assert find_function(name) is None


def test_prelude_function_repeats_the_rows_parameters():
    for name in NAMES:
        row, function = find_instruction(name), find_function(name)
        assert row is not None and function is not None
        declared = re.findall(r"\(?&?(\w+)\)?(?:\[\d+\])?(?:,|\)$)", function.text.split(f"{name}(")[1].split(" {")[0])
        assert declared == [p.name for p in row.parameters]


def test_types_stand_before_functions_and_the_order_asked_does_not_matter():
    names = ["ak_wgmma_desc", "ak_tma_load_2d", "ak_floor_f32"]
    functions = [f.name for f in prelude_functions(names)]
    assert functions == [f.name for f in prelude_functions(reversed(names))]
    assert functions[0] == "AkTensorMap"
    assert functions.index("ak_floor_f32") < functions.index("ak_tma_load_2d")
    assert prelude_text(["ak_tma_prefetch"]).count("struct alignas(64) AkTensorMap") == 1


def test_text_is_hidden_from_the_simulator():
    for name in NAMES[:200]:
        function = find_function(name)
        assert function is not None
        assert function.text.startswith("#ifndef AK_SIMULATOR\n")
        assert function.text.endswith("#endif\n")


def test_fp8_product_of_a_warp_is_refused_where_it_is_another_function():
    row = find_instruction("ak_mma_m16n8k32_f32_e4m3_e5m2")
    assert row is not None and row.exists_on("sm_90a")
    assert "each operand type has one model" in (row.refusal_on("sm_90a") or "")
    assert find_instruction("ak_mma_m16n8k16_f32_bf16").refusal_on("sm_90a") is None
