"""Loops that carry values: what several steps load stands before them, and no bit changes."""

from pathlib import Path

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.core import Op, walk
from agentkern.compiler.ir.gpu_types import RegisterArray
from agentkern.compiler.ir.parser import parse_kernel
from tests.compiler.agreement import HEADER, disagreements

RECURRENCE = """\
def k(a: ak.In[ak.{dtype},B,T,N], x: ak.In[ak.{dtype},B,T,N], s: ak.InOut[ak.f32,B,N], o: ak.Out[ak.f32,B,T,N]):
    for b,n in ak.grid(B,N):
        v=s[b,n]
        for t in ak.steps(ak.each(T)):
            v=a[b,t,n].to(ak.f32)*v+x[b,t,n].to(ak.f32)
            o[b,t,n]=v
        s[b,n]=v
"""
LATER = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        v=ak.zeros((n,),ak.f32)
        for t in ak.steps(ak.each(3,T)):
            v=v*0.5+x[t,n].to(ak.f32)
        o[n]=v
"""
BY_INDEX = """\
def k(x: ak.In[ak.{dtype},T,N], rows: ak.In[ak.i32,T].values(0,T), o: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        v=ak.zeros((n,),ak.f32)
        for t in ak.steps(ak.each(T)):
            v=v*0.5+x[rows[t],n].to(ak.f32)
        o[n]=v
"""
IN_PLACE = """\
def k(x: ak.InOut[ak.{dtype},T,N], o: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        v=ak.zeros((n,),ak.f32)
        for t in ak.steps(ak.each(T)):
            v=v*0.5+x[t,n].to(ak.f32)
            x[t,n]=v.to(ak.{dtype})
        o[n]=v
"""
UNTIL = """\
def k(x: ak.In[ak.{dtype},T], o: ak.Out[ak.f32,N]):
    for n in ak.grid(N):
        v=ak.zeros((n,),ak.f32)
        total=ak.zeros((),ak.f32)
        for t in ak.steps(ak.each(T)):
            total+=x[t].to(ak.f32)
            v=v*0.5+total
            if total>100.0:
                break
        o[n]=v
"""
COPIES = """\
def k(x: ak.In[ak.{dtype},T,N], o: ak.Out[ak.f32,T,N]):
    for n in ak.grid(N):
        for t in ak.steps(ak.each(T)):
            o[t,n]=x[t,n].to(ak.f32)
"""


def _groups(body: str, dtype: str, **statics: int) -> list[Op]:
    found = compile_kernel(CompileRequest(HEADER + body.format(dtype=dtype), "kernel.py", dims=statics))
    assert found.status == "ok", [d.message for d in found.diagnostics]
    kernel = parse_kernel(found.texts["gpu"])
    return [op for op in walk(kernel.body) if op.name == "for" and not op.attrs["unroll"] and op.attrs["step"] != 1]


@pytest.mark.parametrize(
    ("body", "dtype", "steps"), [(RECURRENCE, "f32", 16), (RECURRENCE, "bf16", 16), (LATER, "f32", 16)]
)
def test_steps_load_in_groups_before_the_first_goes_on(body: str, dtype: str, steps: int):
    (group,) = _groups(body, dtype)
    assert group.attrs["step"] == steps
    arrays = [op.result.type for op in group.regions[0].ops if op.name == "registers"]
    assert all(isinstance(type_, RegisterArray) and type_.count % steps == 0 for type_ in arrays)
    *loading, computing = (op for op in group.regions[0].ops if op.name == "for")
    assert all(any(op.name == "load_vector" for op in walk((loop,))) for loop in loading)
    assert not any(op.name == "load_vector" for op in walk((computing,)))


def test_the_index_of_a_row_is_loaded_ahead_and_the_row_where_it_is_known():
    (group,) = _groups(BY_INDEX, "f32")
    *_, computing = (op for op in group.regions[0].ops if op.name == "for")
    assert sum(op.name == "load_vector" for op in walk((computing,))) == 1


@pytest.mark.parametrize("body", [IN_PLACE, UNTIL, COPIES], ids=["in_place", "until", "copies"])
def test_steps_stay_alone_where_together_is_wrong_or_gains_nothing(body: str):
    assert _groups(body, "f32") == []


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize("body", [RECURRENCE, LATER, BY_INDEX, IN_PLACE], ids=["both", "later", "by_index", "in_place"])
@pytest.mark.parametrize("length", [0, 1, 3, 4, 15, 16, 17, 19, 35, 64])
def test_groups_have_the_interpreters_bits(body: str, dtype: str, length: int, simulator_cache: Path):
    for columns in (1, 40):
        sizes = {"T": length, "N": columns, "B": 2}
        assert disagreements(body.format(dtype=dtype), {}, sizes, ("random", "special"), 1, simulator_cache) == []


def test_static_steps_are_all_in_groups():
    body = RECURRENCE.replace("B,T,N", "B,H,N").replace("each(T)", "each(H)")
    (group,) = _groups(body, "f32", H=8)
    assert group.attrs["step"] == 8
