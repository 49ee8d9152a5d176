"""`topk` of many elements is a loop over rounds: the interpreter's bits, and text that does not grow with the rounds."""

from pathlib import Path

import pytest

from tests.compiler.agreement import compiled, disagreements

Sizes = dict[str, int]

ROWS = """\
def k(x: ak.In[ak.{dtype},T,H], o: ak.Out[ak.{dtype},T,G], p: ak.Out[ak.i64,T,G]):
    for t in ak.grid(T):
        o[t,:],p[t,:]=ak.topk(x[t,:],G,axis=1)
"""
COLUMNS = """\
def k(x: ak.In[ak.{dtype},H,M], o: ak.Out[ak.{dtype},G,M], p: ak.Out[ak.i64,G,M]):
    for m in ak.grid(M):
        o[:,m],p[:,m]=ak.topk(x[:,m],G,axis=0)
"""
TWICE = """\
def k(x: ak.In[ak.{dtype},T,H], o: ak.Out[ak.{dtype},T,G], p: ak.Out[ak.i64,T,9]):
    for t in ak.grid(T):
        values,places=ak.topk(x[t,:],G,axis=1)
        least,again=ak.topk(-values.to(ak.f32),9,axis=1)
        o[t,:]=values
        p[t,:]=again
"""
STEPS = """\
def k(x: ak.In[ak.{dtype},T,N,H], o: ak.Out[ak.{dtype},T,G], p: ak.Out[ak.i64,T,N,G]):
    for t in ak.grid(T):
        best=ak.zeros((t,G),ak.{dtype})
        for n in ak.steps(ak.each(N)):
            values,places=ak.topk(x[t,n,:],G,axis=1)
            best=ak.maximum(best,values)
            p[t,n,:]=places
        o[t,:]=best
"""
CASES = [
    *((ROWS, d, {"H": h, "G": g}, {"T": t}) for d, h, g, t in [
        ("f32", 9, 9, 3), ("bf16", 40, 12, 0), ("f64", 33, 10, 5), ("u64", 70, 16, 2), ("i8", 300, 20, 3),
        ("f32", 256, 64, 17), ("f16", 9000, 9, 2)]),
    *((COLUMNS, d, {"H": h, "G": g}, {"M": m}) for d, h, g, m in [("f32", 11, 10, 5), ("i64", 64, 9, 33)]),
    (TWICE, "f32", {"H": 30, "G": 12}, {"T": 7}),
    (STEPS, "f32", {"H": 24, "G": 10}, {"T": 5, "N": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "dtype", "statics", "sizes"), CASES)
def test_many_rounds_have_the_interpreters_bits(
    body: str, dtype: str, statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    text = body.format(dtype=dtype)
    assert disagreements(text, statics, sizes, ("special", "integers", "random"), 2, simulator_cache) == []


@pytest.mark.parametrize(("width", "k"), [(16, 9), (16, 16), (64, 64), (72, 33), (256, 64), (1024, 64)])
def test_text_is_bounded_however_many_the_rounds(width: int, k: int) -> None:
    text = compiled(ROWS.format(dtype="f32"), {"H": width, "G": k}, {}).cuda
    assert len(text.splitlines()) < 1000
