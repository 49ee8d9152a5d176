"""Call a reference function on raw arrays in a process of its own: the request it reads, and the answers it leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_casts import cast
from agentkern.compiler.ir.reference_formats import FLOATS, STORAGE, Raw, decode
from agentkern.tools.verify_agreement import Answer
from agentkern.tools.verify_buffers import initial
from agentkern.tools.verify_model import Call

WORKER = Path(__file__).with_name("verify_reference_worker.py")
TIME_LIMIT_S = 300.0
ERRORS = "errors.txt"
_MOST_ERRORS = 1 << 16
ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


class ReferenceFailure(RuntimeError):
    """The reference could not be called, raised, or returned something else than the outputs."""


@dataclass(frozen=True, slots=True)
class ReferenceRequest:
    """A function of a file and its parameters: dtypes of the tensors it is given, names of those that it returns.

    `partial`: outputs of which it is told what they hold before. `lists`: parameters by the list that they are of.
    `frozen`: it must not change what it is given. `dtypes`: of outputs that must be returned in these, not converted.
    `called`: what messages call it.
    """

    path: Path
    function: str
    inputs: Mapping[str, str]
    outputs: tuple[str, ...]
    partial: tuple[TensorParam, ...] = ()
    lists: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    frozen: bool = False
    dtypes: Mapping[str, str] = field(default_factory=dict[str, str])
    called: str = "the reference"


def write_request(request: ReferenceRequest, calls: Sequence[Call], folder: Path) -> None:
    """Write what the worker reads."""
    table = {
        "file": str(request.path.resolve()),
        "function": request.function,
        "outputs": list(request.outputs),
        "frozen": request.frozen,
        "dtypes": dict(request.dtypes),
        "called": request.called,
        "lists": {name: list(entries) for name, entries in request.lists.items()},
        "partial": {p.name: p.dtype.name for p in request.partial},
        "cases": [
            {"tensors": dict(request.inputs), "sizes": dict(call.sizes), "scalars": dict(call.scalars)}
            for call in calls
        ],
    }
    (folder / "request.json").write_text(json.dumps(table))
    for number, call in enumerate(calls):
        arrays: dict[str, Any] = dict(call.tensors) | {p.name: initial(p, call, 0) for p in request.partial}
        np.savez(folder / f"{number}.npz", **arrays)


def start_worker(folder: Path) -> subprocess.Popen[bytes]:
    """Start the worker on a folder's request. What it complains of goes to a file, which nothing waits for."""
    with (folder / ERRORS).open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-I", str(WORKER), str(folder)],
            env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def wait_for(worker: subprocess.Popen[bytes], folder: Path, called: str = "the reference") -> None:
    """Wait until every case is answered. Errors: ReferenceFailure."""
    try:
        worker.wait(TIME_LIMIT_S)
    except subprocess.TimeoutExpired as e:
        raise ReferenceFailure(f"{called} took longer than {TIME_LIMIT_S:.0f} s") from e
    if worker.returncode == 0:
        return
    message = folder / "error.txt"
    if message.is_file():
        raise ReferenceFailure(f"{called} raised {message.read_text(encoding='utf-8')[:500]}")
    last = _end_of(folder / ERRORS).strip().splitlines()[-1:] or ["no message"]
    raise ReferenceFailure(f"the process of {called} ended with {worker.returncode}: {last[0][:500]}")


def end_worker(worker: subprocess.Popen[bytes], folder: Path) -> None:
    """End the worker if it still runs, and remove its files."""
    worker.kill()
    worker.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _end_of(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            stream.seek(-min(_MOST_ERRORS, file.stat().st_size), os.SEEK_END)
            return stream.read().decode(errors="replace")
    except OSError:
        return ""  # the reference has removed it


def read_answer(
    folder: Path,
    number: int,
    params: Sequence[TensorParam],
    shapes: Mapping[str, tuple[int, ...]],
    called: str = "the reference",
) -> Answer:
    """Return one case's outputs in the parameters' dtypes. Errors: ReferenceFailure for another shape."""
    answer_file = folder / f"{number}.out.npz"
    if not answer_file.is_file():
        raise ReferenceFailure(f"{called} ended its process before it had answered every case")
    outputs = _read(answer_file)
    exact_file = folder / f"{number}.f64.npz"
    exact = _read(exact_file) if exact_file.is_file() else None
    found: dict[str, Raw] = {}
    for param in params:
        dtype, raw = outputs[param.name]
        want = shapes[param.name]
        if raw.shape != want:
            raise ReferenceFailure(f"`{param.name}` of {called} has shape {list(raw.shape)}, not {list(want)}")
        found[param.name] = cast(dtype, param.dtype.name, raw.astype(STORAGE[dtype], copy=False))
    wide = None if exact is None else {name: _float64(dtype, raw) for name, (dtype, raw) in exact.items()}
    return Answer(found, wide)


def _float64(dtype: str, raw: Raw) -> Raw:
    """The values of raw storage; places and counts beside floats are whole numbers."""
    return (decode(dtype, raw) if dtype in FLOATS else raw).astype(np.float64)


def _read(path: Path) -> dict[str, tuple[str, Raw]]:
    with np.load(path, allow_pickle=False) as stored:
        named = [(key.rpartition(":"), stored[key]) for key in stored.files]
    return {name: (dtype, raw) for (name, _, dtype), raw in named}
