"""The gate that a task passes before it judges anyone: wrong kernels fail it, its solution and baselines pass.

Null kernels and mutants are texts like any submission, judged by the same judge. One that does not build, or whose bits
are the solution's on all of the task's inputs, is no test of the task and gives way to the next of its kind; a kind
without any is listed with the reason. Nothing that the judge lets through is passed over: the task is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from agentkern.evals import baselines, mutants, mutants_text, nulls, task_inputs
from agentkern.evals.baselines import held_baselines, started_baselines
from agentkern.evals.candidates.interpreter import InterpreterCandidate
from agentkern.evals.judge import judge
from agentkern.evals.judge_cases import Bench, make_bench, same_bits
from agentkern.evals.nulls import Wrong
from agentkern.evals.records import CORRECT, Verdict
from agentkern.evals.results import Admission, AdmitResult, Rejected, UnreadTask
from agentkern.evals.task import Suite, Unread, suite_digest
from agentkern.evals.task_model import Solution, Task, TaskError
from agentkern.runtime.programs import OUR_ERRORS
from agentkern.tools.counted import counted
from agentkern.tools.reference_process import ReferenceFailure
from agentkern.tools.verify_agreement import Answer, violation
from agentkern.tools.verify_criterion import Criterion
from agentkern.tools.verify_model import BuildError, ExecutionError, RunOptions

LEAST_REJECTED = 10
SEED = 11
_RULES = (baselines, mutants, mutants_text, nulls, task_inputs)
"""What makes wrong kernels and inputs and holds baselines; the judge is the one of the day that the gate is run."""
_REASON_LENGTH = 120


def rules_digest() -> str:
    """Return the digest of what makes wrong kernels and inputs, and holds baselines."""
    texts = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in _RULES]
    return hashlib.sha256("".join(texts).encode()).hexdigest()[:16]


def solution_digest(task: Task) -> str:
    """Return the digest of the solution's text."""
    return "" if task.solution is None else hashlib.sha256(task.solution.text.encode()).hexdigest()[:16]


def is_current(record: Admission, task: Task) -> bool:
    """Whether a record still speaks of this task, its solution and these rules."""
    return (record.task, record.solution, record.rules) == (task.digest, solution_digest(task), rules_digest())


def admit_all(tasks: Sequence[Task], workers: int) -> Iterator[Admission]:
    """Yield what the gate finds of each task that is not blocked, several at a time."""
    chosen = [task for task in tasks if not task.is_blocked]
    if workers < 2:
        yield from map(admit, chosen)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(admit, chosen)


def record_file(suite: Suite) -> Path:
    """Return where the record of a tasks folder stands: in the folder `results` beside it."""
    return suite.folder.parent / "results" / "admission.json"


def record_admissions(file: Path, suite: Suite, found: Sequence[Admission]) -> None:
    """Write what was found into a file that keeps its other rows. Errors: OSError; TaskError as when it is read."""
    rows = {row.name: row for row in recorded_admissions(file)} | {row.name: row for row in found}
    names = [*(task.name for task in suite.tasks), *(one.name for one in suite.unread)]
    kept = [rows[name].model_dump() for name in names if name in rows]
    table = {"suite_digest": suite_digest(suite.tasks), "tasks": kept}
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(file)  # the old one or the new one, whatever happens in between


def recorded_admissions(file: Path) -> tuple[Admission, ...]:
    """Return the rows of a file, none where there is no file. Errors: TaskError for what is no record."""
    if not file.is_file():
        return ()
    try:
        return tuple(Admission.model_validate(row) for row in json.loads(file.read_text(encoding="utf-8"))["tasks"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as e:
        raise TaskError(f"{file}: it is no record of tasks before the gate; remove it to begin anew") from e


def admit_result(found: Sequence[Admission], unread: Sequence[Unread] = (), record: Path | None = None) -> AdmitResult:
    """Return the answer of a command that brought tasks before the gate. `record`: where it is written down."""
    refused = [row for row in found if not row.is_admitted]
    n_rejected = sum(len(row.rejected) for row in found)
    admitted = f"{len(found) - len(refused)} of {counted(len(found), 'task')} admitted"
    summary = f"{admitted}, {counted(n_rejected, 'wrong kernel')} rejected"
    summary += f"; {len(unread)} more cannot be read" if unread else ""
    summary += f"; recorded in {record}" if record is not None else ""
    step = "nothing to do"
    if refused:
        step = f"`{refused[0].name}` is not: {_step(refused[0])}"
    elif unread:
        step = f"first mend `{unread[0].name}`: {unread[0].reason}"
    return AdmitResult(
        status="failed" if refused or unread else "ok",
        summary=f"{summary}; {step}",
        tasks=tuple(found),
        unread=tuple(UnreadTask(name=one.name, reason=one.reason) for one in unread),
        record="" if record is None else str(record),
    )


_MEND: dict[Verdict, str] = {
    "rejected": "its solution does not compile or fit the task: mend the solution, or the signature in task.toml",
    "wrong": "its solution is wrong by the reference: mend the solution, the reference or the criterion",
    "not_run": "nothing could be judged: mend what its problem names",
}


def _step(row: Admission) -> str:
    """Return what to do about a task that is not admitted, by what failed."""
    if row.verdict not in CORRECT:
        return _MEND[row.verdict]
    if any(problem.startswith(_UNUSED) for problem in row.problems):
        return "give inputs with which every argument matters, or drop the one that does not"
    if any(problem.startswith(_BASELINE) for problem in row.problems):
        return "mend its baseline in reference.py, or leave it out of task.toml"
    if any(_PASSES in problem for problem in row.problems):
        return "a wrong kernel passes: give other inputs or a sharper criterion"
    return "too few wrong kernels can be made of its solution: write the solution with more that can go wrong"


_BASELINE = "the baseline "
_UNUSED = "the answer does not depend on"
_PASSES = "passes: "


def admit(task: Task) -> Admission:
    """Judge the solution, baselines and wrong kernels of a task not blocked. Never raises for what a task holds."""
    assert task.solution is not None, "a blocked task is not admitted"
    found = Admission(
        name=task.name, task=task.digest, solution=solution_digest(task), rules=rules_digest(), verdict="not_run"
    )
    try:
        bench = make_bench(task, "quick", SEED)
    except (MemoryError, *OUR_ERRORS) as e:
        return _not_admitted(found, e)
    try:
        return _judged(found, task, task.solution, bench)
    except (ReferenceFailure, OSError, MemoryError, *OUR_ERRORS) as e:
        return _not_admitted(found, e)
    finally:
        bench.close()


def _not_admitted(found: Admission, reason: BaseException) -> Admission:
    return found.model_copy(update={"problems": (f"no judgement: {type(reason).__name__}: {reason}",)})


def _judged(found: Admission, task: Task, own: Solution, bench: Bench) -> Admission:
    bench.start()
    solution = InterpreterCandidate(task, own.text, own.kernel)
    with started_baselines(bench) as started:
        verdict = judge(task, solution, "quick", SEED, bench)
        found = found.model_copy(update={"verdict": verdict.verdict})
        if verdict.verdict not in CORRECT:
            return found.model_copy(update={"problems": (f"the solution: {verdict.summary}",)})
        held = held_baselines(bench, started)
    found = found.model_copy(update={"baselines": dict(held.agreed)})
    unused = [f"{_UNUSED} `{name}`" for name in _unused(bench)]
    return _with_wrong_kernels(found, task, bench, solution, [*held.problems, *unused])


def _unused(bench: Bench) -> Iterable[str]:
    """Return the arguments with which the right answer does not change."""
    base = bench.answer(bench.cases.base).outputs
    return (name for name, case in bench.cases.depends if same_bits(bench.answer(case).outputs, base))


def _with_wrong_kernels(
    found: Admission, task: Task, bench: Bench, solution: InterpreterCandidate, problems: list[str]
) -> Admission:
    rejected: list[Rejected] = []
    absent: dict[str, str] = {}
    kinds: Mapping[str, tuple[Wrong, ...]] = {**nulls.null_kernels(task), **mutants.mutants(task)}
    for kind, texts in kinds.items():
        outcome = _first_rejected(task, bench, solution, texts)
        if isinstance(outcome, Rejected):
            rejected.append(outcome)
        elif outcome.startswith(_PASSES):
            problems.append(f"{kind}, {outcome}")
        else:
            absent[kind] = outcome
    if len(rejected) < LEAST_REJECTED:
        problems.append(f"{len(rejected)} wrong kernels are rejected; at least {LEAST_REJECTED} must be")
    return found.model_copy(update={"rejected": tuple(rejected), "absent": absent, "problems": tuple(problems)})


def _first_rejected(task: Task, bench: Bench, solution: InterpreterCandidate, texts: Iterable[Wrong]) -> Rejected | str:
    """Judge the first text that builds and answers otherwise than the solution; return why there is none."""
    reason = "the signature has nothing of this kind"
    for wrong in texts:
        candidate = InterpreterCandidate(task, wrong.source, wrong.kernel)
        refusal = candidate.prepare()
        if refusal is not None:
            reason = f"does not build: {refusal.reason}"[:_REASON_LENGTH]
            continue
        try:
            if _is_equivalent(bench, solution, candidate):
                reason = "the same bits as the solution on all inputs"
                continue
        except (BuildError, ExecutionError) as e:
            reason = f"does not run: {e}"[:_REASON_LENGTH]
            continue
        except OUR_ERRORS as e:
            # no fault of the task's: what is wrong with us stands in the record
            reason = f"an error of ours, {type(e).__name__}: {wrong.what}"[:_REASON_LENGTH]
            continue
        judgement = judge(task, candidate, "quick", SEED, bench)
        if judgement.verdict in CORRECT:
            return f"{_PASSES}{wrong.what}"
        failure = next((c.name for c in judgement.checks if c.status == "failed"), None)
        # it ran on every call, so that what failed is what it answers
        if failure is not None and judgement.verdict == "wrong":
            return Rejected(kind=wrong.kind, what=wrong.what, check=failure)
        reason = judgement.summary[:_REASON_LENGTH]
    return reason


def _is_equivalent(bench: Bench, solution: InterpreterCandidate, candidate: InterpreterCandidate) -> bool:
    """Whether all outputs are the solution's, any NaN for a NaN. Errors: BuildError, ExecutionError."""
    params = bench.task.signature.outputs
    for case in bench.cases.all:
        want = Answer(solution.run(case.call, RunOptions()).outputs, None)
        got = candidate.run(case.call, RunOptions()).outputs
        if violation(params, got, want, Criterion()) is not None:
            return False
    return True
