"""Ask a task's own reference for right answers, in its own process, with what it may not do told by its file's name.

The reference sees the task's inputs alone. Where outputs are free (several right answers), its function `check` is
given a submission's outputs and marks the wrong elements; it is the task's code, run apart from the submission's.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_formats import Raw
from agentkern.dsl.dtypes import DTYPES
from agentkern.evals.task_model import Task
from agentkern.tools.reference_process import (
    ReferenceFailure,
    ReferenceRequest,
    end_worker,
    read_answer,
    start_worker,
    wait_for,
    write_request,
)
from agentkern.tools.verify_agreement import Answer
from agentkern.tools.verify_model import Arrays, Call, Sizes, concrete


@dataclass(frozen=True, slots=True)
class PendingAnswers:
    """A reference at work, so that what it is compared with can be computed meanwhile."""

    file: Path
    folder: Path
    worker: subprocess.Popen[bytes]
    params: tuple[TensorParam, ...]
    sizes: tuple[Sizes, ...]
    called: str

    def answers(self) -> tuple[Answer, ...]:
        """Wait and return the answers, one a call. Errors: ReferenceFailure names the file."""
        try:
            wait_for(self.worker, self.folder, self.called)
            shapes = [{p.name: concrete(p.shape, sizes) for p in self.params} for sizes in self.sizes]
            numbered = enumerate(shapes)
            return tuple(read_answer(self.folder, k, self.params, shape, self.called) for k, shape in numbered)
        except ReferenceFailure as e:
            raise ReferenceFailure(f"{self.file}: {e}") from e
        finally:
            self.close()

    def close(self) -> None:
        """End the worker if it still runs, and remove its files."""
        end_worker(self.worker, self.folder)


def start_answers(task: Task, calls: Sequence[Call]) -> PendingAnswers:
    """Start the task's reference on its calls."""
    signature = task.signature
    request = ReferenceRequest(
        task.reference.path,
        task.reference.function,
        inputs={p.name: p.dtype.name for p in signature.inputs},
        outputs=tuple(p.name for p in signature.outputs),
        partial=signature.partial,
        frozen=True,
    )
    return _start(request, calls, signature.outputs)


def start_baseline(task: Task, name: str, calls: Sequence[Call]) -> PendingAnswers:
    """Start one of the task's baselines on its calls, as it is timed: without outputs, whose dtypes it must give."""
    signature = task.signature
    function = task.baselines[name].partition(":")[2]
    request = ReferenceRequest(
        task.reference.path,
        function,
        inputs={p.name: p.dtype.name for p in signature.inputs},
        outputs=tuple(p.name for p in signature.outputs),
        frozen=True,
        dtypes={p.name: p.dtype.name for p in signature.outputs},
        called=f"`{function}`",
    )
    return _start(request, calls, signature.outputs)


def wrong_elements(task: Task, calls: Sequence[Call], outputs: Sequence[Arrays]) -> tuple[Mapping[str, Raw], ...]:
    """Return for each call which elements of the task's free outputs are wrong, as bools. Errors: ReferenceFailure."""
    signature, free = task.signature, task.criterion.free
    if not free:
        return tuple({} for _ in calls)
    marks = tuple(replace(p, dtype=DTYPES["bool"]) for p in signature.outputs if p.name in free)
    written = {_given(p.name): p.dtype.name for p in signature.outputs}
    request = ReferenceRequest(
        task.reference.path,
        task.criterion.check,
        inputs={p.name: p.dtype.name for p in signature.inputs} | written,
        outputs=tuple(p.name for p in marks),
        frozen=True,
    )
    asked = [
        replace(call, tensors={**call.tensors, **{_given(name): raw for name, raw in got.items()}})
        for call, got in zip(calls, outputs, strict=True)
    ]
    return tuple(answer.outputs for answer in _start(request, asked, marks).answers())


def _given(output: str) -> str:
    """The parameter of `check` that holds a submission's output."""
    return f"got_{output}"


def _start(request: ReferenceRequest, calls: Sequence[Call], params: tuple[TensorParam, ...]) -> PendingAnswers:
    folder = Path(tempfile.mkdtemp(prefix="agentkern-task-"))
    write_request(request, calls, folder)
    sizes = tuple(call.sizes for call in calls)
    return PendingAnswers(request.path, folder, start_worker(folder), params, sizes, request.called)
