"""Tensors of records: the simulator has the interpreter's bits, fields lie where a packed struct has them."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, CompileResult, compile_kernel
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.records import records_of
from tests.compiler.agreement import HEADER as PLAIN
from tests.compiler.agreement import arrays, built, request_disagreements

Sizes = dict[str, int]

HEADER = PLAIN.replace(
    "\n\n\n@ak.kernel",
    """
KV = ak.Record(nope=(ak.e4m3, 64), scale=(ak.f32, 4), rope=(ak.bf16, 16))
ODD = ak.Record(flag=ak.u8, pair=(ak.f32, 2), count=ak.i64, ok=ak.bool, half=(ak.f16, 1, 3))
SIZED = ak.Record(values=(ak.bf16, G, H), total=ak.f32)
ROW = ak.Record(a=(ak.u8, 3), b=ak.i16)
PAGE = ak.Record(kind=ak.u8, rows=(ROW, 4), first=ROW, last=ak.i32)
ITEM = ak.Record(w=(ak.f32, 2), k=ak.i64)
EVEN = ak.Record(tag=(ak.i16, 4), items=(ITEM, 3, 2))


@ak.kernel""",
)
GATHERED = """\
def k(kv: ak.In[KV,N], ids: ak.In[ak.i32,T], o: ak.Out[ak.f32,T,64], p: ak.Out[ak.bf16,T,16]):
    for t in ak.grid(T):
        row=ids[t]
        record=ak.load(kv[row],where=(row>=0)&(row<N),fill=0)
        nope=record.nope.to(ak.f32).reshape(t,4,16)
        o[t,:]=(nope*record.scale[:,:,None]).reshape(t,64)
        p[t,:]=record.rope
"""
WRITTEN = """\
def k(x: ak.In[ak.bf16,T,64], r: ak.In[ak.bf16,T,16], o: ak.Out[KV,T]):
    for t in ak.grid(T):
        v=x[t,:].to(ak.f32).reshape(t,4,16)
        top=ak.absmax(v,axis=2)
        scale=ak.where(top>0,top/448.0,1.0)
        o[t].nope=(v/scale[:,:,None]).to(ak.e4m3).reshape(t,64)
        o[t].scale=scale
        o[t].rope=r[t,:]
"""
SCATTERED = """\
def k(x: ak.In[ak.f32,T,2], slots: ak.In[ak.i32,T].values(0,N,ignore=-1).distinct(ignore=-1), o: ak.InOut[ODD,N]):
    for t in ak.grid(T):
        at=slots[t]
        ak.store(o[at].pair,x[t,:],where=at>=0)
        ak.store(o[at].count,t.index,where=at>=0)
"""
ODD_FIELDS = """\
def k(x: ak.In[ODD,T], o: ak.Out[ODD,T], f: ak.Out[ak.f32,T,2], n: ak.Out[ak.i64,T], h: ak.Out[ak.f16,T,3], b: ak.Out[ak.bool,T]):
    for t in ak.grid(T):
        record=x[t]
        f[t,:]=record.pair
        n[t]=record.count
        h[t,:]=record.half[:,0,:]
        b[t]=record.ok
        o[t].flag=record.flag+1
        o[t].pair=record.pair*2.0
        o[t].count=record.count-t.index
        o[t].ok=~record.ok
        o[t].half=record.half
"""
COPIED = """\
def k(x: ak.In[ODD,N], ids: ak.In[ak.i32,T].values(0,N), o: ak.Out[ODD,T], s: ak.In[SIZED,T], q: ak.Out[SIZED,T]):
    for t in ak.grid(T):
        o[t]=x[ids[t]]
        both=s[t]
        q[t].values=both.values
        q[t].total=ak.sum(both.values.to(ak.f32),axis=(1,2))+both.total
"""
NESTED = """\
def k(x: ak.In[PAGE,T], a: ak.Out[ak.u8,T,4,3], b: ak.Out[ak.i16,T,4], c: ak.Out[ak.i32,T], o: ak.Out[ROW,T]):
    for t in ak.grid(T):
        page=x[t]
        a[t,:,:]=page.rows.a
        b[t,:]=page.rows.b+page.first.b[:,None]
        c[t]=page.last+page.kind.to(ak.i32)
        o[t]=page.first
"""
NESTED_STORES = """\
def k(x: ak.In[PAGE,T], n: ak.In[ak.i16,T,4], o: ak.Out[PAGE,T], q: ak.InOut[EVEN,2,T]):
    for t in ak.grid(T):
        o[t].kind=7
        o[t].rows.a=x[t].rows.a
        o[t].rows.b=n[t,:]
        o[t].first=x[t].first
        o[t].last=-1
        q[1,t].items=q[0,t].items
        q[1,t].items.w*=2.0
"""
BY_FIELD = """\
def k(x: ak.In[KV,T], o: ak.Out[KV,T], s: ak.Out[ak.f32,T], e: ak.InOut[EVEN,2,T]):
    for t, h in ak.grid(T,64):
        o.nope[t,h]=x.nope[t,h]
    for t in ak.grid(T):
        s[t]=ak.sum(x.scale[t,:],axis=1)
        o.scale[t,:]=ak.load(x.scale[t+1,:],fill=0.5)
        o[t].rope=x.rope[t,:]
        e.tag[0,t]=e[1,t].tag
"""
BETWEEN_GRIDS = """\
def k(x: ak.In[ak.f32,T,2], o: ak.Out[ak.f32,T,2], n: ak.Out[ak.i64,T]):
    odd=ak.scratch((T,),ODD)
    even=ak.scratch((2,T),EVEN)
    for t in ak.grid(T):
        odd[t].pair=x[t,:]
        odd[t].count=t.index
        even[1,t].items.w=x[t,None,None,:]
    for t in ak.grid(T):
        o[t,:]=odd[T-1-t.index].pair+even[1,t].items.w[:,0,1,:]
        n[t]=odd[t].count
"""
FILLED = """\
def k(x: ak.In[ODD,T], o: ak.Out[ak.f32,T,2], n: ak.Out[ak.i64,T], p: ak.Out[ak.f32,T,2]):
    for t in ak.grid(T):
        before=ak.load(x[t-1],fill=1)
        o[t,:]=before.pair
        n[t]=before.count
        p[t,:]=ak.load(x[t],where=t.index%2==0).pair
"""
IN_PLACE = """\
def k(o: ak.InOut[KV,T], old: ak.Out[ak.f32,T,4], kvs: ak.List[ak.InOut[ODD,T],2]):
    for t in ak.grid(T):
        record=o[t]
        o[t].scale=record.scale*2.0
        o[t].rope=0
        old[t,:]=record.scale
        kvs[1][t].count+=kvs[0][t].count
"""
CARRIED = """\
def k(x: ak.In[ODD,T], o: ak.Out[ak.i64,H], f: ak.Out[ak.f32,H,2]):
    for h in ak.grid(H):
        last=ak.load(x[h.index*0],where=h.index*0<T,fill=0)
        total=ak.zeros((h,),ak.i64)
        for t in ak.steps(ak.each(T)):
            last=x[h.index*0+t]
            total=total+last.count
        o[h]=total
        f[h,:]=last.pair
"""
CASES = {
    "gathered": (GATHERED, {}, {"T": 37, "N": 11}),
    "gathered from nothing": (GATHERED, {}, {"T": 5, "N": 0}),
    "written": (WRITTEN, {}, {"T": 33}),
    "one written": (WRITTEN, {}, {"T": 1}),
    "none written": (WRITTEN, {}, {"T": 0}),
    "scattered": (SCATTERED, {}, {"T": 9, "N": 20}),
    "odd offsets": (ODD_FIELDS, {}, {"T": 131}),
    "copied": (COPIED, {"H": 3, "G": 2}, {"T": 17, "N": 4}),
    "no values": (COPIED, {"H": 5, "G": 0}, {"T": 3, "N": 1}),
    "nested": (NESTED, {}, {"T": 29}),
    "nested, stored": (NESTED_STORES, {}, {"T": 21}),
    "nested, none stored": (NESTED_STORES, {}, {"T": 0}),
    "by field": (BY_FIELD, {}, {"T": 19}),
    "between grids": (BETWEEN_GRIDS, {}, {"T": 23}),
    "filled": (FILLED, {}, {"T": 31}),
    "in place": (IN_PLACE, {}, {"T": 35}),
    "carried": (CARRIED, {"H": 5}, {"T": 4}),
    "carried through no step": (CARRIED, {"H": 5}, {"T": 0}),
}


@pytest.mark.toolchain
@pytest.mark.parametrize(("body", "statics", "sizes"), CASES.values(), ids=CASES)
def test_records_agree(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path):
    request = CompileRequest(HEADER + body, "kernel.py", dims=statics)
    assert request_disagreements(request, sizes, ("random", "special"), 3, simulator_cache) == []


def compiled(body: str, statics: Sizes, sizes: Sizes) -> CompileResult:
    return built(CompileRequest(HEADER + body, "kernel.py", dims=statics), sizes)


def run(body: str, sizes: Sizes, **statics: int) -> dict[str, np.ndarray]:
    kernel = compiled(body, statics, sizes).kernel
    assert kernel is not None
    given = arrays(kernel, sizes, "random")
    interpret(kernel, given, sizes, {})
    return given


def test_fields_lie_where_a_packed_struct_has_them():
    given = run(ODD_FIELDS, {"T": 6})
    packed = np.dtype([("flag", "u1"), ("pair", "f4", 2), ("count", "i8"), ("ok", "?"), ("half", "u2", 3)])
    assert given["x"].shape == (6, packed.itemsize)
    rows = given["x"].view(packed)[:, 0]
    np.testing.assert_array_equal(given["f"], rows["pair"])
    np.testing.assert_array_equal(given["n"], rows["count"])
    np.testing.assert_array_equal(given["b"], rows["ok"])
    made = given["o"].view(packed)[:, 0]
    np.testing.assert_array_equal(made["flag"], rows["flag"] + np.uint8(1))
    np.testing.assert_array_equal(made["half"], rows["half"])


def test_arrays_of_records_in_records_are_arrays_of_each_field():
    given = run(NESTED, {"T": 3})
    row = np.dtype([("a", "u1", 3), ("b", "<i2")])
    page = np.dtype([("kind", "u1"), ("rows", row, 4), ("first", row), ("last", "<i4")])
    pages = given["x"].view(page)[:, 0]
    np.testing.assert_array_equal(given["a"], pages["rows"]["a"])
    np.testing.assert_array_equal(given["b"], pages["rows"]["b"] + pages["first"]["b"][:, None])
    np.testing.assert_array_equal(given["o"].view(row)[:, 0], pages["first"])


def refused(body: str) -> CompileResult:
    found = compile_kernel(CompileRequest(HEADER + body, "kernel.py"))
    assert found.status != "ok"
    return found


def test_a_field_that_is_never_written_is_named():
    body = WRITTEN.replace("        o[t].scale=scale\n", "")
    (found,) = refused(body).diagnostics
    assert found.code == "AK305"
    assert ".scale" in found.message


@pytest.mark.parametrize(
    "change",
    [
        ("        o[t].rows.b=n[t,:]\n", ""),
        ("o[t].rows.b=n[t,:]", "ak.store(o[t].rows.b,n[t,:],where=n[t,0]>0)"),
        ("o[t].first=x[t].first", "o[t].first.a=x[t].first.a"),
    ],
    ids=["left out", "under a condition", "in part"],
)
def test_a_field_of_an_array_that_is_not_always_written_is_rejected(change: tuple[str, str]):
    body = NESTED_STORES.replace(*change)
    assert body != NESTED_STORES
    assert {d.code for d in refused(body).diagnostics} <= {"AK305", "AK306"}


def test_two_blocks_that_write_one_field_are_rejected_by_its_name():
    body = "def k(o: ak.InOut[KV,2]):\n    for t in ak.grid(T):\n        o[0].scale=1.0\n"
    (found,) = refused(body).diagnostics
    assert found.code == "AK303"
    assert "`o.scale[0, 0]`" in found.message


def test_fields_that_nobody_uses_are_not_read():
    body = "def k(x: ak.In[KV,T], o: ak.Out[ak.bf16,T,16]):\n    for t in ak.grid(T):\n        o[t,:]=x[t].rope\n"
    kernel = compiled(body, {}, {"T": 1}).kernel
    assert kernel is not None
    assert [op.name for op in kernel.body[0].regions[0].ops] == ["load", "store"]


def test_an_aligned_field_is_read_in_elements_of_its_own():
    body = (
        "def k(x: ak.In[KV,T], y: ak.In[ODD,T], o: ak.Out[ak.f32,T,4], p: ak.Out[ak.f32,T,2]):\n"
        "    for t in ak.grid(T):\n        o[t,:]=x[t].scale\n        p[t,:]=y[t].pair\n"
    )
    kernel = compiled(body, {}, {"T": 1}).kernel
    assert kernel is not None
    loads = [op.result.type for op in kernel.body[0].regions[0].ops if op.name == "load"]
    assert list(map(str, loads)) == ["tile<f32, [%t, 4]>", "tile<u8, [%t, 8]>"]
    assert [records_of(kernel)[name].granule for name in ("x", "y")] == [4, 2]


def test_records_survive_the_text_of_the_ir():
    kernel = compiled(COPIED, {"H": 3, "G": 2}, {"T": 1, "N": 1}).kernel
    assert kernel is not None
    again = parse_kernel(print_kernel(kernel))
    assert print_kernel(again) == print_kernel(kernel)
    assert records_of(again) == records_of(kernel)
