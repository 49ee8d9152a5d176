"""The tools of a server whose texts are in another language: compile, verify at the shown sizes, submit.

They tell what a terminal would; what the judge finds beyond the shown sizes stays with it. Only evaluations serve them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from agentkern.evals.candidates.protocol import CandidateUnavailable
from agentkern.evals.candidates.table import candidate_of
from agentkern.evals.feedback import plain_text
from agentkern.evals.judge import judge
from agentkern.evals.records import Judgement, Submission
from agentkern.evals.task import read_task
from agentkern.tools.server.arguments import MAX_SOURCE_CHARS, Arguments
from agentkern.tools.server.submit import Judging

Answer = dict[str, Any]
TOLD = "told"
"""The key of a job's result under which its whole answer stands."""
_MOST_CHARS = 1600


class TrialArguments(Arguments):
    """Of `ak_compile` and `ak_verify` in another language."""

    task: Annotated[str, Field(description="The task's name.")]
    source: Annotated[str, Field(max_length=MAX_SOURCE_CHARS, description="The whole file.")]


def trial_request(judging: Judging, arguments: TrialArguments) -> Answer:
    """Return what a job is asked. Errors: UsageError."""
    task = judging.task(arguments.task)
    return {
        "task": task.name,
        "folder": str(task.folder),
        "digest": task.digest,
        "source": arguments.source,
        "language": judging.language,
        "level": judging.level,
        "device": judging.device,
        "seed": judging.seed,
    }


def compiled(request: Mapping[str, Any]) -> Answer:
    """Compile a text, in the job's process."""
    task = read_task(Path(request["folder"]))
    candidate = candidate_of(task, _handed_in(request), request["language"], request["device"])
    try:
        refusal = candidate.prepare()
    except CandidateUnavailable as e:
        return _told("unavailable", f"it cannot be run here: {e}")
    finally:
        candidate.close()
    if refusal is None:
        return _told("ok", "it compiles; next: ak_verify")
    answer = _told("rejected", f"{refusal.check}: {refusal.reason}")
    return answer | {"codes": list(refusal.codes)} if refusal.codes else answer


def verified(request: Mapping[str, Any]) -> Answer:
    """Run a text at the shown sizes and compare with the reference, in the job's process."""
    task = read_task(Path(request["folder"]))
    candidate = candidate_of(task, _handed_in(request), request["language"], request["device"])
    made = judge(task, candidate, request["level"], request["seed"])
    return _told(_status(made), plain_text(made))


def _status(made: Judgement) -> str:
    if made.verdict == "not_run":
        return "unavailable"
    shown = [check.status for check in made.checks if check.name in ("compile", "signature", "promises", "shown")]
    return "ok" if "failed" not in shown and "passed" in shown[-1:] else "failed"


def _handed_in(request: Mapping[str, Any]) -> Submission:
    return Submission(number=1, at_call=0, tokens=0, source=request["source"])


def _told(status: str, text: str) -> Answer:
    return {"status": status, "summary": text[:_MOST_CHARS]}
