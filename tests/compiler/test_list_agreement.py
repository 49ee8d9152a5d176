"""Lists of tensors: the simulator has the interpreter's bits, and proofs speak of each tensor."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.codegen.cuda import kernel_arguments
from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.interpreter import interpret
from tests.compiler.agreement import HEADER, arrays, compiled, disagreements

Sizes = dict[str, int]

# The layers of a residual network with hyper-connections: each needs what the one before made.
LAYERS = """\
def k(first: ak.In[ak.bf16,T,4,H], pre: ak.List[ak.In[ak.f32,T,4],G], post: ak.List[ak.In[ak.f32,T,4],G],
      comb: ak.List[ak.In[ak.f32,T,4,4],G], made: ak.List[ak.In[ak.bf16,T,H],G],
      into: ak.List[ak.Out[ak.bf16,T,H],G], res: ak.List[ak.Out[ak.bf16,T,4,H],G], last: ak.Out[ak.bf16,T,4,H]):
    for t, h in ak.grid(T,H):
        x=first[t,:,h]
        for n in range(G):
            wide=x.to(ak.f32)
            into[n][t,h]=ak.sum(pre[n][t,:,None]*wide,axis=1).to(ak.bf16)
            mixed=ak.sum(comb[n][t,:,:,None]*wide[:,:,None,:],axis=1)
            x=(post[n][t,:,None]*made[n][t,None,h].to(ak.f32)+mixed).to(ak.bf16)
            res[n][t,:,h]=x
        last[t,:,h]=x
"""
CHANGED = """\
def k(state: ak.List[ak.InOut[ak.f32,T,H],G], rows: ak.List[ak.In[ak.i32,T].values(0,N),G],
      table: ak.In[ak.f32,N,H], picked: ak.List[ak.Out[ak.f32,T,H],G+1]):
    for t in ak.grid(T):
        total=ak.zeros((t,H),ak.f32)
        for n in range(G):
            state[n][t,:]+=table[rows[n][t],:]
            picked[n][t,:]=ak.load(table[rows[n][t]+1,:],fill=-1)
            total=total+state[n][t,:]
        picked[-1][t,:]=total
"""


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("body", "statics", "sizes"),
    [
        (LAYERS, {"H": 24, "G": 3}, {"T": 37}),
        (LAYERS, {"H": 7, "G": 1}, {"T": 1}),
        (LAYERS, {"H": 5, "G": 0}, {"T": 9}),
        (LAYERS, {"H": 8, "G": 2}, {"T": 0}),
        (CHANGED, {"H": 16, "G": 2}, {"T": 33, "N": 11}),
        (CHANGED, {"H": 1, "G": 3}, {"T": 2, "N": 1}),
    ],
    ids=["layers", "one row", "no layers", "no rows", "changed in place", "small"],
)
def test_lists_agree(body: str, statics: Sizes, sizes: Sizes, simulator_cache: Path):
    assert disagreements(body, statics, sizes, ("random", "special"), 3, simulator_cache) == []


def test_an_entry_is_the_tensor_of_its_number():
    sizes = {"T": 3, "N": 5}
    kernel = compiled(CHANGED, {"H": 2, "G": 2}, sizes).kernel
    assert kernel is not None
    given = arrays(kernel, sizes, "random")
    before = [given[f"state[{n}]"].copy() for n in range(2)]
    interpret(kernel, given, sizes, {})
    want = [before[n] + given["table"][given[f"rows[{n}]"]] for n in range(2)]
    for n in range(2):
        np.testing.assert_array_equal(given[f"state[{n}]"], want[n])
    np.testing.assert_array_equal(given["picked[2]"], want[0] + want[1])


def test_two_blocks_that_write_one_entry_are_rejected_by_its_name():
    body = "def k(ys: ak.List[ak.Out[ak.f32,T],2]):\n    for t in ak.grid(T):\n        ys[0][t]=1.0\n        ys[1][0]=2.0\n"
    found = compile_kernel(CompileRequest(HEADER + body, "kernel.py"))
    assert {d.code for d in found.diagnostics} <= {"AK301", "AK303", "AK305"}
    assert all("`ys[1]`" in d.message for d in found.diagnostics)
    assert any(d.code == "AK303" for d in found.diagnostics)


def test_an_entry_keeps_apart_from_a_parameter_of_a_like_name():
    body = (
        "def k(x: ak.List[ak.In[ak.f32,T],2], x_1: ak.In[ak.f32,T], x_1_: ak.In[ak.f32,T], o: ak.Out[ak.f32,T]):\n"
        "    for t in ak.grid(T):\n        o[t]=x[0][t]-x[1][t]*x_1[t]+x_1_[t]\n"
    )
    found = compile_kernel(CompileRequest(HEADER + body, "kernel.py"))
    assert found.status == "ok"
    head = next(line for line in found.cuda.splitlines() if line.startswith("k("))
    names = [part.rpartition(" ")[2].lstrip("*") for part in head[2:].rstrip(" {)").split(",")]
    assert len(set(names)) == len(names) == 6
    assert found.kernel is not None
    assert [a.name for a in kernel_arguments(found.kernel, ()) if a.kind == "pointer"][:2] == ["x[0]", "x[1]"]


def test_more_arguments_than_a_launch_takes_are_refused():
    body = (
        "def k(x: ak.List[ak.In[ak.f32,T],H], y: ak.List[ak.In[ak.f32,T],H], z: ak.List[ak.In[ak.f32,T],H],"
        " u: ak.List[ak.In[ak.f32,T],H], v: ak.List[ak.In[ak.f32,T],H], o: ak.Out[ak.f32,T]):\n"
        "    for t in ak.grid(T):\n        o[t]=x[0][t]\n"
    )
    assert compile_kernel(CompileRequest(HEADER + body, "kernel.py", dims={"H": 800})).status == "ok"
    found = compile_kernel(CompileRequest(HEADER + body, "kernel.py", dims={"H": 1000}))
    assert [d.code for d in found.diagnostics] == ["AK610"]
