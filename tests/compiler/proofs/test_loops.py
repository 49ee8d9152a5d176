"""Accesses in loops: inside their tensors at every step, different elements in different steps, all elements written."""

from __future__ import annotations

import pytest

from agentkern.compiler.proofs import diagnose, prove_kernel
from tests.compiler.frontend.kernels import accepted, text_of

SIGNATURE = (
    "x: ak.In[ak.f32, T, N], n: ak.In[ak.i64, T], out: ak.Out[ak.f32, T, N], part: ak.Out[ak.f32, ak.cdiv(T, 16), N]"
)
REST = "for p in ak.grid(T, block=16):\n    part[p.ordinal, :] = 0.0\n"
GRID = "for t in ak.grid(T):\n"
EACH = "for t in ak.grid(ak.each(T)):\n"


def codes_of(body: str) -> list[str]:
    return [d.code for d in diagnose(prove_kernel(accepted(text_of(SIGNATURE, REST + body))), "kernel.py")]


SAFE = [
    GRID + "    for k in ak.steps(N):\n        out[t, k] = x[t, k]",
    GRID + "    for k in ak.steps(N, block=8):\n        out[t, k] = x[t, k]",
    GRID + "    for k in ak.steps(ak.each(N)):\n        out[t, k] = x[t, k]",
    "for p in ak.grid(T, block=16):\n    for t in ak.steps(ak.each(p.start, p.end)):\n        out[t, :] = x[t, :]",
    "for p in ak.grid(T, block=16):\n    for t in ak.steps(p.start, p.end, block=4):\n        out[t, :] = x[t, :]",
    GRID + "    out[t, :] = 0.0\n" + EACH
    + "    for k in ak.steps(ak.maximum(n[t], 0), ak.minimum(n[t], N)):\n        out[t, k] = x[t, k]",
]  # fmt: skip
UNSAFE = [
    (GRID + "    for k in ak.steps(1, N):\n        out[t, k] = x[t, k]", "AK305"),
    (GRID + "    for k in ak.steps(N + 1):\n        out[t, k] = x[t, k]", "AK301"),
    (GRID + "    for k in ak.steps(-1, N):\n        out[t, k] = x[t, k]", "AK301"),
    (GRID + "    for k in ak.steps(ak.each(N)):\n        out[t, :] = x[t, k][:, None]", "AK303"),
    (
        GRID + "    for r in ak.steps(ak.each(2)):\n        for k in ak.steps(N):\n            out[t, k] = x[t, k]",
        "AK303",
    ),
    ("for k in ak.grid(N):\n    for t in ak.steps(ak.each(T)):\n        out[0:T, k] = x[0:T, k]", "AK303"),
    (EACH + "    for k in ak.steps(n[t], N):\n        out[t, k] = x[t, k]", "AK302"),
    (
        "for p in ak.grid(T, block=16):\n    for t in ak.steps(p.start + 1, p.end):\n        out[t, :] = x[t, :]",
        "AK306",
    ),
]


@pytest.mark.parametrize("body", SAFE)
def test_a_safe_loop_is_proved(body: str):
    assert codes_of(body) == []


@pytest.mark.parametrize(("body", "code"), UNSAFE)
def test_an_unsafe_loop_is_found(body: str, code: str):
    assert code in codes_of(body)


BOUNDS = "x: ak.In[ak.i64, T, N], n: ak.In[ak.i64, T], z: ak.InOut[ak.i64, T], w: ak.i64, out: ak.Out[ak.f32, T, 3, N].partial()"
STORE = "    for k in ak.steps(ak.maximum(v, 0), ak.minimum(v + 9, N)):\n        out[t, 0, k] = 1.0\n"
STEP = "    for k in ak.steps(ak.each(ak.maximum(v, 0), ak.minimum(v + 9, N))):\n        out[t, 0, k] = 1.0\n"
ONE_VALUE = [
    "    v = z[t] >> 1\n",
    "    v = (n[t] >> 1) + w\n",
    "    v = ak.load(n[t + 1], fill=0) & 7\n",
    "    v = ak.sum(x[t, :], axis=0)\n",
    "    v = ak.where(n[t] > w, n[t] ^ 1, ak.argmax(ak.concat((x[t, :], n[0:1]), axis=0), axis=0))\n",
    "    v = ak.full((), 1, ak.i64)\n    for j in ak.steps(N):\n        v = ak.maximum(v, ak.max(x[t, j], axis=0))\n",
    "    v = n[t]\n    for j in ak.steps(ak.each(N)):\n        v = v >> x[t, j]\n        if v < 3:\n            break\n",
    "    v = n[t]\n    if v > 3:\n        v = v >> 2\n    v = v | 1\n",
]


def bounded(value: str, store: str) -> list[str]:
    text = text_of(BOUNDS, EACH + value + store + "    z[t] = 0\n")
    return [d.code for d in diagnose(prove_kernel(accepted(text)), "kernel.py")]


@pytest.mark.parametrize("store", [STORE, STEP], ids=["blocks", "one by one"])
@pytest.mark.parametrize("value", ONE_VALUE)
def test_what_a_block_computes_before_a_loop_is_one_value_in_it(value: str, store: str):
    assert bounded(value, store) == []


CARRIED = """\
    v = n[t]
    for r in ak.steps(ak.each(3)):
        for k in ak.steps(ak.each(ak.maximum(v, 0), ak.minimum(v + 9, N))):
            out[t, {r}, k] = 1.0
        v = v >> 1
"""


def test_what_a_loop_carries_is_one_value_in_one_step():
    assert bounded(CARRIED.format(r="r"), "") == []
    assert bounded(CARRIED.format(r="0"), "") == ["AK304"]


@pytest.mark.parametrize(
    ("offset", "codes"),
    [
        ("n[0] & 7", []),
        ("(n[0] >> w) & 7", []),
        ("ak.max(n[0:5], axis=0) & 7", []),
        ("n[t] & 7", ["AK304"]),
        ("(n[0] >> t) & 7", ["AK304"]),
    ],
)
def test_what_inputs_alone_determine_is_one_value_in_all_blocks(offset: str, codes: list[str]):
    signature = "n: ak.In[ak.i64, T + 5], w: ak.i64, out: ak.Out[ak.f32, T + 7].partial()"
    text = text_of(signature, EACH + f"    v = {offset}\n    out[t + v] = 1.0")
    assert [d.code for d in diagnose(prove_kernel(accepted(text)), "kernel.py")] == codes


def test_a_value_that_bounds_a_loop_is_one_value_in_one_block():
    body = (
        GRID
        + "    out[t, :] = 0.0\n"
        + EACH
        + "    for k in ak.steps(ak.maximum(n[t], 0), N):\n        out[t, k] = 1.0"
    )
    assert codes_of(body) == []
