"""Atomics of floats: extremes equal in every order; sums equal where no partial sum rounds, and legal elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.interpreter_orders import ANY_NAN, FIXED, OPEN, Orders
from agentkern.compiler.ir.parser import parse_kernel
from agentkern.compiler.ir.printer import print_kernel
from agentkern.compiler.ir.reference_formats import decode
from agentkern.compiler.ir.verifier import IrError, verify_kernel
from agentkern.compiler.proofs.in_place import in_place_pairs
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import BlockOrder, SimulatorOptions, ThreadOrder, build
from tests.compiler.agreement import HEADER, built, request_disagreements

SUMS = HEADER.replace("@ak.kernel\n", "@ak.kernel(nondeterministic=True)\n")
FLOATS = ("f16", "bf16", "f32", "f64")
ORDERS = (
    (ThreadOrder.FORWARD, BlockOrder.FORWARD),
    (ThreadOrder.REVERSE, BlockOrder.REVERSE),
    (ThreadOrder.SEEDED, BlockOrder.SEEDED),
)


def extremes(dtype: str) -> str:
    return f"""\
def k(x: ak.In[ak.{dtype},T,H], i: ak.In[ak.i32,T].values(0,N,ignore=-1), hi: ak.InOut[ak.{dtype},N,H], lo: ak.InOut[ak.{dtype},N,H]):
    for t in ak.grid(T):
        r=i[t]
        ak.atomic_max(hi[r,:], x[t,:], where=(r>=0)[:,None])
        ak.atomic_min(lo[r,:], x[t,:], where=(r>=0)[:,None])
"""


def sums(dtype: str) -> str:
    return f"""\
def k(x: ak.In[ak.{dtype},T,H], i: ak.In[ak.i32,T].values(0,N,ignore=-1), s: ak.InOut[ak.{dtype},N,H], c: ak.InOut[ak.{dtype},1,H]):
    for t in ak.grid(T):
        r=i[t]
        ak.atomic_add(s[r,:], x[t,:], where=(r>=0)[:,None])
        ak.atomic_add(c[ak.zeros((t,),ak.i64),:], x[t,:])
"""


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("rows", "places", "width"), [(0, 3, 5), (1, 1, 1), (61, 5, 7), (200, 3, 33)])
def test_extremes_of_floats_have_the_interpreters_bits(dtype, rows, places, width, simulator_cache: Path):
    request = CompileRequest(HEADER + extremes(dtype), "kernel.py", dims={"H": width})
    kinds = ("special", "wide", "integers")
    assert request_disagreements(request, {"T": rows, "N": places}, kinds, 2, simulator_cache) == []


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("rows", "places", "width"), [(0, 3, 5), (1, 1, 1), (61, 5, 7), (79, 3, 130)])
def test_sums_of_integers_have_the_interpreters_bits(dtype, rows, places, width, simulator_cache: Path):
    request = CompileRequest(SUMS + sums(dtype), "kernel.py", dims={"H": width})
    assert request_disagreements(request, {"T": rows, "N": places}, ("integers",), 3, simulator_cache) == []


def run_in(order: tuple[ThreadOrder, BlockOrder], request: CompileRequest, sizes, given, cache: Path):
    result = built(request, sizes)
    assert result.abi is not None
    tensors = {name: array.copy() for name, array in given.items()}
    options = SimulatorOptions(thread_order=order[0], block_order=order[1], line_map=result.lines, seed=5)
    reports = simulate(result.abi, build(result.cuda, cache), tensors, sizes, {}, options)
    assert [report.findings for report in reports] == [()] * len(reports)
    return tensors


def legal_sums(body: str, sizes, given, header: str = SUMS) -> tuple[dict[str, np.ndarray], Orders]:
    kernel = compile_kernel(CompileRequest(header + body, "kernel.py")).kernel
    assert kernel is not None
    tensors, orders = {name: array.copy() for name, array in given.items()}, Orders()
    interpret(kernel, tensors, sizes, {}, orders=orders)
    return tensors, orders


ALL_TO_ONE = """\
def k(x: ak.In[ak.{dtype},T], s: ak.InOut[ak.{dtype},1]):
    for t in ak.grid(T):
        ak.atomic_add(s[ak.zeros((t,),ak.i64)], x[t])
"""


def test_sums_that_round_differ_between_orders_of_threads(simulator_cache: Path):
    body, sizes = ALL_TO_ONE.format(dtype="f32"), {"T": 1000}
    x = np.random.default_rng(3).standard_normal(1000).astype(np.float32) * np.float32(1e4)
    given = {"x": x, "s": np.zeros(1, np.float32)}
    found = [run_in(o, CompileRequest(SUMS + body, "kernel.py"), sizes, given, simulator_cache)["s"] for o in ORDERS]
    want, orders = legal_sums(body, sizes, given)
    assert len({float(s[0]) for s in found}) > 1
    assert orders.states["s"].tolist() == [OPEN]
    exact = float(np.sum(x.astype(np.float64)))
    assert max(abs(float(s[0]) - exact) for s in (*found, want["s"])) < 1000 * np.abs(x).sum() * 2.0**-24


def test_every_order_gives_what_is_fixed(simulator_cache: Path):
    body = """\
def k(x: ak.In[ak.f32,T], i: ak.In[ak.i32,T].values(0,N), s: ak.InOut[ak.f32,N]):
    for t in ak.grid(T):
        ak.atomic_add(s[i[t]], x[t])
"""
    inf, nan, tiny, big = np.inf, np.nan, 1e-40, 3e38
    rows = {
        0: ([1.0, 2.0, -3.0], FIXED),
        1: ([0.1], FIXED),
        2: ([0.1, 0.2, 0.3], OPEN),
        3: ([inf, 1e30, 1.0], FIXED),
        4: ([inf, -inf, 1.0], ANY_NAN),
        5: ([nan, inf, 0.1, 0.2], ANY_NAN),
        6: ([inf, -big, -big, -big], OPEN),
        7: ([-0.0, -0.0], FIXED),
        8: ([tiny], OPEN),
        9: ([], FIXED),
        10: ([2.0**-100, 1.0], OPEN),
    }
    terms = [(place, value) for place, (values, _) in rows.items() for value in values]
    given = {
        "x": np.array([value for _, value in terms], np.float32),
        "i": np.array([place for place, _ in terms], np.int32),
        "s": np.array([0.0, 0.3, 0, 0, 0, 0, 0, -0.0, 0, nan, 1.0], np.float32),
    }
    sizes = {"T": len(terms), "N": len(rows)}
    want, orders = legal_sums(body, sizes, given)
    assert orders.states["s"].tolist() == [state for _, state in rows.values()]
    assert not orders.spread
    for order in ORDERS:
        got = run_in(order, CompileRequest(SUMS + body, "kernel.py"), sizes, given, simulator_cache)["s"]
        fixed = orders.states["s"] == FIXED
        assert got[fixed].tobytes() == want["s"][fixed].tobytes()
        assert np.isnan(got[orders.states["s"] == ANY_NAN]).all()


def test_a_sum_that_is_read_by_a_later_grid_leaves_nothing_fixed():
    body = """\
def k(x: ak.In[ak.f32,T], o: ak.Out[ak.f32,1]):
    total = ak.scratch((1,), ak.f32)
    for n in ak.grid(1):
        total[n] = ak.zeros((n,), ak.f32)
    for t in ak.grid(T):
        ak.atomic_add(total[ak.zeros((t,),ak.i64)], x[t])
    for n in ak.grid(1):
        o[n] = total[n] * 2.0
"""
    given = {"x": np.array([0.1, 0.2, 0.3], np.float32), "o": np.zeros(1, np.float32)}
    assert legal_sums(body, {"T": 3}, given)[1].spread
    given["x"] = np.array([1, 2, 3], np.float32)
    assert not legal_sums(body, {"T": 3}, given)[1].spread


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_narrow_sums_round_each_time(dtype: str, simulator_cache: Path):
    # 256 ones to 256: in bf16 each one is lost, in f16 none is
    body, sizes = ALL_TO_ONE.format(dtype=dtype), {"T": 256}
    storage = np.float16 if dtype == "f16" else np.uint16
    one, start = (np.float16(1), np.float16(256)) if dtype == "f16" else (0x3F80, 0x4380)
    given = {"x": np.full(256, one, storage), "s": np.array([start], storage)}
    want, _ = legal_sums(body, sizes, given)
    got = run_in(ORDERS[2], CompileRequest(SUMS + body, "kernel.py"), sizes, given, simulator_cache)
    assert decode(dtype, got["s"])[0] == decode(dtype, want["s"])[0] == (512 if dtype == "f16" else 256)


def test_the_word_of_the_kernel_prints_and_parses_back():
    kernel = compile_kernel(CompileRequest(SUMS + ALL_TO_ONE.format(dtype="f32"), "kernel.py")).kernel
    assert kernel is not None
    text = print_kernel(kernel)
    assert "nondeterministic = true" in text
    assert print_kernel(parse_kernel(text)) == text
    verify_kernel(parse_kernel(text))
    with pytest.raises(IrError, match="sums floats in any order"):
        verify_kernel(parse_kernel(text.replace(", nondeterministic = true", "")))


def test_every_stage_keeps_the_word_of_the_kernel():
    result = compile_kernel(CompileRequest(SUMS + ALL_TO_ONE.format(dtype="f32"), "kernel.py"))
    assert [name for name in ("ir", "placed", "gpu") if "nondeterministic = true" not in result.texts[name]] == []


@pytest.mark.parametrize(("dtype", "target", "status"), [("bf16", "sm_80", "unsupported"), ("f16", "sm_80", "ok"), ("bf16", "sm_90a", "ok")])  # fmt: skip
def test_a_target_without_the_instruction_says_so(dtype: str, target: str, status: str):
    request = CompileRequest(SUMS + ALL_TO_ONE.format(dtype=dtype), "kernel.py", target=target)
    result = compile_kernel(request)
    assert result.status == status
    assert [d.code for d in result.diagnostics] == (["AK610"] if status == "unsupported" else [])


HOSTILE = {
    "a scalar index, a negative place left out, a block of a written size": (
        """\
def k(x: ak.In[ak.f32,T,N], i: ak.In[ak.i64,T].values(-1,M), s: ak.InOut[ak.f32,M]):
    for t, n in ak.grid(ak.each(T), N, block=(None, 16)):
        r=i[t]
        ak.atomic_add(s[ak.broadcast_to(r,(n,))], x[t,n], where=r>=0)
""",
        {},
        {"T": 5, "N": 37, "M": 3},
    ),
    "one element of a block, in a loop": (
        """\
def k(x: ak.In[ak.f32,T,H], s: ak.InOut[ak.f32,H]):
    for h in ak.grid(H):
        for t in ak.steps(ak.each(T)):
            ak.atomic_add(s[h], x[t,h])
            ak.atomic_add(s[h], 2.0)
""",
        {"H": 70},
        {"T": 9},
    ),
    "a turned view of f16": (
        """\
def k(x: ak.In[ak.f16,T,H], s: ak.InOut[ak.f16,H,T]):
    for t in ak.grid(T):
        ak.atomic_add(s.T[t,:], x[t,:])
""",
        {"H": 33},
        {"T": 17},
    ),
    "every third element of bf16": (
        """\
def k(x: ak.In[ak.bf16,N], s: ak.InOut[ak.bf16,3*N]):
    for n in ak.grid(N):
        ak.atomic_add(s[3*n+1], x[n])
        ak.atomic_add(s[3*n+1], x[n])
""",
        {},
        {"N": 211},
    ),
    "a long row": (
        """\
def k(x: ak.In[ak.f32,T,H], i: ak.In[ak.i32,T].values(0,N), s: ak.InOut[ak.f32,N,H]):
    for t in ak.grid(T):
        ak.atomic_add(s[i[t],:], x[t,:]-ak.max(x[t,:],axis=1,keepdims=True))
""",
        {"H": 9001},
        {"T": 3, "N": 2},
    ),
    "filled, summed and read again": (
        """\
def k(x: ak.In[ak.f32,T], i: ak.In[ak.i32,T].values(0,N), o: ak.Out[ak.f32,N], m: ak.Out[ak.f64,N]):
    s=ak.scratch((N,),ak.f32)
    for n in ak.grid(N):
        s[n]=ak.zeros((n,),ak.f32)
        m[n]=ak.full((n,),-1.0,ak.f64)
    for t in ak.grid(T):
        ak.atomic_add(s[i[t]], x[t])
        ak.atomic_max(m[i[t]], x[t].to(ak.f64))
    for n in ak.grid(N):
        o[n]=s[n]*2.0
""",
        {},
        {"T": 300, "N": 7},
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_sums_in_unusual_places_have_the_interpreters_bits_on_integers(name: str, simulator_cache: Path):
    body, statics, sizes = HOSTILE[name]
    request = CompileRequest(SUMS + body, "kernel.py", dims=statics)
    assert request_disagreements(request, sizes, ("integers",), 2, simulator_cache) == []


def test_what_is_summed_into_may_not_be_an_input_that_is_read():
    body = """\
def k(x: ak.In[ak.f32,N], o: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        o[n]=ak.zeros((n,),ak.f32)
    for n in ak.grid(N):
        ak.atomic_add(o[n], x[n])
"""
    kernel = compile_kernel(CompileRequest(SUMS + body, "kernel.py")).kernel
    assert kernel is not None
    assert in_place_pairs(kernel) == ()


def test_a_sum_is_not_read_or_stored_to_by_its_own_grid():
    read = "ak.atomic_add(s[n], x[n])\n        o[n]=s[n]\n"
    stored = "ak.atomic_add(s[n], x[n])\n        s[n]=x[n]\n        o[n]=x[n]\n"
    mixed = "ak.atomic_add(s[n.index], x[n])\n        ak.atomic_max(s[n.index], x[n])\n        o[n]=x[n]\n"
    for body, code in ((read, "AK312"), (stored, "AK303"), (mixed, "AK303")):
        text = f"{SUMS}def k(x: ak.In[ak.f32,N], s: ak.InOut[ak.f32,N], o: ak.Out[ak.f32,N]):\n    for n in ak.grid(N):\n        {body}"
        assert code in [d.code for d in compile_kernel(CompileRequest(text, "kernel.py")).diagnostics]
