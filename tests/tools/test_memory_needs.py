"""What does not fit in memory is told by code and number before any of it is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.tools.memory_needs import NotEnoughMemory, check_tensors, check_values
from agentkern.tools.verify_model import signature_of
from tests.tools.command_line import agentkern

HEAD = """
import agentkern as ak

T = ak.dim("T")


@ak.kernel
"""
TILE = """def k(x: ak.In[ak.f32, T], y: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        y[t] = x[t] + ak.max(ak.full((t, 1 << 40), 1.0, ak.f32), axis=1)
"""
ARANGE = """def k(x: ak.In[ak.f32, T], y: ak.Out[ak.f32, T]):
    for t in ak.grid(T):
        y[t] = x[t] + ak.max(ak.arange(1 << 40), axis=0).to(ak.f32)
"""
STRIDES = """def k(x: ak.In[ak.f32, T, 4].strides(1 << 62, 1), y: ak.Out[ak.f32, T, 4]):
    for t in ak.grid(T):
        y[t, :] = x[t, :]
"""
SCRATCH = """def k(x: ak.In[ak.f32, T], y: ak.Out[ak.f32, T]):
    s = ak.scratch((1 << 40, T), ak.f32)
    for t in ak.grid(T):
        s[0, t] = x[t]
    for t in ak.grid(T):
        y[t] = s[0, t]
"""


@pytest.mark.parametrize("body", [TILE, ARANGE, STRIDES, SCRATCH], ids=["tile", "arange", "strides", "scratch"])
@pytest.mark.parametrize("command", [("verify",), ("run", "--device", "interp")], ids=["verify", "run"])
def test_what_is_beyond_all_memory_is_refused_at_once(tmp_path: Path, body: str, command: tuple[str, ...]):
    path = tmp_path / "k.py"
    path.write_text(HEAD + body, encoding="utf-8")
    name, *options = command
    answer = agentkern(name, str(path), *options, "--dim", "T=3", "--json").json
    assert [d["code"] for d in answer["diagnostics"]] == ["AK812"]
    assert "GiB" in answer["summary"]


def test_a_row_that_a_block_holds_one_index_of_is_no_more_than_the_row():
    body = TILE.replace("1 << 40", "1 << 20")
    kernel = lower_source(HEAD + body, "k.py").kernel
    assert kernel is not None
    check_values(kernel, {"T": 1 << 40})
    with pytest.raises(NotEnoughMemory, match="the tensors need"):
        check_tensors(signature_of(kernel).tensors, {"T": 1 << 40})
