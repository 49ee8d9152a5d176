"""Machine code is read kernel by kernel, and counted without its padding."""

import pytest

from agentkern.runtime import sass
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.runtime.sass import (
    DisassemblyFailed,
    Instruction,
    NvdisasmMissing,
    count_opcodes,
    disassemble,
    nvdisasm_version,
    parse_sass,
)
from tests.runtime.cuda_texts import TWO_KERNELS, warpgroup_product

PRODUCT_PLUS = """
extern "C" __global__ void f(const float* x, float* out) {
  float a = x[threadIdx.x], b = x[threadIdx.x + 32], c = x[threadIdx.x + 64];
  out[threadIdx.x] = %s;
}
"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_each_kernel_of_a_cubin_is_disassembled(arch: str):
    kernels = parse_sass(disassemble(compile_cuda(TWO_KERNELS, NvrtcOptions(arch)).cubin))
    assert sorted(kernels) == ["flip", "scale"]
    counts = {name: count_opcodes(instructions) for name, instructions in kernels.items()}
    assert (counts["flip"]["BAR"], counts["flip"]["STS"], counts["flip"]["LDS"]) == (1, 1, 1)
    assert (counts["scale"]["BAR"], counts["scale"]["FADD"], counts["scale"]["STG"]) == (0, 2, 1)
    assert counts["scale"]["NOP"] == counts["scale"]["BRA"] == 0


@pytest.mark.parametrize(
    ("expression", "contract", "fused", "products", "sums"),
    [
        ("__fadd_rn(__fmul_rn(a, b), c)", True, 0, 1, 1),
        ("__fmaf_rn(a, b, c)", False, 1, 0, 0),
        ("a * b + c", False, 0, 1, 1),
        ("a * b + c", True, 1, 0, 0),
    ],
)
def test_roundings_written_are_the_roundings_built(
    expression: str, contract: bool, fused: int, products: int, sums: int
):
    options = NvrtcOptions("sm_90a", contract=contract)
    kernels = parse_sass(disassemble(compile_cuda(PRODUCT_PLUS % expression, options).cubin))
    counts = count_opcodes(kernels["f"])
    assert (counts["FFMA"], counts["FMUL"], counts["FADD"]) == (fused, products, sums)


def test_matrix_instructions_are_seen():
    kernels = parse_sass(disassemble(compile_cuda(warpgroup_product(""), NvrtcOptions("sm_90a")).cubin))
    assert count_opcodes(kernels["product"])["HGMMA"] == 4


def test_line_is_split_into_predicate_opcode_and_operands():
    text = '\t.section\t.text.f,"ax",@progbits\n        /*01a0*/              @!P0 FADD.FTZ R2, R2, -R3 ;\n'
    (instruction,) = parse_sass(text)["f"]
    assert instruction == Instruction(0x1A0, "@!P0", "FADD.FTZ", "R2, R2, -R3")
    assert instruction.base == "FADD"


def test_modifiers_are_counted_when_asked_for():
    text = '\t.section\t.text.f,"ax",@progbits\n' + "".join(
        f"        /*{i * 16:04x}*/                   {line} ;\n"
        for i, line in enumerate(["LDG.E.128 R4, a", "LDG.E R1, b"])
    )
    (kernel,) = parse_sass(text).values()
    assert count_opcodes(kernel) == {"LDG": 2}
    assert count_opcodes(kernel, modifiers=True) == {"LDG.E.128": 1, "LDG.E": 1}


def test_bytes_that_are_no_cubin_are_refused():
    with pytest.raises(DisassemblyFailed):
        disassemble(b"not a cubin")


def test_disassembler_is_new_enough_for_all_targets():
    major, minor = (int(part) for part in nvdisasm_version().split(".")[:2])
    assert (major, minor) >= (13, 4)


def test_missing_disassembler_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.path", [])
    monkeypatch.setattr(sass.shutil, "which", lambda _: None)
    with pytest.raises(NvdisasmMissing, match="pip install"):
        disassemble(b"")
