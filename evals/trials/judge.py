"""Judge one kernel text against a task: on the CPU simulator, at every size of the task, from its own reference."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agentkern.compiler.driver import CompileRequest, compile_kernel
from agentkern.compiler.ir import dims
from agentkern.compiler.ir.reference_formats import decode, encode
from agentkern.dsl.dtypes import DTYPES
from agentkern.tools.arrays import GivenInputs
from agentkern.tools.inputs import generate
from agentkern.tools.requests import RunRequest
from agentkern.tools.run import run
from evals.trials.references import REFERENCES
from evals.trials.references_2 import REFERENCES_2

FOLDER = Path(__file__).parent
_PARAMETER = re.compile(r"(\w+): (In|Out|InOut)\[(\w+), ([^\]]*)\]((?:\.\w+\([^)]*\))*)")
_EVERY = {**REFERENCES, **REFERENCES_2}
_SMALLEST = {"f32": -149, "f16": -24, "bf16": -133, "e4m3": -9}
_MANTISSA = {"f32": 23, "f16": 10, "bf16": 7, "e4m3": 3}


@dataclass(frozen=True, slots=True)
class Task:
    """One row of `tasks.toml`."""

    row: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name of the task and of its kernel."""
        return self.row["name"]

    @property
    def tensors(self) -> Mapping[str, tuple[str, str, str, str]]:
        """(access, dtype, extents, promises) by parameter."""
        found = _PARAMETER.findall(self.row["signature"])
        return {name: rest for name, *rest in found}


def tasks() -> dict[str, Task]:
    """Every task by name."""
    files = (FOLDER / name for name in ("tasks.toml", "tasks_2.toml"))
    return {row["name"]: Task(row) for file in files for row in tomllib.loads(file.read_text())["task"]}


def judge(task: Task, source: str) -> str | None:
    """None for a correct kernel, else what is wrong with it, in one line."""
    for sizes in task.row["sizes"]:
        wrong = _judge_at(task, source, sizes)
        if wrong is not None:
            return f"{sizes}: {wrong}"
    return None


def _judge_at(task: Task, source: str, sizes: Mapping[str, int]) -> str | None:
    statics = {name: sizes[name] for name in (*task.row["statics"], *task.row.get("named", ()))}
    given = _arrays(task, sizes)
    scalars = task.row.get("scalars", {})
    request = RunRequest(source=source, path="kernel.py", kernel=_kernel_name(task, source, statics), dims=statics)
    named = {name: array for name, (_, array) in given.items()}
    answer = run(request, GivenInputs(named, scalars))
    if answer.result.status != "ok":
        first = answer.result.diagnostics[:1]
        return f"{answer.result.status}: {first[0].code + ' ' + first[0].message if first else answer.result.summary}"
    wide = {name: _widen(dtype, array) for name, (dtype, array) in given.items()}
    with np.errstate(all="ignore"):
        arguments = ({**wide, **{name: np.asarray(v) for name, v in scalars.items()}}, sizes)
        reference = _EVERY[task.name]
        expected = reference(*arguments[: len(inspect.signature(reference).parameters)])
    for name, values in expected.items():
        if name not in answer.outputs:
            return f"there is no output `{name}`"
        wrong = _difference(task, task.tensors[name][1], answer.outputs[name], values)
        if wrong is not None:
            return f"`{name}` {wrong}"
    return None


def _kernel_name(task: Task, source: str, statics: Mapping[str, int]) -> str | None:
    """The kernel of the task's name where the text has one, else the text's only one."""
    result = compile_kernel(CompileRequest(source, "kernel.py", task.name, dims=statics), stop_after="simplify")
    return task.name if result.kernel is not None else None


def _arrays(task: Task, sizes: Mapping[str, int]) -> dict[str, tuple[str, np.ndarray]]:
    found: dict[str, tuple[str, np.ndarray]] = {}
    for name, (access, dtype, extents, promises) in task.tensors.items():
        if access == "Out":
            continue
        shape = tuple(_extent(text, sizes) for text in _split(extents))
        array = generate("random", DTYPES[dtype], shape, 11, name)
        if not DTYPES[dtype].is_float:
            array = _integers(task, shape, promises, sizes).astype(array.dtype)
        if name in task.row.get("positive", ()):
            array = np.abs(array)
        if name in task.row.get("bounded", ()):
            array = np.clip(array, -0.99, 0.99)
        if name in task.row.get("coarse", ()):
            array = np.round(array * 4) / 4
        found[name] = (dtype, array)
    return found


def _integers(task: Task, shape: tuple[int, ...], promises: str, sizes: Mapping[str, int]) -> np.ndarray:
    """Indices as the signature promises them; without a promise from -1 to the task's `highest`."""
    rng, count = np.random.default_rng(4), int(np.prod(shape))
    if "offsets" in promises:
        end = _extent(promises.partition("offsets(")[2].partition(")")[0], sizes)
        return np.concatenate([[0], np.sort(rng.integers(0, end + 1, count - 2)), [end]])
    low, high = -1, task.row.get("highest", 128)
    if "values" in promises:
        low, high = (_extent(text, sizes) for text in promises.partition("values(")[2].partition(")")[0].split(","))
    if "distinct" in promises:
        places = rng.permutation(high)[:count]
        return np.where(rng.random(count) < 0.2, low, places).reshape(shape)
    return rng.integers(low, high, shape)


def _split(extents: str) -> list[str]:
    """Extents at the commas outside brackets."""
    return re.findall(r"(?:[^,(]|\([^)]*\))+", extents)


def _extent(text: str, sizes: Mapping[str, int]) -> int:
    """An extent as a number. The text is the project's own: `T`, `2 * H`, `ak.cdiv(T, 128)`."""
    cut = re.fullmatch(r"ak\.cdiv\((\w+), (\d+)\)", text.strip())
    if cut is not None:
        return -(-sizes[cut[1]] // int(cut[2]))
    return dims.evaluate(dims.parse(text.strip()), sizes)


def _widen(dtype: str, array: np.ndarray) -> np.ndarray:
    return decode(dtype, array).astype(np.float64) if DTYPES[dtype].is_float else array


def _difference(task: Task, dtype: str, got: np.ndarray, want: np.ndarray) -> str | None:
    if got.shape != want.shape:
        return f"has shape {list(got.shape)}, not {list(want.shape)}"
    if not DTYPES[dtype].is_float:
        bad = got != want
    elif task.row["criterion"] == "bits":
        bad = decode(dtype, got) != decode(dtype, encode(dtype, want))
    else:
        bad = _is_far(task, dtype, decode(dtype, got).astype(np.float64), want)
    share = 1.0 - task.row.get("share", 1.0)
    if bad.mean() <= share if bad.size else True:
        return None
    at = tuple(int(k) for k in np.argwhere(bad)[0])
    value = decode(dtype, got)[at] if DTYPES[dtype].is_float else got[at]
    return f"is {value} at {list(at)}, not {want[at]} ({int(bad.sum())} of {bad.size} differ)"


def _is_far(task: Task, dtype: str, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    if dtype == "e4m3":
        return np.abs(got - want) > 0.51 * _ulp(dtype, want) + 1e-5 * np.abs(want)
    size = np.full_like(want, np.abs(want).max(initial=0)) if task.row["criterion"] == "ulps_of_largest" else want
    return ~(np.abs(got - want) <= task.row["ulps"] * _ulp(dtype, size))


def _ulp(dtype: str, values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(np.abs(values)))
    return np.exp2(np.maximum(exponent - _MANTISSA[dtype], _SMALLEST[dtype]))
