"""The `reference` check: a user's Python function over torch tensors, called in a worker process.

The function gets In tensors, scalars and sizes by parameter name (or the tensors alone, in order), on the CPU, and
returns the outputs as a tensor, a tuple in order, or a dict; a list of tensors is a Python list in both. If it has a
parameter of a partial output's name, that is what the output holds before. A function of the same name with `_f64`
after it, where there is one, gives the outputs in float64, against which both errors are measured.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from agentkern.compiler.abi import TensorParam
from agentkern.diagnostics import Span, error
from agentkern.tools.reference_process import (
    ReferenceFailure,
    ReferenceRequest,
    end_worker,
    read_answer,
    start_worker,
    wait_for,
    write_request,
)
from agentkern.tools.results import Mismatch
from agentkern.tools.sources import usage_error
from agentkern.tools.verify_agreement import Answer, agreement, violation
from agentkern.tools.verify_cases import other_scalars
from agentkern.tools.verify_criterion import Criterion
from agentkern.tools.verify_executors import run_interpreter
from agentkern.tools.verify_model import Arrays, Case, Program, RunOptions, signature_of
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

NO_FLOAT64 = "`max_error_ratio` needs the outputs in float64: the reference's name with `_f64` after it, in its file"
OTHER_ORDERS = 2
"""Other orders of threads and blocks in which a nondeterministic kernel is held to the reference."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A function in a file of the user's own."""

    path: Path
    function: str


def parse_reference(text: str) -> Reference:
    """Read `FILE.py:FUNCTION`. Errors: UsageError for another form; ReferenceFailure where there is no such file."""
    path, colon, function = text.rpartition(":")
    if not colon or not function.isidentifier():
        raise usage_error("--reference", f"`{text}` is not FILE.py:FUNCTION")
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
        wait_for(self.worker, self.folder)
        params = subject.signature.outputs
        shapes = [{name: raw.shape for name, raw in subject.oracle(case.call).items()} for case in self.cases]
        numbered = enumerate(self.cases)
        return {case.name: read_answer(self.folder, k, params, shapes[k]) for k, case in numbered}

    def close(self) -> None:
        """End the worker if it still runs, and remove its files."""
        end_worker(self.worker, self.folder)


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
    return PendingReference(folder, start_worker(folder), cases)


def _write_request(reference: Reference, subject: Subject, cases: Sequence[Case], folder: Path) -> None:
    signature = subject.signature
    request = ReferenceRequest(
        reference.path,
        reference.function,
        inputs={p.name: p.dtype.name for p in signature.inputs},
        outputs=tuple(p.name for p in signature.outputs),
        partial=signature.partial,
        lists={listed.name: listed.entries for listed in signature.lists},
    )
    write_request(request, [case.call for case in cases], folder)


def check_reference(subject: Subject, pending: Answers | None, criterion: Criterion) -> Outcome:
    """Compare with the user's reference under the criterion."""
    name = "reference"
    if pending is None:
        return not_applicable(name, "no reference given; `--reference FILE.py:FUNCTION` compares with one")
    if subject.nondeterministic and criterion.kind == "bit_exact":
        return not_run(name, "state a bound: equal bits cannot be asked of a nondeterministic kernel")
    try:
        answers = pending.answers(subject)
    except ReferenceFailure as e:
        problem = error("AK811", Span("reference"), reason=str(e))
        return replace(not_run(name, str(e)), problem=problem)
    if criterion.max_error_ratio is not None and any(answer.exact is None for answer in answers.values()):
        return not_run(name, NO_FLOAT64)
    params, cases = subject.signature.outputs, pending.cases

    def judge(case: Case, got: Arrays) -> Mismatch | None:
        return violation(params, got, answers[case.name], criterion)

    got: dict[str, Arrays] = {case.name: subject.run(case).outputs for case in cases}
    for case in cases:
        orders = range(1, OTHER_ORDERS + 1) if subject.nondeterministic else ()
        runs = [got[case.name], *(subject.run(case, RunOptions(order=order)).outputs for order in orders)]
        for outputs in runs:
            wrong = judge(case, outputs)
            if wrong is not None:
                text = difference_text(wrong, case.name)
                return failed(
                    name, f"{text}; {_summary(params, got, answers)}; criterion {criterion.described()}", wrong
                )
    controls = try_controls(subject, [case for case in cases if has_elements(case)], judge)
    through = [control for control, rejected in controls.items() if not rejected]
    if through:
        # who gave a reference asked for its word; a pass of the other checks is no substitute for it
        return not_run(name, f"useless for this kernel: {criterion.text()} lets `{'`, `'.join(through)}` through")
    left_out = "" if criterion.kind == "bit_exact" else "; special inputs, which a bound says nothing of, left out"
    detail = f"{criterion.described()} holds in {len(cases)} cases: {_summary(params, got, answers)}{left_out}"
    return passed(name, detail, controls)


def _summary(params: Sequence[TensorParam], got: Mapping[str, Arrays], answers: Mapping[str, Answer]) -> str:
    near = [agreement(params, outputs, answers[name]) for name, outputs in got.items()]
    share = min(a.equal_share for a in near)
    ratios = [a.error_ratio for a in near if a.error_ratio is not None]
    text = f"at least {share:.6f} bit-equal, max {max(a.max_ulp for a in near):g} ulp"
    text += f", mean {max(a.mean_ulp for a in near):.3g} ulp"
    return f"{text}, error against f64 at most {max(ratios):.4g} of the reference's own" if ratios else text
