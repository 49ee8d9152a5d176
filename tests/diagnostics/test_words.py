"""What a message and its hint say fits the kernel that they are about."""

from __future__ import annotations

import pytest

from agentkern.compiler.driver import CompileRequest, compile_kernel
from tests.compiler.agreement import HEADER

STEPS = """\
def k(x: ak.InOut[ak.f32, N]):
    for _ in ak.grid():
        for k in ak.steps(ak.each(1, N)):
            x[k] = x[k - 1] + 1.0
"""
BLOCKS = """\
def k(x: ak.InOut[ak.f32, N]):
    for n in ak.grid(ak.each(N)):
        x[n] = x[n] + x[0]
"""
GATHERED = """\
def k(x: ak.In[ak.f32, N], ids: ak.In[ak.i32, T], y: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        {}
"""
COUNTED = """\
def k(c: ak.InOut[ak.i32, N], i: ak.In[ak.i32, T].values(0, N), y: ak.Out[ak.i32, T]):
    for t in ak.grid(T):
        ak.atomic_add(c[i[t]], 1)
        y[t] = c[i[t]]
"""
PLAIN = """\
def k(x: ak.In[ak.f32, T]{}, y: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        y[t] = {}
"""
CASES = {
    "another step": (STEPS, "AK314", "what another step of the same block writes", "carry the value from step to step"),
    "another block": (BLOCKS, "AK314", "what another block of the same grid writes", "the block's own elements"),
    "an element of a tensor": (
        GATHERED.format("y[t] = x[ids[t]]"),
        "AK302",
        "`x[ids[t]]` could not be shown",
        "promise `.values(0, N)` on `ids`, or touch only what is inside: `where=(ids[t] >= 0) & (ids[t] < N)`",
    ),
    "a named index": (
        GATHERED.format("p = ids[t] * 2\n        y[t] = x[p]"),
        "AK302",
        "`x[p]` could not be shown",
        "touch only what is inside: `where=(p >= 0) & (p < N)`; or promise with `.values(...)` what that follows from",
    ),
    "an index without a name": (
        GATHERED.format("y[t] = x[ids[t] * 2]"),
        "AK302",
        "`x[...]` could not be shown",
        "name the index, `p = ...`, and touch only what is inside: `where=(p >= 0) & (p < N)`",
    ),
    "positions": (
        GATHERED.format("y[t] = ak.take_along_axis(x[:] * 2.0, ids[:], axis=0)[0]").replace("N]", "8]"),
        "AK302",
        "`ak.take_along_axis` could not be shown",
        "promise `.values(0, 8)` on `ids`",
    ),
    "behind an atomic": (
        COUNTED,
        "AK312",
        "`c[i[t]]` could not be shown to read nothing that the same grid writes",
        "read it in a later grid",
    ),
    "strides": (PLAIN.format(".strides(1, 2)", "x[t]"), "AK213", "2 strides for 1 axis", ".strides(2 * H, 1)"),
    "alignment": (PLAIN.format(".aligned(3)", "x[t]"), "AK213", "power of two", ".aligned(16)"),
    "a promise of a float": (PLAIN.format(".values(0, T)", "x[t]"), "AK213", "about integers", "leave `.values(...)`"),
    "an operator": (PLAIN.format("", "x[t] @ x[t]"), "AK601", "`@` is not supported yet", "ak.sum"),
    "an exponent": (PLAIN.format("", "x[t] ** 0.5"), "AK601", "this exponent of `**` is not supported yet", "multiply"),
    "a long number": (PLAIN.format("", "1" * 5000), "AK101", "not valid Python: a number of 5000 digits", ""),
    "a long file": (
        PLAIN.format("", "x[t]") + "#" * 1_000_000,
        "AK103",
        "longer than the 1000000 bytes that are read",
        "",
    ),
}


@pytest.mark.parametrize(("body", "code", "said", "hint"), CASES.values(), ids=CASES)
def test_message_and_hint_speak_of_what_is_written(body: str, code: str, said: str, hint: str) -> None:
    found = compile_kernel(CompileRequest(HEADER + body, "kernel.py")).diagnostics
    (one,) = [diagnostic for diagnostic in found if diagnostic.code == code][:1] or found
    assert one.code == code
    assert said in one.message
    assert hint in one.hint
    assert "``" not in one.message + one.hint
