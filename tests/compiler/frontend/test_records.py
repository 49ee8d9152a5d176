"""Records: what `ak.Record` takes, how fields are read and stored, and what is no field."""

from __future__ import annotations

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel
from agentkern.compiler.ir.records import records_of
from agentkern.compiler.ir.types import TensorType
from agentkern.tools.check import signature_text
from tests.compiler.frontend.kernels import accepted, codes, lower, text_of

RECORDS = """\
ROW = ak.Record(a=(ak.f32, 4), b=ak.i32)
PAGE = ak.Record(rows=(ROW, 2), one=ROW, kind=ak.u8)


@ak.kernel"""
PARAMS = "x: ak.In[ROW, T], p: ak.In[PAGE, T], i: ak.In[ak.i32, T].values(0, T), out: ak.Out[ak.f32, T, 4], y: ak.Out[ROW, T]"
STORED = "\n    y[t] = x[t]"


def text(body: str, params: str = PARAMS) -> str:
    return text_of(params, body).replace("@ak.kernel", RECORDS, 1)


READS = [
    ("x[t].c", "AK204", "x[t].a"),
    ("x.c[t, :]", "AK204", "x.a[t, :]"),
    ("p.rows[t]", "AK601", "p[t].rows.a[:, 1]"),
    ("p.one", "AK601", "p.kind[t].to(ak.f32)[:, None]"),
    ("x[t]", "AK223", "x[t].a"),
    ("x[t] + 1.0", "AK223", "x[t].a + 1.0"),
    ("x", "AK223", "x[t].a"),
    ("x[t][:, :4]", "AK223", "x[t].a[:, :4]"),
    ("x[t, :].a", "AK208", "x[t, ...].a"),
    ("p[t].rows.a", "AK211", "p[t].rows.a[:, 0]"),
    ("p[t].one", "AK223", "p[t].one.a"),
    ("ak.load(x[t + 1], fill=i[0]).a", "AK223", "ak.load(x[t + 1], fill=2).a"),
    ("ak.load(x[t + 1], fill=2.5).a", "AK502", "ak.load(x[t + 1], where=i[t] < T - 1 - t.index).a"),
    ("ak.load(x[t], where=out).a", "AK217", "ak.load(x[t], where=i[t] > 0).a"),
    ("ak.load(x[t], where=(i[t] > 0)[:, None]).a", "AK207", "ak.load(x[t], where=True).a"),
    ("y[t].a", "AK312", "x[i[t]].a"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), READS, ids=[f"{c}: {w}" for w, c, _ in READS])
def test_a_read_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    assert codes(lower(text(f"for t in ak.grid(T):\n    out[t, :] = {wrong}{STORED}"))) == [code]
    accepted(text(f"for t in ak.grid(T):\n    out[t, :] = {right}{STORED}"))


STORES = [
    ("y[t].c = 1", "AK204", "y[t].b = 1"),
    ("y[t].a.c = 1", "AK204", "y[t].a = 1"),
    ("y[t] = 1", "AK210", "y[t] = p[t].one"),
    ("y[t] = p[t]", "AK210", "y[t] = x[i[t]]"),
    ("y[t].b = 1.5", "AK502", "y[t].a = 1.5"),
    ("y[t].b = x[t].a[:, 0]", "AK210", "y[t].b = x[t].b"),
    ("y[t].a = x[t].b.to(ak.f32)", "AK211", "y[t].a = x[t].b.to(ak.f32)[:, None]"),
    ("x[t].b = 1", "AK311", "ak.store(y[t].b, 1)"),
    ("q[t].rows.b = x[t].b", "AK211", "q[t].rows.b = x[t].b[:, None]"),
    ("q[t].rows = p[t].one", "AK211", "q[t].rows = p[t].rows"),
    ("x.b[t] = 1", "AK311", "y.b[t] = 1"),
    ("ak.store(y[t], 1)", "AK210", "ak.store(y[t], x[t])"),
    ("ak.atomic_add(q[t].kind, 1)", "AK122", "q[t].kind += 1"),
    ("ak.store(y[t].b, 1, where=x[t].a > 0)", "AK207", "ak.store(y[t].b, 1, where=x[t].b > 0)"),
    ("out.b = 1", "AK105", "y[t].b = 1"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), STORES, ids=[f"{c}: {w}" for w, c, _ in STORES])
def test_a_store_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    params = f"{PARAMS}, q: ak.InOut[PAGE, T]"
    rest = f"out[t, :] = 0.0{STORED}\n    q[t].kind = 1\n"
    assert codes(lower(text(f"for t in ak.grid(T):\n    {wrong}\n    {rest}", params))) == [code]
    accepted(text(f"for t in ak.grid(T):\n    {right}\n    {rest}", params))


DEFINITIONS = [
    ("ak.Record()", "AK228", "ak.Record(a=ak.f32)"),
    ("ak.Record((ak.f32, 2))", "AK228", "ak.Record(a=(ak.f32, 2))"),
    ("ak.Record(a=4)", "AK228", "ak.Record(a=(ak.f32, 2, 3))"),
    ("ak.Record(a=())", "AK228", "ak.Record(a=(ak.f32,))"),
    ("ak.Record(a=(ak.f32, T))", "AK228", "ak.Record(a=(ak.f32, H // 2))"),
    ("ak.Record(a=(ak.f32, -1))", "AK228", "ak.Record(a=(ak.f32, 0), b=ak.u8)"),
    ("ak.Record(a=(ak.f32, 1.5))", "AK228", "ak.Record(a=(ak.Record(b=ak.u8), 3))"),
    ("ak.Record(**ROW)", "AK228", "ak.Record(to=ak.u8, T=ak.u16)"),
]


@pytest.mark.parametrize(("wrong", "code", "right"), DEFINITIONS, ids=[f"{c}: {w}" for w, c, _ in DEFINITIONS])
def test_a_definition_is_rejected_and_its_near_miss_is_not(wrong: str, code: str, right: str):
    body = "for t in ak.grid(T):\n    out[t] = 1.0"
    for definition, want in ((wrong, [code]), (right, [])):
        head = RECORDS.replace("\n\n\n@", f"\nNEW = {definition}\n\n\n@")
        found = lower(text_of("out: ak.Out[ak.f32, T]", body).replace("@ak.kernel", head, 1))
        assert [d.code for d in found.diagnostics] == want


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("x: ak.In[ROW]", None),
        ("x: ak.In[ROW, T].values(0, 3)", "AK213"),
        ("x: ROW", "AK213"),
        ("x: ak.List[ak.In[ROW, T], 2]", None),
        ("x: ak.In[ROW, T] | None", None),
    ],
)
def test_where_records_may_stand(wrong: str, code: str | None):
    found = lower(text("for t in ak.grid(T):\n    out[t] = 1.0", f"{wrong}, out: ak.Out[ak.f32, T]"))
    assert [d.code for d in found.diagnostics] == ([code] if code else [])


def test_a_record_in_a_kernel_stands_at_the_wrong_place():
    found = lower(text("for t in ak.grid(T):\n    r = ak.Record(a=ak.f32)\n    out[t] = 1.0", "out: ak.Out[ak.f32, T]"))
    assert codes(found) == ["AK109"]


def kernel_of(body: str, dims: dict[str, int] | None = None) -> Kernel:
    found = lower_source(body, "kernel.py", dims=dims)
    assert found.kernel is not None, [d.message for d in found.diagnostics]
    return found.kernel


SIZED = """\
import agentkern as ak

T, H = ak.dim("T"), ak.static("H")
ITEM = ak.Record(values=(ak.bf16, H, 2), tag=ak.u8)


@ak.kernel
def k(x: ak.In[ITEM, T], y: ak.Out[ITEM, 2, T]):
    for n, t in ak.grid(2, T):
        y[n, t].values = x[t].values[None, :, :, :]
        y[n, t].tag = 1
"""


@pytest.mark.parametrize("dims", [{}, {"H": 3}])
def test_a_tensor_of_records_is_one_of_bytes_with_a_layout(dims: dict[str, int]):
    kernel = kernel_of(SIZED, dims)
    nbytes = "4 * H + 1" if not dims else "13"
    types = [value.type for value in kernel.params if isinstance(value.type, TensorType)]
    assert [str(type_) for type_ in types] == [f"in<u8, [T, {nbytes}]>", f"out<u8, [2, T, {nbytes}]>"]
    layout = records_of(kernel)["y"]
    assert (layout.name, str(layout.nbytes), [leaf.path for leaf in layout.leaves]) == (
        "ITEM",
        nbytes,
        ["values", "tag"],
    )
    assert signature_text(kernel) == "k(x: In[ITEM, T], y: Out[ITEM, 2, T])"


def test_records_of_two_names_and_like_fields_are_alike():
    same = SIZED.replace("\n\n\n@", "\nSAME = ak.Record(values=(ak.bf16, H, 2), tag=ak.u8)\n\n\n@").replace(
        "ak.In[ITEM", "ak.In[SAME"
    )
    assert kernel_of(same.replace("y[n, t].values = x[t].values[None, :, :, :]", "y[n, t] = x[t]"))
