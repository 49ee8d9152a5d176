"""A call that passes one tensor as an input and as an output: allowed where every element is read before it is written."""

from pathlib import Path

import numpy as np
import pytest

import agentkern
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.proofs.in_place import not_in_place
from agentkern.runtime.call_errors import CallError

HEADER = "import agentkern as ak\n\nT, N, H = ak.dim('T'), ak.dim('N'), ak.static('H')\n\n\n@ak.kernel\n"
X, O = "x: ak.In[ak.f32, T, H]", "o: ak.Out[ak.f32, T, H]"  # noqa: E741
ROWS = "    for t in ak.grid(T):\n"


def kernel_text(parameters: str, body: str) -> str:
    return f"{HEADER}def k({parameters}):\n{body}"


# (parameters, body, whether `o` may be `x`)
CASES = [
    (f"{X}, {O}", f"{ROWS}        o[t, :] = x[t, :] * 2.0\n", True),
    (f"{X}, {O}", f"{ROWS}        o[t, :] = x[t, :] / ak.sum(x[t, :], axis=1, keepdims=True)\n", True),
    (f"{X}, {O}", f"{ROWS}        o[t, :] = x[t, :]\n        o[t, :] = o_of(x[t, :])\n".replace("o_of", "ak.exp"), False),
    (f"{X}, {O}", f"{ROWS}        v = x[t, :]\n        o[t, 0] = ak.sum(v, axis=1)\n        o[t, 1:] = v[:, 1:]\n", True),
    (f"{X}, {O}", f"{ROWS}        o[t, :] = ak.load(x[t - 1, :], fill=0)\n", False),
    (f"{X}, {O}", f"{ROWS}        o[t, :] = x[t, :] + x[0, :]\n", False),
    (f"{X}, {O}", f"{ROWS}        o.T[:, t] = x[t, :].T\n", True),
    (f"{X}, {O}", "    for n in ak.grid(T * H):\n        o.reshape(T * H)[n] = x.reshape(T * H)[n] + 1.0\n", True),
    (f"{X}, {O}", "    for n in ak.grid(T * H):\n        o.reshape(T * H)[n] = x.reshape(T * H)[T * H - 1 - n]\n", False),
    (f"{X}, {O}", f"{ROWS}        o[t, :] = 0.0\n{ROWS}        o[t, :] = x[t, :]\n", False),
    (f"{X}, {O}", f"{ROWS}        o[t, :] = x[t, :]\n{ROWS}        o[t, 0] = 1.0\n", True),
    (f"{X}, {O}", "    for t in ak.grid(ak.each(T)):\n        for h in ak.steps(ak.each(H)):\n            o[t, h] = x[t, h]\n", True),
    (f"{X}, {O}", "    for t in ak.grid(ak.each(T)):\n        for h in ak.steps(ak.each(H)):\n            o[t, h] = x[t, H - 1 - h]\n", False),
    ("x: ak.In[ak.f32, T, H], o: ak.Out[ak.f32, N, H]", "    for n in ak.grid(N):\n        o[n, :] = 0.0\n", False),
    ("x: ak.In[ak.i32, T, H], o: ak.Out[ak.f32, T, H]", f"{ROWS}        o[t, :] = x[t, :].to(ak.f32)\n", False),
    ("x: ak.In[ak.f32, H, H], o: ak.Out[ak.f32, H, H]", "    for _ in ak.grid():\n        o[:, :] = x[:, :].T\n", True),
    ("x: ak.In[ak.f32, H, H], o: ak.Out[ak.f32, H, H]", "    for h in ak.grid(H):\n        o[h, :] = x[:, h].T\n", False),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "body", "may"), CASES, ids=[body[-60:] for _, body, _ in CASES])
def test_which_outputs_may_be_an_input(parameters: str, body: str, may: bool):
    found = lower_source(kernel_text(parameters, body), "kernel.py", None, {"H": 6}, {})
    assert found.kernel is not None, [d.message for d in found.diagnostics]
    assert (not_in_place(found.kernel, "o", "x") is None) == may


def function(tmp_path: Path, body: str, parameters: str = f"{X}, {O}") -> object:
    path = tmp_path / "kernel.py"
    path.write_text(kernel_text(parameters, body))
    space: dict[str, object] = {"__name__": "kernel", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["k"]


@pytest.mark.parametrize("body", [body for parameters, body, may in CASES if may and parameters == f"{X}, {O}"])
def test_a_call_in_place_gives_the_bits_of_one_apart(body: str, tmp_path: Path):
    kernel = agentkern.compile(function(tmp_path, body))  # pyright: ignore[reportArgumentType]
    x = np.random.default_rng(5).normal(size=(37, 6)).astype(np.float32)
    apart = kernel(x.copy())
    together = x.copy()
    assert kernel(together, o=together) is None
    assert together.tobytes() == np.asarray(apart).tobytes()


@pytest.mark.parametrize("width", [1, 300, 9001])
def test_rows_of_any_length_are_normed_in_place(width: int, tmp_path: Path):
    body = f"{ROWS}        v = ak.exp(x[t, :] - ak.max(x[t, :], axis=1, keepdims=True))\n        o[t, :] = v / ak.sum(v, axis=1, keepdims=True)\n"
    kernel = agentkern.compile(function(tmp_path, body))  # pyright: ignore[reportArgumentType]
    x = np.random.default_rng(5).normal(size=(3, width)).astype(np.float32)
    apart, together = kernel(x.copy()), x.copy()
    kernel(together, o=together)
    assert together.tobytes() == np.asarray(apart).tobytes()


def test_a_call_in_place_is_refused_where_it_reads_too_late(tmp_path: Path):
    kernel = agentkern.compile(function(tmp_path, f"{ROWS}        o[t, :] = x[t, :] + x[0, :]\n"))  # pyright: ignore[reportArgumentType]
    x = np.zeros((4, 6), np.float32)
    with pytest.raises(CallError, match="AK718: `o` is `x`, and `x"):
        kernel(x, o=x)


def test_an_output_that_overlaps_an_input_in_part_is_refused(tmp_path: Path):
    kernel = agentkern.compile(function(tmp_path, f"{ROWS}        o[t, :] = x[t, :]\n"))  # pyright: ignore[reportArgumentType]
    memory = np.zeros((5, 6), np.float32)
    with pytest.raises(CallError, match="AK709"):
        kernel(memory[:4], o=memory[1:])


def test_an_output_that_two_inputs_are_is_read_as_both(tmp_path: Path):
    parameters = f"{X}, y: ak.In[ak.f32, T, H], {O}"
    kernel = agentkern.compile(function(tmp_path, f"{ROWS}        o[t, :] = x[t, :] + y[t, :]\n", parameters))  # pyright: ignore[reportArgumentType]
    x = np.ones((4, 6), np.float32)
    kernel(x, x, o=x)
    assert (x == 2).all()
