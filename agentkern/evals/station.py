"""Where samples are worked at: the run, its judges, and a file for each sample of what is handed in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentkern.evals.handed_in import HandedIn, read_submissions
from agentkern.evals.judging import Judges
from agentkern.evals.ledger import file_name
from agentkern.evals.plain_values import plain
from agentkern.evals.records import Sample, Submission
from agentkern.evals.run_model import Job, RunRequest, server_options

_MOST_REASON = 600


@dataclass(frozen=True, slots=True)
class Station:
    """What solvers share: the run, its judges, and the folder of what is handed in, one file a sample."""

    request: RunRequest
    judges: Judges
    folder: Path

    def file(self, job: Job) -> Path:
        """Return where a sample's submissions are written, one a line."""
        return self.folder / f"{file_name(job.id)}.jsonl"

    def begin(self, job: Job) -> None:
        """Forget what an earlier try at the sample handed in."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file(job).unlink(missing_ok=True)

    def add(self, job: Job, handed_in: Submission) -> None:
        """Write a submission down; of two with one number the later holds."""
        line = HandedIn(task=job.task.name, submission=handed_in).model_dump_json()
        with self.file(job).open("ab") as file:
            file.write(line.encode() + b"\n")

    def handed_in(self, job: Job) -> tuple[Submission, ...]:
        """Return a sample's submissions so far; a line that was cut off, or answers another task, is none."""
        return tuple(line.submission for line in read_submissions(self.file(job)) if line.task == job.task.name)

    def server_arguments(self, job: Job) -> list[str]:
        """Return the command line of a sample's server: what it hides, and where it writes what is handed in."""
        return ["-m", "agentkern", "mcp", *server_options(job, self.request, self.file(job))]


def block_submission(job: Job, source: str, *, number: int, at_call: int, tokens: int) -> Submission:
    """Return a block as a submission. Of several kernels in it the one that the task asked for by name is meant."""
    several = job.arm.language == "agentkern" and source.count("\n@ak.") > 1
    kernel = job.task.name if several and f"def {job.task.name}(" in source else None
    return Submission(number=number, at_call=at_call, tokens=tokens, source=source, kernel=kernel)


def lost_samples(jobs: Iterable[Job], reasons: Mapping[str, str]) -> Iterator[Sample]:
    """Yield the records of samples of which nothing is known but, for some by their ids, why."""
    for job in jobs:
        yield Sample(
            id=job.id,
            task=job.task.name,
            family=job.task.family,
            arm=job.arm.name,
            model=job.model,
            epoch=job.epoch,
            state="error",
            error=plain(reasons.get(job.id, "it ended without a record"))[:_MOST_REASON],
        )
