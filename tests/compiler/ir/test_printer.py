"""Text of kernels reads back equal, for every stage; text that is no kernel is an error with a line."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.core import Builder, Kernel, Op, Region, SizeInfo, Value
from agentkern.compiler.ir.parser import IrSyntaxError, parse_attr, parse_kernel
from agentkern.compiler.ir.printer import attr_text, print_kernel
from agentkern.compiler.ir.tile_ops import TILE_OPS
from agentkern.compiler.ir.types import TileType
from agentkern.compiler.ir.verifier import IrError, verify_kernel
from agentkern.dsl.dtypes import DTYPES

KERNELS = """
import agentkern as ak

T = ak.dim("T", multiple_of=4, max=1 << 20)
H = ak.static("H")


@ak.kernel
def norm(x: ak.In[ak.bf16, T, H], w: ak.In[ak.bf16, H], out: ak.Out[ak.bf16, T, H], eps: ak.f32 = 1e-6):
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        scale = ak.rsqrt(ak.sum(row * row, axis=1, keepdims=True) / H + eps)
        out[t, :] = (row * scale * w[:].to(ak.f32)).to(ak.bf16)


@ak.kernel
def quantise(x: ak.In[ak.bf16, T, H], q: ak.Out[ak.e4m3, T, H], sf: ak.Out[ak.f32, T, ak.cdiv(H, 128)]):
    for t, h in ak.grid(T, H, block=(None, 128)):
        v = x[t, h].to(ak.f32)
        s = ak.maximum(ak.absmax(v, axis=1), 1e-4) / 448.0
        q[t, h] = (v / s[:, None]).to(ak.e4m3)
        sf[t, h.ordinal] = s


@ak.kernel
def several(x: ak.In[ak.i32, T], a: ak.Out[ak.i32, T], b: ak.Out[ak.bool, T]):
    for t in ak.grid(T):
        a[t] = ak.where(x[t] > 3, x[t] // 2, x[t] % 5)
    for t in ak.grid(T):
        b[t] = x[t] == 0
"""


def _texts() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name in ("norm", "quantise", "several"):
        for h in (576, 7168):
            result = compile_kernel(CompileRequest(KERNELS, "kernel.py", name, dims={"H": h}))
            assert result.status == "ok", result.diagnostics
            found += [(f"{name} {h} {stage}", text) for stage, text in result.texts.items() if stage != "cuda"]
    return found


TEXTS = _texts()


def test_every_stage_is_among_the_texts() -> None:
    assert {name.split()[-1] for name, _ in TEXTS} >= {"ir", "placed", "gpu"}


@pytest.mark.parametrize(("name", "text"), TEXTS, ids=[name for name, _ in TEXTS])
def test_text_of_a_stage_reads_back_equal(name: str, text: str) -> None:
    kernel = parse_kernel(text)
    assert print_kernel(kernel) == text
    verify_kernel(kernel)


def _same_ops(a: tuple[Op, ...], b: tuple[Op, ...], to: dict[Value, Value]) -> None:
    for x, y in zip(a, b, strict=True):
        assert x.spec is y.spec
        assert x.location == y.location
        assert list(x.attrs.items()) == list(y.attrs.items())
        assert [to[v] for v in x.operands] == list(y.operands)
        for r, s in zip(x.regions, y.regions, strict=True):
            _same_values(r.args, s.args, to)
            _same_ops(r.ops, s.ops, to)
        _same_values(x.results, y.results, to)


def _same_values(a: tuple[Value, ...], b: tuple[Value, ...], to: dict[Value, Value]) -> None:
    for x, y in zip(a, b, strict=True):
        assert x.type == y.type
        to[x] = y


NAMES = st.none() | st.sampled_from(("x", "acc", "row_2", "v"))
TEXT = st.text(alphabet='abc "\\{}[](),:=%@#é\n', max_size=8)
ATTR = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False)
    | TEXT
    | st.just(dims.parse("2 * T + 1")),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(ATTR)
def test_attribute_reads_back_equal(value: object) -> None:
    back = parse_attr(attr_text(value))
    assert back == value
    assert type(back) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, back) == math.copysign(1, value)


def test_not_a_number_reads_back() -> None:
    back = parse_attr(attr_text(math.nan))
    assert isinstance(back, float)
    assert math.isnan(back)


@st.composite
def kernels(draw: st.DrawFn) -> Kernel:
    """Random nests of scalar operations, with names, attributes and locations at will."""
    scalar = TileType(DTYPES["f32"])
    params = [Value(scalar, name) for name in draw(st.lists(st.sampled_from(("a", "b", "x")), max_size=3, unique=True))]

    def fill(builder: Builder, visible: list[Value], depth: int) -> None:
        for _ in range(draw(st.integers(0, 4))):
            builder.location = draw(st.none() | st.tuples(*[st.integers(1, 99)] * 4))
            kind = draw(st.sampled_from(("constant", "add", "grid")))
            if kind == "grid" and depth:
                inner = builder.nested()
                fill(inner, list(visible), depth - 1)
                builder.emit("grid", regions=(Region((), tuple(inner.ops)),))
            elif kind == "add" and visible:
                operands = (draw(st.sampled_from(visible)), draw(st.sampled_from(visible)))
                visible.append(builder.value("add", operands, scalar, None, draw(NAMES)))
            else:
                attrs = {"value": draw(st.floats(allow_nan=False))}
                visible.append(builder.value("constant", (), scalar, attrs, draw(NAMES)))

    builder = Builder(TILE_OPS)
    fill(builder, list(params), 2)
    size = SizeInfo(
        "T", draw(st.booleans()), draw(st.integers(1, 64)), draw(st.integers(0, 3)), draw(st.none() | st.integers(4, 9))
    )
    attrs = {"source_name": draw(TEXT), "statics": draw(st.lists(ATTR, max_size=2).map(tuple))}
    return Kernel("k", "tile", tuple(params), tuple(builder.ops), (size,), attrs)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(kernels())
def test_random_kernel_reads_back_equal(kernel: Kernel) -> None:
    text = print_kernel(kernel)
    back = parse_kernel(text)
    assert print_kernel(back) == text
    assert (back.name, back.stage, back.sizes, dict(back.attrs)) == (
        kernel.name,
        kernel.stage,
        kernel.sizes,
        dict(kernel.attrs),
    )
    to: dict[Value, Value] = {}
    _same_values(kernel.params, back.params, to)
    _same_ops(kernel.body, back.body, to)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.sampled_from(TEXTS), st.data())
def test_damaged_text_is_an_error_with_a_line_or_a_kernel(named: tuple[str, str], data: st.DataObject) -> None:
    _, text = named
    at = data.draw(st.integers(0, len(text) - 1))
    piece = data.draw(st.sampled_from(("", "{", "}", '"', ",", "%", "]", "0", "$", "\n", "T", ":", "(", "é", "-")))
    damaged = text[:at] + piece + text[at + data.draw(st.integers(0, 3)) :]
    try:
        verify_kernel(parse_kernel(damaged))
        line = 1
    except IrSyntaxError as wrong:
        line = wrong.line
    except IrError:
        line = 1
    assert 1 <= line <= damaged.count("\n") + 1
