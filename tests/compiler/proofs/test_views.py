"""Accesses through views: bounds in the view, and what two views of one tensor share."""

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.proofs import diagnose, prove_kernel

HEADER = """import agentkern as ak

T, N, A = ak.dim("T"), ak.dim("N"), ak.dim("A", min=1)
K = ak.static("K")


@ak.kernel
def k({parameters}):
    {body}
"""


def codes(parameters: str, body: str, dims: dict[str, int] | None = None) -> list[str]:
    text = HEADER.format(parameters=parameters, body=body.replace("\n", "\n    "))
    found = lower_source(text, "kernel.py", None, {"K": 4} if dims is None else dims, {})
    assert found.kernel is not None, [d.message for d in found.diagnostics]
    return [d.code for d in diagnose(prove_kernel(found.kernel), "kernel.py")]


OUT, X, FLAT = "o: ak.Out[ak.f32, T, K]", "x: ak.In[ak.f32, T, K]", "o: ak.Out[ak.f32, T * K]"
ROWS = "for t in ak.grid(T):\n    "
CASES = [
    # a view's own extents bound its subscripts
    (f"{X}, {FLAT}", "for n in ak.grid(T * K):\n    o[n] = x.reshape(T * K)[n]", []),
    (f"{X}, {FLAT}", "for n in ak.grid(T * K):\n    o[n] = x.reshape(T * K)[n + 1]", ["AK301"]),
    (f"{X}, o: ak.Out[ak.f32, K, T]", "for a, t in ak.grid(K, T):\n    o[a, t] = x.T[a, t]", []),
    (f"{X}, o: ak.Out[ak.f32, K, T]", "for a, t in ak.grid(K, T):\n    o[a, t] = x[a, t]", ["AK301", "AK301"]),
    # static slices lie inside, where a block uses them
    ("x: ak.In[ak.f32, T], o: ak.Out[ak.f32, T - 1]", "for t in ak.grid(T - 1):\n    o[t] = x[1:][t]", []),
    ("x: ak.In[ak.f32, A], o: ak.Out[ak.f32, A]", "for a in ak.grid(A):\n    o[a] = x[a] + x[-1:][0]", []),
    ("x: ak.In[ak.f32, T], o: ak.Out[ak.f32, N]", "for n in ak.grid(N):\n    o[n] = x[:N][n]", ["AK301"]),
    ("x: ak.In[ak.f32, T + N], o: ak.Out[ak.f32, N]", "for n in ak.grid(N):\n    o[n] = x[T:][n]", []),
    ("x: ak.In[ak.f32, T], o: ak.Out[ak.f32, N]", "for n in ak.grid(N):\n    o[n] = x[T - 1 :][0]", ["AK301"]),
    # every element is written, through whatever views
    (OUT, "for n in ak.grid(T * K):\n    o.reshape(T * K)[n] = 0.0", []),
    (OUT, "for n in ak.grid(T * K - 1):\n    o.reshape(T * K)[n] = 0.0", ["AK305"]),
    (OUT, f"{ROWS}o.T[:, t] = 0.0", []),
    (OUT, f"{ROWS}o.T[1:][:, t] = 0.0", ["AK305"]),
    (OUT, f"{ROWS}o[:, :2][t, :] = 0.0\n    o[:, 2:][t, :] = 1.0", []),
    (OUT, f"{ROWS}o[:, :2][t, :] = 0.0\n    o[:, 3:][t, :] = 1.0", ["AK305"]),
    (OUT, f"{ROWS}o.reshape(T, 2, K // 2)[t, :, :] = 0.0", []),
    (OUT, f"{ROWS}o.reshape(T, 2, K // 2)[t, 1, :] = 0.0", ["AK305"]),
    (FLAT, f"{ROWS}o.reshape(T, K)[t, :] = 0.0", []),
    (FLAT, "for t in ak.grid(T, block=16):\n    o.reshape(T, K)[t, :] = 0.0", []),
    (OUT, f"{ROWS}o.bitcast(ak.u8)[t, :] = 0", []),
    (OUT, f"{ROWS}o.bitcast(ak.u8)[t, :15] = 0", ["AK305"]),
    # two blocks that write one element, through two views of it
    (OUT, f"{ROWS}o[t, :] = 0.0\n    o.reshape(T * K)[t.index * K] = 1.0", []),
    (OUT, f"{ROWS}o[t, :] = 0.0\n    o.reshape(T * K)[t.index] = 1.0", ["AK303"]),
    (OUT, f"{ROWS}o[t, :] = 0.0\n    o.T[0, t] = 1.0", []),
    (f"o: ak.Out[ak.f32, T, T], {X}", f"{ROWS}o[t, :] = 0.0\n    o.T[t, 0] = 1.0", ["AK303"]),
    (OUT, f"{ROWS}o[:, :2][t, :] = 0.0\n    o[:, 2:][t, :] = 1.0\n    o[:, 1:][t, 0] = 2.0", []),
    # what a grid reads of what it writes
    ("o: ak.InOut[ak.f32, T, K]", f"{ROWS}o[t, :] = o.reshape(T, K // 2, 2)[t, 0, 0, None] + 1.0", []),
    ("o: ak.InOut[ak.f32, T, K]", f"{ROWS}o[t, 0] = o.reshape(T * K)[t.index]", ["AK314"]),
    ("o: ak.InOut[ak.f32, T, K]", f"{ROWS}o[t, 0] = o.reshape(T * K)[t.index * K + 1]", []),
    ("o: ak.InOut[ak.f32, T, K]", f"{ROWS}o[:, :2][t, :] = o[:, 2:][t, :]", []),
    # what later grids read of what earlier ones wrote
    (f"{X}, {FLAT}", f"s = ak.scratch((T, K), ak.f32)\n{ROWS}s[t, :] = x[t, :]\nfor n in ak.grid(T * K):\n    o[n] = s.reshape(T * K)[n]", []),
    (f"{X}, {FLAT}", f"s = ak.scratch((T, K), ak.f32)\n{ROWS}s[t, :2] = x[t, :2]\nfor n in ak.grid(T * K):\n    o[n] = s.reshape(T * K)[n]", ["AK316"]),
    (f"{X}, {OUT}", f"s = ak.scratch((T * K,), ak.f32)\nfor n in ak.grid(T * K):\n    s[n] = x.reshape(T * K)[n]\n{ROWS}o[t, :] = s.reshape(T, K)[t, :]", []),
    # promises hold for a view
    ("i: ak.In[ak.i32, T, K].values(0, N), x: ak.In[ak.f32, N], " + FLAT, "for n in ak.grid(T * K):\n    o[n] = x[i.reshape(T * K)[n]]", []),
    ("i: ak.In[ak.i32, T, K], x: ak.In[ak.f32, N], " + FLAT, "for n in ak.grid(T * K):\n    o[n] = x[i.reshape(T * K)[n]]", ["AK302"]),
    ("i: ak.In[ak.i32, T, K].values(0, N).distinct(), o: ak.InOut[ak.f32, N]", "for n in ak.grid(T * K):\n    o[i.reshape(T * K)[n]] = 1.0", []),
    ("i: ak.In[ak.i32, T, K].values(0, N), o: ak.InOut[ak.f32, N]", "for n in ak.grid(T * K):\n    o[i.reshape(T * K)[n]] = 1.0", ["AK321"]),
    ("i: ak.In[ak.i32, T].values(0, T * K).distinct(), o: ak.InOut[ak.f32, T, K]", f"{ROWS}o.reshape(T * K)[i[t]] = 1.0", []),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "body", "expected"), CASES, ids=[f"{p} {b}"[-90:] for p, b, _ in CASES])
def test_what_is_proved_of_views(parameters: str, body: str, expected: list[str]):
    assert codes(parameters, body) == expected
