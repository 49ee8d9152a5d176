"""Accepted expressions mean what NumPy means: lowered, interpreted, compared bit for bit on exact values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agentkern.compiler.ir.interpreter import interpret
from tests.compiler.frontend.kernels import accepted, text_of

Array = np.ndarray
HEIGHT, WIDTH = 5, 8


def inputs(dtype: str) -> dict[str, Array]:
    """Small exact values: every operation below is exact on them."""
    rng = np.random.default_rng(7)
    np_dtype = {
        "f32": np.float32,
        "f64": np.float64,
        "i32": np.int32,
        "i64": np.int64,
        "u8": np.uint8,
        "bool": np.bool_,
    }[dtype]
    low, high = (0, 2) if dtype == "bool" else (1, 9) if dtype.startswith("u") else (-8, 9)
    x = rng.integers(low, high, (HEIGHT, WIDTH)).astype(np_dtype)
    y = rng.integers(low, high, (HEIGHT, WIDTH)).astype(np_dtype)
    return {"a": x, "b": y, "c": x[0].copy()}


def run(
    expression: str, dtype: str, out: str, shape: tuple[int, ...], before: str = "", *, static: bool = True
) -> Array:
    """Store an expression over `x[t, :]` as `x`, `y[t, :]` as `y`, `w[:]` as `w`; return the output's raw array."""
    extents = ", ".join({HEIGHT: "T", WIDTH: "H"}.get(extent, str(extent)) for extent in shape)
    signature = ", ".join(
        [
            *(f"{n}: ak.In[ak.{dtype}, T, H]" for n in "ab"),
            f"c: ak.In[ak.{dtype}, H]",
            f"out: ak.Out[ak.{out}, {extents}]",
        ]
    )
    target = ", ".join(["t", *[":"] * (len(shape) - 1)])
    body = f"for t in ak.grid(T):\n    x, y, w = a[t, :], b[t, :], c[:]\n    {before}\n    out[{target}] = {expression}"
    kernel = accepted(text_of(signature, body), {"H": WIDTH} if static else {})
    tensors = inputs(dtype)
    storage = {
        "f32": np.float32,
        "f64": np.float64,
        "i32": np.int32,
        "i64": np.int64,
        "u8": np.uint8,
        "bool": np.bool_,
    }[out]
    tensors["out"] = np.full(shape, 77, storage)
    sizes = {"T": HEIGHT} if static else {"T": HEIGHT, "H": WIDTH}
    interpret(kernel, tensors, sizes, {})
    return tensors["out"]


FULL, ROW = (HEIGHT, WIDTH), (HEIGHT,)
Case = tuple[str, str, str, tuple[int, ...], Callable[[Array, Array, Array], object]]
CASES: list[Case] = [
    ("x + y", "f32", "f32", FULL, lambda x, y, w: x + y),
    ("x - y * 2", "f32", "f32", FULL, lambda x, y, w: x - y * 2),
    ("2.0 / (y * y + 1.0) * 0.0 + x", "f32", "f32", FULL, lambda x, y, w: x),
    ("-x", "i32", "i32", FULL, lambda x, y, w: -x),
    ("x // (y * y + 1)", "i32", "i32", FULL, lambda x, y, w: x // (y * y + 1)),
    ("x % 3", "i64", "i64", FULL, lambda x, y, w: x % 3),
    ("(x & y) | (x ^ 5)", "i32", "i32", FULL, lambda x, y, w: (x & y) | (x ^ 5)),
    ("~x << 2 >> 1", "i32", "i32", FULL, lambda x, y, w: ~x << 2 >> 1),
    ("~(x | y)", "bool", "bool", FULL, lambda x, y, w: ~(x | y)),
    ("x < y", "f32", "bool", FULL, lambda x, y, w: x < y),
    ("(x >= y) & (x != 3)", "i32", "bool", FULL, lambda x, y, w: (x >= y) & (x != 3)),
    ("x * w", "f32", "f32", FULL, lambda x, y, w: x * w),
    ("x * w[None, :] + y", "f32", "f32", FULL, lambda x, y, w: x * w + y),
    ("ak.maximum(x, y)", "f32", "f32", FULL, lambda x, y, w: np.maximum(x, y)),
    ("ak.minimum(x, 0)", "i32", "i32", FULL, lambda x, y, w: np.minimum(x, 0)),
    ("ak.clip(x, -2, 3)", "f32", "f32", FULL, lambda x, y, w: np.clip(x, -2, 3)),
    ("ak.where(x > y, x, 0)", "f32", "f32", FULL, lambda x, y, w: np.where(x > y, x, 0)),
    ("ak.fma(x, y, 1.0)", "f32", "f32", FULL, lambda x, y, w: x * y + 1),
    ("ak.copysign(x, y)", "f32", "f32", FULL, lambda x, y, w: np.copysign(x, y)),
    ("ak.abs(x) + ak.sign(y)", "f32", "f32", FULL, lambda x, y, w: np.abs(x) + np.sign(y)),
    ("ak.sqrt(x * x)", "f32", "f32", FULL, lambda x, y, w: np.abs(x)),
    ("ak.floor(x * 0.5) + ak.ceil(y * 0.5)", "f32", "f32", FULL, lambda x, y, w: np.floor(x / 2) + np.ceil(y / 2)),
    ("ak.round(x * 0.5) + ak.trunc(y * 0.5)", "f32", "f32", FULL, lambda x, y, w: np.round(x / 2) + np.trunc(y / 2)),
    ("ak.isnan(x / (y - y))", "f32", "bool", FULL, lambda x, y, w: x == 0),
    ("ak.isinf(x + ak.inf)", "f32", "bool", FULL, lambda x, y, w: np.ones_like(x)),
    ("ak.sum(x, axis=1)", "f32", "f32", ROW, lambda x, y, w: x.sum(1)),
    ("ak.sum(x, axis=-1)", "i32", "i32", ROW, lambda x, y, w: x.sum(1)),
    ("ak.sum(x > 0, axis=1)", "f32", "i32", ROW, lambda x, y, w: (x > 0).sum(1)),
    ("ak.max(x, axis=1) - ak.min(y, axis=(1,))", "f32", "f32", ROW, lambda x, y, w: x.max(1) - y.min(1)),
    ("x - ak.mean(x, axis=1, keepdims=True)", "f32", "f32", FULL, lambda x, y, w: x - x.mean(1, keepdims=True)),
    ("x - ak.absmax(x, axis=1)[:, None]", "f32", "f32", FULL, lambda x, y, w: x - np.abs(x).max(1)[:, None]),
    ("ak.any(x > 7, axis=1)", "f32", "bool", ROW, lambda x, y, w: (x > 7).any(1)),
    ("ak.all(x > -8, axis=1)", "f32", "bool", ROW, lambda x, y, w: (x > -8).all(1)),
    ("ak.sum(w) + ak.max(w, axis=0) + x", "f32", "f32", FULL, lambda x, y, w: w.sum() + w.max() + x),
    ("ak.sum(x.reshape(t, 2, H // 2), axis=2)", "f32", "f32", (HEIGHT, 2), lambda x, y, w: x.reshape(-1, 2, 4).sum(2)),
    (
        "x.reshape(t, -1, 4)[:, 1, :].reshape((t, 4))",
        "f32",
        "f32",
        (HEIGHT, 4),
        lambda x, y, w: x.reshape(-1, 2, 4)[:, 1],
    ),
    ("x.T.T", "f32", "f32", FULL, lambda x, y, w: x),
    ("x[:, 2:6]", "f32", "f32", (HEIGHT, 4), lambda x, y, w: x[:, 2:6]),
    ("x[:, -3:]", "f32", "f32", (HEIGHT, 3), lambda x, y, w: x[:, -3:]),
    ("x[:, 1] * 2", "i32", "i32", ROW, lambda x, y, w: x[:, 1] * 2),
    ("x[:, -1]", "f32", "f32", ROW, lambda x, y, w: x[:, -1]),
    ("x[t, :]", "f32", "f32", FULL, lambda x, y, w: x),
    (
        "w.reshape(2, 4).T.reshape(8)",
        "f32",
        "f32",
        FULL,
        lambda x, y, w: np.broadcast_to(w.reshape(2, 4).T.reshape(8), x.shape),
    ),
    ("w[0]", "f32", "f32", FULL, lambda x, y, w: np.full_like(x, w[0])),
    ("x.to(ak.i32)", "f32", "i32", FULL, lambda x, y, w: x.astype(np.int32)),
    ("x.to(ak.bool)", "f32", "bool", FULL, lambda x, y, w: x != 0),
    ("(x > 0).to(ak.f32)", "f32", "f32", FULL, lambda x, y, w: (x > 0).astype(np.float32)),
    ("x.bitcast(ak.i32)", "f32", "i32", FULL, lambda x, y, w: x.view(np.int32)),
    ("x + y.to(ak.i64)", "i32", "i64", FULL, lambda x, y, w: x.astype(np.int64) + y),
    ("x + y.to(ak.i16)", "u8", "i32", FULL, lambda x, y, w: x.astype(np.int32) + y),
    ("ak.zeros((t, H), ak.f32) + x", "f32", "f32", FULL, lambda x, y, w: x),
    ("ak.full((t,), 3, ak.i32)", "f32", "i32", ROW, lambda x, y, w: np.full(HEIGHT, 3)),
    ("ak.full((t, H), w[1], ak.f32)", "f32", "f32", FULL, lambda x, y, w: np.full_like(x, w[1])),
    ("ak.broadcast_to(w, (t, H))", "f32", "f32", FULL, lambda x, y, w: np.broadcast_to(w, x.shape)),
    ("x * H", "f32", "f32", FULL, lambda x, y, w: x * WIDTH),
    ("x * (H // 2 - 1)", "i32", "i32", FULL, lambda x, y, w: x * 3),
    ("x * (1 / H)", "f32", "f32", FULL, lambda x, y, w: x / WIDTH),
    ("x * ak.cdiv(H, 3)", "f32", "f32", FULL, lambda x, y, w: x * 3),
    ("x + T.to(ak.f32)", "f32", "f32", FULL, lambda x, y, w: x + HEIGHT),
    ("x + T", "i64", "i64", FULL, lambda x, y, w: x + HEIGHT),
    ("t.index", "f32", "i64", ROW, lambda x, y, w: np.arange(HEIGHT)),
    ("t.index[:, None] * H + x", "i64", "i64", FULL, lambda x, y, w: np.arange(HEIGHT)[:, None] * WIDTH + x),
    ("2", "f32", "f32", FULL, lambda x, y, w: np.full_like(x, 2)),
    ("-ak.inf", "f32", "f32", FULL, lambda x, y, w: np.full_like(x, -np.inf)),
    ("True", "f32", "bool", FULL, lambda x, y, w: np.ones_like(x)),
    ("x if 2 > 1 else y", "f32", "f32", FULL, lambda x, y, w: x),
    ("(x, y)[1]", "f32", "f32", FULL, lambda x, y, w: y),
    ("x * 2**-1 * (7 % 4)", "f32", "f32", FULL, lambda x, y, w: x * 1.5),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_an_expression_means_what_numpy_means(case: Case):
    expression, dtype, out, shape, meaning = case
    given = inputs(dtype)
    with np.errstate(all="ignore"):
        want = np.asarray(meaning(given["a"], given["b"], given["c"]))
    got = run(expression, dtype, out, shape)
    assert np.array_equal(got, want.astype(got.dtype))


@pytest.mark.parametrize(
    "expression", ["x * H", "x * (1 / H)", "x * (H // 2 - 1)", "x * (1.5 * H - H)", "x + ak.sqrt(H * H)"]
)
def test_an_open_static_size_means_the_same_as_its_number(expression: str):
    open_size = run(expression, "f32", "f32", FULL, static=False)
    assert np.array_equal(open_size, run(expression, "f32", "f32", FULL))


STATEMENTS = {
    "z = x\nz += y": lambda x, y: x + y,
    "z = x\nfor k in range(1, 4):\n    z = z * 2 + k": lambda x, y: ((x * 2 + 1) * 2 + 2) * 2 + 3,
    "z = x\nfor k in (1, 2.0, H):\n    z = z * k": lambda x, y: x * 16,
    "if H > 4 and not H > 100:\n    z = x\nelse:\n    z = y": lambda x, y: x,
    "z, u = y, x\nz, u = u, z\nz = z + 0 * u": lambda x, y: x,
    'z = x\n"""Comments may be strings."""\npass': lambda x, y: x,
}


@pytest.mark.parametrize("before", [name for name in STATEMENTS])
def test_statements_mean_what_python_means(before: str):
    given = inputs("f32")
    want = STATEMENTS[before](given["a"], given["b"])
    assert np.array_equal(run("z", "f32", "f32", FULL, before.replace("\n", "\n    ")), want)
