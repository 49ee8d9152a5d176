"""What `agentkern eval` answers: the fields of its JSON objects, exactly as they are printed. No behaviour."""

from __future__ import annotations

from typing import Literal

from agentkern.evals.records import RunHeader, SampleState, Verdict
from agentkern.tools.results import Record, Result

Agreement = Literal["equal", "different", "stale", "other", "unjudged", "unknown_task"]


class TaskRow(Record):
    """One task. `blocked_by`: the feature that the language lacks for it, empty where it has all."""

    name: str
    family: str
    level: int
    features: tuple[str, ...]
    blocked_by: str
    digest: str


class TaskListResult(Result):
    """Every task."""

    tasks: tuple[TaskRow, ...] = ()
    suite_digest: str = ""


class SampleRow(Record):
    """One sample of a run, in short."""

    id: str
    task: str
    arm: str
    model: str
    epoch: int
    state: SampleState
    verdict: Verdict | None
    calls: int
    tokens: int


class RunListResult(Result):
    """The samples of one run. `problems`: what could not be read."""

    run: RunHeader
    samples: tuple[SampleRow, ...] = ()
    problems: tuple[str, ...] = ()


class Replayed(Record):
    """One stored submission judged again. `fields`: of the judgement, those that differ.

    equal: bit-equal under the same digest. different: not so. stale: it differs, and task or judge have changed since.
    other: judged at another level or on another device than was stored. unjudged: nothing was stored.
    """

    sample: str
    number: int
    agreement: Agreement
    is_stale: bool
    stored: Verdict | None
    verdict: Verdict | None
    fields: tuple[str, ...] = ()


class ReplayResult(Result):
    """Every stored submission of a run."""

    run: str
    submissions: tuple[Replayed, ...] = ()
    seconds: float = 0.0
