"""Operations with a short form are computed on several neighbouring registers, with one decision for all of them."""

import re

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.core import Op, Value
from agentkern.compiler.ir.gpu_types import RegisterArray
from agentkern.compiler.ir.interpreter import interpret
from agentkern.compiler.ir.tables import OPS
from agentkern.compiler.ir.types import TileType
from agentkern.dsl.dtypes import DTYPES
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions, build

SOURCE = """
import agentkern as ak

T = ak.dim("T")
H = ak.static("H")


@ak.kernel
def kernel(x: ak.In[ak.f32, T, H], out: ak.Out[ak.f32, T, H]):
    for t in ak.grid(T):
        row = x[t, :]
        {body}
"""
SOFTMAX = "e = ak.exp(row - ak.max(row, axis=1, keepdims=True)); out[t, :] = e / ak.sum(e, axis=1, keepdims=True)"
MASKED = (
    "e = ak.exp(ak.where(ak.arange(H)[None, :] < 5, row, -ak.inf)); "
    "out[t, :] = ak.where(row < 0.5, 0.0, e) / ak.sum(ak.exp2(ak.where(row > 3.0, -ak.inf, row)), axis=1, keepdims=True)"
)
GATE = "out[t, :] = ak.silu(row * 3) * ak.tanh(row) + ak.exp2(row)"


def cuda(body: str, columns: int) -> str:
    result = compile_kernel(CompileRequest(SOURCE.format(body=body), "kernel.py", dims={"H": columns}))
    assert result.status == "ok", result.diagnostics
    return result.cuda


def test_a_threads_exponentials_are_computed_together():
    text = cuda(SOFTMAX, 1024)
    assert re.search(r"const bool e_usual = ak_exp_f32x\d+\(e, \w+\);", text)


def test_bounds_of_a_usual_result_spare_the_next_operation_its_conditions():
    assert re.search(r"= ak_divide_by_f32x\d+_vss_in_\w+\(\w+, e, \w+, \w+, e_usual\);", cuda(SOFTMAX, 1024))
    other = cuda("out[t, :] = row / ak.sum(row, axis=1, keepdims=True)", 1024)
    assert re.search(r"= ak_divide_by_f32x\d+_vss\(\w+, \w+, \w+, \w+\);", other)


def test_zeros_are_divided_before_the_definition_is_asked():
    """They are met without masks too: of absent elements, of what was cut at zero."""
    text = cuda("out[t, :] = row / ak.max(row, axis=1, keepdims=True)", 1024)
    body = text.partition(" bool ak_divide_by_f32x")[2].partition("\n}\n")[0]
    order = [body.index("if (is_usual) {"), body.index("ak_is_wide_divide_by_f32("), body.rindex("#pragma unroll 1")]
    assert order == sorted(order)


def test_where_no_mask_is_seen_infinities_cost_no_registers():
    assert "ak_wide_" not in cuda(SOFTMAX, 1024)


def test_behind_a_mask_the_wide_form_comes_first():
    text = cuda(MASKED, 1024)
    for name, kinds in (("exp", ""), ("exp2", ""), ("divide_by", "_vss")):
        assert re.search(rf"const bool \w+ = ak_{name}_f32x\d+{kinds}_masked\(", text)
        body = text.partition(f" bool ak_{name}_f32x")[2].partition("\n}\n")[0]
        assert "ak_is_usual" not in body
    # a maximum that is replaced where there is none masks nothing
    safe = "m = ak.max(row, axis=1, keepdims=True); out[t, :] = ak.exp(row - ak.where(m > -ak.inf, m, 0.0))"
    assert "_masked(" not in cuda(safe, 1024)


def test_one_register_a_thread_takes_the_definition():
    text = cuda("out[t, :] = row * ak.exp(ak.sum(row, axis=1, keepdims=True))", 7168)
    assert "ak_exp_f32(" in text
    assert "usual" not in text


def test_a_type_without_a_usual_form_takes_its_own_text():
    text = SOURCE.replace("ak.f32", "ak.f16").format(body="out[t, :] = row / row")
    result = compile_kernel(CompileRequest(text, "kernel.py", dims={"H": 1024}))
    assert "usual" not in result.cuda


@pytest.mark.toolchain
@pytest.mark.parametrize("columns", [8, 97, 1024])
@pytest.mark.parametrize("body", [SOFTMAX, MASKED, GATE])
def test_vectors_with_unusual_members_keep_the_bits(simulator_cache, body, columns):
    """One extreme value among usual ones sends its neighbours to the definition too: nothing shows."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(7, columns)).astype(np.float32) * 4
    extremes = np.asarray([np.inf, -np.inf, np.nan, 1e-42, -0.0, 95.0, -95.0, 3e38, -120.0], np.float32)
    at = rng.integers(0, x.size, 11)
    x.reshape(-1)[at] = rng.choice(extremes, 11)
    x[3] = -0.0
    x[4] = -np.inf
    result = compile_kernel(CompileRequest(SOURCE.format(body=body), "kernel.py", dims={"H": columns}))
    assert result.kernel is not None and result.abi is not None
    got, want = ({"x": x.copy(), "out": np.zeros_like(x)} for _ in range(2))
    interpret(result.kernel, want, {"T": 7}, {})
    reports = simulate(result.abi, build(result.cuda, simulator_cache), got, {"T": 7}, {}, SimulatorOptions())
    assert not [finding for report in reports for finding in report.findings]
    assert np.array_equal(got["out"].view(np.uint32), want["out"].view(np.uint32))


def usual(name: str, count: int, *operands: Value, **attrs: object) -> Op:
    return Op(OPS["usual"], operands, {"name": name, "count": count, **attrs}, (Value(FLAG.type),))


ARRAY, SHORT = (Value(RegisterArray(DTYPES["f32"], n), "r") for n in (8, 4))
PLACE, SCALAR, FLAG = (Value(TileType(DTYPES[name]), "v") for name in ("i32", "f32", "bool"))


def test_the_verifier_takes_arrays_with_their_first_register():
    rule = OPS["usual"].rule
    assert rule is not None
    assert rule(usual("exp", 8, ARRAY, PLACE, ARRAY, PLACE)) is None
    assert rule(usual("divide_by", 8, ARRAY, PLACE, ARRAY, PLACE, SCALAR, SCALAR)) is None
    assert rule(usual("exp", 8, ARRAY, PLACE, ARRAY, PLACE, FLAG, within=(0.5, 2.0))) is None
    assert rule(usual("exp", 8, ARRAY, PLACE, ARRAY, PLACE, masked=True)) is None


@pytest.mark.parametrize(
    "wrong",
    [
        usual("add", 8, ARRAY, PLACE, ARRAY, PLACE),
        usual("exp", 8, SHORT, PLACE, ARRAY, PLACE),
        usual("exp", 8, SCALAR, PLACE, ARRAY, PLACE),
        usual("exp", 8, ARRAY, ARRAY, ARRAY, PLACE),
        usual("exp", 8, ARRAY, PLACE, ARRAY, PLACE, within=(0.5, 2.0)),
        usual("exp", 8, ARRAY, PLACE, ARRAY, PLACE, FLAG, within=(0.5, 2.0), masked=True),
        usual("tanh", 8, ARRAY, PLACE, ARRAY, PLACE, masked=True),
    ],
)
def test_the_verifier_refuses_other_operands(wrong):
    rule = OPS["usual"].rule
    assert rule is not None
    assert rule(wrong) is not None
