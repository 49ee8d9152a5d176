"""The kernels of the language's first page lower, with and without numbers for their static sizes."""

from __future__ import annotations

import pytest

from agentkern.compiler.ir.core import Kernel, Op
from tests.compiler.frontend.kernels import accepted, op_names, text_of

VECTOR_ADD = text_of(
    "a: ak.In[ak.{dtype}, N], b: ak.In[ak.{dtype}, N], out: ak.Out[ak.{dtype}, N]",
    "for n in ak.grid(N):\n    out[n] = a[n] + b[n]",
)
RMS_NORM = text_of(
    "x: ak.In[ak.bf16, T, H], weight: ak.In[ak.bf16, H], out: ak.Out[ak.bf16, T, H], eps: ak.f32 = 1e-6",
    """for t in ak.grid(T):
    row = x[t, :].to(ak.f32)
    scale = ak.rsqrt(ak.sum(row * row, axis=1, keepdims=True) / H + eps)
    out[t, :] = (row * scale * weight[:].to(ak.f32)).to(ak.bf16)""",
)
PER_TOKEN_CAST = text_of(
    "x: ak.In[ak.bf16, T, H], q: ak.Out[ak.e4m3, T, H], sf: ak.Out[ak.f32, T, ak.cdiv(H, 128)]",
    """for t, h in ak.grid(T, H, block=(None, 128)):
    v = x[t, h].to(ak.f32)
    a = ak.maximum(ak.absmax(v, axis=1), 1e-4)
    q[t, h] = (v * (448.0 / a)[:, None]).to(ak.e4m3)
    sf[t, h.ordinal] = a / 448.0""",
)


def types(kernel: Kernel) -> list[str]:
    return [str(op.result.type) for op in _body(kernel) if op.results]


def _body(kernel: Kernel) -> tuple[Op, ...]:
    return kernel.body[0].regions[0].ops


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_vector_add_is_two_loads_an_addition_and_a_store(dtype: str):
    kernel = accepted(VECTOR_ADD.replace("{dtype}", dtype))
    assert op_names(kernel) == ["load", "load", "add", "store"]
    assert types(kernel) == [f"tile<{dtype}, [%n]>"] * 3


def test_rms_norm_divides_by_the_number_of_its_static_size():
    kernel = accepted(RMS_NORM, {"H": 7168})
    (constant,) = [op for op in _body(kernel) if op.name == "constant"]
    assert constant.attrs["value"] == 7168.0
    assert "tile<f32, [%t, 1]>" in types(kernel)
    assert [param.name for param in kernel.params] == ["x", "weight", "out", "eps"]


def test_rms_norm_with_an_open_size_reads_it_as_a_size():
    assert [name for name in op_names(accepted(RMS_NORM)) if name in ("size", "constant")] == ["size"]


def test_per_token_cast_stores_one_scale_per_block():
    kernel = accepted(PER_TOKEN_CAST, {"H": 576})
    stores = [op for op in _body(kernel) if op.name == "store"]
    assert [op.attrs["index"] for op in stores] == [("$0", "$1"), ("$0", "$1")]
    assert [str(op.operands[0].type) for op in stores] == ["out<e4m3, [T, 576]>", "out<f32, [T, 5]>"]


def test_a_block_that_is_never_clipped_is_a_number():
    assert "tile<f32, [%t, 128]>" in types(accepted(PER_TOKEN_CAST, {"H": 512}))
    assert "tile<f32, [%t, %h]>" in types(accepted(PER_TOKEN_CAST, {"H": 576}))


def test_scalar_expressions_before_a_grid_move_into_the_grids_that_use_them():
    text = text_of(
        "x: ak.In[ak.f32, T], out: ak.Out[ak.f32, T], y: ak.Out[ak.f32, T], s: ak.f32",
        """k = s * 2.0
unused = s + 1.0
for t in ak.grid(T):
    out[t] = x[t] * k
for t in ak.grid(T):
    y[t] = x[t]""",
    )
    kernel = accepted(text)
    assert [op.name for op in kernel.body] == ["grid", "grid"]
    assert op_names(kernel) == ["constant", "mul", "load", "broadcast", "mul", "store"]
    assert [op.name for op in kernel.body[1].regions[0].ops] == ["load", "store"]
    assert [grid.regions[0].args[0].type.name for grid in kernel.body] == ["%t", "%t.1"]


def test_each_gives_a_scalar_index():
    text = text_of(
        "x: ak.In[ak.f32, N, T], out: ak.Out[ak.f32, N, T]",
        "for n, t in ak.grid(ak.each(N), T):\n    out[n, t] = x[n, t] * n.to(ak.f32)",
    )
    kernel = accepted(text)
    assert op_names(kernel) == ["start", "load", "cast", "broadcast", "mul", "store"]
    assert types(kernel)[1] == "tile<f32, [%t]>"


def test_lowering_is_the_same_text_every_time():
    from agentkern.compiler.ir.printer import print_kernel  # noqa: PLC0415 - only this test prints

    assert print_kernel(accepted(RMS_NORM)) == print_kernel(accepted(RMS_NORM))
