"""The same text gives the same IR and the same diagnostics in every process."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.compiler.frontend.kernels import text_of

PROGRAM = """
import sys
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.printer import print_kernel
from agentkern.diagnostics import render_all
text = sys.stdin.read()
result = lower_source(text, "kernel.py", None, {}, {})
print(print_kernel(result.kernel) if result.kernel is not None else render_all(result.diagnostics, text))
"""


def output(text: str, seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=text, capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout


def test_hash_seeds_change_neither_ir_nor_diagnostics():
    signature = "x: ak.In[ak.f32, T, H, 2 * G + N], out: ak.Out[ak.f32, T, H]"
    good = text_of(signature, "k = H * 2 + G\nfor t in ak.grid(T):\n    out[t, :] = ak.sum(x[t], axis=2) * k")
    bad = good.replace("ak.sum(x[t]", "ak.smu(x[t, q]").replace("* k", "* kk + tt")
    for text in (good, bad):
        assert len({output(text, seed) for seed in (0, 1, 77)}) == 1
