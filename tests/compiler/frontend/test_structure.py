"""Compile-time structure: unrolled loops, tuples, helpers of the file, `is None`."""

from __future__ import annotations

import numpy as np
import pytest

from agentkern.compiler.ir.interpreter import interpret
from tests.compiler.frontend.kernels import accepted, codes, lower

HEAD = """import agentkern as ak

T, H = ak.dim("T"), ak.static("H")
HALF = 0.5

"""
KERNEL = """
@ak.kernel
def kernel(x: ak.In[ak.f32, T, 4], out: ak.Out[ak.f32, T, 4]):
    for t in ak.grid(T):
        v = x[t, :]
"""


def text_of(helpers: str, body: str) -> str:
    """A file with helpers and a kernel that reads `v` and stores to `out[t, :]`."""
    return HEAD + helpers + KERNEL + "\n".join(f"        {line}" for line in body.strip().splitlines()) + "\n"


def result_of(helpers: str, body: str) -> np.ndarray:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = np.full_like(x, np.nan)
    interpret(accepted(text_of(helpers, body)), {"x": x, "out": out}, {"T": 3}, {})
    return out


X = np.arange(12, dtype=np.float32).reshape(3, 4)
ADD = "@ak.inline\ndef add(a, b=HALF, *, scale=1.0):\n    return (a + b) * scale\n\n"
MEANINGS = {
    "a loop over a range rebinds a name": ("", "for i in range(3):\n    v = v + i\nout[t, :] = v", X + 3),
    "a range may run down": ("", "for i in range(3, -1, -1):\n    v = v * 2 + i\nout[t, :] = v", X * 16 + 34),
    "a range may be empty": ("", "for i in range(3, 0):\n    v = v * 0\nout[t, :] = v", X),
    "a loop over a tuple unpacks its items": (
        "",
        "for a, b in ((1.0, 2.0), (3.0, 4.0)):\n    v = v * a + b\nout[t, :] = v",
        X * 3 + 10,
    ),
    "a tuple collects tiles": (
        "",
        "h = (v,)\nfor i in range(3):\n    h = (*h, h[-1] + h[i])\nout[t, :] = h[3] + h[1]",
        X * 10,
    ),
    "a tuple of tiles is iterated": ("", "h = (v, v + 1)\nfor w in h:\n    v = v + w\nout[t, :] = v", X * 3 + 1),
    "a tuple is sliced": ("", "h = (v, v + 1, v + 2)[1:]\na, b = h\nout[t, :] = a * b", (X + 1) * (X + 2)),
    "a helper is called by position": (ADD, "out[t, :] = add(v, 1)", X + 1),
    "a helper has defaults": (ADD, "out[t, :] = add(v)", X + 0.5),
    "a helper takes keywords": (ADD, "out[t, :] = add(b=v, a=1.0, scale=2.0)", (X + 1) * 2),
    "a helper takes a tuple's items": (ADD, "both = (v, v)\nout[t, :] = add(*both)", X * 2),
    "a helper gives several results": (
        "@ak.inline\ndef both(a):\n    b = a + 1\n    return a, b\n\n",
        "a, b = both(v)\nout[t, :] = a * b",
        X * (X + 1),
    ),
    "a helper's names are its own": (
        "@ak.inline\ndef f(v):\n    w = v + 1\n    t = w + 1\n    return t\n\n",
        "w = v * 2\nout[t, :] = f(v) + w",
        X * 3 + 2,
    ),
    "a helper calls a helper that is defined after it": (
        "@ak.inline\ndef f(a):\n    return g(a) + 1\n\n@ak.inline\ndef g(a):\n    return a * 2\n\n",
        "out[t, :] = f(v)",
        X * 2 + 1,
    ),
    "a helper returns from a compile-time branch": (
        "@ak.inline\ndef f(a, n):\n    if n > 1:\n        return a * n\n    return a\n\n",
        "out[t, :] = f(v, 1) + f(v, 3)",
        X * 4,
    ),
    "a helper reads a tensor that it is given": (
        "@ak.inline\ndef f(a, i):\n    return a[i, :]\n\n",
        "out[t, :] = f(x, t) + v",
        X * 2,
    ),
    "a helper sees what is missing": (
        "@ak.inline\ndef f(a, b=None):\n    return a if b is None else a + b\n\n",
        "out[t, :] = f(v) + f(v, b=1)",
        X * 2 + 1,
    ),
    "a conditional expression picks at compile time": ("", "out[t, :] = v * (2 if HALF < 1 else v)", X * 2),
    "something is not None": ("", "if x is not None:\n    v = v + 1\nout[t, :] = v", X + 1),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_structure_means_what_it_means_in_python(name: str):
    helpers, body, expected = MEANINGS[name]
    np.testing.assert_array_equal(result_of(helpers, body), expected)


F = "@ak.inline\ndef f(a, b=1):\n    return a + b\n\n"
WRONG = {
    "a position past a tuple's end": ("", "h = (v, v)\nout[t, :] = h[2]", "AK222"),
    "a run-time position in a tuple": ("", "h = (v, v)\nout[t, :] = h[T]", "AK218"),
    "a tuple's slice with a step of 0": ("", "h = (v, v)\nout[t, :] = h[::0][0]", "AK504"),
    "items of what is no tuple": ("", "h = (*v, v)\nout[t, :] = v", "AK106"),
    "a tuple that doubles without end": ("", "h = (v,)\nfor i in range(40):\n    h = (h, h)\nout[t, :] = v", "AK106"),
    "a loop that is too long": ("", "for i in range(5000):\n    v = v + i\nout[t, :] = v", "AK409"),
    "loops of nothing that are too long": (
        "",
        "for i in range(1000):\n    for j in range(1000):\n        pass\nout[t, :] = v",
        "AK605",
    ),
    "names that do not fit": ("", "for a, b in ((1, 2), (3, 4, 5)):\n    v = v + a\nout[t, :] = v", "AK121"),
    "an argument too many": (F, "out[t, :] = f(v, 1, 2)", "AK122"),
    "an argument that is missing": (F, "out[t, :] = f()", "AK122"),
    "an argument given twice": (F, "out[t, :] = f(v, a=v)", "AK122"),
    "an unknown keyword": (F, "out[t, :] = f(v, c=v)", "AK122"),
    "a helper that calls itself": ("@ak.inline\ndef f(a):\n    return f(a)\n\n", "out[t, :] = f(v)", "AK109"),
    "helpers that call each other": (
        "@ak.inline\ndef f(a):\n    return g(a)\n\n@ak.inline\ndef g(a):\n    return f(a)\n\n",
        "out[t, :] = f(v)",
        "AK109",
    ),
    "a function that is no helper": ("def f(a):\n    return a\n\n", "out[t, :] = f(v)", "AK109"),
    "a name of the kernel in a helper": ("@ak.inline\ndef f(a):\n    return a + v\n\n", "out[t, :] = f(v)", "AK201"),
    "a grid in a helper": (
        "@ak.inline\ndef f(a):\n    for s in ak.grid(T):\n        a[s, :] = 0\n\n",
        "out[t, :] = v\nf(out)",
        "AK120",
    ),
    "a return in a kernel": ("", "out[t, :] = v\nreturn v", "AK105"),
    "a helper's result that is not there": ("@ak.inline\ndef f(a):\n    a + 1\n\n", "out[t, :] = f(v)", "AK119"),
    "identity of what is no None": ("", "if v is x:\n    v = v + 1\nout[t, :] = v", "AK106"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_structure_is_rejected(name: str):
    helpers, body, code = WRONG[name]
    assert code in codes(lower(text_of(helpers, body)))


def test_an_error_in_a_helper_points_there_and_labels_the_call():
    found = lower(text_of("@ak.inline\ndef f(a):\n    return a + True\n\n", "out[t, :] = f(v)")).diagnostics
    assert [d.code for d in found] == ["AK205"]
    assert found[0].span.start[0] == 8
    assert [(label.span.start[0], label.text) for label in found[0].labels][-1] == (15, "`f` is called here")


def test_the_fix_marks_a_function_as_a_helper():
    found = lower(text_of("def f(a):\n    return a\n\n", "out[t, :] = f(v)")).diagnostics
    assert found[0].fixes[0].edits[0].text == "@ak.inline\n"
