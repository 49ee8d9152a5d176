"""What nothing reads is left out of the GPU stage; what acts stays."""

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.verifier import verify_kernel
from agentkern.compiler.passes.drop_unused import drop_unused
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from tests.compiler.agreement import HEADER
from tests.compiler.test_agreement import KERNELS

ACTS = ("store_vector", "load_vector", "set", "shuffle_xor", "barrier")


def lowered(name: str, **dims: int) -> str:
    request = CompileRequest(HEADER + KERNELS[name][0], "kernel.py", dims=dims)
    return compile_kernel(request, stop_after="lower_to_threads").texts["lower_to_threads"]


def counts(text: str) -> list[int]:
    return [text.count(f"{name}(") for name in ACTS]


@pytest.mark.parametrize(
    ("name", "dims"), [("softmaxish", {"H": 9000}), ("block2d", {}), ("transpose", {}), ("ints", {})]
)
def test_only_what_computes_is_left_out(name: str, dims: dict[str, int]):
    before = parse_kernel(lowered(name, **dims))
    after = drop_unused(before)
    verify_kernel(after)
    assert len(print_kernel(after)) < len(print_kernel(before))
    assert counts(print_kernel(after)) == counts(print_kernel(before))


def test_a_second_run_finds_nothing():
    once = drop_unused(parse_kernel(lowered("rowsum_dyn")))
    assert print_kernel(drop_unused(once)) == print_kernel(once)


def test_what_only_an_unread_value_reads_goes_with_it():
    text = lowered("outer")
    after = print_kernel(drop_unused(parse_kernel(text)))
    unread = "quotient("
    assert text.count(unread) > after.count(unread)


@pytest.mark.toolchain
@pytest.mark.parametrize(("name", "dims"), [("rowsum_dyn", {}), ("outer", {}), ("total", {}), ("slice", {"H": 300})])
def test_the_cuda_compiler_has_nothing_to_warn_of(name: str, dims: dict[str, int]):
    result = compile_kernel(CompileRequest(HEADER + KERNELS[name][0], "kernel.py", dims=dims))
    assert "warning" not in compile_cuda(result.cuda, NvrtcOptions("sm_90a")).log


def test_registers_that_are_only_set_are_left_out_with_what_they_were_computed_from():
    body = "def k(x: ak.In[ak.f32,T,2*N], o: ak.Out[ak.f32,T,N]):\n    for t in ak.grid(T):\n        o[t,:]=x[t,N:]\n"
    request = CompileRequest(HEADER + body, "kernel.py")
    text = compile_kernel(request, stop_after="lower_to_threads").texts["lower_to_threads"]
    after = print_kernel(drop_unused(parse_kernel(text)))
    assert "registers(" in text
    assert text.count(" set(") > after.count(" set(")
    assert print_kernel(drop_unused(parse_kernel(after))) == after
