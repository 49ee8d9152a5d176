"""`ak_submit`: a text is judged as a task's answer, as a job. What is told of hidden sizes is that they are wrong."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentkern.evals.candidates.table import Device, candidate_of
from agentkern.evals.handed_in import SubmissionFile
from agentkern.evals.judge import judge
from agentkern.evals.judge_cases import Level
from agentkern.evals.records import CORRECT, Judgement, Language, Submission
from agentkern.evals.task import default_tasks, read_task
from agentkern.evals.task_model import Task, TaskError
from agentkern.tools.server.arguments import SubmitArguments
from agentkern.tools.sources import usage_error

Answer = dict[str, Any]

OPEN_CHECKS = ("text", "compile", "signature", "promises", "shown", "depends")
"""Checks on what the writer knows; what the others find tells of hidden sizes."""
MOST_NAME = 100
_MOST_DETAIL = 400
_COUNTS = "every submission counts where a limit is in force"
_HINT = {
    "hidden": "right at the shown sizes, wrong at others: think of 0, 1, odd and larger sizes, and of special values",
    "inputs": "an input was changed",
    "writes": "an element is not written, or memory beside the buffers is",
    "memory": "a race, an uninitialised read or an access out of bounds",
    "deterministic": "runs of the same inputs differ",
    "speed": "the time cannot be trusted",
}


@dataclass(frozen=True, slots=True)
class Judging:
    """How submissions are judged, and where they are kept. `only`: the one task that may be answered, if any."""

    kept: SubmissionFile = field(default_factory=lambda: SubmissionFile(None))
    tasks: Path | None = None
    level: Level = "quick"
    device: Device = "cpu"
    seed: int = 0
    language: Language = "agentkern"
    only: str | None = None

    def task(self, name: str) -> Task:
        """Return a task that can be judged. Errors: UsageError names the nearest, the only one, or what blocks it."""
        if self.only is not None and name != self.only:
            raise usage_error("task", f"the task here is `{self.only}`, not `{name[:MOST_NAME]}`")
        try:
            root = self.tasks or default_tasks()
            names = [child.name for child in root.iterdir() if (child / "task.toml").is_file()]
            if name not in names:
                near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
                other = f"there are {len(names)}; `agentkern eval list` names them"
                hint = f"did you mean `{near[0]}`?" if near else other
                raise usage_error("task", f"there is no task `{name[:MOST_NAME]}`; {hint}")
            found = read_task(root / name)
        except TaskError as e:
            raise usage_error("task", str(e)) from e
        if found.is_blocked:
            raise usage_error("task", f"`{name}` is blocked by {found.blocked_by}: nothing is judged, nothing counted")
        return found


def submission_request(judging: Judging, arguments: SubmitArguments) -> Answer:
    """Keep a submission and return what its job is asked: the same for the same text. Errors: UsageError; OSError."""
    task = judging.task(arguments.task)
    handed_in = (task.name, arguments.source, arguments.kernel, arguments.settings)
    return {
        "task": task.name,
        "folder": str(task.folder),
        "digest": task.digest,
        "source": arguments.source,
        "kernel": arguments.kernel,
        "settings": arguments.settings,
        "language": judging.language,
        "level": judging.level,
        "device": judging.device,
        "seed": judging.seed,
        "number": judging.kept.add(*handed_in),
    }


def judged_submission(arguments: Answer) -> Answer:
    """Judge what a request holds, in the job's process; `judgement` is whole and for the server alone."""
    task = read_task(Path(arguments["folder"]))
    handed_in = Submission(
        number=arguments["number"],
        at_call=0,
        tokens=0,
        source=arguments["source"],
        kernel=arguments["kernel"],
        settings=arguments["settings"],
    )
    candidate = candidate_of(task, handed_in, arguments["language"], arguments["device"])
    made = judge(task, candidate, arguments["level"], arguments["seed"])
    return {
        "status": "ok" if made.verdict in CORRECT else "unavailable" if made.verdict == "not_run" else "failed",
        "summary": made.summary,
        "number": handed_in.number,
        "judgement": made.model_dump(mode="json"),
    }


def submission_answer(judging: Judging, result: Answer) -> Answer:
    """Keep a job's judgement and return what its writer may know of it. Errors: OSError."""
    made = Judgement.model_validate(result["judgement"])
    judging.kept.settle(result["number"], made)
    wrong = next((check for check in made.checks if check.status == "failed"), None)
    answer: Answer = {"status": result["status"], "summary": "", "verdict": made.verdict, "recorded": result["number"]}
    if made.verdict in CORRECT:
        return answer | {"summary": f"{made.verdict.replace('_', '-')}: right by every check; nothing more to do"}
    if wrong is None:
        return answer | {"summary": made.summary[:_MOST_DETAIL]}
    is_open = wrong.name in OPEN_CHECKS
    detail = wrong.detail[:_MOST_DETAIL] if is_open else _HINT[wrong.name]
    answer["summary"] = f"{made.verdict}: `{wrong.name}`: {detail}; change the kernel and submit again: {_COUNTS}"
    answer["passed"] = [check.name for check in made.checks if check.status == "passed"]
    if made.codes:
        answer["codes"] = list(dict.fromkeys(made.codes))
    if is_open and made.mismatch is not None:
        answer["mismatch"] = made.mismatch.model_dump(mode="json")
    return answer
