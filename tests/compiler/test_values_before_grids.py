"""Values that a kernel computes before its grids mean the same in whatever stands inside them."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.compiler.agreement import HEADER, disagreements

X = "x: ak.In[ak.f32,T,H]"
KERNELS = {
    "a_rounded_number_in_a_loop": f"""\
def k({X}, o: ak.Out[ak.f32,H]):
    c=(H**-0.5).to(ak.bf16).to(ak.f32)
    for h in ak.grid(H):
        acc=ak.zeros((h,),ak.f32)
        for t in ak.steps(ak.each(T)):
            acc=acc+x[t,h]*c
        o[h]=acc
""",
    "a_parameter_in_pieces_and_after_them": f"""\
def k({X}, o: ak.Out[ak.f32,H], s: ak.f32=0.3):
    part=ak.scratch((4,H),ak.f32)
    c=(s*2.0).to(ak.bf16).to(ak.f32)
    d=c*c
    for p in ak.grid(ak.parts(T,4)):
        acc=ak.zeros((H,),ak.f32)
        for t in ak.steps(ak.each(p.start,p.end)):
            acc=acc+x[t,:]*c
        part[p.ordinal,:]=acc
    for h in ak.grid(H):
        o[h]=ak.sum(part[:,h],axis=0)*d
""",
    "a_condition_and_a_factor_in_a_branch_in_a_loop": f"""\
def k({X}, o: ak.Out[ak.f32,T,H], s: ak.i32=3):
    big=s>2
    m=(s*7).to(ak.f32)
    for t in ak.grid(T):
        v=x[t,:]
        for j in ak.steps(ak.each(3)):
            if big:
                v=v*m
        o[t,:]=v
""",
    "tuples_of_scalars": f"""\
def k({X}, o: ak.Out[ak.f32,T,H], s: ak.f32=0.3, u: ak.i32=2):
    (a,b),c=((s*2.0,(s+1.0).to(ak.f16).to(ak.f32)),u+1)
    q=(a,(b,c))
    for t in ak.grid(T):
        v=x[t,:]
        for j in ak.steps(ak.each(3)):
            v=v*q[1][0]+q[0]
        o[t,:]=v+q[1][1].to(ak.f32)
""",
    "helpers_before_and_inside": f"""\
def k({X}, o: ak.Out[ak.f32,T,H], s: ak.f32=0.3):
    a,b=two(s)
    for t in ak.grid(T):
        v=x[t,:]
        for j in ak.steps(ak.each(3)):
            v=add(v,a)*b
        o[t,:]=v


@ak.inline
def two(s):
    r=s*2.0
    return r.to(ak.bf16).to(ak.f32),ak.sqrt(r)


@ak.inline
def add(v,a):
    for j in ak.steps(ak.each(2)):
        v=v+a
    return v
""",
    "the_bounds_and_the_end_of_a_loop": f"""\
def k({X}, o: ak.Out[ak.f32,H], lo: ak.i32=1, n: ak.i64=3):
    first=lo-1
    last=ak.minimum(n+lo,T)
    enough=n*2-3
    for h in ak.grid(H):
        acc=ak.zeros((h,),ak.f32)
        for t in ak.steps(ak.each(first,last)):
            acc=acc+ak.load(x[t,h],fill=0)
            if t>=enough:
                break
        o[h]=acc
""",
    "how_far_rows_run_in_a_nested_loop": f"""\
def k({X}, o: ak.Out[ak.f32,T], n: ak.i64=3):
    u=n+1
    for t in ak.grid(T):
        acc=ak.zeros((t,),ak.f32)
        for i in ak.steps(ak.each(2)):
            for j in ak.steps(H,block=4,until=u):
                acc=acc+ak.sum(x[t,j],axis=1)
        o[t]=acc
""",
    "segments": f"""\
def k({X}, off: ak.In[ak.i32,G+1].offsets(T), o: ak.Out[ak.f32,G,H], y: ak.Out[ak.f32,T,H], s: ak.f32=0.2):
    c=(s*3.0).to(ak.bf16).to(ak.f32)
    for e in ak.grid(ak.segments(off)):
        acc=ak.zeros((H,),ak.f32)
        for t in ak.steps(ak.each(e.start,e.end)):
            acc=acc+x[t,:]*c
        o[e.ordinal,:]=acc
    for (e,t),h in ak.grid(ak.segments(off).blocks(),H):
        v=x[t,h]
        if s>0.1:
            v=v*c
        y[t,h]=v
""",
    "a_name_bound_again_between_grids": f"""\
def k({X}, o: ak.Out[ak.f32,T,H], q: ak.Out[ak.f32,T,H], s: ak.f32=0.5):
    c=s*2.0
    for t in ak.grid(T):
        v=x[t,:]
        for i in ak.steps(ak.each(2)):
            v=v*c
        o[t,:]=v
    c=c+1.0
    d=c*c
    for t in ak.grid(T):
        v=x[t,:]
        for i in ak.steps(ak.each(2)):
            v=v*c+d
        q[t,:]=v
""",
    "a_place_and_a_condition_of_reads": f"""\
def k({X}, o: ak.Out[ak.f32,H], n: ak.i32=1):
    r=n*2
    ok=(r>=0)&(r<T)
    for h in ak.grid(H):
        acc=ak.zeros((h,),ak.f32)
        for t in ak.steps(ak.each(2)):
            acc=acc+ak.load(x[r,h],where=ok,fill=0)+ak.load(x[t+r,h],fill=0)
        o[h]=acc
""",
    "the_number_of_a_list": """\
def k(xs: ak.List[ak.In[ak.f32,T,H],3], o: ak.Out[ak.f32,T,H], n: ak.i32=1):
    x=xs[n%3]
    for t in ak.grid(T):
        v=x[t,:]
        for i in ak.steps(ak.each(2)):
            v=v+x[t,:]
        o[t,:]=v
""",
    "elements": f"""\
def k({X}, o: ak.Out[ak.f32,T,H], s: ak.f16=0.25, b: ak.bool=True):
    c=ak.where(b,s*s,s).to(ak.f32)
    bits=c.bitcast(ak.i32)
    for t in ak.grid(T):
        v=x[t,:]
        for k in ak.steps(ak.each(2)):
            for i,j in ak.elements(t,H):
                v[i,j]=v[i,j]*c+bits.to(ak.f32)
        o[t,:]=v
""",
}


@pytest.mark.toolchain
@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in KERNELS.items()])
def test_a_value_before_the_grids_has_the_interpreters_bits(body: str, simulator_cache: Path) -> None:
    statics = {"H": 5, "G": 3} if "G" in body else {"H": 5}
    assert disagreements(body, statics, {"T": 7}, ("random", "special"), 2, simulator_cache) == []


def test_what_a_grid_does_not_use_of_them_is_not_in_it() -> None:
    body = KERNELS["a_parameter_in_pieces_and_after_them"]
    kernel = compile_kernel(CompileRequest(HEADER + body, "kernel.py", dims={"H": 5})).kernel
    assert kernel is not None
    first, second = kernel.body
    assert [op.name for op in first.regions[0].ops].count("mul") == 1
    assert [op.name for op in second.regions[0].ops].count("mul") == 3
