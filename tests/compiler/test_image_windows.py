"""Windows that slide over images: what a block covers of a row, and the interpreter's bits at every edge."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]

SLIDES = """\
def k(x: ak.In[ak.bf16,T,{step}*N,{step}*M], o: ak.Out[ak.bf16,T,N,M]):
    for t,n,m in ak.grid(T,N,M):
        best=ak.load(x[t,{step}*n-1,{step}*m+1],fill=-2.0)
        best=ak.maximum(best,ak.load(x[t,{step}*n,{step}*m-1],fill=-1.0))
        o[t,n,m]=ak.maximum(best,ak.load(x[t,{step}*n+{step},{step}*m],fill=0.5))
"""
ALONG = """\
def k(x: ak.In[ak.bf16,T,N,M], o: ak.Out[ak.bf16,T,N,M]):
    for t,n,m in ak.grid(T,N,M):
        o[t,n,m]=ak.load(x[t,n,m-1],fill=0.0)
"""
CASES = [(step, t, n, m) for step in (1, 2, 3) for t, n, m in [(1, 1, 1), (3, 17, 28), (2, 5, 131)]]


@pytest.mark.parametrize(("step", "t", "n", "m"), CASES)
def test_windows_of_images_keep_the_bits(step: int, t: int, n: int, m: int, simulator_cache: Path) -> None:
    sizes = {"T": t, "N": n, "M": m}
    assert disagreements(SLIDES.format(step=step), {}, sizes, ("random", "special"), 2, simulator_cache) == []


def _tile(body: str) -> tuple[int, ...]:
    found = compile_kernel(CompileRequest(HEADER + body, "kernel.py"))
    assert found.schedule is not None, found.diagnostics
    return found.schedule.grids[0].tile


def test_a_block_covers_a_short_piece_of_an_images_row_and_more_rows() -> None:
    assert _tile(SLIDES.format(step=2)) == (1, 16, 32)


def test_windows_along_one_axis_leave_whole_warps_along_it() -> None:
    assert _tile(ALONG)[-1] == 256


def test_offsets_with_strides_of_the_run_stand_before_the_guards() -> None:
    text = compile_kernel(CompileRequest(HEADER + SLIDES.format(step=2), "kernel.py")).cuda
    load = text.split("x_block = ")[1].split("ak_ldg_u16")[0]
    assert load.index(" offset = ") < load.index("if (")
