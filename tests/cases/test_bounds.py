"""What goes wrong at edges: unaligned starts, tails, empty tensors, negative indices, conditions that do not reach.

| what went wrong elsewhere | here |
|---|---|
| a 16-byte access from a start that is a multiple of 4 bytes only | test_a_start_off_alignment_is_read_and_written_as_it_lies |
| a region was checked for its start and its length, not for their sum | test_a_region_that_ends_past_the_tensor_is_rejected |
| the analysis itself overflowed 32 bits on a legal index | test_indices_past_32_bits_of_product_are_proved and its near miss |
| a run-time length was not a multiple of the vector | test_run_time_lengths_need_no_multiple_of_the_vector |
| a vector of atomics ran over the end | test_atomics_stop_at_the_end |
| `break` was dropped where the loop became vectors | test_a_break_ends_the_loop_at_its_step, test_a_break_that_cannot_be_kept_is_rejected |
| an index of -1 in a gather gave NaN | test_an_index_of_minus_one_is_guarded_at_both_ends |
| a load that was masked off touched an empty tensor | test_an_empty_tensor_is_never_touched |
| rows shorter than a vector were moved as vectors | test_rows_shorter_than_a_vector_stay_apart |
| a scan along the first axis took the other extent | test_a_scan_along_the_first_axis_has_that_extent |
| a scan of a part ignored the stride of the whole | test_a_scan_of_a_part_keeps_the_stride_of_the_whole |
| the last, short vector of a tile was left out or overran | test_the_short_end_of_a_tile_is_written_once |
| a vector index with a run-time start, a loop that does not start at 0 | test_starts_other_than_zero_compile |
| what one branch assumes was used outside it | test_what_a_branch_assumes_ends_with_it and its two neighbours |
| a configuration was legal at 32, misaligned at 64, too large at 128 | does not apply: chained products |
"""

from pathlib import Path

import numpy as np
import pytest

from tests.cases.runs import Case, codes, run, run_last_block
from tests.compiler.agreement import disagreements

KINDS = ("random", "special")
RANDOM = np.random.default_rng(6)
BOUNDED = 'import agentkern as ak\n\nT = ak.dim("T", max=4)\n\n\n@ak.kernel\n'


@pytest.mark.parametrize("offset", [1, 2, 3, 4])
def test_a_start_off_alignment_is_read_and_written_as_it_lies(offset: int, simulator_cache: Path):
    body = "def k(x: ak.In[ak.f32,N], o: ak.InOut[ak.f32,N]):\n    for n in ak.grid(N):\n        o[n]=x[n]+o[n]\n"
    memory = RANDOM.integers(-9, 9, 4000).astype(np.float32)
    x, o = memory[offset : offset + 1031], np.ones(1031, np.float32)
    found = run(Case(body, {"N": 1031}, alignment=4 * offset if offset != 3 else 4), {"x": x, "o": o}, simulator_cache)
    assert (found["o"] == x + 1).all()


@pytest.mark.parametrize("start", [1, 2, 3, 5])
def test_a_slice_off_alignment_is_read_and_written_as_it_lies(start: int, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.bf16,T,64], o: ak.Out[ak.bf16,T,64]):
    for t in ak.grid(T):
        o[t,:64-{start}]=x[t,{start}:]
        o[t,64-{start}:]=x[t,:{start}]
"""
    x = RANDOM.integers(0, 1 << 15, (5, 64)).astype(np.uint16)
    assert (run(Case(body, {"T": 5}), {"x": x}, simulator_cache)["o"] == np.roll(x, -start, axis=1)).all()


REGIONS = [
    ("o: ak.Out[ak.i32,8].partial()", "o[6:12]=x[0:6]", ["AK222"]),
    ("o: ak.Out[ak.i32,8].partial()", "o[2:8]=x[0:6]", []),
    ("o: ak.Out[ak.i32,N+4].partial()", "o[n+5]=x[0]", ["AK301"]),
    ("o: ak.Out[ak.i32,N+4].partial()", "o[n+4]=x[0]", []),
    ("o: ak.Out[ak.i32,N].partial()", "o[n]=x[8]", ["AK222"]),
]


@pytest.mark.parametrize(("output", "store", "wanted"), REGIONS)
def test_a_region_that_ends_past_the_tensor_is_rejected(output: str, store: str, wanted: list[str]):
    grid = "for n in ak.grid(N):" if "n" in store else "for _ in ak.grid():"
    found = codes(f"def k(x: ak.In[ak.i32,8], {output}):\n    {grid}\n        {store}\n")
    assert [code for code in found if code != "AK310"] == wanted


def test_indices_past_32_bits_of_product_are_proved(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.u8,1800000001], o: ak.Out[ak.u8,T], p: ak.Out[ak.u8,T]):
    for t in ak.grid(T):
        o[t]=x[600000000*t]
        p[t]=x[600000000*t.index]
"""
    x = np.zeros(1800000001, np.uint8)
    x[::600000000] = [1, 2, 3, 4]
    given = {"x": x, "o": np.zeros(4, np.uint8), "p": np.zeros(4, np.uint8)}
    run_last_block(Case(body, {"T": 4}, header=BOUNDED), given, simulator_cache)
    assert (given["o"].tolist(), given["p"].tolist()) == ([1, 2, 3, 4], [1, 2, 3, 4])


def test_one_element_less_than_the_largest_index_needs_is_rejected():
    body = "def k(x: ak.In[ak.u8,1800000000], o: ak.Out[ak.u8,T]):\n    for t in ak.grid(T):\n        o[t]=x[600000000*t]\n"
    assert codes(body, header=BOUNDED) == ["AK301"]


@pytest.mark.parametrize("length", [0, 1, 2, 31, 127, 129, 1000, 4099])
def test_run_time_lengths_need_no_multiple_of_the_vector(length: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.bf16,N], y: ak.In[ak.bf16,N], o: ak.Out[ak.bf16,N]):
    for n in ak.grid(N):
        o[n]=x[n]+y[n]
"""
    assert disagreements(body, {}, {"N": length}, KINDS, 2, simulator_cache) == []


@pytest.mark.parametrize("length", [0, 1, 31, 33, 257, 1001])
def test_atomics_stop_at_the_end(length: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,T,N], o: ak.InOut[ak.i32,N]):
    for t, n in ak.grid(ak.each(T),N):
        ak.atomic_add(o[n],x[t,n])
"""
    x, o = RANDOM.integers(-99, 99, (3, length)).astype(np.int32), np.ones(length, np.int32)
    found = run(Case(body, {"T": 3, "N": length}), {"x": x, "o": o}, simulator_cache)
    assert (found["o"] == x.sum(axis=0) + 1).all()


def test_a_break_ends_the_loop_at_its_step(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,T,16], o: ak.Out[ak.i32,T,16].partial(), s: ak.Out[ak.i32,T]):
    for t in ak.grid(ak.each(T)):
        a=x[t,0]
        for i in ak.steps(ak.each(16)):
            if i==5:
                break
            o[t,i]=x[t,i]+1
            a=a+x[t,i]
        s[t]=a
"""
    x = RANDOM.integers(-99, 99, (3, 16)).astype(np.int32)
    found = run(Case(body, {"T": 3}), {"x": x}, simulator_cache)
    assert (found["o"][:, :5] == x[:, :5] + 1).all()
    assert (found["o"][:, 5:].view(np.uint8) == 0xA5).all()
    assert (found["s"] == x[:, 0] + x[:, :5].sum(axis=1)).all()


@pytest.mark.parametrize(
    ("loop", "code"),
    [("for i in range(16)", "AK105"), ("for i in ak.elements(16)", "AK224")],
    ids=["range", "elements"],
)
def test_a_break_that_cannot_be_kept_is_rejected(loop: str, code: str):
    body = f"""\
def k(x: ak.In[ak.i32,16], o: ak.Out[ak.i32,16]):
    for _ in ak.grid():
        p=x[:]
        {loop}:
            if i==5:
                break
            {"p[i]=x[i]+1" if "elements" in loop else "p=p+1"}
        o[:]=p
"""
    assert codes(body) == [code]


def test_an_index_of_minus_one_is_guarded_at_both_ends(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.bf16,N,H], i: ak.In[ak.i32,T], o: ak.Out[ak.bf16,T,H]):
    for t in ak.grid(T):
        r=i[t]
        o[t,:]={}
"""
    assert codes(body.format("x[r,:]"), {"H": 8}) == ["AK302"]
    assert codes(body.format("ak.load(x[r,:],where=(r<N)[:,None],fill=0)"), {"H": 8}) == ["AK302"]
    x = np.full((4, 8), 0x3F80, np.uint16)
    given = {"x": x, "i": np.array([-1, 0, 3, 4, -(2**31), 2**31 - 1, 2], np.int32)}
    case = Case(body.format("ak.load(x[r,:],fill=0)"), {"N": 4, "T": 7}, {"H": 8})
    assert run(case, given, simulator_cache)["o"][:, 0].tolist() == [0, 0x3F80, 0x3F80, 0, 0, 0, 0x3F80]


@pytest.mark.parametrize(("first", "second"), [(0, 128), (128, 0), (0, 0), (3, 5)])
def test_an_empty_tensor_is_never_touched(first: int, second: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,N], y: ak.In[ak.f32,M], o: ak.Out[ak.f32,N+M]):
    for n in ak.grid(N+M):
        o[n]=ak.where(n.index<N,ak.load(x[n.index],fill=0),ak.load(y[n-N],fill=0))
"""
    x, y = np.zeros(first, np.float32), np.ones(second, np.float32)
    found = run(Case(body, {"N": first, "M": second}), {"x": x, "y": y}, simulator_cache)
    assert (found["o"] == np.concatenate([x, y])).all()


@pytest.mark.parametrize("dtype", ["f32", "bf16", "u8"])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 7])
def test_rows_shorter_than_a_vector_stay_apart(width: int, dtype: str, simulator_cache: Path):
    body = f"""\
def k(x: ak.In[ak.{dtype},T,H], y: ak.In[ak.{dtype},T,2*H], o: ak.Out[ak.{dtype},T,H], p: ak.Out[ak.{dtype},T,2*H]):
    for t in ak.grid(T):
        o[t,:]=y[t,H:]
        p[t,:H]=x[t,:]
        p[t,H:]=y[t,:H]
"""
    assert disagreements(body, {"H": width}, {"T": 37}, KINDS, 2, simulator_cache) == []


@pytest.mark.parametrize("shape", [(32, 64), (64, 32), (48, 48), (1, 33), (33, 1)])
def test_a_scan_along_the_first_axis_has_that_extent(shape: tuple[int, int], simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,T,G,H], o: ak.Out[ak.i32,T,G,H]):
    for t in ak.grid(T):
        o[t,:,:]=ak.cumsum(x[t,:,:],axis=1)
"""
    x = RANDOM.integers(-99, 99, (2, *shape)).astype(np.int32)
    found = run(Case(body, {"T": 2}, {"G": shape[0], "H": shape[1]}), {"x": x}, simulator_cache)
    assert (found["o"] == x.cumsum(axis=1)).all()


@pytest.mark.parametrize("width", [5, 32, 100])
def test_a_scan_of_a_part_keeps_the_stride_of_the_whole(width: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,T,2*H+3], o: ak.Out[ak.i32,T,H], p: ak.Out[ak.i32,T,H]):
    for t in ak.grid(T):
        o[t,:]=ak.cumsum(x[t,1:H+1],axis=1)
        p[t,:]=ak.cumsum(x[t,:][:,H:2*H],axis=1)
"""
    x = RANDOM.integers(-99, 99, (6, 2 * width + 3)).astype(np.int32)
    for strided in [(), ("x",)]:
        case = Case(body, {"T": 6}, {"H": width}, strided=strided)
        found = run(case, {"x": x if not strided else np.asfortranarray(x)}, simulator_cache)
        assert (found["o"] == x[:, 1 : width + 1].cumsum(axis=1)).all()
        assert (found["p"] == x[:, width : 2 * width].cumsum(axis=1)).all()


@pytest.mark.parametrize("length", [80, 81, 16, 33])
def test_the_short_end_of_a_tile_is_written_once(length: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,H], y: ak.In[ak.i32,H], o: ak.Out[ak.i32,H], a: ak.InOut[ak.i32,H], c: ak.Out[ak.i16,H], p: ak.Out[ak.i32,ak.cdiv(H,32)]):
    for h in ak.grid(H,block=32):
        o[h]=x[h]*y[h]
        a[h]=a[h]+3*x[h]
        c[h]=x[h].to(ak.i16)
        p[h.ordinal]=ak.sum(x[h],axis=0)
"""
    x, y, a = (RANDOM.integers(-99, 99, length).astype(np.int32) for _ in range(3))
    found = run(Case(body, statics={"H": length}), {"x": x, "y": y, "a": a}, simulator_cache)
    assert (found["o"] == x * y).all()
    assert (found["a"] == a + 3 * x).all()
    assert (found["c"] == x).all()
    assert (found["p"] == np.add.reduceat(x, np.arange(0, length, 32))).all()


@pytest.mark.parametrize("start", [0, 1, 4, 7])
def test_starts_other_than_zero_compile(start: int, simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.i32,N], b: ak.In[ak.i32,1], o: ak.Out[ak.i32,N], s: ak.Out[ak.i32,1]):
    for n in ak.grid(N):
        o[n]=ak.load(x[n+b[0]],fill=0)
    for _ in ak.grid():
        a=ak.zeros((),ak.i32)
        for c in ak.steps(b[0].to(ak.i64),N,block=4):
            a=a+ak.sum(x[c],axis=0)
        s[0]=a
"""
    x = RANDOM.integers(-99, 99, 37).astype(np.int32)
    given = {"x": x, "b": np.array([start], np.int32)}
    body = body.replace("b: ak.In[ak.i32,1]", "b: ak.In[ak.i32,1].values(0,8)")
    found = run(Case(body, {"N": 37}), given, simulator_cache)
    assert (found["o"] == np.append(x[start:], np.zeros(start, np.int32))).all()
    assert found["s"][0] == x[start:].sum()


BRANCH = """\
def k(x: ak.In[ak.f32,T,16], o: ak.Out[ak.f32,T], n: ak.i64 = {default}):
    for t in ak.grid(T):
        a=ak.zeros((t,),ak.f32)
        if {condition}:
            a=x[t,n]
        {behind}
        o[t]=a
"""


def branch(condition: str, behind: str = "a=a+1", default: int = 0) -> str:
    return BRANCH.format(condition=condition, behind=behind, default=default)


@pytest.mark.parametrize("behind", ["a=a+x[t,n]", "if n>=0:\n            a=a+x[t,n]"])
def test_what_a_branch_assumes_ends_with_it(behind: str):
    assert codes(branch("(n>=0)&(n<16)", behind)) == ["AK301"]


@pytest.mark.parametrize("index", [-1, 0, 15, 16, 1 << 40])
def test_a_branch_uses_what_it_assumes_and_reads_nothing_else(index: int, simulator_cache: Path):
    x = RANDOM.integers(-99, 99, (37, 16)).astype(np.float32)
    found = run(Case(branch("(n>=0)&(n<16)", default=index), {"T": 37}), {"x": x}, simulator_cache)
    assert (found["o"] == (x[:, index] + 1 if 0 <= index < 16 else 1)).all()


def test_a_branch_that_assumes_too_little_is_rejected():
    assert codes(branch("n<16")) == ["AK301"]


@pytest.mark.toolchain
def test_divisors_of_places_that_do_not_exist_are_never_zero(simulator_cache: Path) -> None:
    body = """\
def k(x: ak.In[ak.i32,T,5], y: ak.In[ak.i32,9].values(1,9), i: ak.In[ak.i32,T,5].values(0,9), o: ak.Out[ak.i32,T,5]):
    for t in ak.grid(T):
        o[t,:]=x[t,:]%y[i[t,:]]
"""
    x = RANDOM.integers(-99, 99, (7, 5)).astype(np.int32)
    y, i = np.arange(1, 10, dtype=np.int32), RANDOM.integers(0, 9, (7, 5)).astype(np.int32)
    found = run(Case(body, {"T": 7}), {"x": x, "y": np.minimum(y, 8), "i": i}, simulator_cache)
    assert found["o"].tolist() == (x % np.minimum(y, 8)[i]).tolist()
