"""Run samples with inspect_ai: one Task an arm, one of its samples for each of ours.

Only the modules named `inspect_*` use that package. It gives models, limits, logs and its viewer; what was done and
what it is worth stands in our own ledger, written as each sample ends. Tested with the range of pyproject.toml.
"""

from __future__ import annotations

import importlib
import io
import threading
from contextlib import redirect_stdout

import anyio
from inspect_ai import Task as InspectTask
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import MemoryDataset
from inspect_ai.dataset import Sample as InspectSample
from inspect_ai.hooks import Hooks, SampleEnd, hooks
from inspect_ai.log import EvalSample
from inspect_ai.model import Model, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState

from agentkern.evals.inspect_mock import UnknownScript, mock_model
from agentkern.evals.inspect_records import sample_of, transcript_of
from agentkern.evals.inspect_solvers import JOB, solver_of
from agentkern.evals.judging import Judges
from agentkern.evals.ledger import Ledger
from agentkern.evals.plain_values import plainly
from agentkern.evals.prompts import task_prompt
from agentkern.evals.records import CORRECT, Sample
from agentkern.evals.run_model import Job, RunRequest
from agentkern.evals.station import Station, lost_samples
from agentkern.evals.unavailable import ModelUnavailable, plain_text, unavailable
from agentkern.runtime.programs import OUR_ERRORS
from agentkern.tools.progress import Report

# Not public, and the only way in which inspect tells of providers, packages and keys that are not there.
_PREREQUISITE: type[Exception] = importlib.import_module("inspect_ai._util.error").PrerequisiteError


class _Run:
    """What the hook needs of the run that goes on: its jobs by id, and where finished samples go."""

    def __init__(self, request: RunRequest, jobs: tuple[Job, ...], ledger: Ledger, report: Report) -> None:
        self.request = request
        self.jobs = {job.id: job for job in jobs}
        self.ledger = ledger
        self.judges = Judges(request.parallel, request.device, request.level, request.seed)
        self.station = Station(request, self.judges, ledger.folder / "submissions")
        self.written: set[str] = set()
        self.lost: dict[str, str] = {}
        self._report = report
        self._turn = threading.Lock()

    def keep(self, ended: EvalSample) -> None:
        """Judge what is not judged yet, and write the sample, once."""
        job = self.jobs.get(str(ended.metadata.get(JOB)))
        if job is None:
            return
        with self._turn:
            if job.id in self.written:
                return
            self.written.add(job.id)
        try:
            sample = self._judged(job, sample_of(job, ended, self.station.handed_in(job)))
            path = self.ledger.keep_transcript(job.id, transcript_of(ended))
            self.ledger.append(sample.model_copy(update={"transcript": path}))
        except (OSError, MemoryError, *OUR_ERRORS):
            self.written.discard(job.id)  # done again when the run is over
            raise
        self._report(len(self.written) / len(self.jobs), f"{job.id}: {sample.state}")

    def keep_last(self, ended: EvalSample) -> None:
        """Keep a sample that the hook could not. Errors: OSError; what else fails, `keep_lost` tells."""
        try:
            self.keep(ended)
        except OUR_ERRORS as e:
            self.lost[str(ended.metadata.get(JOB))] = f"an error of ours, {type(e).__name__}: {e}"

    def keep_lost(self) -> None:
        """Write a line for each sample of which there is none yet, so that each is known and run again."""
        self.ledger.extend(lost_samples([job for job in self.jobs.values() if job.id not in self.written], self.lost))

    def _judged(self, job: Job, sample: Sample) -> Sample:
        judged = tuple(
            handed_in
            if handed_in.judgement is not None
            else handed_in.model_copy(update={"judgement": self.judges.judge(job.task, handed_in, job.arm.language)})
            for handed_in in sample.submissions
        )
        return sample.model_copy(update={"submissions": judged})


_runs: dict[str, _Run] = {}
"""The run that goes on in this process, under the only key; inspect makes its hooks before any run exists."""


class LedgerHook(Hooks):
    """Writes a sample down the moment it ends, so that a killed run loses nothing that had ended."""

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Keep the sample. Whatever fails here is done again when the run is over."""
        if "run" in _runs:
            await anyio.to_thread.run_sync(_runs["run"].keep, data.sample)


hooks(name="agentkern_ledger", description="Writes each sample to the run's ledger as it ends.")(LedgerHook)


def run_jobs(request: RunRequest, jobs: tuple[Job, ...], ledger: Ledger, report: Report) -> None:
    """Run `jobs`, each written to `ledger` as it ends. Errors: ModelUnavailable; OSError."""
    run = _Run(request, jobs, ledger, report)
    _runs["run"] = run
    try:
        for name in dict.fromkeys(job.model for job in jobs):
            with redirect_stdout(io.StringIO()):  # inspect greets, and stdout has one answer and nothing else
                _run_model(run, name, [job for job in jobs if job.model == name])
        run.keep_lost()
    finally:
        del _runs["run"]
        run.judges.close()


def _run_model(run: _Run, name: str, jobs: list[Job]) -> None:
    limits = run.request.limits
    model = _model(run.request, name)
    arms = dict.fromkeys(job.arm for job in jobs)
    tasks = [
        InspectTask(
            name=arm.name.replace("/", "_"),
            dataset=MemoryDataset([_inspect_sample(job) for job in jobs if job.arm == arm]),
            solver=solver_of(arm, run.station, {job.id: job for job in jobs}),
            scorer=last_submission(),
            message_limit=limits.messages,
            token_limit=limits.tokens,
            time_limit=limits.seconds,
            working_limit=limits.working_seconds,
        )
        for arm in arms
    ]
    logs = inspect_eval(
        tasks,
        model=model,
        display="none",
        log_dir=str(run.ledger.folder / "inspect"),
        log_level="error",
        log_realtime=False,
        log_images=False,
        fail_on_error=False,
        max_samples=run.request.parallel,
        max_tasks=len(tasks),
        ctl_server=False,
        acp_server=False,
    )
    for log in logs:
        for ended in log.samples or ():
            run.keep_last(ended)
        if log.error is not None:
            run.lost |= {job.id: plain_text(log.error.message) for job in jobs if job.id not in run.lost}


def _inspect_sample(job: Job) -> InspectSample:
    return InspectSample(id=job.id, input=task_prompt(job.task, job.arm), target="right", metadata={JOB: job.id})


def _model(request: RunRequest, name: str) -> Model:
    try:
        found = mock_model(name, request) if request.lane == "mock" else get_model(name, memoize=False)
        found.api.generate = plainly(found.api.generate)
        return found
    except UnknownScript as e:
        raise ModelUnavailable(str(e)) from e
    except (ImportError, ValueError, _PREREQUISITE) as e:
        raise unavailable(name, e) from e


@scorer(metrics=[accuracy()])
def last_submission() -> Scorer:
    """Score for inspect's viewer: what the ledger says of the submission that counts, if it was judged by then."""

    async def score(state: TaskState, target: Target) -> Score:
        assert target.text, "every sample has the same target"
        handed_in = _runs["run"].station.handed_in(_runs["run"].jobs[state.metadata[JOB]])
        judgement = handed_in[-1].judgement if handed_in else None
        if judgement is None:
            return Score(value="I", explanation="nothing was handed in" if not handed_in else "judged afterwards")
        value = "C" if judgement.verdict in CORRECT else "I"
        return Score(value=value, answer=handed_in[-1].source[:4000], explanation=judgement.summary)

    return score
