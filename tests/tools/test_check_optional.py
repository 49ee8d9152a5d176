"""`check` looks at builds without the tensors that may be left out."""

from agentkern.tools.check import check
from agentkern.tools.requests import CheckRequest

HEADER = """import agentkern as ak

T = ak.dim("T")


@ak.kernel
def kernel(x: ak.In[ak.f32, T], a: ak.In[ak.f32, T] | None, b: ak.In[ak.f32, T] | None, out: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        v = x[t]
"""


def messages(body: str) -> list[str]:
    found = check(CheckRequest(source=f"{HEADER}{body}        out[t] = v\n", path="kernel.py"))
    return [d.message for d in found.diagnostics if d.severity == "error"]


def test_a_tensor_that_goes_with_another_may_be_left_out_with_it():
    assert messages("        if a is not None:\n            v = v * a[t] + b[t]\n") == []


def test_a_tensor_that_is_read_whatever_is_given_is_missed():
    found = messages("        v = v * b[t]\n        if a is not None:\n            v = v * a[t]\n")
    assert found == ["`None` is not a value for `[...]` (without `a`, `b`)"]


def test_what_is_wrong_only_where_one_is_left_out_is_reported():
    found = messages(
        "        v = v * a[t] if a is not None else v * 1.5 + T\n        if b is not None:\n            v = v + b[t]\n"
    )
    assert len(found) == 1
    assert found[0].endswith("(without `a`, `b`)")
