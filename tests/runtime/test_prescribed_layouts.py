"""Strides and alignments that a kernel prescribes: what calls are held to, what is allocated, what stays untouched."""

from pathlib import Path

import numpy as np
import pytest
import torch

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.runtime.call_errors import CallError
from agentkern.runtime.layouts import laid_out
from agentkern.runtime.signature import Signature, signature_of_tile
from agentkern.runtime.tensors import BoundCall, bind_call
from tests.cases.runs import Case, run

HEADER = "import agentkern as ak\n\nT = ak.dim('T')\n\n\n@ak.kernel\n"
PADDED = """\
def k(x: ak.In[ak.f32, T, 5].strides(8, 1).aligned(16), o: ak.Out[ak.f32, 2, T].strides(ak.align(T, 4), 1)):
    for t in ak.grid(T):
        o[0, t] = ak.sum(x[t, :], axis=1)
        o[1, t] = x[t, 4]
"""
WIDE = """\
def k(x: ak.In[ak.bf16, T, 4], o: ak.Out[ak.u32, T, 2]):
    for t in ak.grid(T):
        o[t, :] = x.bitcast(ak.u32)[t, :]
"""


def signature(body: str) -> Signature:
    found = lower_source(HEADER + body, "kernel.py", None, {}, {})
    assert found.kernel is not None, [d.message for d in found.diagnostics]
    assert parse_kernel(print_kernel(found.kernel)).params[0].type == found.kernel.params[0].type
    return signature_of_tile(found.kernel)


def code(body: str, *given: object) -> str:
    with pytest.raises(CallError) as e:
        bind_call(signature(body), given, {})
    return e.value.code


def bound(body: str, *given: object) -> BoundCall:
    return bind_call(signature(body), given, {})


def rows(count: int, width: int, stride: int, offset: int = 0) -> torch.Tensor:
    """Rows that begin `stride` elements apart, at an address that only 4 * `offset` moves off a multiple of 64."""
    memory = torch.zeros(count * stride + 32, dtype=torch.float32)
    start = -memory.data_ptr() // 4 % 16 + offset
    return memory[start:].as_strided((count, width), (stride, 1))


def test_a_call_brings_the_prescribed_strides():
    assert bound(PADDED, rows(3, 5, 8)).strided == ()
    assert code(PADDED, rows(3, 5, 5)) == "AK704"
    assert code(PADDED, rows(3, 5, 9)) == "AK704"


def test_strides_of_one_row_and_of_none_are_free():
    assert bound(PADDED, rows(1, 5, 5)).sizes == {"T": 1}
    assert bound(PADDED, rows(0, 5, 5)).sizes == {"T": 0}


def test_a_call_brings_the_prescribed_alignment():
    assert code(PADDED, rows(3, 5, 8, offset=1)) == "AK711"
    assert code(PADDED, rows(3, 5, 8, offset=2)) == "AK711"
    assert bound(PADDED, rows(3, 5, 8, offset=4)).sizes == {"T": 3}


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_an_output_is_allocated_with_its_strides(library: str):
    x = rows(5, 5, 8)
    made = bound(PADDED, x if library == "torch" else x.numpy()).outputs["o"]
    shape, strides = (made.shape, made.stride()) if isinstance(made, torch.Tensor) else (made.shape, made.strides)  # pyright: ignore[reportAttributeAccessIssue]
    assert (tuple(shape), tuple(strides)) == ((2, 5), (8, 1) if library == "torch" else (32, 4))


def test_a_given_output_has_the_prescribed_strides():
    assert code(PADDED, rows(5, 5, 8), torch.zeros(2, 5)) == "AK704"
    assert bound(PADDED, rows(5, 5, 8), torch.zeros(2, 8)[:, :5]).sizes == {"T": 5}


def test_an_output_whose_elements_would_lie_in_one_place_is_refused_given_or_not():
    meeting = PADDED.replace("strides(ak.align(T, 4), 1)", "strides(T - 1, 1)")
    assert meeting != PADDED
    assert code(meeting, rows(5, 5, 8)) == "AK704"
    assert code(meeting, rows(5, 5, 8), torch.zeros(2, 5)) == "AK704"


def test_a_view_of_wider_elements_needs_rows_of_whole_ones():
    x = torch.zeros(64, dtype=torch.bfloat16)
    assert bound(WIDE, x[:24].view(3, 8)[:, :4]).sizes == {"T": 3}
    assert code(WIDE, x[:15].view(3, 5)[:, :4]) == "AK704"
    assert code(WIDE, x[:24].view(3, 8)[:, ::2]) == "AK704"
    assert code(WIDE, x[1:13].view(3, 4)) == "AK711"


@pytest.mark.parametrize("count", [0, 1, 5, 37])
def test_padding_is_no_element_and_bits_are_the_interpreters(count: int, simulator_cache: Path):
    x = np.random.default_rng(3).normal(size=(count, 5)).astype(np.float32)
    found = run(Case(PADDED, {"T": count}, header=HEADER), {"x": x}, simulator_cache)
    assert (found["o"][1] == x[:, 4]).all()


def test_scratch_is_laid_out_where_it_is_given_and_may_be_left_out():
    body = "def k(x: ak.In[ak.f32, T], o: ak.Out[ak.f32, T]):\n    s = ak.scratch((T,), ak.f32)\n"
    body += "    for t in ak.grid(T):\n        s[t] = x[t]\n    for t in ak.grid(T):\n        o[t] = s[t]\n"
    abi = compile_kernel(CompileRequest(HEADER + body, "kernel.py")).abi
    assert abi is not None
    given = {name: np.zeros(3, np.float32) for name in ("x", "o")}
    with laid_out(abi, given, {"T": 3}) as placed:
        assert list(placed) == ["x", "o"]
    with laid_out(abi, {**given, "s": np.zeros(3, np.float32)}, {"T": 3}) as placed:
        assert list(placed) == ["x", "o", "s"]
