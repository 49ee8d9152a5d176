"""Say what a submission is worth: every check by name, in one order, for every language. The one authority.

The same task, text, level, device and seed under one `judge_digest` have one judgement but for times. It never raises
for what a text or a reference does; a check that was not made is never reported as passed.
"""

from __future__ import annotations

import hashlib
import os
import time

from agentkern.evals.candidates.protocol import Candidate, CandidateUnavailable, Refusal
from agentkern.evals.judge_cases import Bench, Level, make_bench
from agentkern.evals.judge_checks import CHECKS, Trial
from agentkern.evals.judge_speed import check_speed
from agentkern.evals.judge_text import text_problem
from agentkern.evals.records import Judgement, Timing, Verdict
from agentkern.evals.task_model import Task
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.cache_keys import digest_of, loaded_digest
from agentkern.runtime.programs import OUR_ERRORS
from agentkern.tools.reference_process import ReferenceFailure
from agentkern.tools.results import CheckRecord, Mismatch
from agentkern.tools.verify_model import BuildError, ExecutionError
from agentkern.tools.verify_subject import Outcome, failed, passed

NAMES = (
    "text", "compile", "signature", "shown", "hidden", "inputs", "writes", "depends", "memory", "deterministic",
    "promises", "speed",
)  # fmt: skip
REFUSING = ("text", "compile", "signature", "promises", "speed")
"""Checks whose failure says that the text is none that can be judged; the others say that it is wrong."""
_NOT_REACHED = "an earlier check ended the judgement"


def judge(
    task: Task, candidate: Candidate, level: Level = "quick", seed: int = 0, bench: Bench | None = None
) -> Judgement:
    """Judge one submission. `bench`: calls and answers of the same task, level and seed, to judge several by."""
    started = time.perf_counter()
    ours = bench or (None if task.is_blocked else make_bench(task, level, seed))
    try:
        made = _judged(task, candidate, ours)
    except (ReferenceFailure, CandidateUnavailable, *OUR_ERRORS, OSError, MemoryError) as e:
        made = _Made.without(_reason(e))
    finally:
        if ours is not None and bench is None:
            ours.close()
        candidate.close()
    return Judgement(
        task=task.name,
        language=candidate.language,
        source_digest=source_digest(candidate.source),
        verdict=made.verdict,
        summary=made.summary + _where(candidate, made.verdict),
        level=level,
        device=candidate.device,
        seed=seed,
        judge_digest=judge_digest(task),
        checks=made.records,
        codes=made.codes,
        mismatch=made.mismatch,
        stages=made.stages,
        timings=made.timings,
        seconds=round(time.perf_counter() - started, 3),
    )


def _where(candidate: Candidate, verdict: Verdict) -> str:
    """Say of a text written for GPUs that none ran it."""
    is_simulated = candidate.language == "cuda" and candidate.device == "cpu" and verdict != "not_run"
    return " (cpu simulator)" if is_simulated else ""


def source_digest(source: str) -> str:
    """Return the digest of a text."""
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def judge_digest(task: Task) -> str:
    """Return the digest of the task's files and of the package, whose every file may change a judgement."""
    return digest_of("judge", task.digest, loaded_digest(Cache(cache_folder(os.environ))))[:16]


def _reason(crash: BaseException) -> str:
    if isinstance(crash, ReferenceFailure | CandidateUnavailable):
        return str(crash)
    return f"an error of ours, {type(crash).__name__}: {crash}"


class _Made:
    """What is known of a judgement so far: outcomes by check, codes, shares of right cases, times."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.codes: tuple[str, ...] = ()
        self.stages: dict[str, float] = {}
        self.timings: tuple[Timing, ...] = ()
        self.unjudged = ""
        self.is_bit_exact = False

    @classmethod
    def without(cls, reason: str) -> _Made:
        """Return that there is no verdict, and why."""
        made = cls()
        made.unjudged = reason
        return made

    def add(self, outcome: Outcome) -> bool:
        """Keep an outcome; return whether the next check is to be made."""
        self.outcomes[outcome.record.name] = outcome
        return outcome.record.status != "failed"

    @property
    def records(self) -> tuple[CheckRecord, ...]:
        """A record of every check."""
        missing = self.unjudged or _NOT_REACHED
        return tuple(
            self.outcomes[name].record
            if name in self.outcomes
            else CheckRecord(name=name, status="not_run", detail=missing)
            for name in NAMES
        )

    @property
    def _failure(self) -> Outcome | None:
        return next((found for found in self.outcomes.values() if found.record.status == "failed"), None)

    @property
    def mismatch(self) -> Mismatch | None:
        """The wrong element that ended the judgement."""
        return None if self._failure is None else self._failure.mismatch

    @property
    def verdict(self) -> Verdict:
        """What the outcomes add up to."""
        if self.unjudged:
            return "not_run"
        if self._failure is not None:
            return "rejected" if self._failure.record.name in REFUSING else "wrong"
        return "bit_exact" if self.is_bit_exact else "within_bound"

    @property
    def summary(self) -> str:
        """One line."""
        if self.unjudged:
            return f"no verdict: {self.unjudged}"
        if self._failure is not None:
            return f"{self.verdict}: `{self._failure.record.name}`: {self._failure.record.detail}"
        n_passed = sum(record.status == "passed" for record in self.records)
        return f"{self.verdict.replace('_', '-')}: {n_passed} checks passed"


def _judged(task: Task, candidate: Candidate, bench: Bench | None) -> _Made:
    made = _Made()
    problem = text_problem(candidate.source, candidate.language)
    if not made.add(failed("text", problem) if problem else passed("text", "short enough, and no store of values")):
        return made
    if bench is None:
        return _Made.without(f"the task is blocked: {task.blocked_by}")
    if not _prepared(made, candidate.prepare()):
        return made
    made.is_bit_exact = task.criterion.is_bit_exact
    bench.start()
    trial = Trial(bench, candidate)
    for name in CHECKS:
        if not made.add(_checked(trial, name)):
            break
        made.stages = dict(trial.stages)
    else:
        outcome, made.timings = check_speed(task, candidate)
        made.add(outcome)
    made.stages = dict(trial.stages)
    return made


def _checked(trial: Trial, name: str) -> Outcome:
    try:
        return CHECKS[name](trial)
    except (ExecutionError, BuildError) as e:
        return failed(name, str(e))


def _prepared(made: _Made, refusal: Refusal | None) -> bool:
    """Keep what preparing says of the checks that need no run; return whether the candidate can run."""
    details = {
        "compile": "no errors",
        "signature": "the task's parameters",
        "promises": "nothing is assumed that the task does not give",
    }
    for name, detail in details.items():
        if refusal is not None and refusal.check == name:
            made.codes = refusal.codes
            return made.add(failed(name, refusal.reason))
        made.add(passed(name, detail))
    return True
