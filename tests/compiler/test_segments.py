"""`ak.segments(offsets)`: whole segments and blocks of their rows have the interpreter's bits, empty ones too."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel, schedules
from agentkern.compiler.ir.interpreter import InterpreterError, interpret
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions, build
from tests.compiler.agreement import HEADER, arrays, compiled, disagreements, scalars

Sizes = dict[str, int]
OFFSETS = "offsets: ak.In[ak.i32,M+1].offsets(T)"
FEW = {"T": 13, "M": 5, "N": 3}
MANY = {"T": 97, "M": 200, "N": 3}
LONG = {"T": 600, "M": 4, "N": 70}
NONE: list[Sizes] = [{"T": 0, "M": 0, "N": 3}, {"T": 0, "M": 3, "N": 1}, {"T": 1, "M": 1, "N": 1}]

KERNELS: dict[str, tuple[str, list[Sizes]]] = {
    "softmax": (
        f"""\
def k(x: ak.In[ak.f32,T], {OFFSETS}, o: ak.Out[ak.f32,T]):
    for s in ak.grid(ak.segments(offsets)):
        p=ak.exp(x[s]-ak.max(x[s],axis=0,keepdims=True))
        o[s]=p/ak.sum(p,axis=0,keepdims=True)
""",
        [*NONE, FEW, {"T": 5003, "M": 3}],
    ),
    "means_one_row_each": (
        f"""\
def k(x: ak.In[ak.bf16,T,N], {OFFSETS}, o: ak.Out[ak.f32,M,N], top: ak.Out[ak.f32,M,N]):
    for s,n in ak.grid(ak.segments(offsets),N):
        v=x[s,n].to(ak.f32)
        o[s.ordinal,n]=ak.mean(v,axis=0)
        top[s.ordinal,n]=ak.max(v,axis=0)
""",
        [NONE[1], MANY, LONG],
    ),
    "scale_by_blocks": (
        f"""\
def k(x: ak.In[ak.f32,T,N], w: ak.In[ak.f32,M,N], {OFFSETS}, o: ak.Out[ak.f32,T,N]):
    for (e,m),n in ak.grid(ak.segments(offsets).blocks(),N):
        o[m,n]=x[m,n]*w[e.ordinal,n]
""",
        [*NONE, FEW, MANY, LONG],
    ),
    "scans_beside_an_axis_of_three": (
        f"""\
def k(x: ak.In[ak.f32,T,3], y: ak.In[ak.f32,T,5], {OFFSETS}, o: ak.Out[ak.f32,T,3], p: ak.Out[ak.f32,T,5]):
    for s in ak.grid(ak.segments(offsets)):
        o[s,:]=ak.cumsum(x[s,:],axis=0)
        p[s,:]=ak.cumsum(y[s,:],axis=0,reverse=True)
""",
        [FEW, {"T": 300, "M": 3}],
    ),
    "scans": (
        """\
def k(x: ak.In[ak.f32,T], y: ak.In[ak.i32,N,T], offsets: ak.In[ak.i64,M+1].offsets(T), o: ak.Out[ak.f32,T],
      r: ak.Out[ak.i32,N,T], b: ak.Out[ak.i64,M,3]):
    for s in ak.grid(ak.segments(offsets)):
        o[s]=ak.cumsum(x[s],axis=0,exclusive=True)
        b[s.ordinal,0]=s.start
        b[s.ordinal,1]=s.end
        b[s.ordinal,2]=s.ordinal
    for n,s in ak.grid(N,ak.segments(offsets)):
        r[n,s]=ak.cumsum(y[n,s],axis=1,reverse=True)
""",
        [MANY, {"T": 4100, "M": 3, "N": 2}],
    ),
    "written_blocks_of_rows": (
        f"""\
def k(x: ak.In[ak.f32,T,N], {OFFSETS}, o: ak.Out[ak.f32,T,N]):
    for n,(s,m) in ak.grid(N,ak.segments(offsets).blocks(block=16)):
        v=x[m,n]+ak.sum(x[m,n],axis=0,keepdims=True)
        if m.ordinal>0:
            v=v*2.0
        o[m,n]=v+(m.start+m.end*3+s.start*5+s.end*7).to(ak.f32)
""",
        [NONE[2], FEW, LONG],
    ),
    "windows_and_gathers": (
        f"""\
def k(x: ak.In[ak.f32,T,N], y: ak.In[ak.f32,T], ids: ak.In[ak.i32,T].values(0,T), {OFFSETS},
      o: ak.Out[ak.f32,T,N], c: ak.Out[ak.f32,M]):
    for (s,m),n in ak.grid(ak.segments(offsets).blocks(),N):
        before=ak.load(x[m-1,n],where=(m.index>s.start)[:,None],fill=0)
        after=ak.load(x[m.index+1,n],where=(m.index+1<s.end)[:,None],fill=-1)
        o[m,n]=before+after*x[ids[m],n]
    for s in ak.grid(ak.segments(offsets)):
        early=s.index-s.start<2
        c[s.ordinal]=ak.sum(ak.where(early,y[ids[s]],0.0),axis=0)
""",
        [FEW, MANY],
    ),
    "steps_in_a_segment": (
        f"""\
def k(x: ak.In[ak.f32,T,2,N], {OFFSETS}, o: ak.Out[ak.f32,T,2,N], last: ak.Out[ak.f32,M,2,N]):
    for s,h,n in ak.grid(ak.segments(offsets),ak.each(2),N):
        a=ak.zeros((n,),ak.f32)
        for t in ak.steps(s.start,s.end,block=16):
            o[t,h,n]=x[t,h,n]+a
            a=a+ak.sum(x[t,h,n],axis=0)
        last[s.ordinal,h,n]=a
""",
        [NONE[1], FEW, {"T": 200, "M": 3, "N": 5}],
    ),
    "two_ragged_axes": (
        f"""\
def k(x: ak.In[ak.f32,T,N], {OFFSETS}, b: ak.In[ak.i32,4].offsets(N), o: ak.Out[ak.f32,T,N], c: ak.Out[ak.i64,M,3]):
    for (s,m),(r,n) in ak.grid(ak.segments(offsets).blocks(),ak.segments(b).blocks()):
        o[m,n]=x[m,n]*(s.ordinal+10*r.ordinal).to(ak.f32)
    for s,r in ak.grid(ak.segments(offsets),ak.segments(b)):
        c[s.ordinal,r.ordinal]=s.ordinal+r.end-r.start
""",
        [NONE[0], FEW, LONG],
    ),
    "rows_of_a_segment": (
        f"""\
def k(x: ak.InOut[ak.f32,T,4], {OFFSETS}, o: ak.Out[ak.f32,T,2,2], t: ak.Out[ak.f32,4,T], c: ak.Out[ak.f32,T,2]):
    for s in ak.grid(ak.segments(offsets)):
        v=x[s,:]
        o[s,:,:]=v.reshape(s,2,2)+ak.zeros((s,2,2),ak.f32)
        t[:,s]=v.T
        c[s,:]=v[:,1:3]*v[:,0:1]
        x[s,:]=v/(ak.max(ak.max(v,axis=1),axis=0)+1.0)
""",
        [NONE[1], FEW, {"T": 700, "M": 3}],
    ),
    "kept_in_memory": (
        f"""\
def k(x: ak.In[ak.f32,T], y: ak.In[ak.f32,M,N], {OFFSETS}, o: ak.Out[ak.f32,T], p: ak.Out[ak.f32,M,N],
      q: ak.Out[ak.f32,M], r: ak.Out[ak.f32,M]):
    for s in ak.grid(ak.segments(offsets)):
        v=ak.cumsum(x[s],axis=0)
        a=ak.zeros((s,),ak.f32)
        for t in ak.steps(3,block=1):
            a=a*0.5+x[s]
        o[s]=ak.cumsum(v,axis=0,reverse=True)+v+a
        w=ak.cumsum(y[s.ordinal,:],axis=0)
        p[s.ordinal,:]=ak.cumsum(w,axis=0,reverse=True)+w
        m=ak.full((),-1.0,ak.f32)
        if s.end-s.start>3:
            m=ak.max(x[s],axis=0)
        q[s.ordinal]=m
        r[s.ordinal]=ak.sum(ak.concat((x[s],v),axis=0),axis=0)
""",
        [FEW, {"T": 700, "M": 3, "N": 40}],
    ),
    "two_long_axes": (
        f"""\
def k(x: ak.In[ak.f32,T,N], {OFFSETS}, o: ak.Out[ak.f32,T,N], p: ak.Out[ak.f32,M], q: ak.Out[ak.f32,M]):
    for s in ak.grid(ak.segments(offsets)):
        v=x[s,:]
        o[s,:]=v/(ak.max(v)+1.0)
        p[s.ordinal]=ak.sum(v)
        q[s.ordinal]=ak.sum(ak.sum(v,axis=1),axis=0)
""",
        [NONE[1], LONG],
    ),
    "rows_kept_in_memory": (
        f"""\
def k(x: ak.In[ak.f32,T,N], {OFFSETS}, o: ak.Out[ak.f32,T,N], p: ak.Out[ak.f32,T,N]):
    for s,m in ak.grid(ak.segments(offsets).blocks()):
        v=ak.cumsum(x[m,:],axis=1)
        o[m,:]=ak.cumsum(v,axis=1,reverse=True)+v
    for s,m in ak.grid(ak.segments(offsets).blocks(block=4)):
        v=ak.cumsum(x[m,:],axis=1)
        p[m,:]=ak.cumsum(v,axis=1,reverse=True)+ak.sum(v,axis=0,keepdims=True)
""",
        [FEW, {"T": 97, "M": 20, "N": 40}],
    ),
}
CASES = [
    pytest.param(body, sizes, id="-".join([name, *(f"{k}{v}" for k, v in sizes.items())]))
    for name, (body, grid) in KERNELS.items()
    for sizes in grid
]


@pytest.mark.parametrize(("body", "sizes"), CASES)
def test_segments_have_the_interpreters_bits(body: str, sizes: Sizes, simulator_cache: Path) -> None:
    assert disagreements(body, {}, sizes, ("random", "special"), 2, simulator_cache) == []


LAYOUTS = [
    ([0, 40], 40),
    ([0] * 50 + [40], 40),
    ([0] + [40] * 50, 40),
    ([0, 0, 1, 1, 1, 9, 16, 17, 33, 33, 40, 40], 40),
    (list(range(41)), 40),
    ([0, 8, 16, 24, 32, 40], 40),
    ([0, 7, 14, 21, 28, 35, 40], 40),
    ([0], 0),
]


@pytest.mark.parametrize(("offsets", "length"), LAYOUTS)
def test_every_layout_of_segments_is_found(offsets: list[int], length: int, simulator_cache: Path) -> None:
    body = KERNELS["scale_by_blocks"][0]
    sizes = {"T": length, "M": len(offsets) - 1, "N": 3}
    result = compiled(body, {}, sizes)
    assert result.kernel is not None and result.abi is not None
    x = arrays(result.kernel, sizes, "random")["x"]
    w = arrays(result.kernel, sizes, "random")["w"]
    want = x * np.repeat(w, np.diff(offsets), axis=0)
    for schedule in schedules(result.kernel, result.abi.variant, 6):
        request = CompileRequest(HEADER + body, "kernel.py", variant=result.abi.variant, schedule=schedule)
        again = compile_kernel(request)
        assert again.abi is not None
        given = arrays(result.kernel, sizes, "random") | {"offsets": np.array(offsets, np.int32)}
        module = build(again.cuda, simulator_cache)
        reports = simulate(again.abi, module, given, sizes, scalars(result), SimulatorOptions(line_map=again.lines))
        assert not any(report.findings for report in reports)
        assert given["o"].tobytes() == want.tobytes()


def test_bits_of_a_segment_do_not_depend_on_where_it_lies():
    result = compiled(KERNELS["softmax"][0], {}, {"T": 30, "M": 1})
    assert result.kernel is not None
    values = np.random.default_rng(3).standard_normal(30, np.float32)
    found: list[bytes] = []
    for before, after in ((0, 0), (1, 5), (17, 0)):
        x = np.concatenate([np.ones(before, np.float32), values, np.ones(after, np.float32)])
        offsets = np.array([0, before, before + 30, before + 30 + after], np.int32)
        given = {"x": x, "offsets": offsets, "o": np.zeros_like(x)}
        interpret(result.kernel, given, {"T": x.size, "M": 3}, {})
        found.append(given["o"][before : before + 30].tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize("offsets", [[1, 2, 4], [0, 3, 2, 4], [0, 2, 5], [0, 2, 3]])
def test_the_interpreter_refuses_offsets_that_break_the_promise(offsets: list[int]):
    kernel = compiled(KERNELS["softmax"][0], {}, {"T": 4, "M": 2}).kernel
    assert kernel is not None
    sizes = {"T": 4, "M": len(offsets) - 1}
    given = arrays(kernel, sizes, "random") | {"offsets": np.array(offsets, np.int32)}
    with pytest.raises(InterpreterError, match="do not run from 0 to 4"):
        interpret(kernel, given, sizes, {})


@pytest.mark.parametrize("name", ["scale_by_blocks", "two_ragged_axes", "steps_in_a_segment"])
def test_grids_over_segments_survive_print_and_parse(name: str):
    kernel = compile_kernel(CompileRequest(HEADER + KERNELS[name][0], "kernel.py")).kernel
    assert kernel is not None
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)
