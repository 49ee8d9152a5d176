"""Each TILE pass: what it rewrites, and the nearest program that it leaves alone."""

import numpy as np
import pytest

from agentkern.compiler.driver import legalise
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.passes.canonicalise_nans import canonicalise_nans
from agentkern.compiler.passes.divide_by_rows import divide_by_rows
from agentkern.compiler.passes.expand_means import expand_means
from agentkern.compiler.passes.simplify import simplify
from agentkern.compiler.passes.split_reductions import split_reductions
from agentkern.compiler.passes.widen_small_floats import widen_small_floats
from tests.compiler.agreement import arrays
from tests.compiler.passes.kernels import after, names, ops, tile


def grid(dtype: str, *lines: str, out: str = "f32") -> str:
    """An element kernel over x, y (N) whose last line stores to o."""
    body = "".join(f"        {line}\n" for line in lines)
    return (
        f"def k(x: ak.In[ak.{dtype}, N], y: ak.In[ak.{dtype}, N], o: ak.Out[ak.{out}, N]):\n"
        f"    for n in ak.grid(N):\n{body}"
    )


def test_repeated_loads_stay_and_repeated_arithmetic_goes() -> None:
    kernel = after(simplify, grid("f32", "a = x[n]", "o[n] = (a * a) + (a * a)"))
    assert names(kernel).count("mul") == 1
    assert names(kernel).count("add") == 1


def test_different_arithmetic_is_not_merged() -> None:
    kernel = after(simplify, grid("f32", "a = x[n]", "o[n] = (a * a) + (a * y[n])"))
    assert names(kernel).count("mul") == 2


def test_minus_zero_and_zero_are_different_constants() -> None:
    kernel = after(simplify, grid("f32", "o[n] = x[n] * 0.0 + y[n] * -0.0"))
    values = {str(op.attrs["value"]) for op in ops(kernel, "constant")}
    assert values == {"0.0", "-0.0"}


def test_unused_values_go() -> None:
    kernel = after(simplify, grid("f32", "a = y[n]", "b = a * a", "o[n] = x[n]"))
    assert names(kernel) == ["load", "store"]


def loop(*lines: str, stored: str) -> str:
    """A loop that carries a, b and c."""
    body = "".join(f"            {line}\n" for line in lines)
    return (
        "def k(x: ak.In[ak.f32, N, T], o: ak.Out[ak.f32, T], p: ak.Out[ak.f32, N, T].partial()):\n"
        "    for t in ak.grid(T):\n"
        "        p[0:0, t] = 0\n"
        "        a = b = c = ak.zeros((t,), ak.f32)\n"
        "        for n in ak.steps(ak.each(N)):\n"
        f"{body}"
        f"        o[t] = {stored}\n"
    )


def test_loop_that_nothing_reads_goes() -> None:
    kernel = after(simplify, loop("a = a + x[n, t]", stored="1.0"))
    assert "loop" not in names(kernel)
    kernel = after(simplify, loop("a = a + x[n, t]", "p[n, t] = x[n, t]", stored="1.0"))
    assert "loop" in names(kernel)
    assert "add" not in names(kernel)


def test_carried_value_goes_where_only_itself_needs_it() -> None:
    kernel = after(simplify, loop("a = a + x[n, t]", "b = b * 2.0 + x[n, t]", "c = c + b", stored="a"))
    assert len(ops(kernel, "loop")[0].results) == 1
    assert "mul" not in names(kernel)
    kernel = after(simplify, loop("a = a + b", "b = b * 2.0 + c", "c = c + x[n, t]", stored="a"))
    assert len(ops(kernel, "loop")[0].results) == 3


def test_bf16_addition_goes_through_f32() -> None:
    kernel = after(widen_small_floats, grid("bf16", "o[n] = x[n] + y[n]", out="bf16"))
    assert names(kernel) == ["load", "load", "cast", "cast", "add", "cast", "store"]
    add = ops(kernel, "add")[0].result.type
    assert isinstance(add, TileType)
    assert add.dtype.name == "f32"


def test_bf16_moves_stay_narrow() -> None:
    kernel = after(widen_small_floats, grid("bf16", "o[n] = x[n]", out="bf16"))
    assert names(kernel) == ["load", "store"]


def test_mean_is_a_sum_and_one_division() -> None:
    body = "def k(x: ak.In[ak.f32, T, H], o: ak.Out[ak.f32, T]):\n    for t in ak.grid(T):\n        o[t] = ak.mean(x[t, :], axis=1)\n"
    kernel = after(expand_means, body, H=300)
    assert "mean" not in names(kernel)
    assert ops(kernel, "constant")[0].attrs["value"] == 300.0
    assert names(kernel).count("div") == 1


def test_maximum_over_two_axes_takes_one_after_the_other() -> None:
    body = "def k(x: ak.In[ak.f32, T, 3, H], o: ak.Out[ak.f32, T]):\n    for t in ak.grid(T):\n        o[t] = ak.{}(x[t, :, :], axis=(1, 2))\n"
    kernel = after(split_reductions, body.format("absmax"), H=5)
    assert [op.name for op in ops(kernel, "absmax") + ops(kernel, "max")] == ["absmax", "max"]
    flattened = after(split_reductions, body.format("sum"), H=5)
    assert names(flattened).count("sum") == 1
    assert names(flattened).count("reshape") == 1


ROWS = (
    "def k(x: ak.In[ak.f32, T, H], d: ak.In[ak.f32, T, H], o: ak.Out[ak.f32, T, H]):\n"
    "    for t in ak.grid(T):\n        o[t, :] = x[t, :] / {}\n"
)


def test_division_by_a_row_value_uses_its_reciprocal() -> None:
    kernel = after(divide_by_rows, ROWS.format("ak.sum(d[t, :], axis=1, keepdims=True)"), H=300)
    assert names(kernel).count("divide_by") == 1
    assert names(kernel).count("reciprocal") == 1
    assert "div" not in names(kernel)


def test_division_by_another_element_stays() -> None:
    kernel = after(divide_by_rows, ROWS.format("d[t, :]"), H=300)
    assert "divide_by" not in names(kernel)


def test_division_once_per_row_stays() -> None:
    kernel = after(
        divide_by_rows,
        ROWS.format("1.0").replace("x[t, :] / 1.0", "x[t, :] * (ak.sum(d[t, :], axis=1, keepdims=True) / H)"),
        H=300,
    )
    assert "divide_by" not in names(kernel)


@pytest.mark.parametrize(
    ("line", "repaired"),
    [
        ("o[n] = -x[n]", 1),
        ("o[n] = ak.where(y[n] > 0, -x[n], x[n])", 1),
        ("o[n] = -x[n] * y[n]", 0),
        ("o[n] = x[n]", 0),
        ("o[n] = ak.where(-x[n] > 0, x[n], y[n])", 0),
    ],
)
def test_nan_is_repaired_only_where_it_can_be_seen(line: str, repaired: int) -> None:
    kernel = after(canonicalise_nans, grid("f32", line))
    assert names(kernel).count("canonical_nan") == repaired


def test_widening_cast_that_is_stored_is_repaired() -> None:
    kernel = after(canonicalise_nans, grid("bf16", "o[n] = x[n].to(ak.f32)"))
    assert names(kernel).count("canonical_nan") == 1


PROGRAMS = {
    "mean": (ROWS.format("ak.mean(d[t, :], axis=1, keepdims=True)"), {"H": 37}, {"T": 3}),
    "bf16": (grid("bf16", "o[n] = (x[n] + y[n]) * x[n] - ak.abs(y[n])", out="bf16"), {}, {"N": 70}),
    "moves": (grid("f32", "o[n] = ak.where(x[n] > y[n], -x[n], ak.abs(y[n]))"), {}, {"N": 70}),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", ["random", "special"])
def test_legal_program_means_what_the_text_means(name: str, kind: str) -> None:
    body, dims, sizes = PROGRAMS[name]
    kernel = tile(body, **dims)
    want, got = arrays(kernel, sizes, kind), arrays(kernel, sizes, kind)  # pyright: ignore[reportArgumentType]: a kind by name
    interpret(kernel, want, sizes, {})
    interpret(legalise(kernel), got, sizes, {})
    assert all(np.array_equal(want[n].view(np.uint8), got[n].view(np.uint8)) for n in want)
