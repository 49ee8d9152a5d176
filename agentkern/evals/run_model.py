"""What a run is made of: its plan, its samples to come, its limits, and the answer of the command. Data only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from agentkern.evals.arms import Arm
from agentkern.evals.candidates.table import Device
from agentkern.evals.judge_cases import Level
from agentkern.evals.records import SampleState, Verdict
from agentkern.evals.task_model import Task
from agentkern.tools.results import Result


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What ends a sample. None: nothing of the kind. `working_seconds` leaves out waiting for a provider."""

    messages: int | None = 80
    tokens: int | None = 400_000
    tool_calls: int | None = 40
    seconds: int | None = 3600
    working_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One sample to come."""

    task: Task
    arm: Arm
    model: str
    epoch: int

    @property
    def id(self) -> str:
        """The sample's name, the same in every start of the run."""
        return f"{self.task.name}:{self.arm.name}:{self.model}:{self.epoch}"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run. `parallel`: samples at a time."""

    folder: Path
    lane: Literal["mock", "live"]
    models: tuple[str, ...]
    arms: tuple[Arm, ...]
    tasks: tuple[Task, ...]
    epochs: int = 1
    limits: RunLimits = RunLimits()
    device: Device = "cpu"
    level: Level = "quick"
    seed: int = 0
    parallel: int = 2
    resume: bool = False

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Every sample, in the order they are started."""
        able = [task for task in self.tasks if not task.is_blocked]
        return tuple(
            Job(task, arm, model, epoch)
            for model in self.models
            for arm in self.arms
            for epoch in range(1, self.epochs + 1)
            for task in able
        )


def server_options(job: Job, request: RunRequest, file: Path) -> list[str]:
    """Return the options of `agentkern mcp` for a sample."""
    options = ["--submissions", str(file), "--tasks", str(job.task.folder.parent), "--task", job.task.name]
    options += ["--judge-level", request.level, "--judge-device", request.device, "--judge-seed", str(request.seed)]
    if job.task.solution is not None and job.task.solution.entry:
        options += ["--exclude", job.task.solution.entry]
    if job.arm.language != "agentkern":
        options += ["--language", job.arm.language]
    return options


class RunResult(Result):
    """What a run came to. `states` and `verdicts` count samples, those of earlier starts included."""

    run: str
    folder: str
    samples: int = 0
    new: int = 0
    states: dict[SampleState, int] = Field(default_factory=dict)
    verdicts: dict[Verdict, int] = Field(default_factory=dict)
