"""`ak.require`: what it stops, what is known behind it, and that interpreter and simulator agree."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.interpreter import RequirementError, interpret
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.proofs import diagnose, prove_kernel
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import FindingKind, SimulatorOptions, build
from tests.compiler.agreement import HEADER, compiled, disagreements

Sizes = dict[str, int]

ROWS = """\
def k(x: ak.In[ak.f32,T,H], i: ak.In[ak.i32,N], o: ak.Out[ak.f32,N,H]):
    for n in ak.grid(N):
        r=i[n]
        ak.require((r>=0)&(r<T),"rows are inside")
        o[n,:]=x[r,:]
"""
BEFORE = """\
def k(x: ak.In[ak.i32,T], o: ak.Out[ak.i32,T], d: ak.i32 = 3):
    ak.require((d>0)&(T<200),"d is positive")
    for t in ak.grid(T):
        o[t]=x[t]//d
"""
LONG = """\
def k(x: ak.In[ak.i32,T,N], o: ak.Out[ak.i32,T,N]):
    for t in ak.grid(T):
        v=x[t,:]
        ak.require(v>=0,"no negative")
        o[t,:]=v-ak.min(v,axis=1,keepdims=True)
"""
STEPS = """\
def k(x: ak.In[ak.i32,T,N], o: ak.Out[ak.i32,T]):
    for t in ak.grid(T):
        total=ak.zeros((t,),ak.i32)
        for n in ak.steps(N):
            ak.require(x[t,n]>=0,"no negative")
            total=total+ak.sum(x[t,n],axis=1)
        if T>1:
            ak.require(T<1000,"short")
        o[t]=total
"""


def run(body: str, statics: Sizes, sizes: Sizes, tensors: dict[str, np.ndarray], cache: Path, **scalars: int):
    """The interpreter's complaint, and the kinds and kernel lines of the simulator's findings."""
    result = compiled(body, statics, sizes)
    assert result.kernel is not None and result.abi is not None
    complaint = ""
    try:
        interpret(result.kernel, {name: array.copy() for name, array in tensors.items()}, sizes, scalars)
    except RequirementError as e:
        complaint = str(e)
    options = SimulatorOptions(line_map=result.lines)
    reports = simulate(result.abi, build(result.cuda, cache), tensors, sizes, scalars, options)
    return complaint, {(f.kind, f.kernel_line) for report in reports for f in report.findings}


def proof_codes(body: str) -> list[str]:
    found = lower_source(HEADER + body, "kernel.py", None, {"H": 8}, {})
    assert found.kernel is not None, [d.message for d in found.diagnostics]
    return [d.code for d in diagnose(prove_kernel(found.kernel), "kernel.py")]


def front_codes(body: str) -> list[str]:
    return [d.code for d in lower_source(HEADER + body, "kernel.py", None, {"H": 8}, {}).diagnostics]


@pytest.mark.parametrize(
    ("body", "statics", "sizes"),
    [
        (BEFORE, {}, {"T": 0}),
        (BEFORE, {}, {"T": 131}),
        (LONG.replace("v>=0", "v*0>=0"), {}, {"T": 3, "N": 20011}),
        (LONG.replace("v>=0", "v*0>=0"), {}, {"T": 5, "N": 0}),
        (STEPS.replace(">=0", "*0>=0"), {}, {"T": 37, "N": 301}),
        (STEPS.replace(">=0", "*0>=0"), {}, {"T": 1, "N": 0}),
    ],
)
@pytest.mark.toolchain
def test_where_all_holds_interpreter_and_simulator_agree(body, statics, sizes, simulator_cache):
    assert disagreements(body, statics, sizes, ("integers",), 3, simulator_cache) == []


@pytest.mark.parametrize("bad", [None, -1, 5])
@pytest.mark.toolchain
def test_an_index_that_is_outside_stops_before_the_access(bad, simulator_cache):
    rows = np.zeros(40, np.int32)
    if bad is not None:
        rows[37] = bad
    tensors = {"x": np.ones((5, 64), np.float32), "i": rows, "o": np.zeros((40, 64), np.float32)}
    complaint, found = run(ROWS, {"H": 64}, {"T": 5, "N": 40}, tensors, simulator_cache)
    if bad is None:
        assert (complaint, found) == ("", set())
        return
    comparison = "-1 >= 0" if bad < 0 else "5 < 5"
    assert complaint == f"rows are inside (block 0:40, position [37], {comparison})"
    assert found == {(FindingKind.TRAP, 11)}


@pytest.mark.parametrize(("d", "n", "stops"), [(3, 0, False), (0, 0, True), (-1, 4, True), (3, 200, True)])
@pytest.mark.toolchain
def test_a_condition_before_the_grids_is_checked_whatever_the_sizes(d, n, stops, simulator_cache):
    tensors = {"x": np.ones(n, np.int32), "o": np.zeros(n, np.int32)}
    complaint, found = run(BEFORE, {}, {"T": n}, tensors, simulator_cache, d=d)
    assert bool(complaint) is stops
    assert found == ({(FindingKind.TRAP, 9)} if stops else set())


@pytest.mark.parametrize(("body", "line"), [(LONG, 11), (STEPS, 12)])
@pytest.mark.parametrize("place", [None, (0, 0), (2, 700)])
@pytest.mark.toolchain
def test_one_element_of_a_long_row_stops_the_launch(body, line, place, simulator_cache):
    x = np.ones((3, 701), np.int32)
    if place is not None:
        x[place] = -4
    tensors = {"x": x, "o": np.zeros((3, 701) if body is LONG else 3, np.int32)}
    complaint, found = run(body, {}, {"T": 3, "N": 701}, tensors, simulator_cache)
    assert ("-4 >= 0" in complaint) is (place is not None)
    assert found == (set() if place is None else {(FindingKind.TRAP, line)})


HEAD = "def k(x: ak.In[ak.f32,T], i: ak.In[ak.i32,N], o: ak.Out[ak.f32,N]):\n    for n in ak.grid(N):\n"
EACH = HEAD.replace("ak.grid(N)", "ak.grid(ak.each(N))")
PROOFS = [
    (HEAD + "        r=i[n]\n        ak.require((r>=0)&(r<T),'in')\n        o[n]=x[r]\n", []),
    (HEAD + "        r=i[n]\n        ak.require(r>=0,'in')\n        ak.require(r<T,'in')\n        o[n]=x[r]\n", []),
    # one side only; behind the access; of other elements; in a branch that may not run; of a part
    (HEAD + "        r=i[n]\n        ak.require(r>=0,'in')\n        o[n]=x[r]\n", ["AK302"]),
    (HEAD + "        r=i[n]\n        o[n]=x[r]\n        ak.require((r>=0)&(r<T),'in')\n", ["AK302"]),
    (HEAD + "        r=i[n]\n        ak.require((r>=0)&(r<T),'in')\n        o[n]=x[r+1]\n", ["AK302"]),
    (HEAD + "        r=i[n]\n        if T>4:\n            ak.require((r>=0)&(r<T),'in')\n        o[n]=x[r]\n", ["AK302"]),
    (HEAD + "        r=i[n]\n        ak.require((r>=0)|(r<T),'in')\n        o[n]=x[r]\n", ["AK302"]),
    # the condition may have looked at no element: its other axis may be empty
    (
        HEAD + "        r=i[n]\n        ak.require((r[:,None]>=0)&(r[:,None]<T)&(x[:][None,:]>0),'in')\n        o[n]=x[r]\n",
        ["AK302"],
    ),
    # a scalar of the run
    (EACH + "        r=i[n]\n        ak.require((r>=0)&(r<T),'in')\n        o[n]=x[r]\n", []),
    (EACH + "        r=i[n]\n        o[n]=x[r]\n        ak.require((r>=0)&(r<T),'in')\n", ["AK302"]),
    # divisors
    (HEAD + "        d=i[n]\n        ak.require(d!=0,'d')\n        o[n]=(7//d).to(ak.f32)\n", []),
    (HEAD + "        d=i[n]\n        ak.require(d>-1,'d')\n        o[n]=(7//d).to(ak.f32)\n", ["AK308"]),
    (HEAD + "        d=i[n]\n        e=7//d\n        ak.require(d!=0,'d')\n        o[n]=e.to(ak.f32)\n", ["AK308"]),
    (EACH + "        d=i[n]\n        ak.require(d<0,'d')\n        o[n]=(7//d).to(ak.f32)\n", []),
    # sizes
    ("def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,N]):\n    ak.require(N<=T,'in')\n    for n in ak.grid(N):\n        o[n]=x[n]\n", []),
    (
        "def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,N]):\n    for n in ak.grid(N):\n        o[n]=x[n]\n    ak.require(N<=T,'in')\n",
        ["AK301"],
    ),
    ("def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,N]):\n    ak.require(N==T,'in')\n    for t in ak.grid(T):\n        o[t]=x[t]\n", []),
    (
        "def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,N]):\n    ak.require(T<=N,'in')\n    for t in ak.grid(T):\n        o[t]=x[t]\n",
        ["AK305"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "codes"), PROOFS)
def test_what_is_required_is_known_behind_it_and_there_only(body, codes):
    assert proof_codes(body) == codes


TEXT = "def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,T]):\n    for t in ak.grid(T):\n        {}\n        o[t]=x[t]\n"
FRONT = [
    ("ak.require(x[t]>0, 'fine')", []),
    ("ak.require(H == 8, 'fine')", []),
    ("ak.require(H == 7, 'never')", ["AK430"]),
    ("ak.require(x[t], 'no bool')", ["AK206"]),
    ("ak.require(x[t]>0)", ["AK122"]),
    ("ak.require(x[t]>0, T)", ["AK122"]),
    ("y = ak.require(x[t]>0, 'no value')", []),
]


@pytest.mark.parametrize(("line", "codes"), FRONT)
def test_a_requirement_is_a_condition_and_a_text(line, codes):
    assert front_codes(TEXT.format(line)) == codes


def test_a_requirement_is_printed_and_read_back():
    text = TEXT.format("ak.require(x[t]>0, 'a \"quoted\" \\\\ text\\n')")
    kernel = lower_source(HEADER + text, "kernel.py", None, {"H": 8}, {}).kernel
    assert kernel is not None
    assert print_kernel(parse_kernel(print_kernel(kernel))) == print_kernel(kernel)


def test_rows_that_run_different_steps_require_nothing():
    body = """\
def k(x: ak.In[ak.i32,T,N], o: ak.Out[ak.i32,T]):
    for t in ak.grid(T):
        a=ak.zeros((t,),ak.i32)
        for n in ak.steps(N,block=4,until=t.index):
            ak.require(x[t,n]>=0,"no negative")
            a=a+ak.sum(x[t,n],axis=1)
        o[t]=a
"""
    assert front_codes(body) == ["AK604"]


def test_a_requirement_whose_message_ends_a_line_compiles():
    text = HEADER + TEXT.format("ak.require(x[t]>0, 'a \\\\')  # \\")
    assert compile_kernel(CompileRequest(text, "kernel.py", dims={"H": 8})).status == "ok"
