"""`argmax` and `argmin`: the simulator has the interpreter's bits, and the interpreter means what NumPy means."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.ir.reference_orders import argmax_over, argmin_over
from tests.compiler.agreement import disagreements

Sizes = dict[str, int]

ROWS = """\
def k(x: ak.In[ak.{dtype},T,{dim}], o: ak.Out[ak.i64,T], p: ak.Out[ak.i64,T,1]):
    for t in ak.grid(T):
        o[t]=ak.argmax(x[t,:],axis=1)
        p[t,:]=ak.argmin(x[t,:],axis=-1,keepdims=True)
"""
COLUMNS = """\
def k(x: ak.In[ak.{dtype},{dim},M], o: ak.Out[ak.i64,M], p: ak.Out[ak.i64,M]):
    for m in ak.grid(M):
        o[m]=ak.argmax(x[:,m],axis=0)
        p[m]=ak.argmin(x[:,m],axis=0)
"""
BLOCKS = """\
def k(x: ak.In[ak.{dtype},N,M], o: ak.Out[ak.i64,ak.cdiv(N,32),ak.cdiv(M,64)], p: ak.Out[ak.i64,ak.cdiv(N,32),M]):
    for n,m in ak.grid(N,M,block=(32,64)):
        o[n.ordinal,m.ordinal]=ak.argmax(x[n,m])
        p[n.ordinal,m]=ak.argmin(x[n,m],axis=0)
"""
SEVERAL = """\
def k(x: ak.In[ak.{dtype},T+1,3,H], o: ak.Out[ak.i64,T], p: ak.Out[ak.i64,H], q: ak.Out[ak.i64,T,1,H]):
    for t in ak.grid(T):
        o[t]=ak.argmax(x[t,:,:],axis=(1,2))
        q[t,:,:]=ak.argmin(x[t,:,:],axis=1,keepdims=True)
    for h in ak.grid(H):
        p[h]=ak.argmin(x[:,:,h],axis=(0,1))
"""
CASES = [
    *((ROWS, dtype, "N+1", {}, {"T": 3, "N": n}) for dtype, n in [
        ("f32", 0), ("f32", 100), ("f32", 9001), ("bf16", 20000), ("i64", 1030), ("u8", 300), ("i16", 31)]),
    *((ROWS, dtype, "H", {"H": h}, {"T": 5}) for dtype, h in [
        ("f32", 1), ("f32", 7), ("bf16", 72), ("f16", 576), ("f32", 1500), ("i32", 9001), ("u32", 129), ("u64", 300),
        ("f32", 20000)]),
    *((COLUMNS, dtype, "N+1", {}, {"M": m, "N": n}) for dtype, n, m in [
        ("f32", 0, 5), ("bf16", 300, 130), ("f32", 3000, 33), ("i64", 40, 1)]),
    *((BLOCKS, dtype, "", {}, {"N": n, "M": m}) for dtype, n, m in [
        ("f32", 1, 1), ("f32", 33, 130), ("bf16", 100, 65), ("i64", 33, 65), ("u16", 0, 5)]),
    *((SEVERAL, dtype, "", {"H": h}, {"T": t}) for dtype, h, t in [("f32", 5, 3), ("bf16", 64, 1), ("i8", 300, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "dtype", "dim", "statics", "sizes"), CASES)
def test_positions_of_extremes_have_the_interpreters_bits(
    body: str, dtype: str, dim: str, statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    text = body.format(dtype=dtype, dim=dim)
    assert disagreements(text, statics, sizes, ("random", "special"), 2, simulator_cache) == []


def test_nan_is_the_largest_and_zeros_are_equal():
    x = np.array([[0.0, -0.0, 1.0], [np.nan, 2.0, np.nan], [np.nan] * 3, [-np.inf, np.inf, np.nan]], np.float32)
    assert argmax_over("f32", x, (1,), (3,)).tolist() == [2, 0, 0, 2]
    assert argmin_over("f32", x, (1,), (3,)).tolist() == [0, 1, 0, 0]
    assert argmin_over("f32", np.array([np.nan, np.inf, np.nan], np.float32), (0,), (None,)) == 1


def test_the_index_counts_over_whole_blocks_and_takes_the_smallest_of_equals():
    x = np.array([[1, 5], [5, 5]], np.int32)
    assert argmax_over("i32", x, (0, 1), (None, None)) == 1
    assert argmax_over("i32", x[1:], (0, 1), (4, 8)) == 0
    assert argmin_over("i32", -x[:, :1], (0, 1), (4, 8)) == 8
