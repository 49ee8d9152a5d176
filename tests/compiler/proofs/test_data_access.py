"""Windows, masks, gathers and scatters: what is proved, what rests on a promise, what is rejected."""

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.proofs import diagnose, prove_kernel

HEADER = """import agentkern as ak

T, N, S = ak.dim("T"), ak.dim("N"), ak.dim("S")


@ak.kernel
def k({parameters}):
    for t in ak.grid(T):
        {body}
"""
X, ROW = "x: ak.In[ak.f32, S, 4]", "o: ak.Out[ak.f32, T, 4]"
PLAIN = "i: ak.In[ak.i32, T]"
TO = "o: ak.InOut[ak.f32, N], v: ak.In[ak.f32, T]"


def report(parameters: str, body: str):
    text = HEADER.format(parameters=parameters, body=body.replace("\n", "\n        "))
    found = lower_source(text, "kernel.py", None, {}, {})
    assert found.kernel is not None, [d.message for d in found.diagnostics]
    return prove_kernel(found.kernel)


def codes(parameters: str, body: str) -> list[str]:
    return [d.code for d in diagnose(report(parameters, body), "kernel.py")]


CASES = [
    # a window that leaves the tensor on one side
    ("x: ak.In[ak.f32, T], o: ak.Out[ak.f32, T]", "o[t] = x[t + 1]", ["AK301"]),
    ("x: ak.In[ak.f32, T + 1], o: ak.Out[ak.f32, T]", "o[t] = x[t + 1]", []),
    ("x: ak.In[ak.f32, T + 1], o: ak.Out[ak.f32, T]", "o[t] = x[t - 1]", ["AK301"]),
    ("x: ak.In[ak.f32, T + 1], o: ak.Out[ak.f32, T]", "o[t] = ak.load(x[t - 1], fill=0)", []),
    ("x: ak.In[ak.f32, T], o: ak.Out[ak.f32, T]", "o[t] = x[T - 1 - t]", []),
    ("x: ak.In[ak.f32, T], o: ak.Out[ak.f32, T]", "o[t] = x[T - t]", ["AK301"]),
    ("x: ak.In[ak.f32, 2 * T], o: ak.Out[ak.f32, T]", "o[t] = x[2 * t + 1]", []),
    ("x: ak.In[ak.f32, 2 * T], o: ak.Out[ak.f32, T]", "o[t] = x[2 * t + 2]", ["AK301"]),
    # what a condition says
    (f"{X}, {PLAIN}, {ROW}", "r = i[t]\no[t, :] = x[r, :]", ["AK302"]),
    (f"{X}, {PLAIN}, {ROW}", "r = i[t]\no[t, :] = ak.load(x[r, :], where=((r >= 0) & (r < S))[:, None], fill=0)", []),
    (f"{X}, {PLAIN}, {ROW}", "r = i[t]\no[t, :] = ak.load(x[r, :], where=((0 <= r) & ~(r >= S))[:, None], fill=0)", []),
    (f"{X}, {PLAIN}, {ROW}", "r = i[t]\no[t, :] = ak.load(x[r, :], where=(r >= 0)[:, None], fill=0)", ["AK302"]),
    (f"{X}, {PLAIN}, {ROW}", "r = i[t]\no[t, :] = ak.load(x[r, :], where=(r < S)[:, None], fill=0)", ["AK302"]),
    (f"{X}, {PLAIN}, {ROW}", "r = i[t]\no[t, :] = ak.load(x[r, :], where=((r >= 0) | (r < S))[:, None], fill=0)", ["AK302"]),
    (f"{X}, {PLAIN}, {ROW}", "r = i[t] + 1\no[t, :] = ak.load(x[r, :], where=((r > 0) & (r <= S))[:, None], fill=0)", ["AK302"]),
    (f"{X}, {PLAIN}, {ROW}", "o[t, :] = ak.load(x[i[t], :], fill=0)", []),
    ("x: ak.In[ak.f32, T, T], o: ak.Out[ak.f32, T]", "o[t] = ak.load(x[t.index, t.index + 1], where=t.index < T - 1)", []),
    ("x: ak.In[ak.f32, T, T], o: ak.Out[ak.f32, T]", "o[t] = ak.load(x[t.index, t.index + 1], where=t.index < T)", ["AK301"]),
    # what a tensor promises of its values
    (f"{X}, {PLAIN}.values(0, S), {ROW}", "o[t, :] = x[i[t], :]", []),
    (f"{X}, {PLAIN}.values(0, S + 1), {ROW}", "o[t, :] = x[i[t], :]", ["AK302"]),
    (f"{X}, {PLAIN}.values(-1, S), {ROW}", "o[t, :] = x[i[t], :]", ["AK302"]),
    (f"{X}, {PLAIN}.values(0, S, ignore=-1), {ROW}", "o[t, :] = x[i[t], :]", ["AK302"]),
    (
        f"{X}, {PLAIN}.values(0, S, ignore=-1), {ROW}",
        "r = i[t]\no[t, :] = ak.load(x[r, :], where=(r >= 0)[:, None], fill=0)",
        [],
    ),
    (
        f"{X}, {PLAIN}.values(0, S, ignore=9), {ROW}",
        "r = i[t]\no[t, :] = ak.load(x[r, :], where=(r != 9)[:, None], fill=0)",
        [],
    ),
    ("x: ak.In[ak.f32, S], i: ak.In[ak.i32, T + 1].offsets(S), o: ak.Out[ak.f32, T]", "o[t] = x[i[t]]", ["AK302"]),
    ("x: ak.In[ak.f32, S + 1], i: ak.In[ak.i32, T + 1].offsets(S), o: ak.Out[ak.f32, T]", "o[t] = x[i[t]]", []),
    # what a kernel writes keeps no promise
    (
        "x: ak.In[ak.f32, S], i: ak.InOut[ak.i32, T].values(0, S), o: ak.Out[ak.f32, T]",
        "i[t] = -1\no[t] = x[i[t]]",
        ["AK302"],
    ),
    # scatters
    (f"{TO}, i: ak.In[ak.i32, T].values(0, N)", "o[i[t]] = v[t]", ["AK321"]),
    (f"{TO}, i: ak.In[ak.i32, T].values(0, N).distinct()", "o[i[t]] = v[t]", []),
    (f"{TO}, i: ak.In[ak.i32, T].values(0, N)", "ak.store(o[i[t]], v[t], distinct=True)", []),
    (f"{TO}, i: ak.In[ak.i32, T].values(0, N).distinct()", "o[i[t] // 2] = v[t]", ["AK321"]),
    ("o: ak.InOut[ak.f32, T, 4], v: ak.In[ak.f32, T, 4]", "o[t.index, 0] = v[t, 1]", []),
    ("o: ak.InOut[ak.f32, T, 4], v: ak.In[ak.f32, T]", "o[t.index // 2, 0] = v[t]", ["AK303"]),
    ("o: ak.Out[ak.f32, 2 * T], v: ak.In[ak.f32, T]", "o[2 * t] = v[t]\no[2 * t + 1] = v[t]", []),
    ("o: ak.Out[ak.f32, 2 * T], v: ak.In[ak.f32, T]", "o[2 * t] = v[t]", ["AK306"]),
    ("o: ak.Out[ak.f32, 2 * T].partial(), v: ak.In[ak.f32, T]", "o[2 * t] = v[t]", []),
    ("o: ak.Out[ak.f32, T], v: ak.In[ak.f32, T]", "ak.store(o[t], v[t], where=v[t] > 0)", ["AK306"]),
    # atomics
    ("o: ak.InOut[ak.i32, N], i: ak.In[ak.i32, T].values(0, N)", "ak.atomic_add(o[i[t]], 1)", []),
    ("o: ak.InOut[ak.i32, N], i: ak.In[ak.i32, T]", "ak.atomic_add(o[i[t]], 1)", ["AK302"]),
    ("o: ak.Out[ak.i32, N], i: ak.In[ak.i32, T].values(0, N)", "ak.atomic_add(o[i[t]], 1)", ["AK305", "AK317"]),
    (
        "o: ak.InOut[ak.i32, N], i: ak.In[ak.i32, T].values(0, N)",
        "ak.atomic_add(o[i[t]], 1)\nak.atomic_max(o[i[t]], 1)",
        ["AK304"],
    ),
    ("o: ak.InOut[ak.i32, T]", "ak.atomic_add(o[t], 1)\no[t] = 3", ["AK303"]),
    ("o: ak.InOut[ak.i32, T], p: ak.Out[ak.i32, T]", "ak.atomic_add(o[t], 1)\np[t] = o[t]", ["AK312"]),
    (
        "o: ak.InOut[ak.f32, N], v: ak.In[ak.f32, T], i: ak.In[ak.i32, T, 2].values(0, N, ignore=-1).distinct(ignore=-1)",
        "a = i[t, 0]\nb = i[t, 1]\nak.store(o[a], v[t], where=a >= 0)\nak.store(o[b], v[t], where=b >= 0)",
        [],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "body", "expected"), CASES, ids=[f"{b} | {p}" for p, b, _ in CASES])
def test_an_access_is_shown_or_reported(parameters: str, body: str, expected: list[str]):
    assert codes(parameters, body) == expected


def test_what_rests_on_a_promise_is_assumed_and_names_it():
    found = report(f"{X}, {PLAIN}.values(0, S), {ROW}", "o[t, :] = x[i[t], :]")
    (assumed,) = [r for r in found.records if r.outcome == "assumed"]
    assert assumed.assumptions == ("values of `i` are from 0 to S - 1",)


def test_a_condition_needs_no_promise():
    body = "r = i[t]\no[t, :] = ak.load(x[r, :], where=((r >= 0) & (r < S))[:, None], fill=0)"
    found = report(f"{X}, {PLAIN}.values(0, 7), {ROW}", body)
    assert not [r for r in found.records if r.outcome == "assumed"]


def test_two_axes_of_one_block_are_two_indices():
    """`t.index[:, None] - t.index[None, :]` is not 0."""
    parameters = "x: ak.In[ak.f32, 1], o: ak.Out[ak.f32, T]"
    body = "y = x[t.index[:, None] - t.index[None, :]]\no[t] = x[0]"
    assert codes(parameters, body) == ["AK301"]


@pytest.mark.parametrize(
    ("promise", "fill", "found"),
    [
        ("0, S, ignore=-1", -1, []),
        ("-1, S", -1, []),
        ("0, S, ignore=-1", 999, ["AK302"]),
        ("0, S, ignore=-1", 0, ["AK302"]),  # S may be 0
        ("-1, S", -2, ["AK302"]),
    ],
)
def test_a_promise_holds_of_what_a_load_fills_in_only_if_that_keeps_it(promise, fill, found):
    body = f"r = ak.load(i[t - 1], fill={fill})\no[t, :] = ak.load(x[r, :], where=(r != -1)[:, None], fill=0)"
    assert codes(f"{X}, {PLAIN}.values({promise}), {ROW}", body) == found
