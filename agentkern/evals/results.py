"""What `agentkern eval` answers: the fields of its JSON objects, exactly as they are printed. No behaviour."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agentkern.evals.records import RunHeader, SampleState, Verdict
from agentkern.tools.results import Record, Result

Agreement = Literal["equal", "different", "stale", "other", "unjudged", "unknown_task"]


class TaskRow(Record):
    """One task. `blocked_by`: the feature that the language lacks for it, empty where it has all.

    `baselines`: what a submission can be timed beside.
    """

    name: str
    family: str
    level: int
    features: tuple[str, ...]
    blocked_by: str
    baselines: tuple[str, ...] = ()
    digest: str


class UnreadTask(Record):
    """A folder that is meant as a task and cannot be read, and why."""

    name: str
    reason: str


class TaskListResult(Result):
    """Every task. `unread`: those that cannot be read."""

    tasks: tuple[TaskRow, ...] = ()
    unread: tuple[UnreadTask, ...] = ()
    suite_digest: str = ""


class Rejected(Record):
    """A wrong kernel that failed a task: what it was, the check that rejected it."""

    kind: str
    what: str
    check: str


class Admission(Record):
    """What the gate found of a task. `absent`: kinds of wrong kernels that the task cannot have, and why.

    `baselines`: how near each of the task's is to the reference. `problems`: why it is not admitted. `task`,
    `solution`, `rules`: digests of what the record is valid for.
    """

    name: str
    task: str
    solution: str
    rules: str
    verdict: Verdict
    rejected: tuple[Rejected, ...] = ()
    absent: dict[str, str] = Field(default_factory=dict)
    baselines: dict[str, str] = Field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @property
    def is_admitted(self) -> bool:
        """Whether the task may judge."""
        return not self.problems


class AdmitResult(Result):
    """Every task that was brought before the gate. `record`: the file that was written, if any."""

    tasks: tuple[Admission, ...] = ()
    unread: tuple[UnreadTask, ...] = ()
    record: str = ""


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
    """Every stored submission of a run. `problems`: what of the store could not be read."""

    run: str
    submissions: tuple[Replayed, ...] = ()
    problems: tuple[str, ...] = ()
    seconds: float = 0.0
