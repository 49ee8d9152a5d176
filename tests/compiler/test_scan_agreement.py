"""`cumsum` and `cummax`: the simulator has the interpreter's bits; the interpreter follows the fixed order."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.order import COLUMN_SCAN, ROW_SCAN, ScanOrder
from agentkern.compiler.ir.reference_formats import decode, encode
from agentkern.compiler.ir.reference_scans import cummax, cumsum
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]

ROWS = """\
def k(x: ak.In[ak.{dtype},T,{dim}], o: ak.Out[ak.{dtype},T,{dim}], p: ak.Out[ak.{dtype},T,{dim}]):
    for t in ak.grid(T):
        o[t,:]=ak.cumsum(x[t,:],axis=1)
        p[t,:]=ak.cummax(x[t,:],axis=-1,exclusive=True)
"""
BACKWARD = """\
def k(x: ak.In[ak.{dtype},T,{dim}], o: ak.Out[ak.{dtype},T,{dim}], p: ak.Out[ak.{dtype},T,{dim}]):
    for t in ak.grid(T):
        o[t,:]=ak.cumsum(x[t,:],axis=1,reverse=True,exclusive=True)
        p[t,:]=ak.cummax(x[t,:],axis=1,reverse=True)
"""
COLUMNS = """\
def k(x: ak.In[ak.{dtype},{dim},M], o: ak.Out[ak.{dtype},{dim},M], p: ak.Out[ak.{dtype},{dim},M]):
    for m in ak.grid(M):
        o[:,m]=ak.cumsum(x[:,m],axis=0,exclusive=True)
        p[:,m]=ak.cumsum(x[:,m],axis=0,reverse=True)
"""
BLOCKS = """\
def k(x: ak.In[ak.{dtype},N,M], o: ak.Out[ak.{dtype},N,M], p: ak.Out[ak.{dtype},N,M], q: ak.Out[ak.i32,N,M]):
    for n,m in ak.grid(N,M,block=(32,100)):
        o[n,m]=ak.cumsum(x[n,m],axis=1,reverse=True)
        p[n,m]=ak.cummax(x[n,m],axis=0)
        q[n,m]=ak.cumsum(x[n,m]>1,axis=1)
"""
USED = """\
def k(x: ak.In[ak.{dtype},T,{dim}], o: ak.Out[ak.f32,T,{dim}], s: ak.Out[ak.f32,T], g: ak.Out[ak.f32,H,4]):
    for t in ak.grid(T):
        c=ak.cumsum(x[t,:].to(ak.f32),axis=1)
        o[t,:]=c/ak.sum(ak.abs(c),axis=1,keepdims=True)-ak.cumsum(c,axis=1)
        s[t]=ak.max(ak.cummax(x[t,:].to(ak.f32),axis=1,reverse=True),axis=1)
    for h in ak.grid(H):
        g[h,:]=ak.cumsum(ak.broadcast_to(h.index[:,None].to(ak.f32),(h,4)),axis=1)
"""
CASES = [
    *((ROWS, d, "H", {"H": h}, {"T": t}) for d, h, t in [
        ("f32", 1, 1), ("f32", 5, 3), ("bf16", 64, 3), ("bf16", 576, 9), ("bf16", 7168, 3), ("f32", 2048, 5), ("f16", 65, 40), ("f32", 300, 3), ("bf16", 4096, 3),
        ("i32", 577, 2), ("i64", 130, 3), ("u8", 64, 5), ("f32", 8192, 2), ("bf16", 20000, 2)]),
    *((ROWS, d, "N", {}, {"T": 3, "N": n}) for d, n in [
        ("f32", 0), ("f32", 1), ("bf16", 63), ("f32", 129), ("bf16", 9000), ("i16", 20001)]),
    *((BACKWARD, d, "H", {"H": h}, {"T": t}) for d, h, t in [
        ("f32", 1, 3), ("bf16", 64, 3), ("f32", 200, 3), ("i32", 1000, 2)]),
    *((BACKWARD, d, "N", {}, {"T": 2, "N": n}) for d, n in [("f32", 0), ("bf16", 100), ("f32", 9000), ("i64", 17000)]),
    *((COLUMNS, d, "H", {"H": h}, {"M": m}) for d, h, m in [("f32", 3, 5), ("bf16", 65, 130), ("f32", 250, 33)]),
    *((COLUMNS, d, "N", {}, {"M": m, "N": n}) for d, n, m in [("f32", 0, 1), ("bf16", 300, 130), ("i32", 3000, 33)]),
    *((BLOCKS, d, "", {}, {"N": n, "M": m}) for d, n, m in [("f32", 1, 1), ("bf16", 33, 130), ("i64", 70, 250)]),
    *((USED, "f32", "H", {"H": h}, {"T": 3}) for h in (7, 600, 9000)),
    (USED, "bf16", "N", {"H": 3}, {"T": 3, "N": 10000}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "dtype", "dim", "statics", "sizes"), CASES)
def test_scans_have_the_interpreters_bits(
    body: str, dtype: str, dim: str, statics: Sizes, sizes: Sizes, simulator_cache: Path
) -> None:
    text = body.format(dtype=dtype, dim=dim)
    assert disagreements(text, statics, sizes, ("random", "special"), 2, simulator_cache) == []


def by_hand(row: list[np.float32], order: ScanOrder, *, reverse: bool, exclusive: bool) -> list[np.float32]:
    """The order of `order.py`, element by element."""
    found, total = [np.float32(0)] * len(row), np.float32(0.0 if exclusive else -0.0)
    panels = [range(k, k + order.panel_elems) for k in range(0, len(row), order.panel_elems)]
    for panel in reversed(panels) if reverse else panels:
        runs = [panel[k : k + order.run_elems] for k in range(0, len(panel), order.run_elems)]
        totals = []
        for run in runs:
            own = np.float32(-0.0)
            for i in reversed(run) if reverse else run:
                value = row[i] if i < len(row) else np.float32(-0.0)
                before, own = own, np.float32(own + value)
                if i < len(row):
                    found[i] = before if exclusive else own
            totals.append(own)
        for number, run in enumerate(runs):
            offset = np.float32(total + before_run(totals, number, reverse=reverse))
            for i in run[: max(len(row) - run[0], 0)]:
                found[i] = np.float32(offset + found[i])
        total = np.float32(total + tree(totals))
    return found


def tree(totals: list[np.float32]) -> np.float32:
    """The sum of neighbours, of neighbouring pairs, and so on."""
    while len(totals) > 1:
        totals = [np.float32(a + b) for a, b in zip(totals[::2], totals[1::2], strict=True)]
    return totals[0]


def before_run(totals: list[np.float32], number: int, *, reverse: bool) -> np.float32:
    """The sum of the subtrees before a run, the nearest and smallest first."""
    found, size = np.float32(-0.0), 1
    while size < len(totals):
        sibling = (number // size) ^ 1
        if (sibling > number // size) == reverse:
            found = np.float32(tree(totals[sibling * size : (sibling + 1) * size]) + found)
        size *= 2
    return found


@pytest.mark.parametrize(
    ("extent", "reverse", "exclusive"), list(itertools.product((0, 1, 9, 64, 200, 700), (False, True), (False, True)))
)
def test_sums_run_through_panels_and_their_totals(extent: int, reverse: bool, exclusive: bool) -> None:
    x = np.random.default_rng(3).normal(size=extent).astype(np.float32) * 10.0 ** np.arange(extent).astype(np.float32)[
        ::-1
    ].clip(0, 9)
    for order, shape in ((ROW_SCAN, (extent,)), (COLUMN_SCAN, (extent, 1))):
        found, _ = cumsum("f32", x.reshape(shape), 0, None, reverse=reverse, exclusive=exclusive)
        wanted = np.array(by_hand(list(x), order, reverse=reverse, exclusive=exclusive), np.float32)
        assert found.tobytes() == wanted.tobytes()


def test_a_scan_in_pieces_is_the_scan_of_the_whole():
    x = np.random.default_rng(4).normal(size=(2, 700)).astype(np.float32)
    for scan, reverse in itertools.product((cumsum, cummax), (False, True)):
        whole, _ = scan("f32", x, 1, None, reverse=reverse, exclusive=True)
        total, pieces = None, []
        for start in (512, 0) if reverse else (0, 512):
            piece, total = scan("f32", x[:, start : min(start + 512, 700)], 1, total, reverse=reverse, exclusive=True)
            pieces.append(piece)
        assert np.concatenate(pieces[::-1] if reverse else pieces, 1).tobytes() == whole.tobytes()


def test_narrow_sums_round_each_result_once_and_nan_stays():
    x = encode("bf16", np.array([1.0, 2**-9, 2**-9, np.nan, 1.0], np.float32))
    found, _ = cumsum("bf16", x, 0, None, reverse=False, exclusive=False)
    assert decode("bf16", found)[:3].tolist() == [1.0, 1.0, 1.0] and found[3:].tolist() == [0x7FFF, 0x7FFF]
    largest, _ = cummax("bf16", x, 0, None, reverse=True, exclusive=False)
    assert decode("bf16", largest)[-1] == 1.0 and largest[:4].tolist() == [0x7FFF] * 4


def test_scans_begin_with_what_changes_nothing():
    empty = np.array([3.0], np.float32)
    assert cumsum("f32", empty, 0, None, reverse=False, exclusive=True)[0].tobytes() == np.float32(0.0).tobytes()
    assert cummax("f32", empty, 0, None, reverse=False, exclusive=True)[0].tolist() == [-np.inf]
    assert cummax("u8", np.array([3], np.uint8), 0, None, reverse=False, exclusive=True)[0].tolist() == [0]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ak.cumsum(x[t,:],axis=0)", "AK403"),
        ("ak.cumsum(x[t,:])", "AK404"),
        ("ak.cumsum(x[t,:],axis=(0,1))", "AK122"),
        ("ak.cumsum(x[t,:],axis=1,reverse=x[t,:])", "AK218"),
        ("ak.cummax(x[t,:]>0,axis=1)", "AK206"),
        ("ak.cumsum(x[t,:],axis=2)", "AK209"),
    ],
)
def test_what_has_no_order_is_rejected(line: str, code: str) -> None:
    body = f"def k(x: ak.In[ak.f32,T,4], o: ak.Out[ak.f32,T]):\n    for t in ak.grid(T):\n        v={line}\n        o[t]=x[t,0]\n"
    assert [d.code for d in compile_kernel(CompileRequest(HEADER + body, "kernel.py")).diagnostics] == [code]


@pytest.mark.parametrize(
    "line",
    [
        "ak.cumsum(x[t,:],axis=1)+ak.cumsum(x[t,:],axis=1,reverse=True)",
        "x[t,:]/ak.sum(ak.cumsum(x[t,:],axis=1,reverse=True),axis=1,keepdims=True)",
    ],
)
def test_a_long_axis_in_two_directions_at_once_has_the_interpreters_bits(line: str, simulator_cache: Path) -> None:
    body = f"def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T,N]):\n    for t in ak.grid(T):\n        o[t,:]={line}\n"
    assert disagreements(body, {}, {"T": 2, "N": 9001}, ("random",), 1, simulator_cache) == []
