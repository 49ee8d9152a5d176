"""The `reference` check: a user's Python function over torch tensors, called in a worker process.

The function gets In tensors, scalars and sizes by parameter name (or the tensors alone, in order), on the CPU, and
returns the outputs as a tensor, a tuple in order, or a dict; a list of tensors is a Python list in both. If it has a
parameter of a partial output's name, that is what the output holds before. A function of the same name with `_f64`
after it, where there is one, gives the outputs in float64, against which both errors are measured.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from agentkern.compiler.abi import TensorParam
from agentkern.compiler.ir.reference_casts import cast
from agentkern.compiler.ir.reference_formats import STORAGE, Raw, decode
from agentkern.tools.results import Mismatch
from agentkern.tools.verify_agreement import Answer, agreement, violation
from agentkern.tools.verify_buffers import initial
from agentkern.tools.verify_cases import other_scalars
from agentkern.tools.verify_criterion import Criterion
from agentkern.tools.verify_executors import run_interpreter
from agentkern.tools.verify_model import Arrays, Case, Program, Signature, signature_of
from agentkern.tools.verify_subject import (
    Outcome,
    Subject,
    difference_text,
    failed,
    has_elements,
    not_applicable,
    not_run,
    passed,
    try_controls,
)

WORKER = Path(__file__).with_name("verify_reference_worker.py")
TIME_LIMIT_S = 300.0
ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


class ReferenceFailure(RuntimeError):
    """The reference could not be called, raised, or returned something else than the outputs."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A function in a file of the user's own."""

    path: Path
    function: str


def parse_reference(text: str) -> Reference:
    """Read `FILE.py:FUNCTION`. Errors: ReferenceFailure."""
    path, colon, function = text.rpartition(":")
    if not colon or not function.isidentifier():
        raise ReferenceFailure(f"`{text}` is not FILE.py:FUNCTION")
    if not Path(path).is_file():
        raise ReferenceFailure(f"there is no file `{path}`")
    return Reference(Path(path), function)


class Answers(Protocol):
    """A reference's answers to its cases, now or later."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """Return the cases."""
        ...

    def answers(self, subject: Subject) -> dict[str, Answer]:
        """Return the answers by the case's name. Errors: ReferenceFailure."""
        ...


@dataclass(frozen=True, slots=True)
class KernelReference:
    """A second kernel of the same parameters, run by the interpreter, as the reference."""

    program: Program
    cases: tuple[Case, ...]

    def answers(self, subject: Subject) -> dict[str, Answer]:
        """Return the second kernel's answers. Errors: ReferenceFailure when its parameters differ."""
        theirs, ours = signature_of(self.program.tile(subject.plan.base)), subject.signature
        if [(p.name, p.dtype, p.access) for p in theirs.tensors] != [(p.name, p.dtype, p.access) for p in ours.tensors]:
            raise ReferenceFailure("the reference kernel's tensors are not the kernel's")
        return {case.name: Answer(run_interpreter(self.program, case.call), None) for case in self.cases}

    def close(self) -> None:
        """Hold nothing."""


@dataclass(frozen=True, slots=True)
class PendingReference:
    """A reference at work on its cases, so that the other checks need not wait for torch to load."""

    folder: Path
    worker: subprocess.Popen[bytes]
    cases: tuple[Case, ...]

    def answers(self, subject: Subject) -> dict[str, Answer]:
        """Wait and return the reference's answers by the case's name. Errors: ReferenceFailure."""
        _wait(self.worker, self.folder)
        params = subject.signature.outputs
        numbered = enumerate(self.cases)
        return {case.name: _read_answer(self.folder, k, params, subject.oracle(case.call)) for k, case in numbered}

    def close(self) -> None:
        """End the worker if it still runs, and remove its files."""
        self.worker.kill()
        self.worker.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)


def reference_cases(subject: Subject, criterion: Criterion) -> tuple[Case, ...]:
    """Return what a reference is asked: special inputs only where the criterion is bit_exact."""
    kinds = ("random", "integers", "special") if criterion.kind == "bit_exact" else ("random", "integers")
    cases = [subject.case(kind, subject.plan.base) for kind in kinds]
    cases += [subject.case("random", sizes) for sizes in (*subject.plan.shapes, subject.plan.small)]
    other = other_scalars(subject.signature, subject.scalars)
    if other:
        case = replace(subject, scalars={**subject.scalars, **other}).case("random", subject.plan.base)
        numbers = ", ".join(f"{name}={value:g}" for name, value in other.items())
        cases.append(Case(f"{case.name}, {numbers}", case.call))
    return tuple({case.name: case for case in cases}.values())


def start_reference(
    reference: Reference | Program, subject: Subject, criterion: Criterion
) -> PendingReference | KernelReference:
    """Start a reference on its cases."""
    cases = reference_cases(subject, criterion)
    if not isinstance(reference, Reference):
        return KernelReference(reference, cases)
    folder = Path(tempfile.mkdtemp(prefix="agentkern-reference-"))
    _write_request(reference, subject, cases, folder)
    return PendingReference(folder, _start_worker(folder), cases)


def _write_request(reference: Reference, subject: Subject, cases: Sequence[Case], folder: Path) -> None:
    dtypes = {p.name: p.dtype.name for p in subject.signature.inputs}
    partial = _partial_outputs(subject.signature)
    request = {
        "file": str(reference.path.resolve()),
        "function": reference.function,
        "outputs": [p.name for p in subject.signature.outputs],
        "lists": {listed.name: listed.entries for listed in subject.signature.lists},
        "partial": {p.name: p.dtype.name for p in partial},
        "cases": [
            {"tensors": dtypes, "sizes": dict(case.call.sizes), "scalars": dict(case.call.scalars)} for case in cases
        ],
    }
    (folder / "request.json").write_text(json.dumps(request))
    for number, case in enumerate(cases):
        arrays: dict[str, Any] = dict(case.call.tensors) | {p.name: initial(p, case.call, 0) for p in partial}
        np.savez(folder / f"{number}.npz", **arrays)


def _partial_outputs(signature: Signature) -> tuple[TensorParam, ...]:
    return tuple(p for p in signature.outputs if p.access == "out" and p not in signature.filled)


def _start_worker(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", str(WORKER), str(folder)],
        env={name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _wait(worker: subprocess.Popen[bytes], folder: Path) -> None:
    try:
        _, errors = worker.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired as e:
        raise ReferenceFailure(f"the reference took longer than {TIME_LIMIT_S:.0f} s") from e
    if worker.returncode == 0:
        return
    message = folder / "error.txt"
    if message.is_file():
        raise ReferenceFailure(f"the reference raised {message.read_text(encoding='utf-8')[:500]}")
    last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
    raise ReferenceFailure(f"the reference's process ended with {worker.returncode}: {last[0][:500]}")


def _read_answer(folder: Path, number: int, params: Sequence[TensorParam], shapes: Arrays) -> Answer:
    answer_file = folder / f"{number}.out.npz"
    if not answer_file.is_file():
        raise ReferenceFailure("the reference ended its process before it had answered every case")
    outputs = _read(answer_file)
    exact_file = folder / f"{number}.f64.npz"
    exact = _read(exact_file) if exact_file.is_file() else None
    found: dict[str, Raw] = {}
    for param in params:
        dtype, raw = outputs[param.name]
        want = shapes[param.name].shape
        if raw.shape != want:
            raise ReferenceFailure(f"the reference's `{param.name}` has shape {list(raw.shape)}, not {list(want)}")
        found[param.name] = cast(dtype, param.dtype.name, raw.astype(STORAGE[dtype], copy=False))
    wide = (
        None if exact is None else {name: decode(dtype, raw).astype(np.float64) for name, (dtype, raw) in exact.items()}
    )
    return Answer(found, wide)


def _read(path: Path) -> dict[str, tuple[str, Raw]]:
    with np.load(path, allow_pickle=False) as stored:
        named = [(key.rpartition(":"), stored[key]) for key in stored.files]
    return {name: (dtype, raw) for (name, _, dtype), raw in named}


def check_reference(subject: Subject, pending: Answers | None, criterion: Criterion) -> Outcome:
    """Compare with the user's reference under the criterion."""
    name = "reference"
    if pending is None:
        return not_applicable(name, "no reference given; `--reference FILE.py:FUNCTION` compares with one")
    try:
        answers = pending.answers(subject)
    except ReferenceFailure as e:
        return not_run(name, str(e))
    cases = pending.cases
    params = subject.signature.outputs

    def judge(case: Case, got: Arrays) -> Mismatch | None:
        return violation(params, got, answers[case.name], criterion)

    got: Mapping[str, Arrays] = {case.name: subject.run(case).outputs for case in cases}
    for case in cases:
        wrong = judge(case, got[case.name])
        if wrong is not None:
            text = difference_text(wrong, case.name)
            return failed(name, f"{text}; {_summary(params, got, answers)}; criterion {criterion.text()}", wrong)
    controls = try_controls(subject, [case for case in cases if has_elements(case)], judge)
    through = [control for control, rejected in controls.items() if not rejected]
    if through:
        # who gave a reference asked for its word; a pass of the other checks is no substitute for it
        return not_run(name, f"useless for this kernel: {criterion.text()} lets `{'`, `'.join(through)}` through")
    detail = f"{criterion.text()} holds in {len(cases)} cases: {_summary(params, got, answers)}"
    return passed(name, detail, controls)


def _summary(params: Sequence[TensorParam], got: Mapping[str, Arrays], answers: Mapping[str, Answer]) -> str:
    near = [agreement(params, outputs, answers[name]) for name, outputs in got.items()]
    share = min(a.equal_share for a in near)
    ratios = [a.error_ratio for a in near if a.error_ratio is not None]
    text = f"at least {share:.6f} bit-equal, max {max(a.max_ulp for a in near):g} ulp"
    text += f", mean {max(a.mean_ulp for a in near):.3g} ulp"
    return f"{text}, error against f64 at most {max(ratios):.4g} of the reference's own" if ratios else text
