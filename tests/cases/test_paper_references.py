"""Kernels of `paper_kernels` beside plain NumPy: `references/NAME.py` has `outputs(inputs, sizes)`, exact arrays by name.

Interpreter and simulator agree on every run of `NAME.toml`, and both with the reference.
"""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agentkern.compiler.analysis.promises import promises_of
from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.types import TensorType
from agentkern.tools.inputs import generate
from agentkern.tools.promised_inputs import keep_promises
from tests.cases.runs import Case, run

FOLDER = Path(__file__).with_name("paper_kernels")
NAMES = sorted(path.stem for path in (FOLDER / "references").glob("*.py"))


def runs(name: str) -> list[dict[str, dict[str, int]]]:
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["run"]


def inputs(text: str, made: dict[str, dict[str, int]]) -> dict[str, np.ndarray]:
    kernel = compile_kernel(CompileRequest(text, "kernel.py", dims=made["dims"])).kernel
    assert kernel is not None
    found: dict[str, np.ndarray] = {}
    for value in kernel.params:
        if isinstance(value.type, TensorType) and value.type.access in ("in", "inout"):
            shape = tuple(dims.evaluate(extent, made["sizes"]) for extent in value.type.shape)
            found[value.name or ""] = generate("random", value.type.dtype, shape, 7, value.name or "")
    return keep_promises(promises_of(kernel), found, made["sizes"])


def reference(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / "references" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.outputs


@pytest.mark.parametrize(("name", "number"), [(name, k) for name in NAMES for k in range(len(runs(name)))])
def test_a_kernel_gives_what_its_reference_gives(name: str, number: int, simulator_cache: Path):
    text, made = (FOLDER / f"{name}.py").read_text(encoding="utf-8"), runs(name)[number]
    given = inputs(text, made)
    case = Case(text, made["sizes"], made["dims"], header="", count=1)
    found = run(case, given, simulator_cache)
    for output, array in reference(name)(given, made["sizes"]).items():
        assert (found[output].view(array.dtype) == array).all(), output
