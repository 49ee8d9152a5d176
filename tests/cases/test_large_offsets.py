"""Elements past 2^31 of them, or past 2^31 bytes. Memory that is not touched costs nothing, so the far end is real.

| what went wrong elsewhere | here |
|---|---|
| a block's number times its size was 32 bits wide | test_the_far_end_of_a_long_vector_is_reached |
| a block's base of four factors wrapped into memory of others | test_the_last_row_of_a_stack_of_heads_is_its_own |
| two square matrices of more than 2^31 elements were added wrongly | test_the_last_block_of_a_large_matrix_is_reached |
| a stride of 2^32 elements was refused, or cut to 32 bits | test_strides_past_32_bits_are_kept |
| fewer than 2^31 elements, but more than 2^31 bytes | test_offsets_in_bytes_may_pass_32_bits |
| an index out of a product of four sizes, all 32 bits | test_the_last_row_of_a_stack_of_heads_is_its_own |
| a loaded 32-bit index times a stride wrapped | test_a_narrow_index_reaches_rows_past_32_bits, test_a_narrow_index_writes_rows_past_32_bits |
| a limit was checked with a product that wrapped | test_a_tile_of_more_than_2_to_the_63_elements_is_walked_in_pieces and its neighbour |
| the search over schedules died at 2^32 elements | test_every_schedule_of_a_very_large_softmax_compiles |
"""

from pathlib import Path

import numpy as np
import pytest

from tests.cases.runs import Case, builds, codes, run, run_last_block

FAR = [2**31 + 4096 + 5, 3_270_680_000]


def untouched(shape: tuple[int, ...], dtype: type = np.uint8) -> np.ndarray:
    """Zeros that take no memory until they are written."""
    return np.zeros(shape, dtype)


@pytest.mark.parametrize("length", FAR)
@pytest.mark.parametrize("body", ["o[n]=x[n]+1", "o[n]=ak.load(x[n-1],fill=0)+ak.load(x[n.index],fill=0)"])
def test_the_far_end_of_a_long_vector_is_reached(body: str, length: int, simulator_cache: Path):
    body = f"def k(x: ak.In[ak.u8,N], o: ak.Out[ak.u8,N]):\n    for n in ak.grid(N):\n        {body}\n"
    x, o = untouched((length,)), untouched((length,))
    x[-2:] = [7, 9]
    run_last_block(Case(body, {"N": length}), {"x": x, "o": o}, simulator_cache)
    assert o[-1] == (10 if "+1" in body else 16)
    assert not o[:4096].any()


def test_an_index_past_32_bits_is_a_number_like_any_other(simulator_cache: Path):
    body = "def k(o: ak.Out[ak.i64,N], p: ak.Out[ak.u8,N]):\n    for n in ak.grid(N):\n        o[n]=n.index*3\n        p[n]=(n.index%251).to(ak.u8)\n"
    length = 2**31 + 77
    o, p = untouched((length,), np.int64), untouched((length,))
    run_last_block(Case(body, {"N": length}), {"o": o, "p": p}, simulator_cache)
    assert (o[-1], p[-1]) == (3 * (length - 1), (length - 1) % 251)


@pytest.mark.parametrize("body", ["o[b,t,h,:]=x[b,t,h,:]+1", "o[b,t,h,:]=ak.load(x[b,t,h-1,:],fill=0)+1"])
def test_the_last_row_of_a_stack_of_heads_is_its_own(body: str, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.u8,B,T,N,H], o: ak.Out[ak.u8,B,T,N,H]):
    for b, t, h in ak.grid(ak.each(B),T,ak.each(N)):
        {body}
"""
    shape = (3, 524289, 16, 128)
    x, o = untouched(shape), untouched(shape)
    x[-1, -1, -2:] = [[3], [5]]
    case = Case(body, dict(zip("BTN", shape[:3], strict=True)), {"H": 128})
    run_last_block(case, {"x": x, "o": o}, simulator_cache)
    assert (o[-1, -1, -1] == (4 if "fill" in body else 6)).all()


def test_the_last_block_of_a_large_matrix_is_reached(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.bf16,N,M], y: ak.In[ak.bf16,N,M], o: ak.Out[ak.bf16,N,M]):
    for n, m in ak.grid(N,M):
        o[n,m]=x[n,m]+y[n,m]
"""
    shape = (51200, 51201)
    x, y, o = (untouched(shape, np.uint16) for _ in range(3))
    x[-1, -1], y[-1, -1] = 0x3F80, 0x4000
    run_last_block(Case(body, {"N": shape[0], "M": shape[1]}), {"x": x, "y": y, "o": o}, simulator_cache)
    assert o[-1, -1] == 0x4040


def test_strides_past_32_bits_are_kept(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.u8,T,N,M], o: ak.Out[ak.u8,T,N,M]):
    for t, n, m in ak.grid(T,N,M):
        o[t,n,m]=x[t,n,m]+1
"""
    memory = untouched((2, 65536, 65536))
    x = memory[:, ::65535, ::65535]
    x[...] = np.arange(8).reshape(2, 2, 2)
    found = run(Case(body, {"T": 2, "N": 2, "M": 2}, strided=("x",), alignment=1), {"x": x}, simulator_cache)
    assert (found["o"] == x + 1).all()


def test_offsets_in_bytes_may_pass_32_bits(simulator_cache: Path):
    body = (
        "def k(x: ak.In[ak.f32,N,M], o: ak.Out[ak.f32,M,N]):\n    for n, m in ak.grid(N,M):\n        o[m,n]=x[n,m].T\n"
    )
    shape = (23200, 23201)
    x, o = untouched(shape, np.float32), untouched(shape[::-1], np.float32)
    x[-1, -1], x[-2, -1] = 3, 5
    run_last_block(Case(body, {"N": shape[0], "M": shape[1]}), {"x": x, "o": o}, simulator_cache)
    assert (o[-1, -1], o[-1, -2]) == (3, 5)


ROWS, WIDTH = 24901, 131072


@pytest.mark.parametrize("dtype", ["i32", "u16", "i64"])
def test_a_narrow_index_reaches_rows_past_32_bits(dtype: str, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.u8,N,H], i: ak.In[ak.{dtype},T], o: ak.Out[ak.u8,T,8], p: ak.Out[ak.u8,T]):
    for t in ak.grid(T):
        r=i[t]
        o[t,:]=ak.load(x[r,H-8:],fill=0)
        p[t]=ak.load(x[i[t],i[t]],fill=0)
"""
    x = untouched((ROWS, WIDTH))
    index = np.array([0, 16383, 16384, ROWS - 1, 5])
    x[index, -8:] = index[:, None] % 200 + 1
    x[index, index] = 77
    storage = {"i32": np.int32, "u16": np.uint16, "i64": np.int64}[dtype]
    o, p = untouched((5, 8)), untouched((5,))
    given = {"x": x, "i": index.astype(storage), "o": o, "p": p}
    run_last_block(Case(body, {"N": ROWS, "T": 5}, {"H": WIDTH}), given, simulator_cache)
    assert (o == index[:, None] % 200 + 1).all()
    assert (p == 77).all()


@pytest.mark.parametrize(
    "store", ["ak.store(o[r,H-1],v[t],where=(r>=0)&(r<N))", "ak.atomic_add(o[r,H-1],v[t],where=(r>=0)&(r<N))"]
)
def test_a_narrow_index_writes_rows_past_32_bits(store: str, simulator_cache: Path):
    body = f"""\
def k(i: ak.In[ak.i32,T].distinct(), v: ak.In[ak.i32,T], o: ak.InOut[ak.i32,N,H]):
    for t in ak.grid(T):
        r=i[t]
        {store}
"""
    index = np.array([ROWS - 1, 16384, 0], np.int32)
    o = untouched((ROWS, WIDTH), np.int32)
    given = {"i": index, "v": np.array([5, 6, 7], np.int32), "o": o}
    run_last_block(Case(body, {"N": ROWS, "T": 3}, {"H": WIDTH}), given, simulator_cache)
    assert o[index, -1].tolist() == [5, 6, 7]
    assert not o[8:16, :].any()


def test_steps_past_32_bits_are_counted(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.u8,N], o: ak.Out[ak.i64,1], last: ak.Out[ak.i64,1]):
    for _ in ak.grid():
        a=ak.zeros((),ak.i64)
        b=ak.zeros((),ak.i64)
        for c in ak.steps(4294967290,N,block=8):
            a=a+ak.sum(x[c].to(ak.i64),axis=0)
            b=b+c.start
        o[0]=a
        last[0]=b
"""
    length = 2**32 + 9
    x = untouched((length,))
    x[-15:] = 1
    o, last = np.zeros(1, np.int64), np.zeros(1, np.int64)
    run_last_block(Case(body, {"N": length}), {"x": x, "o": o, "last": last}, simulator_cache)
    assert (o[0], last[0]) == (15, 4294967290 + 4294967298)


def test_a_tile_of_more_than_2_to_the_63_elements_is_walked_in_pieces():
    body = """\
def k(o: ak.Out[ak.f32,2147483648,4294967296]):
    for _ in ak.grid():
        o[:,:]=ak.zeros((2147483648,4294967296),ak.f32)
"""
    assert codes(body) == []


def test_a_row_of_a_tensor_of_more_than_2_to_the_63_elements_is_placed_exactly():
    body = """\
def k(x: ak.In[ak.f32,2147483648,4294967296,4], o: ak.Out[ak.f32,4]):
    for _ in ak.grid():
        o[:]=x[2147483647,4294967295,:]
"""
    assert codes(body) == []
    assert codes(body.replace("4294967295,", "4294967296,")) == ["AK222"]


def test_every_schedule_of_a_very_large_softmax_compiles(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,T,N], o: ak.Out[ak.f32,T,N]):
    for t in ak.grid(T):
        r=x[t,:]
        e=ak.exp(r-ak.max(r,axis=1,keepdims=True))
        o[t,:]=e/ak.sum(e,axis=1,keepdims=True)
"""
    sizes = {"T": 1 << 20, "N": (1 << 12) + 4}
    assert len(builds(Case(body, sizes, count=6))) > 1
    x, o = untouched((sizes["T"], sizes["N"]), np.float32), untouched((sizes["T"], sizes["N"]), np.float32)
    run_last_block(Case(body, sizes), {"x": x, "o": o}, simulator_cache)
    assert (o[-1] == np.float32(1) / np.float32(sizes["N"])).all()
