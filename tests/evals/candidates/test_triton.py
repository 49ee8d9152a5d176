"""Triton submissions: what their text may say, and that there is no verdict without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkern.evals.candidates.protocol import CandidateUnavailable
from agentkern.evals.candidates.table import candidate_of
from agentkern.evals.candidates.triton_text import entry_arguments, problem_of
from agentkern.evals.judge import judge
from agentkern.evals.records import Submission
from agentkern.evals.task import default_tasks, read_task

TEXTS = Path(__file__).parents[3] / "agentkern" / "evals" / "mock_texts"
RIGHT = (TEXTS / "vector_add.right.triton.txt").read_text()
TASK = read_task(default_tasks() / "vector_add")


def candidate(source: str, device: str = "cpu"):
    handed_in = Submission(number=1, at_call=0, tokens=0, source=source)
    return candidate_of(TASK, handed_in, "triton", "cuda" if device == "cuda" else "cpu")


def test_a_usual_text_is_accepted():
    assert problem_of(RIGHT) is None
    assert entry_arguments(RIGHT) == ("x", "y", "out", "N")


def test_the_page_for_writers_keeps_its_own_rules():
    page = (TEXTS.parent / "docs" / "triton.md").read_text()
    assert problem_of(page.split("```python\n")[1].split("```")[0]) is None


@pytest.mark.parametrize(
    "line",
    [
        "import torch", "import os", "import triton.testing", "from triton.language import core", "from os import path",
        "from . import x", "def f(t):\n    return t.__class__", "def f(t):\n    return open('x')",
        "def f(t):\n    return getattr(t, 'dtype')", "def f(t):\n    return eval('1')", "x = triton.runtime",
        "def f(t):\n    return '{0.x}'.format(t)", "def f(t):\n    return (i for i in t).gi_frame", "class A: pass",
        "def f(t):\n    try:\n        t()\n    except ValueError:\n        t()", "y = tl.core", "if 1: pass",
        "def f(t):\n    global x", "from triton import *", "z = __builtins__", "def f(t):\n    return type(t)",
    ],
)  # fmt: skip
def test_what_leads_elsewhere_is_refused(line: str):
    assert problem_of(f"{RIGHT}\n{line}\n") is not None


def test_a_text_that_is_no_python_is_refused():
    assert "it is no Python" in (problem_of("def run(:") or "")
    assert problem_of("(" * 5000) is not None
    assert "no function `run`" in (problem_of("import triton\n") or "")


def test_an_unknown_parameter_is_refused():
    refused = candidate(RIGHT.replace("def run(x, y, out, N)", "def run(x, y, out, N, stream)")).prepare()
    assert refused is not None
    assert "`stream`" in refused.reason


def test_without_a_gpu_there_is_no_verdict():
    with pytest.raises(CandidateUnavailable, match="Triton needs a GPU"):
        candidate(RIGHT).prepare()
    judged = judge(TASK, candidate(RIGHT))
    assert (judged.verdict, judged.language) == ("not_run", "triton")
    assert "needs a GPU" in judged.summary


@pytest.mark.gpu
def test_a_right_text_is_right_on_a_gpu():
    pytest.importorskip("triton")
    assert judge(TASK, candidate(RIGHT, "cuda")).verdict == "bit_exact"


@pytest.mark.gpu
def test_a_wrong_text_is_wrong_on_a_gpu():
    pytest.importorskip("triton")
    wrong = RIGHT.replace("mask = offsets < N", "mask = offsets < N - 1")
    assert judge(TASK, candidate(wrong, "cuda")).verdict == "wrong"
