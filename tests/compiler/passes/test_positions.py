"""Indices are compared with one number in 32 bits: with the numbers at every edge the bits are those of 64."""

import re

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir.interpreter import interpret
from agentkern.runtime.simulate import simulate
from agentkern.runtime.simulator import SimulatorOptions, build

SOURCE = """
import agentkern as ak

T, H = ak.dim("T"), {h}


@ak.kernel
def kernel(at: ak.In[ak.i64, T], out: ak.Out[ak.i32, T, H]):
    for t in ak.grid(T):
        number = at[t][:, None]
        {body}
"""
WHOLE = "out[t, :] = ({}).to(ak.i32)"
STEPS = "for c in ak.steps(H, block=64):\n            out[t, c] = ({}).to(ak.i32)"
FORMS = {
    "range": (WHOLE, "ak.arange(H)[None, :]"),
    "steps": (STEPS, "c.index[None, :]"),
}
EDGES = (0, 1, -1, 63, 64, 96, 97, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**63 - 100)


def made(form: str, text: str, *, static: bool):
    body, index = FORMS[form]
    h = 'ak.static("H")' if static else 'ak.dim("H")'
    source = SOURCE.format(h=h, body=body.format(text.format(index=index)))
    result = compile_kernel(CompileRequest(source, "kernel.py", dims={"H": 97} if static else {}))
    assert result.status == "ok", result.diagnostics
    return result


@pytest.mark.toolchain
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_every_relation_has_its_bits_on_either_side(simulator_cache, form, static):
    relations = ("<", "<=", ">", ">=", "==", "!=")
    left = [f"({{index}} {relation} number).to(ak.i32) * {1 << k}" for k, relation in enumerate(relations)]
    right = [f"(number {relation} {{index}}).to(ak.i32) * {64 << k}" for k, relation in enumerate(relations)]
    result = made(form, " + ".join(left + right), static=static)
    assert result.kernel is not None and result.abi is not None
    at, columns = np.asarray(EDGES, np.int64), 97 if static else 100  # rows of whole accesses where none is known
    got, want = ({"at": at.copy(), "out": np.zeros((len(at), columns), np.int32)} for _ in range(2))
    sizes = {"T": len(at)} if static else {"T": len(at), "H": columns}
    interpret(result.kernel, want, sizes, {})
    reports = simulate(result.abi, build(result.cuda, simulator_cache), got, sizes, {}, SimulatorOptions())
    assert not [finding for report in reports for finding in report.findings]
    assert np.array_equal(got["out"], want["out"])
    place, number = np.arange(columns)[None, :], at[:, None]
    assert ((want["out"] & 1) == (place < number)).all()


def test_positions_are_compared_in_32_bits():
    text = made("range", "{index} <= number", static=True).cuda
    assert re.search(r"<= \(int\)\(", text) or "2147483647ll" in text
