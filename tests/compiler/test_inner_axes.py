"""Short axes inside the one that memory runs along: whole accesses, whole pairs in a thread, the interpreter's bits."""

from dataclasses import replace
from pathlib import Path

import pytest

from agentkern.compiler.abi import Variant
from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.compiler.agreement import HEADER, disagreements

Sizes = dict[str, int]

GATE = """\
def k(x: ak.In[ak.{dtype},T,G*H], o: ak.Out[ak.{dtype},T,H]):
    for t,h in ak.grid(T,H):
        v=x.reshape(T,H,G)[t,h,:].to(ak.f32)
        o[t,h]=(v[:,:,0]*v[:,:,G-1]).to(ak.{dtype})
"""
FLAT = """\
def k(x: ak.In[ak.{dtype},G*N], o: ak.Out[ak.{dtype},G*N], p: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        v=x.reshape(N,G)[n,:]
        p[n]=ak.sum(v.to(ak.f32),axis=1)
        o.reshape(N,G)[n,:]=ak.where(v>0,v,v+v)
"""
TURNED = """\
def k(x: ak.InOut[ak.bf16,T,G,H+2*H], c: ak.In[ak.f32,T,H]):
    for t in ak.grid(T):
        a=c[t,:][:,None,:]
        v=x[t,:,H:].to(ak.f32).reshape(t,G,H,2)
        even,odd=v[:,:,:,0],v[:,:,:,1]
        turned=ak.stack((even*a-odd,odd*a+even),axis=3)
        x[t,:,H:]=turned.reshape(t,G,2*H).to(ak.bf16)
"""
JOINED = """\
def k(x: ak.In[ak.{dtype},N], y: ak.In[ak.{dtype},N,2], o: ak.Out[ak.{dtype},N,5], p: ak.Out[ak.{dtype},N,2,2]):
    for n in ak.grid(N):
        v=x[n]
        o[n,:]=ak.concat((ak.stack((v,v+v),axis=1),y[n,:],v[:,None]),axis=1)
        p[n,:,:]=ak.stack((y[n,:],y[n,:]+y[n,:]),axis=1)
"""
MASKED = """\
def k(x: ak.In[ak.{dtype},N,2], m: ak.In[ak.bool,N,2], r: ak.In[ak.bool,N], o: ak.InOut[ak.{dtype},N,2]):
    for n in ak.grid(N):
        v=ak.load(x[n,:],where=m[n,:],fill=3)
        ak.store(o[n,:],v+v,where=r[n][:,None])
"""
PIXELS = """\
def k(x: ak.In[ak.u8,B,H,2,2], o: ak.Out[ak.u8,B,H], p: ak.Out[ak.u8,B,H,2,2]):
    for b,h in ak.grid(B,H):
        v=x[b,h,:,:]
        o[b,h]=v[:,:,1,0]
        p[b,h,:,:]=v.transpose(0,1,3,2)
"""
CASES: list[tuple[str, Sizes, Sizes]] = [
    *((GATE.format(dtype=d), {"H": h, "G": g}, {"T": t}) for d, h, g, t in [
        ("bf16", 576, 2, 5), ("bf16", 131, 2, 3), ("bf16", 1, 2, 1), ("bf16", 520, 3, 9), ("f16", 300, 6, 2),
        ("f32", 33, 3, 2), ("bf16", 64, 2, 0)]),
    *((FLAT.format(dtype=d), {"G": g}, {"N": n}) for d, g, n in [
        ("bf16", 4, 1000), ("bf16", 3, 333), ("f16", 2, 4096)]),
    *((TURNED, {"G": g, "H": h}, {"T": t}) for g, h, t in [(3, 32, 3), (9, 1, 2), (2, 33, 5), (32, 64, 1), (1, 8, 0)]),
    *((JOINED.format(dtype=d), {}, {"N": n}) for d, n in [("f32", 300), ("i64", 77), ("i16", 1024)]),
    *((MASKED.format(dtype=d), {}, {"N": n}) for d, n in [("f32", 300), ("bf16", 1025)]),
    (FLAT.format(dtype="u8"), {"G": 3}, {"N": 900}),
    *((PIXELS, {"H": h}, {"B": b}) for b, h in [(2, 300), (3, 17)]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "statics", "sizes"), CASES)
def test_short_inner_axes_keep_the_bits(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path) -> None:
    assert disagreements(body, statics, sizes, ("random", "special"), 2, simulator_cache) == []


def _cuda(body: str, alignment: int, **statics: int) -> str:
    request = CompileRequest(HEADER + body, "kernel.py", dims=statics)
    found = compile_kernel(replace(request, variant=Variant(alignment=alignment)))
    assert found.status == "ok", found.diagnostics
    return found.cuda


def test_pairs_are_read_and_their_results_written_sixteen_bytes_at_once() -> None:
    text = _cuda(GATE.format(dtype="bf16"), 16, H=7168, G=2)
    assert "ak_ldg_v4u32(x_block" in text and "ak_st_v4u32(o_block" in text
    assert "ak_ldg_u32(" not in text and "ak_st_u16(" not in text


def test_pairs_of_rows_that_begin_anywhere_are_read_one_by_one() -> None:
    text = _cuda(GATE.format(dtype="bf16"), 2, H=7169, G=2)
    assert "ak_ldg_v4u32(" not in text and "ak_st_v4u32(" not in text


def test_rows_whose_pairs_do_not_fill_an_access_are_read_as_far_as_they_align() -> None:
    text = _cuda(GATE.format(dtype="bf16"), 16, H=7170, G=2)
    assert "ak_ldg_v2u32(x_block" in text and "ak_ldg_v4u32(" not in text


def test_an_axis_that_fills_accesses_by_itself_is_not_inside_another() -> None:
    text = _cuda(GATE.format(dtype="bf16"), 16, H=512, G=8)
    assert "ak_ldg_v4u32(x_block" in text and "ak_st_v4u32(" not in text


def test_turned_pairs_stay_in_their_thread() -> None:
    text = _cuda(TURNED, 16, G=32, H=64)
    assert "ak_smem" not in text and "ak_ld_v4u32(x_block" in text and "ak_ldg_v4u32(c_block" in text


def test_parts_spread_over_threads_are_joined_through_shared_memory() -> None:
    body = "def k(x: ak.In[ak.f32,T,H], o: ak.Out[ak.f32,T,2*H]):\n    for t in ak.grid(T):\n        o[t,:]=ak.concat((x[t,:],x[t,:]),axis=1)\n"
    assert "ak_smem" in _cuda(body, 16, H=64)
