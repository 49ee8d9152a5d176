"""Hard kernels, as they are written on paper: each file of `paper_kernels` checks, builds, runs, and has one answer.

Beside `NAME.py` stands `NAME.toml`: runs with their static sizes (`dims`), compile-time values (`set`, a tensor that is
not given is false) and sizes of the run (`sizes`).
"""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentkern.compiler.driver import CompileRequest
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.interpreter import interpret
from agentkern.tools.check import check
from agentkern.tools.requests import CheckRequest
from tests.compiler.agreement import request_disagreements

FOLDER = Path(__file__).parent / "paper_kernels"
KERNELS = sorted(path.stem for path in FOLDER.glob("*.py"))


def _runs(name: str) -> list[dict[str, Any]]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["run"]


RUNS = [pytest.param(name, run, id=f"{name}-{number}") for name in KERNELS for number, run in enumerate(_runs(name))]


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_is_in_order_whatever_is_given(name: str) -> None:
    path = FOLDER / f"{name}.py"
    request = CheckRequest(
        source=path.read_text(encoding="utf-8"), path=str(path), kernel=name, dims=_runs(name)[0].get("dims", {})
    )
    assert [(d.code, d.message) for d in check(request).diagnostics if d.severity == "error"] == []


@pytest.mark.toolchain
@pytest.mark.parametrize(("name", "run"), RUNS)
def test_every_kernel_has_the_interpreters_bits(name: str, run: dict[str, Any], simulator_cache: Path) -> None:
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    request = CheckRequest(source=source, path=f"{name}.py", kernel=name)
    built = CompileRequest(source, request.path, name, dims=run.get("dims", {}), settings=run.get("set", {}))
    kinds = tuple(run.get("kinds", ("random", "integers", "special")))
    assert request_disagreements(built, run.get("sizes", {}), kinds, run.get("schedules", 1), simulator_cache) == []


def test_selection_takes_the_largest_ties_to_smaller_positions_in_ascending_order() -> None:
    random = np.random.default_rng(3)
    x = random.integers(-4, 5, (3, 40)).astype(np.float32)
    start, end = np.array([0, 7, 20], np.int32), np.array([40, 30, 23], np.int32)
    lowered = lower_source((FOLDER / "topk_select.py").read_text(encoding="utf-8"), "k.py", dims={"TOPK": 5})
    assert lowered.kernel is not None
    arrays = {"x": x, "start": start, "end": end, "idx": np.zeros((3, 5), np.int32)}
    interpret(lowered.kernel, arrays, {"T": 3, "N": 40, "TOPK": 5}, {})
    for row, low, high, got in zip(x, start, end, arrays["idx"], strict=True):
        best = low + np.argsort(-row[low:high], kind="stable")[:5]
        assert got.tolist() == [*sorted(best.tolist()), *[-1] * (5 - len(best))]
