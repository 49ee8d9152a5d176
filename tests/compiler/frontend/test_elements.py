"""Loops over elements mean what the same loops mean in Python, element by element."""

from __future__ import annotations

import numpy as np
import pytest

from agentkern.compiler.ir.interpreter import interpret
from tests.compiler.frontend.kernels import accepted, codes, lower

TEXT = """import agentkern as ak

T = ak.dim("T")


@ak.kernel
def kernel(x: ak.In[ak.f32, T, 6], s: ak.In[ak.f32, T, 12], w: ak.In[ak.f32, 4, 12], out: ak.Out[ak.f32, T, 12]):
    for t in ak.grid(T):
        p = ak.zeros((t, 12), ak.f32)
        q, r, u, top = s[t, :], x[t, :], w[:, :], ak.max(s[t, :], axis=1)
{body}
        out[t, :] = p
"""
SHAPES = {"x": (5, 6), "s": (5, 12), "w": (4, 12)}


def text_of(expression: str, head: str = "for i, j in ak.elements(t, 12):") -> str:
    body = f"{head}\n    {expression}"
    return TEXT.format(body="\n".join(f"        {line}" for line in body.splitlines()))


def inputs() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {name: rng.integers(-9, 9, shape).astype(np.float32) for name, shape in SHAPES.items()}


MEANINGS = [
    "q[i, j] * 2.0 - top[i]",
    "r[i, j // 2]",
    "r[i, j % 6] + q[i, j]",
    "r[i, j // 2 % 3]",
    "r[i, j % 3 * 2]",
    "r[i, 2 * (j % 3) + 1]",
    "u[j // 3, 2]",
    "u[2, j] + u[-1, j]",
    "u.T[j, 1]",
    "q[i, 11 - 11 + j]",
    "r[i, j // 12 + 3]",
    "j.to(ak.f32) * top[i]",
    "ak.where(j % 2 == 0, q[i, j], r[i, j // 3])",
    "w[j % 4, j]",
]


def python_value(expression: str, i: int, j: int, given: dict[str, np.ndarray]) -> float:
    """The same expression on NumPy arrays."""

    class Kernels:
        f32 = np.float32

        @staticmethod
        def where(condition: bool, a: float, b: float) -> float:
            return a if condition else b

    class Index(int):
        def to(self, dtype: type) -> float:
            return dtype(self)

    s = given["s"]
    names = {"ak": Kernels, "q": s, "r": given["x"], "u": given["w"], "w": given["w"], "top": s.max(axis=1)}
    return eval(expression, {"i": i, "j": Index(j), **names})


@pytest.mark.parametrize("expression", MEANINGS)
def test_an_element_is_what_python_gives(expression: str):
    given = inputs()
    out = np.zeros((5, 12), np.float32)
    interpret(accepted(text_of(f"p[i, j] = {expression}")), {**given, "out": out}, {"T": 5}, {})
    want = [[python_value(expression, i, j, given) for j in range(12)] for i in range(5)]
    np.testing.assert_array_equal(out, np.array(want, np.float32))


def test_statements_follow_one_another_element_by_element():
    given = inputs()
    out = np.zeros((5, 12), np.float32)
    body = "v = q[i, j] + 1.0\n    p[i, j] = v * v\n    p[i, j] += v"
    interpret(accepted(text_of(body)), {**given, "out": out}, {"T": 5}, {})
    v = given["s"] + 1
    np.testing.assert_array_equal(out, v * v + v)


WRONG = [
    ("p[i, j] = p[i, j // 2]", "AK425"),
    ("p[j, i] = 1.0", "AK425"),
    ("p[i, 3] = 1.0", "AK425"),
    ("p[i, j] = q[i, 12 - j]", "AK222"),
    ("p[i, j] = q[i, 11 - j]", "AK425"),
    ("p[i, j] = q[j, i]", "AK425"),
    ("p[i, j] = u[j % 4, j]", "AK425"),
    ("p[i, j] = q[i, j % 0]", "AK504"),
    ("p[i, j] = r[i, j]", "AK222"),
    ("p[i, j] = q[i + 0, j]", "AK425"),
    ("p[i, j] = i * 2.0", "AK223"),
    ("p[i, j] = q[i, j].to(ak.f64)", "AK210"),
    ("p[i, j] = q[i]", "AK208"),
    ("nobody[i, j] = 1.0", "AK201"),
    ("out[i, j] = 1.0", "AK221"),
]


@pytest.mark.parametrize(("statement", "code"), WRONG)
def test_a_wrong_element_is_rejected(statement: str, code: str):
    assert code in codes(lower(text_of(statement)))


@pytest.mark.parametrize("head", ["for i in ak.elements(t, 12):", "for i, j in ak.elements(t, 11):"])
def test_a_wrong_head_is_rejected(head: str):
    assert set(codes(lower(text_of("p[i, j] = 1.0", head)))) & {"AK122", "AK425"}


def test_elements_that_a_loop_in_order_assigns_are_carried():
    given = inputs()
    out = np.zeros((5, 12), np.float32)
    head = "for k in ak.steps(ak.each(3)):\n    for i, j in ak.elements(t, 12):"
    kernel = accepted(text_of("    p[i, j] = p[i, j] * 2.0 + q[i, j]", head))
    interpret(kernel, {**given, "out": out}, {"T": 5}, {})
    np.testing.assert_array_equal(out, given["s"] * 7)


def test_a_helper_that_is_called_for_an_element_has_names_of_its_own():
    given = inputs()
    out = np.zeros((5, 12), np.float32)
    helper = "@ak.inline\ndef first(a):\n    i = 0\n    return a[i, 0:1, None]\n\n\n@ak.kernel"
    text = text_of("p[i, j] = q[i, j] + first(u)[0]").replace("@ak.kernel", helper)
    interpret(accepted(text), {**given, "out": out}, {"T": 5}, {})
    np.testing.assert_array_equal(out, given["s"] + given["w"][0, 0])


@pytest.mark.parametrize("length", [0, 2, 7, 30])
def test_a_loop_runs_over_a_piece_of_a_range(length: int):
    text = """import agentkern as ak

N = ak.dim("N")


@ak.kernel
def kernel(x: ak.In[ak.f32, N], out: ak.Out[ak.f32, N]):
    for p in ak.grid(ak.parts(N, 3)):
        v, w = ak.zeros((p,), ak.f32), x[p]
        for j in ak.elements(p):
            v[j] = w[j] * 2.0
        out[p] = v
"""
    x, out = np.arange(length, dtype=np.float32), np.full(length, -1, np.float32)
    interpret(accepted(text), {"x": x, "out": out}, {"N": length}, {})
    np.testing.assert_array_equal(out, x * 2)
