"""What goes wrong when elements are spread over threads: odd widths, replicas, broadcasts, permuted axes.

| what went wrong elsewhere | here |
|---|---|
| one row of 192, 229 or 257 elements had no layout, only powers of two | test_one_row_of_any_width_compiles |
| a number per row against rows of 24, 40, 48 or 96 divided by zero in the compiler | test_numbers_of_rows_spread_over_rows_of_any_width |
| sums of groups of 32 needed replicas, and found no layout | test_groups_of_a_row_are_summed_whether_rows_are_few_or_many |
| half a tile had a source, the other half a fill: replicas of the fill differed | test_the_half_without_a_source_holds_the_fill |
| a tile of padded length beside a reduction had no layout | test_a_padded_tile_beside_a_reduction_compiles |
| one value used in f32 and, rounded, in f16: layouts in conflict | test_a_masked_tile_serves_two_uses_of_different_width |
| equal maps, written differently, were called unequal | test_one_extent_written_in_two_ways_is_one_extent and its near miss |
| replicas of a short tile were counted once each | test_each_element_of_a_short_tile_is_counted_once |
| a change of layout between one and two warps lost elements | test_a_square_tile_keeps_its_elements_in_every_order |
| two broadcasts of one source shared an index map | test_two_broadcasts_of_one_value_keep_their_own_order |
| a scan over fewer elements than lanes ran into replicas | test_a_scan_shorter_than_a_warp_counts_its_own_elements |
| a transpose of three axes turned all of them round | test_turning_the_last_two_axes_leaves_the_first and its near miss |
| a reduced axis that is kept could not be stored | test_a_kept_axis_is_stored |
| rows reduced together had a workspace sized for one row | test_rows_of_one_block_are_reduced_apart |
| a permuted operand beside a broadcast one was wrong from the second call on | test_permuted_operands_are_right_at_every_call |
"""

from pathlib import Path

import numpy as np
import pytest

from tests.cases.runs import Case, codes, run
from tests.compiler.agreement import disagreements

KINDS = ("random", "special")
RANDOM = np.random.default_rng(5)


@pytest.mark.parametrize("width", [1, 3, 33, 192, 229, 257])
def test_one_row_of_any_width_compiles(width: int, simulator_cache: Path):
    body = "def k(x: ak.In[ak.f32,1,H], o: ak.Out[ak.f32,1,H]):\n    for _ in ak.grid():\n        o[0,:]=x[0,:]*2+1\n"
    assert disagreements(body, {"H": width}, {}, KINDS, 2, simulator_cache) == []


@pytest.mark.parametrize("width", [24, 40, 48, 96])
def test_numbers_of_rows_spread_over_rows_of_any_width(width: int, simulator_cache: Path):
    body = (
        "def k(d: ak.In[ak.f32,T], o: ak.Out[ak.f32,T,H]):\n    for t in ak.grid(T):\n        o[t,:]=(d[t]*2)[:,None]\n"
    )
    given = {"d": RANDOM.normal(size=37).astype(np.float32)}
    found = run(Case(body, {"T": 37}, {"H": width}), given, simulator_cache)
    assert (found["o"] == given["d"][:, None] * 2).all()


@pytest.mark.parametrize(("rows", "width"), [(16, 448), (1, 7168), (1, 32), (33, 96)])
def test_groups_of_a_row_are_summed_whether_rows_are_few_or_many(rows: int, width: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,T,H], o: ak.Out[ak.i32,T,H//32]):
    for t in ak.grid(T):
        o[t,:]=ak.sum(x[t,:].reshape(t,H//32,32),axis=2)
"""
    x = RANDOM.integers(-99, 99, (rows, width)).astype(np.int32)
    found = run(Case(body, {"T": rows}, {"H": width}), {"x": x}, simulator_cache)
    assert (found["o"] == x.reshape(rows, -1, 32).sum(axis=2)).all()


@pytest.mark.parametrize("width", [16, 5, 100])
def test_the_half_without_a_source_holds_the_fill(width: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,H], o: ak.Out[ak.f32,2*H], low: ak.Out[ak.f32,1], at: ak.Out[ak.i64,1]):
    for _ in ak.grid():
        n=ak.arange(2*H)
        v=ak.load(x[n],where=n<H,fill=ak.inf)
        o[:]=v
        low[0]=ak.min(v,axis=0)
        at[0]=ak.argmax(v,axis=0)
"""
    x = RANDOM.normal(size=width).astype(np.float32)
    found = run(Case(body, statics={"H": width}), {"x": x}, simulator_cache)
    assert (found["o"] == np.concatenate([x, np.full(width, np.inf, np.float32)])).all()
    assert (found["low"][0], found["at"][0]) == (x.min(), width)


@pytest.mark.parametrize("experts", [1, 33, 72, 256])
def test_a_padded_tile_beside_a_reduction_compiles(experts: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.i64,T,ak.align(H,32)], best: ak.Out[ak.f32,T]):
    for t in ak.grid(T):
        n=ak.arange(ak.align(H,32))
        score=ak.load(x[t,n],where=(n<H)[None,:],fill=-ak.inf)
        best[t]=ak.max(score,axis=1)
        o[t,:]=ak.where(score==best_of(score),n[None,:],-1)
"""
    helper = "@ak.inline\ndef best_of(score):\n    return ak.max(score,axis=1,keepdims=True)\n\n\n@ak.kernel\n"
    header = f'import agentkern as ak\n\nT, H = ak.dim("T"), ak.static("H")\n\n\n{helper}'
    x = RANDOM.normal(size=(3, experts)).astype(np.float32)
    found = run(Case(body, {"T": 3}, {"H": experts}, header), {"x": x}, simulator_cache)
    padded = -(-experts // 32) * 32
    want = np.where(np.arange(padded) == x.argmax(axis=1)[:, None], np.arange(padded), -1)
    assert (found["o"] == want).all()
    assert (found["best"] == x.max(axis=1)).all()


@pytest.mark.parametrize("shape", [(64, 128), (5, 37)])
def test_a_masked_tile_serves_two_uses_of_different_width(shape: tuple[int, int], simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f16,T,H], r: ak.Out[ak.f32,T], c: ak.Out[ak.f16,H,T]):
    for t in ak.grid(T):
        s=ak.where(t.index[:,None]>=ak.arange(H)[None,:],x[t,:],-ak.inf)
        r[t]=ak.max(s,axis=1)
        p=ak.exp(s-ak.max(s,axis=1,keepdims=True)).to(ak.f16)
        o[t,:]=p
        c[:,t]=p.T
"""
    rows, width = shape
    assert disagreements(body, {"H": width}, {"T": rows}, KINDS, 3, simulator_cache) == []


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [("2*N", "N+N", []), ("N*M", "M*N", []), ("(N+1)*2", "2*N+2", []), ("2*N", "2*N+1", ["AK207"])],
)
def test_one_extent_written_in_two_ways_is_one_extent(first: str, second: str, wanted: list[str]):
    body = f"""\
def k(x: ak.In[ak.f32,{first}], y: ak.In[ak.f32,{second}], u: ak.In[ak.f32,N,M], o: ak.Out[ak.f32,{first}]):
    for _ in ak.grid():
        o[:]=x[:]+y[:]
"""
    assert codes(body) == wanted


@pytest.mark.parametrize("width", [1, 3, 16, 33])
def test_each_element_of_a_short_tile_is_counted_once(width: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,H], o: ak.Out[ak.i32,1], c: ak.InOut[ak.i32,1]):
    for _ in ak.grid():
        o[0]=ak.sum(x[:],axis=0)
    for _ in ak.grid():
        ak.atomic_add(c[ak.zeros((H,),ak.i64)], x[:])
"""
    given = {"x": np.ones(width, np.int32), "c": np.zeros(1, np.int32)}
    found = run(Case(body, statics={"H": width}), given, simulator_cache)
    assert (found["o"][0], found["c"][0]) == (width, width)


@pytest.mark.parametrize("size", [32, 33])
def test_a_square_tile_keeps_its_elements_in_every_order(size: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,N,M], o: ak.Out[ak.i32,N,M], p: ak.Out[ak.i32,M,N], r: ak.Out[ak.i32,N,ak.cdiv(M,32)]):
    for n, m in ak.grid(N,M,block=(32,32)):
        v=x[n,m]
        o[n,m]=v
        p[m,n]=v.T
        r[n,m.ordinal]=ak.sum(v.T,axis=0)
"""
    x = np.arange(size * size, dtype=np.int32).reshape(size, size)
    found = run(Case(body, {"N": size, "M": size}, count=4), {"x": x}, simulator_cache)
    assert (found["o"] == x).all()
    assert (found["p"] == x.T).all()
    assert (found["r"][:, 0] == x[:, :32].sum(axis=1)).all()


def test_two_broadcasts_of_one_value_keep_their_own_order(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,2], o: ak.Out[ak.i32,8], p: ak.Out[ak.i32,8]):
    for _ in ak.grid():
        v=x[:].reshape(1,2,1)
        o[:]=ak.broadcast_to(v,(1,2,4)).reshape(8)
        p[:]=ak.broadcast_to(v,(4,2,1)).reshape(8)
"""
    found = run(Case(body), {"x": np.array([0, 1], np.int32)}, simulator_cache)
    assert found["o"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert found["p"].tolist() == [0, 1, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("width", [1, 2, 5, 16, 31])
@pytest.mark.parametrize("rows", [1, 3])
def test_a_scan_shorter_than_a_warp_counts_its_own_elements(rows: int, width: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,T,H], o: ak.Out[ak.i32,T,H], c: ak.Out[ak.i32,T,H], m: ak.Out[ak.i32,T,H]):
    for t in ak.grid(T):
        v=x[t,:]
        o[t,:]=ak.cumsum(v,axis=1)
        c[t,:]=ak.cumsum(v,axis=1,reverse=True,exclusive=True)
        m[t,:]=ak.cummax(v,axis=1)
"""
    x = RANDOM.integers(-9, 9, (rows, width)).astype(np.int32)
    found = run(Case(body, {"T": rows}, {"H": width}), {"x": x}, simulator_cache)
    assert (found["o"] == x.cumsum(axis=1)).all()
    assert (found["c"] == x[:, ::-1].cumsum(axis=1)[:, ::-1] - x).all()
    assert (found["m"] == np.maximum.accumulate(x, axis=1)).all()


def test_turning_the_last_two_axes_leaves_the_first(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,2,3,5], o: ak.Out[ak.i32,2,5,3]):
    for _ in ak.grid():
        o[:,:,:]=x[:,:,:].transpose(0,2,1)
"""
    x = np.arange(30, dtype=np.int32).reshape(2, 3, 5)
    assert (run(Case(body), {"x": x}, simulator_cache)["o"] == x.transpose(0, 2, 1)).all()


def test_turning_three_axes_round_without_their_order_is_rejected():
    body = "def k(x: ak.In[ak.i32,2,3,5], o: ak.Out[ak.i32,5,3,2]):\n    for _ in ak.grid():\n        o[:,:,:]=x[:,:,:].T\n"
    assert codes(body) == ["AK219"]


@pytest.mark.parametrize("width", [1, 37, 2000])
def test_a_kept_axis_is_stored(width: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,T,H], o: ak.Out[ak.i32,T,1], p: ak.Out[ak.i32,1,H]):
    for t in ak.grid(T):
        o[t,:]=ak.sum(x[t,:],axis=1,keepdims=True)
    for h in ak.grid(H):
        p[:,h]=ak.max(x[:,h],axis=0,keepdims=True)
"""
    x = RANDOM.integers(-99, 99, (7, width)).astype(np.int32)
    found = run(Case(body, {"T": 7}, {"H": width}), {"x": x}, simulator_cache)
    assert (found["o"] == x.sum(axis=1, keepdims=True)).all()
    assert (found["p"] == x.max(axis=0, keepdims=True)).all()


@pytest.mark.parametrize(("rows", "middle", "width"), [(3, 8, 5), (40, 8, 64), (2, 3, 1000), (5, 7, 257)])
def test_rows_of_one_block_are_reduced_apart(rows: int, middle: int, width: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,T,G,H], o: ak.Out[ak.i32,T,G], p: ak.Out[ak.i32,T,H]):
    for t in ak.grid(T):
        o[t,:]=ak.sum(x[t,:,:],axis=2)
        p[t,:]=ak.sum(x[t,:,:],axis=1)
"""
    x = RANDOM.integers(-99, 99, (rows, middle, width)).astype(np.int32)
    found = run(Case(body, {"T": rows}, {"G": middle, "H": width}), {"x": x}, simulator_cache)
    assert (found["o"] == x.sum(axis=2)).all()
    assert (found["p"] == x.sum(axis=1)).all()


def test_permuted_operands_are_right_at_every_call(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f16,T,N,M], w: ak.In[ak.f16,M], o: ak.Out[ak.f16,T,N,M]):
    for t, n, m in ak.grid(T,N,M):
        o[t,n,m]=x[t,n,m]+w[m]
"""
    memory = RANDOM.integers(-50, 50, (5, 6, 7)).astype(np.float16)
    w = RANDOM.integers(-50, 50, 7).astype(np.float16)
    for order in [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)]:
        x = memory.transpose(order)
        sizes = dict(zip("TNM", x.shape, strict=True))
        spread = np.resize(w, sizes["M"])
        case = Case(body, sizes, strided=("x",), alignment=2)
        assert (run(case, {"x": x, "w": spread}, simulator_cache)["o"] == x + spread).all()
