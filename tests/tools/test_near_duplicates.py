"""Near duplicates: what a rewrite of the same kernel cannot hide, and what another kernel does not share."""

from __future__ import annotations

import itertools

import pytest

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel
from agentkern.tools.corpus_entry import Entry, default_corpus, read_entries
from agentkern.tools.near_duplicates import NEAR, digest, groups, is_near, similarity

HEAD = 'import agentkern as ak\n\nT = ak.dim("T")\nH = ak.static("H")\n\n\n@ak.kernel\n'
RMS_NORM = (
    HEAD
    + """\
def rms_norm(x: ak.In[ak.bf16, T, H], weight: ak.In[ak.bf16, H], out: ak.Out[ak.bf16, T, H], eps: ak.f32 = 1e-6):
    for t in ak.grid(T):
        row = x[t, :].to(ak.f32)
        scale = ak.rsqrt(ak.sum(row * row, axis=1, keepdims=True) / H + eps)
        out[t, :] = (row * scale * weight[:].to(ak.f32)).to(ak.bf16)
"""
)
SAME = {
    "other names": lambda t: t.replace("row", "values").replace("rms_norm", "g").replace("scale", "factor"),
    "another size": lambda t: t.replace("T,", "R,").replace("(T)", "(R)").replace('T = ak.dim("T")', 'R = ak.dim("R")'),
    "another width": lambda t: t.replace("bf16", "f16"),
    "a mean": lambda t: t.replace("ak.sum(", "ak.mean(").replace(" / H", ""),
    "operands turned": lambda t: t.replace("row * scale *", "scale * row *"),
    "steps named": lambda t: t.replace("        scale =", "        square = row * row\n        scale =").replace(
        "ak.sum(row * row", "ak.sum(square"
    ),
    "another constant": lambda t: t.replace(", eps: ak.f32 = 1e-6", "").replace("eps", "3e-5"),
    "a number of rows": lambda t: t.replace('H = ak.static("H")', "H = 7168"),
    "axes kept otherwise": lambda t: t.replace("axis=1, keepdims=True", "axis=1").replace(
        "row * scale", "row * scale[:, None]"
    ),
}
OTHER = {
    "no weight": lambda t: t.replace(" * weight[:].to(ak.f32)", "").replace(" weight: ak.In[ak.bf16, H],", ""),
    "a mean first": lambda t: t.replace(
        "        scale", "        row = row - ak.mean(row, axis=1, keepdims=True)\n        scale"
    ),
    "the largest": lambda t: t.replace("ak.rsqrt(ak.sum(row * row,", "ak.rsqrt(ak.max(ak.abs(row),"),
    "another function": lambda t: t.replace("(row * scale", "(ak.sigmoid(row) * scale"),
}


def lowered(text: str) -> Kernel:
    """The first kernel of a text."""
    found = lower_source(text, "kernel.py")
    assert found.kernel is not None, found.diagnostics
    return found.kernel


def of_corpus(entry: Entry, kernel: str) -> Kernel:
    """A kernel of the corpus at its sizes."""
    found = lower_source(entry.source, entry.path, kernel, entry.dims, {})
    assert found.kernel is not None, found.diagnostics
    return found.kernel


DIFFERENT = ("rms_norm", "layer_norm", "vector_add", "fused_weight", "softmax", "cumsum", "gather_rows", "silu_and_mul")


@pytest.mark.parametrize("rewrite", SAME)
def test_a_rewrite_of_a_kernel_has_its_digest(rewrite: str):
    text = SAME[rewrite](RMS_NORM)
    assert text != RMS_NORM
    assert digest(lowered(text)) == digest(lowered(RMS_NORM))
    assert similarity(lowered(text), lowered(RMS_NORM)) == 1


@pytest.mark.parametrize("change", OTHER)
def test_another_kernel_has_another_digest(change: str):
    text = OTHER[change](RMS_NORM)
    assert text != RMS_NORM
    assert digest(lowered(text)) != digest(lowered(RMS_NORM))
    assert similarity(lowered(text), lowered(RMS_NORM)) < 1


def test_which_tensor_stands_where_matters():
    text = HEAD + "def f(x: ak.In[ak.f32, T], y: ak.In[ak.f32, T], out: ak.Out[ak.f32, T]):\n"
    text += "    for t in ak.grid(T):\n        out[t] = x[t] - y[t] * y[t]\n"
    turned = text.replace("x[t] - y[t] * y[t]", "y[t] - x[t] * x[t]")
    other = text.replace("y[t] * y[t]", "x[t] * y[t]")
    assert digest(lowered(text)) == digest(lowered(turned))
    assert digest(lowered(text)) != digest(lowered(other))


def test_every_pair_is_not_every_place():
    head = HEAD + "def f(x: ak.In[ak.f32, T], y: ak.In[ak.f32, {y}], out: ak.Out[ak.f32, {out}]):\n"
    places = lowered(head.format(y="T", out="T") + "    for t in ak.grid(T):\n        out[t] = x[t] + y[t]\n")
    pairs = "    for t, h in ak.grid(T, H):\n        out[t, h] = x[t][:, None] + y[h][None, :]\n"
    assert not is_near(places, lowered(head.format(y="H", out="T, H") + pairs))


def test_a_subtraction_is_not_its_reverse():
    text = HEAD + "def f(x: ak.In[ak.f32, T], out: ak.InOut[ak.f32, T]):\n"
    text += "    for t in ak.grid(T):\n        out[t] = out[t] - ak.exp(x[t])\n"
    assert digest(lowered(text)) != digest(lowered(text.replace("out[t] - ak.exp(x[t])", "ak.exp(x[t]) - out[t]")))


def test_kernels_in_one_group_are_near_directly_or_over_others():
    with_sigmoid = OTHER["another function"](RMS_NORM)
    without = OTHER["no weight"](RMS_NORM)
    kernels = [lowered(text) for text in (RMS_NORM, without, SAME["a mean"](RMS_NORM), with_sigmoid, RMS_NORM)]
    assert groups(kernels)[0] == groups(kernels)[2] == groups(kernels)[4] == 0
    assert groups([]) == ()


def test_kernels_of_one_folder_of_the_corpus_are_near_and_different_ones_far():
    entries = {entry.name: entry for entry in read_entries(default_corpus())}
    for entry in entries.values():
        first, *others = (of_corpus(entry, kernel) for kernel in entry.kernels)
        assert all(is_near(first, other) for other in others), entry.name
    for a, b in itertools.combinations(DIFFERENT, 2):
        one, other = (of_corpus(entries[name], entries[name].kernels[0]) for name in (a, b))
        assert similarity(one, other) < NEAR - 0.1, (a, b)
