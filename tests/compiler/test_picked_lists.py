"""Lists that a run-time number picks from: the simulator has the interpreter's bits, and proofs see every entry."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Op, walk
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.parser import IrSyntaxError, parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.subscripts import wrong_access
from agentkern.compiler.variants import fitting_variant
from agentkern.runtime.cubin import kernels_of
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.runtime.resources import parse_resources
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions, build
from tests.compiler.agreement import HEADER, arrays, compiled, disagreements, request_disagreements

Sizes = dict[str, int]

GRID = """\
def k(xs: ak.List[ak.In[ak.f32,T,N],G], ys: ak.List[ak.Out[ak.f32,T,N],G]):
    for i, t in ak.grid(ak.each(G), T):
        ys[i][t,:]=xs[i][t,:]*2.0+xs[G-1-i][t,:]-xs[0][t,:]*xs[-1][t,:]
"""
LAYERS = """\
def k(x: ak.In[ak.bf16,T,H], w: ak.List[ak.In[ak.bf16,H],G], kept: ak.List[ak.InOut[ak.f32,T,H],G],
      out: ak.Out[ak.bf16,T,H]):
    for t in ak.grid(T):
        v=x[t,:]
        for i in ak.steps(ak.each(G)):
            v=(v.to(ak.f32)*w[i][:][None,:].to(ak.f32)+kept[i][t,:]).to(ak.bf16)
            kept[i][t,:]=v.to(ak.f32)
        out[t,:]=v
"""
LOADED = """\
def k(which: ak.In[ak.i32,T].values(0,G), xs: ak.List[ak.In[ak.bf16,N,M],G], n: ak.i32, out: ak.Out[ak.f32,T,M],
      last: ak.Out[ak.f32,T,M]):
    for t in ak.grid(ak.each(T)):
        tensor=xs[which[t]]
        out[t,:]=ak.max(tensor[:,:].to(ak.f32),axis=0)
        last[t,:]=ak.load(xs[n][t,:],where=(n>=0)&(n<G)&(t<N),fill=3).to(ak.f32)
"""
VIEWS = """\
def k(xs: ak.List[ak.In[ak.f32,T,8],G], ids: ak.In[ak.i32,N].values(0,T), turned: ak.List[ak.Out[ak.f32,8,T],G],
      halves: ak.List[ak.Out[ak.f32,T,2,4],G], bits: ak.List[ak.Out[ak.i32,T,4],G], picked: ak.Out[ak.f32,G,N]):
    for i, t in ak.grid(ak.each(G), T):
        turned[i].T[t,:]=xs[i][t,:]
        halves[i][t,:,:]=xs[i].reshape(T,2,4)[t,:,:]
        bits[i][t,:]=xs[i][:,4:].bitcast(ak.i32)[t,:]
    for i, n in ak.grid(ak.each(G), N):
        picked[i,n]=xs[i][ids[n],3]+ak.load(xs[i][n.index+1,0],fill=-1)
"""
RECORDS = """\
def k(rows: ak.List[ak.In[ROW,T],G], out: ak.Out[ak.f32,G,T], back: ak.List[ak.Out[ROW,T],G]):
    for i, t in ak.grid(ak.each(G), T):
        row=rows[i][t]
        out[i,t]=row.scale[:,0]+row.wide[:,1].to(ak.f32)
        back[i][t]=row
"""
PLAIN = """\
def k(scale: ak.List[ak.In[ak.f32],G], hits: ak.List[ak.InOut[ak.i32,N],G], at: ak.In[ak.i32,T].values(0,N),
      out: ak.Out[ak.f32,G,T]):
    for i, t in ak.grid(ak.each(G), T):
        ak.atomic_add(hits[i][at[t]], 1)
        out[i,t]=scale[i][()]
"""

OUTER = """\
def k(xs: ak.List[ak.In[ak.f32,T],G], n: ak.i32, out: ak.Out[ak.f32,T], o2: ak.Out[ak.f32,T]):
    ak.require((n>=0)&(n<G), "n")
    x=xs[n]
    both=(xs[n], xs[0])
    for t in ak.grid(T):
        out[t]=x[t]+both[1][t]
    for t in ak.grid(T):
        acc=ak.zeros((t,),ak.f32)
        for y in xs:
            acc=acc+y[t]
        for y in xs[1:]:
            acc=acc+y[t]
        o2[t]=acc+both[0][t]
"""
SOFTMAX = """\
def k(xs: ak.List[ak.In[ak.f32,T,H],G], ys: ak.List[ak.Out[ak.f32,T,H],G]):
    for i, t in ak.grid(ak.each(G), T):
        x=xs[i][t,:]
        e=ak.exp(x-ak.max(x,axis=1,keepdims=True))
        ys[i][t,:]=e/ak.sum(e,axis=1,keepdims=True)
"""
ORDERED = """\
def k(xs: ak.List[ak.In[ak.f32,T],G], c: ak.In[ak.i32,N], s: ak.List[ak.InOut[ak.f32,T],G], o: ak.Out[ak.f32,N]):
    for t in ak.grid(T):
        a=s[0][t]
        s[G-1][t]=a+1.0
        for i in ak.steps(ak.each(G)):
            v=s[i][t]*0.5+a
            s[i][t]=v
            a=v+s[0][t]
    for q in ak.grid(ak.each(N)):
        acc=ak.zeros((),ak.f32)
        for j in ak.steps(ak.each(ak.minimum(ak.maximum(c[q],0),G).to(ak.i64))):
            acc=acc+ak.sum(xs[j][:],axis=0)
            if acc>4.0:
                break
        o[q]=acc
"""
EXPERTS = """\
def k(x: ak.In[ak.bf16,T,H], off: ak.In[ak.i32,G+1].offsets(T), w: ak.List[ak.In[ak.bf16,H],G], o: ak.Out[ak.f32,T,H]):
    for s, r in ak.grid(ak.segments(off).blocks()):
        o[r,:]=x[r,:].to(ak.f32)*w[s.ordinal][:][None,:].to(ak.f32)
"""

ROW_FILE = HEADER.replace(
    "@ak.kernel", "ROW = ak.Record(key=(ak.u8, 3), scale=(ak.f32, 1), wide=(ak.bf16, 2))\n\n\n@ak.kernel"
)


CASES: dict[str, tuple[str, Sizes, Sizes]] = {
    "five": (GRID, {"G": 5}, {"T": 3, "N": 33}),
    "one": (GRID, {"G": 1}, {"T": 5, "N": 7}),
    "no rows": (GRID, {"G": 2}, {"T": 0, "N": 4}),
    "forty": (GRID, {"G": 40}, {"T": 1, "N": 1}),
    "layers": (LAYERS, {"G": 5, "H": 24}, {"T": 9}),
    "one layer": (LAYERS, {"G": 1, "H": 1}, {"T": 2}),
    "two layers": (LAYERS, {"G": 2, "H": 130}, {"T": 5}),
    "loaded": (LOADED, {"G": 2}, {"T": 7, "N": 5, "M": 6}),
    "loaded one": (LOADED, {"G": 1}, {"T": 3, "N": 1, "M": 1}),
    "views": (VIEWS, {"G": 3}, {"T": 9, "N": 5}),
    "atomics": (PLAIN, {"G": 2}, {"T": 9, "N": 3}),
    "picked before a grid": (OUTER, {"G": 2}, {"T": 9}),
    "long rows": (SOFTMAX, {"G": 2, "H": 20011}, {"T": 2}),
    "stores in order": (ORDERED, {"G": 3}, {"T": 5, "N": 4}),
    "experts": (EXPERTS, {"G": 3, "H": 8}, {"T": 19}),
}


@pytest.mark.toolchain
@pytest.mark.parametrize("name", CASES)
def test_picks_at_run_time_agree(name: str, simulator_cache: Path):
    body, statics, sizes = CASES[name]
    assert disagreements(body, statics, sizes, ("random", "special"), 3, simulator_cache) == []


@pytest.mark.toolchain
def test_records_of_a_picked_tensor_agree(simulator_cache: Path):
    request = CompileRequest(ROW_FILE + RECORDS, "kernel.py", dims={"G": 3})
    assert request_disagreements(request, {"T": 11}, ("random", "special"), 2, simulator_cache) == []


def _laid(array: np.ndarray, gap: int) -> np.ndarray:
    """The same values with `gap` elements behind each row."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] + gap), array.dtype)
    wide[..., : array.shape[-1]] = array
    return wide[..., : array.shape[-1]]


STRIDED = """\
def k(xs: ak.List[ak.In[ak.f32,T,8],G], ys: ak.List[ak.Out[ak.f32,T,8],G], ws: ak.List[ak.Out[ak.f32,T*8],G]):
    for i, t in ak.grid(ak.each(G), T):
        ys[i][t,:]=xs[i][t,:]+xs[0][t,:]
    for i, n in ak.grid(ak.each(G), T*8):
        ws[i][n]=xs[i].reshape(T*8)[n]
"""


@pytest.mark.toolchain
@pytest.mark.parametrize("strided", [("xs[1]",), ("xs[0]", "xs[1]", "xs[2]", "ys[2]"), ("ys[0]",)])
def test_each_tensor_has_strides_of_its_own(strided: tuple[str, ...], simulator_cache: Path):
    sizes = {"T": 7}
    request = CompileRequest(HEADER + STRIDED, "kernel.py", dims={"G": 3})
    first = compile_kernel(request)
    assert first.kernel is not None
    result = compile_kernel(replace(request, variant=fitting_variant(first.kernel, sizes, strided)))
    assert result.status == "ok" and result.abi is not None
    want = arrays(first.kernel, sizes, "random")
    interpret(first.kernel, want, sizes, {})
    given = arrays(first.kernel, sizes, "random")
    placed = {name: _laid(a, 3 + k) if name in strided else a for k, (name, a) in enumerate(given.items())}
    reports = simulate(result.abi, build(result.cuda, simulator_cache), placed, sizes, {}, SimulatorOptions())
    assert [finding.message for report in reports for finding in report.findings] == []
    assert [name for name in want if not np.array_equal(want[name], placed[name])] == []


def test_a_picked_entry_is_the_tensor_of_its_number():
    sizes = {"T": 3, "N": 4}
    kernel = compiled(GRID, {"G": 3}, sizes).kernel
    assert kernel is not None
    given = arrays(kernel, sizes, "random")
    interpret(kernel, given, sizes, {})
    xs = [given[f"xs[{k}]"] for k in range(3)]
    for k in range(3):
        np.testing.assert_array_equal(given[f"ys[{k}]"], xs[k] * np.float32(2) + xs[2 - k] - xs[0] * xs[2])


def test_a_kernel_that_picks_at_run_time_reads_back_from_its_text():
    for body in (GRID, LAYERS, LOADED, VIEWS, PLAIN):
        found = compile_kernel(CompileRequest(HEADER + body, "kernel.py", dims={"G": 2, "H": 3}))
        for stage in ("ir", "placed", "gpu"):
            assert print_kernel(parse_kernel(found.texts[stage])) == found.texts[stage]


@pytest.mark.parametrize(
    "type_",
    ["table in<f32, []>", "table in<f32, [T, 3]>", "table in<f32, [2000, 3]>", "table tile<f32, [3]>", "table f32"],
)
def test_a_text_with_a_table_that_is_none_is_refused(type_: str):
    text = compiled(GRID, {"G": 2}, {"T": 4, "N": 3}).texts["ir"]
    good = "table in<f32, [2, T, N]>"
    assert good in text
    with pytest.raises(IrSyntaxError):
        parse_kernel(text.replace(good, type_))


def test_an_access_of_a_table_has_one_number_first():
    kernel = compiled("def k(xs: ak.List[ak.In[ak.f32,T,T],G], n: ak.i32, o: ak.Out[ak.f32,G,T]):\n"
                      "    for i, t in ak.grid(ak.each(G), T):\n        o[i,t]=xs[i].T[t,0]\n", {"G": 2}, {"T": 4}).kernel  # fmt: skip
    assert kernel is not None
    (load,) = [op for op in walk(kernel.body) if op.name == "load"]
    assert wrong_access(load, load.result.type) is None
    views = [(("transpose", (1, 0, 2)),), (("reshape", (1, 2, dims.parse("T*T"))),), (("bitcast", "f64"),)]
    for view in views:
        wrong = Op(load.spec, load.operands, {**load.attrs, "view": view}, load.results, (), load.location)
        assert wrong_access(wrong, load.result.type) is not None
    whole = Op(load.spec, load.operands[:-1], {**load.attrs, "index": (":", "$0", "$1")}, load.results)
    assert "run-time number" in str(wrong_access(whole, load.result.type))


def refused(body: str) -> list[tuple[str, str]]:
    """Codes and messages of what is wrong with a kernel of three tensors."""
    head = "def k(xs: ak.List[ak.In[ak.f32,T],3], n: ak.i32, w: ak.In[ak.i32,T], ys: ak.List[ak.Out[ak.f32,T],3],\n"
    head += "      z: ak.Out[ak.f32,T].partial()):\n"
    found = compile_kernel(CompileRequest(HEADER + head + body, "kernel.py"))
    return [(d.code, d.message) for d in found.diagnostics]


ZEROS = "    for t in ak.grid(T):\n        z[t]=0.0\n"
FILL = "    for i, t in ak.grid(ak.each(3), T):\n        ys[i][t]=1.0\n"


def test_a_number_outside_the_list_is_refused_with_a_counterexample():
    ((code, message),) = refused(FILL + "    for t in ak.grid(T):\n        z[t]=xs[n][t]\n")
    assert code == "AK301" and "n = -1: picks tensor -1 of 3 at t = 0" in message
    assert refused(FILL + "    for t in ak.grid(T):\n        z[t]=ak.load(xs[n][t],where=(n>=0)&(n<3),fill=0)\n") == []
    assert (
        refused('    ak.require((n>=0)&(n<3),"n")\n' + FILL + "    for t in ak.grid(T):\n        z[t]=xs[n][t]\n") == []
    )
    ((code, message),) = refused(FILL + "    for t in ak.grid(ak.each(T)):\n        z[t]=xs[w[t]][t]\n")
    assert code == "AK302" and "`xs[w[t]][t]`" in message
    ((code, message),) = refused(FILL.replace("each(3)", "each(4)") + ZEROS)
    assert code == "AK301" and "picks tensor 3 of 3 at i = 3" in message


def test_an_entry_that_no_block_writes_is_named():
    ((code, message),) = refused(FILL.replace("each(3)", "each(2)") + ZEROS)
    assert code == "AK305" and "no store writes `ys[2][0]`" in message


def test_two_picks_may_be_one_tensor():
    ((code, message),) = refused(FILL + "        ys[0][t]=2.0\n" + ZEROS)
    assert code == "AK303" and "(i = 0, t = 0) and (i = 1, t = 0) both write `ys[0][0]`" in message
    steps = "    for t in ak.grid(T):\n        ys[0][t]=1.0\n        for i in ak.steps(ak.each(1,3)):\n"
    assert refused(steps + "            ys[i][t]=2.0\n" + ZEROS) == []


def test_a_tensor_for_each_row_is_refused():
    found = refused(FILL + "    for t in ak.grid(T):\n        z[t]=xs[t][t]\n")
    assert [code for code, _ in found] == ["AK604"]
    found = refused(FILL + "    for t in ak.grid(T):\n        z[t]=xs[w[t]][t]\n")
    assert [code for code, _ in found] == ["AK604"]


@pytest.mark.toolchain
def test_a_pick_reads_the_launch_arguments_and_no_local_memory():
    cuda = compiled(LAYERS, {"G": 5, "H": 1024}, {"T": 64}).cuda
    built = compile_cuda(cuda, NvrtcOptions("sm_90a"))
    assert [(found.stack_bytes, found.spill_bytes) for found in parse_resources(built.log)] == [(0, 0)]
    assert [width for _, width in kernels_of(built.cubin)[0].parameters] == [8, 40, 40, 8, 8]


def test_lists_of_a_number_of_tensors_that_is_none_have_no_picks():
    found = compile_kernel(
        CompileRequest(HEADER + GRID.replace("-xs[0][t,:]*xs[-1][t,:]", ""), "kernel.py", dims={"G": 0})
    )
    assert found.status == "ok", [d.message for d in found.diagnostics]
