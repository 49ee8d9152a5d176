"""Loads of a loop's next step, before the present one waits for other threads."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.core import Kernel, Op, walk
from agentkern.compiler.ir.parser import parse_kernel
from tests.compiler.agreement import HEADER, disagreements

SUMS = """\
def k(x: ak.In[ak.{dtype}, T, H], o: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        total = ak.zeros((t,), ak.f32)
        for h in ak.steps(H, block=4096):
            total += ak.sum(x[t, h].to(ak.f32), axis=1)
        o[t] = total
"""
SCAN = """\
def k(x: ak.In[ak.{dtype}, T, H], o: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        o[t, :] = ak.cumsum(x[t, :].to(ak.f32), axis=1)
"""
RUN_TIME = """\
def k(x: ak.In[ak.{dtype}, T, N], m: ak.In[ak.{dtype}, T, N], o: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        top = ak.full((t,), -ak.inf, ak.f32)
        for n in ak.steps(N, block=2048):
            top = ak.maximum(top, ak.max(x[t, n].to(ak.f32), axis=1) + ak.max(m[t, n].to(ak.f32), axis=1))
        o[t] = top
"""
WRITTEN = """\
def k(x: ak.InOut[ak.{dtype}, T, H], o: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        total = ak.zeros((t,), ak.f32)
        for h in ak.steps(H, block=4096):
            v = x[t, h].to(ak.f32)
            total += ak.sum(v, axis=1)
            x[t, h] = (v * 2.0).to(ak.{dtype})
        o[t] = total
"""
UNTIL = """\
def k(x: ak.In[ak.{dtype}, T, H], o: ak.Out[ak.f32, T]):
    for t in ak.grid(ak.each(T)):
        total = ak.zeros((), ak.f32)
        for h in ak.steps(H, block=4096):
            total += ak.sum(x[t, h].to(ak.f32))
            if total > 100.0:
                break
        o[t] = total
"""
ALONE = """\
def k(x: ak.In[ak.{dtype}, T, H], o: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        for h in ak.steps(H, block=4096):
            o[t, h] = x[t, h].to(ak.f32)
"""


def _gpu(body: str, dtype: str, **statics: int) -> Kernel:
    result = compile_kernel(CompileRequest(HEADER + body.format(dtype=dtype), "kernel.py", dims=statics))
    assert result.status == "ok", [d.message for d in result.diagnostics]
    return parse_kernel(result.texts["gpu"])


def _loaded_arrays(op: Op) -> set[object]:
    return {inner.operands[2] for inner in walk((op,)) if inner.name == "load_vector"}


def _ahead(kernel: Kernel) -> list[Op]:
    """Arrays that a loop of steps loads and that stand before it."""
    loops = [op for op in walk(kernel.body) if op.name == "for" and not op.attrs["unroll"]]
    inside = {loop: {value for inner in walk(loop.regions[0].ops) for value in inner.results} for loop in loops}
    outer = {array for loop in loops for array in _loaded_arrays(loop) if array not in inside[loop]}
    return [op for op in walk(kernel.body) if op.name == "registers" and op.result in outer]


@pytest.mark.parametrize("body", [SUMS, SCAN], ids=["sums", "scan"])
@pytest.mark.parametrize("dtype", ["bf16", "f32", "e4m3"])
def test_loads_of_the_next_step_go_behind_the_last_reader(body: str, dtype: str):
    (array,) = _ahead(_gpu(body, dtype, H=32768))
    assert bool(array.attrs.get("packed")) == (dtype != "f32")


def test_each_tensor_of_a_step_goes_ahead_as_far_as_registers_allow():
    assert len(_ahead(_gpu(RUN_TIME, "bf16"))) == 2
    assert len(_ahead(_gpu(RUN_TIME.replace("2048", "8192"), "bf16"))) == 1


@pytest.mark.parametrize("body", [WRITTEN, UNTIL, ALONE], ids=["written tensor", "early end", "nothing waits"])
def test_loads_stay_where_going_ahead_is_wrong_or_gains_nothing(body: str):
    assert _ahead(_gpu(body, "bf16", H=32768)) == []


@pytest.mark.parametrize("body", [SUMS, SCAN, WRITTEN, UNTIL], ids=["sums", "scan", "written tensor", "early end"])
@pytest.mark.parametrize(("dtype", "extent"), [("bf16", 4096), ("bf16", 20483), ("f32", 8192), ("e4m3", 12289)])
def test_static_steps_have_the_interpreters_bits(body: str, dtype: str, extent: int, simulator_cache: Path):
    text = body.format(dtype=dtype)
    assert disagreements(text, {"H": extent}, {"T": 3, "H": extent}, ("random", "special"), 2, simulator_cache) == []


@pytest.mark.parametrize(
    ("dtype", "extent"), [("bf16", 0), ("bf16", 2047), ("bf16", 6144), ("bf16", 6151), ("f64", 4097)]
)
def test_run_time_steps_have_the_interpreters_bits(dtype: str, extent: int, simulator_cache: Path):
    text = RUN_TIME.format(dtype=dtype)
    assert disagreements(text, {}, {"T": 2, "N": extent}, ("random", "special"), 2, simulator_cache) == []
