"""What the condition of a run-time `if`, or a `break`, says is known in its branch, and only there."""

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.proofs import diagnose, prove_kernel

HEADER = """import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")


@ak.kernel
def k(x: ak.In[ak.f32, T, 16], y: ak.In[ak.i32, T], o: ak.Out[ak.f32, T], p: ak.Out[ak.i32, T], n: ak.i64, d: ak.i32, f: ak.f32):
    for t in ak.grid(T):
        a = ak.zeros((t,), ak.f32)
        c = y[t]
        {body}
        o[t] = a
        p[t] = c
"""
SCATTER = """import agentkern as ak

T, N = ak.dim("T"), ak.dim("N")


@ak.kernel
def k(i: ak.In[ak.i32, T].values(0, N, ignore=7).distinct(ignore=7), x: ak.In[ak.f32, T], o: ak.Out[ak.f32, N].partial()):
    for t in ak.grid(ak.each(T)):
        r = i[t]
        {body}
"""


def codes(text: str, body: str) -> list[str]:
    found = lower_source(text.format(body=body.replace("\n", "\n        ")), "kernel.py", None, {}, {})
    assert found.kernel is not None, [d.message for d in found.diagnostics]
    return [d.code for d in diagnose(prove_kernel(found.kernel), "kernel.py")]


CASES = [
    ("if (n >= 0) & (n < 16):\n    a = x[t, n]", []),
    ("if n < 16:\n    if n >= 0:\n        a = x[t, n]", []),
    ("if ~((n < 0) | (n >= 16)):\n    a = x[t, n]", []),
    ("if (n < 0) | (n >= 16):\n    a = a + 1\nelse:\n    a = x[t, n]", []),
    ("if (n >= 0) & (n < 17):\n    a = x[t, n]", ["AK301"]),
    ("if (n < 0) | (n >= 16):\n    a = x[t, n]", ["AK302"]),
    ("if (n >= 0) & (n < 16):\n    a = a + 1\nelse:\n    a = x[t, n]", ["AK302"]),
    # a condition that is not understood: no counterexample is one
    ("if f > 0:\n    a = x[t, n]", ["AK302"]),
    ("if f > 0:\n    c = y[t] // d", ["AK308"]),
    # divisions
    ("if d != 0:\n    c = y[t] // d", []),
    ("if d == 0:\n    c = c + 1\nelse:\n    c = y[t] % d", []),
    ("if d < 0:\n    c = y[t] // d", []),
    ("if d <= 0:\n    c = y[t] // d", ["AK307"]),
    # a loop that may have ended
    ("for i in ak.steps(ak.each(20)):\n    if i >= 16:\n        break\n    a = a + x[t, i]", []),
    ("for i in ak.steps(ak.each(20)):\n    if i >= 17:\n        break\n    a = a + x[t, i]", ["AK302"]),
    ("for i in ak.steps(ak.each(20)):\n    a = a + x[t, i]\n    if i >= 15:\n        break", ["AK302"]),
    (
        "for i in ak.steps(ak.each(20)):\n    if f > 0:\n        break\nif (n >= 0) & (n < 20):\n    a = x[t, n]",
        ["AK301"],
    ),
]


@pytest.mark.parametrize(("body", "wanted"), CASES, ids=[body for body, _ in CASES])
def test_a_branch_knows_its_condition(body: str, wanted: list[str]):
    assert codes(HEADER, body) == wanted


SCATTERS = [
    ("if r != 7:\n    o[r] = x[t]", []),
    ("if (r >= 0) & (r < N):\n    o[r] = x[t]", ["AK304"]),
    # each branch has a store of its own, with one subscript
    ("if r != 7:\n    o[r] = x[t]\nelse:\n    if r < N:\n        o[r] = x[t]", ["AK304"]),
]


@pytest.mark.parametrize(("body", "wanted"), SCATTERS, ids=[body for body, _ in SCATTERS])
def test_distinct_values_count_where_the_ignored_one_is_excluded(body: str, wanted: list[str]):
    assert codes(SCATTER, body) == wanted
