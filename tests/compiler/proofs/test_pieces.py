"""Loops over the pieces of a range: each index is written once, by the block whose piece has it."""

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.compiler.agreement import HEADER


def _codes(loop: str, target: str = "o[t]") -> list[str]:
    body = f"""\
def k(x: ak.In[ak.f32,N], o: ak.Out[ak.f32,N], parts: ak.static_int = 3):
    for p in ak.grid(ak.parts(N,parts)):
        for t in {loop}:
            {target}=x[t]
"""
    return [d.code for d in compile_kernel(CompileRequest(HEADER + body, "kernel.py")).diagnostics]


def test_every_index_of_every_piece_is_written_once():
    assert _codes("ak.steps(ak.each(p.start,p.end))") == []
    assert _codes("ak.steps(p.start,p.end,block=16)") == []


@pytest.mark.parametrize(
    ("loop", "code"),
    [
        ("ak.steps(ak.each(p.start,p.end-1))", "AK305"),
        ("ak.steps(ak.each(p.start+1,p.end))", "AK305"),
        ("ak.steps(ak.each(p.end))", "AK303"),
        ("ak.steps(ak.each(N))", "AK303"),
    ],
)
def test_pieces_that_overlap_or_leave_gaps_are_not_accepted(loop: str, code: str):
    found = _codes(loop)
    assert found
    assert set(found) <= {"AK303", "AK304", "AK305", "AK306", code}


WINDOWS = """\
def k(x: ak.In[ak.f32,N], o: ak.Out[ak.f32,2*N]):
    for p in ak.grid(ak.parts(N,3)):
        o[2*p]=x[p]
        o[{}]=x[p]
"""


@pytest.mark.parametrize(
    ("place", "codes"), [("2*p+1", []), ("2*N-1-2*p", []), ("p.index+N", ["AK303"]), ("2*p+2", ["AK301", "AK303"])]
)
def test_windows_of_pieces_are_apart_and_fill_what_they_reach(place: str, codes: list[str]):
    result = compile_kernel(CompileRequest(HEADER + WINDOWS.format(place), "kernel.py"))
    assert sorted({d.code for d in result.diagnostics} - {"AK305", "AK306"}) == codes


@pytest.mark.parametrize("parts", [1, 2, 7, 8])
def test_windows_of_pieces_of_one_length_fill_what_they_reach(parts: int):
    text = HEADER + WINDOWS.format("2*p+1").replace("N", "H").replace("3)", f"{parts})")
    assert [d.code for d in compile_kernel(CompileRequest(text, "kernel.py", dims={"H": 14})).diagnostics] == []
    beside = text.replace("2*p]", "2*p+1]")
    assert compile_kernel(CompileRequest(beside, "kernel.py", dims={"H": 14})).diagnostics != ()


SCATTER = """\
def k(rows: ak.In[ak.i64,H].distinct(ignore=-1), x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,N].partial()):
    for t, p in ak.grid(T, ak.parts(H,2)):
        row = rows[p]
        ak.store(o[t,row], x[t,p], where=(row >= 0) & (row < N))
"""


@pytest.mark.parametrize("extent", [0, 1, 2, 20])
def test_pieces_of_any_extent_and_of_nothing_scatter_by_distinct_rows(extent: int):
    result = compile_kernel(CompileRequest(HEADER + SCATTER, "kernel.py", dims={"H": extent}))
    assert [d.code for d in result.diagnostics] == []


def test_pieces_that_scatter_by_rows_that_may_be_equal_are_not_accepted():
    text = SCATTER.replace(".distinct(ignore=-1)", "")
    result = compile_kernel(CompileRequest(HEADER + text, "kernel.py", dims={"H": 2}))
    assert [d.code for d in result.diagnostics] == ["AK304"]
