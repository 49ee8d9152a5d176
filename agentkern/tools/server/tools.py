"""The tools that a client sees: name, description, arguments, annotations, and how each is answered.

Nothing here takes a path: kernels come as text. What may take long runs as a job and answers within `WAIT_S`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentkern.evals.records import Language
from agentkern.tools.artifacts import ArtifactStore
from agentkern.tools.check import check
from agentkern.tools.corpus_search import Filters, corpus_search
from agentkern.tools.reference import read, reference
from agentkern.tools.requests import CheckRequest
from agentkern.tools.server.arguments import (
    Arguments,
    CheckArguments,
    CompileArguments,
    JobArguments,
    ProfileArguments,
    ReadArguments,
    ReferenceArguments,
    SearchArguments,
    SubmitArguments,
    VerifyArguments,
)
from agentkern.tools.server.brief import brief
from agentkern.tools.server.brief_kernels import brief_kernels
from agentkern.tools.server.jobs import JobStore, JobView
from agentkern.tools.server.submit import Judging, submission_answer, submission_request
from agentkern.tools.server.trials import TOLD, TrialArguments, trial_request
from agentkern.tools.sources import usage_error

# A call may take 25 s; what is left is for starting the job and for the answer's way back.
WAIT_S = 20.0
_POLL_S = 0.05
_HEARTBEAT_S = 2.0

Answer = dict[str, Any]


class Progress(Protocol):
    """How a waiting call says that it lives."""

    async def __call__(self, fraction: float | None, message: str) -> None:
        """Report a fraction of the work, if known, and what is going on."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """What the tools work with. `hidden`: kernels of the corpus that no tool and no resource shows.

    `judging`: how submissions are judged and where they are kept.
    """

    jobs: JobStore
    artifacts: ArtifactStore
    hidden: tuple[str, ...] = ()
    judging: Judging = field(default_factory=Judging)


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool. `is_read_only` and `is_idempotent` are the hints that clients ask people about."""

    name: str
    description: str
    arguments: type[Arguments]
    answer: Callable[[Any, Services, Progress], Awaitable[Answer]]
    is_read_only: bool = True
    is_idempotent: bool = True


async def _check(arguments: CheckArguments, _services: Services, _progress: Progress) -> Answer:
    request = CheckRequest(**arguments.model_dump())
    result = await asyncio.to_thread(check, request)
    return brief("check", result.model_dump(mode="json"))


async def _compile(arguments: CompileArguments, services: Services, progress: Progress) -> Answer:
    return await _as_job("compile", arguments, services, progress)


async def _verify(arguments: VerifyArguments, services: Services, progress: Progress) -> Answer:
    return await _as_job("verify", arguments, services, progress)


async def _profile(arguments: ProfileArguments, services: Services, progress: Progress) -> Answer:
    return await _as_job("profile", arguments, services, progress)


async def _job(arguments: JobArguments, services: Services, progress: Progress) -> Answer:
    if arguments.cancel:
        view = await asyncio.to_thread(services.jobs.cancel, arguments.job_id)
    else:
        view = await _wait(services.jobs, arguments.job_id, arguments.wait_s, progress)
    if view is None:
        raise usage_error("job_id", f"there is no job `{arguments.job_id}`; start the call again")
    return await asyncio.to_thread(_answer_of, view, services)


async def _reference(arguments: ReferenceArguments, _services: Services, _progress: Progress) -> Answer:
    return brief("reference", reference(arguments.page).model_dump(mode="json"))


async def _read(arguments: ReadArguments, services: Services, _progress: Progress) -> Answer:
    result = read(services.artifacts, arguments.id, arguments.first_line, arguments.n_lines)
    return brief("read", result.model_dump(mode="json"))


async def _search_kernels(arguments: SearchArguments, services: Services, _progress: Progress) -> Answer:
    filters = Filters(arguments.family, arguments.dtype, arguments.feature, hidden=services.hidden)
    result = await asyncio.to_thread(corpus_search, arguments.query, filters, arguments.limit)
    return brief_kernels(result, with_source=arguments.include_source)


async def _submit(arguments: SubmitArguments, services: Services, progress: Progress) -> Answer:
    request = await asyncio.to_thread(submission_request, services.judging, arguments)
    return await _run_job("submit", request, services, progress)


async def _trial_compile(arguments: TrialArguments, services: Services, progress: Progress) -> Answer:
    request = await asyncio.to_thread(trial_request, services.judging, arguments)
    return await _run_job("trial_compile", request, services, progress)


async def _trial_verify(arguments: TrialArguments, services: Services, progress: Progress) -> Answer:
    request = await asyncio.to_thread(trial_request, services.judging, arguments)
    return await _run_job("trial_verify", request, services, progress)


async def _as_job(tool: str, arguments: Arguments, services: Services, progress: Progress) -> Answer:
    return await _run_job(tool, arguments.model_dump(mode="json"), services, progress)


async def _run_job(tool: str, request: Answer, services: Services, progress: Progress) -> Answer:
    job_id = await asyncio.to_thread(services.jobs.submit, tool, request)
    view = await _wait(services.jobs, job_id, WAIT_S, progress)
    assert view is not None, f"job {job_id} vanished"
    return await asyncio.to_thread(_answer_of, view, services)


async def _wait(jobs: JobStore, job_id: str, wait_s: float, progress: Progress) -> JobView | None:
    """Look until the job has ended or the time is over; report what is new, and now and then that it still runs."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    told: tuple[float | None, str | None] = (None, None)
    told_at = loop.time()
    while True:
        view = jobs.view(job_id)
        if view is None or view.state not in ("queued", "running") or loop.time() >= deadline:
            return view
        news = (view.progress, view.message)
        if news != told or loop.time() - told_at > _HEARTBEAT_S:
            told, told_at = news, loop.time()
            await progress(view.progress, view.message or view.state)
        await asyncio.sleep(_POLL_S)


def _answer_of(view: JobView, services: Services) -> Answer:
    if view.state == "done" and view.result is not None:
        if TOLD in view.result:
            return view.result[TOLD]
        if "judgement" in view.result:
            return submission_answer(services.judging, view.result)
        tool = "verify" if "verdict" in view.result else "profile" if "baselines" in view.result else "compile"
        return brief(tool, view.result)
    if view.state in ("queued", "running"):
        summary = f"still {view.state}: call ak_job with job_id={view.job_id}"
        answer: Answer = {"status": "ok", "summary": summary, "state": view.state, "job_id": view.job_id}
        return answer | ({"progress": view.progress} if view.progress is not None else {})
    if view.state == "cancelled":
        return {"status": "failed", "summary": "cancelled; start the call again to run it", "state": "cancelled"}
    last_line = view.message.splitlines()[-1] if view.message else "no output"
    summary = f"the job's process ended without an answer: {last_line}"
    return {"status": "failed", "summary": summary, "state": "lost"}


TOOLS: Mapping[str, ToolRow] = {
    row.name: row
    for row in (
        ToolRow(
            "ak_check",
            "Find every error of a kernel at once, with fixes to apply; makes no code. Fast: call it after each edit.",
            CheckArguments,
            _check,
        ),
        ToolRow(
            "ak_compile",
            "Compile a kernel to CUDA and a cubin: resources, proofs, roofline. Read the CUDA with ak_read.",
            CompileArguments,
            _compile,
            is_read_only=False,
        ),
        ToolRow(
            "ak_verify",
            "Run a kernel and say whether it is right, bit for bit, by named checks shown to catch wrong ones.",
            VerifyArguments,
            _verify,
            is_read_only=False,
        ),
        ToolRow(
            "ak_profile",
            "Time a kernel on the GPU against its floor and rivals; names what bounds it and what would help.",
            ProfileArguments,
            _profile,
            is_read_only=False,
            is_idempotent=False,
        ),
        ToolRow("ak_job", "Wait for a long call's answer, or cancel it.", JobArguments, _job, is_read_only=False),
        ToolRow(
            "ak_reference", "Read the language: pages, concepts, diagnostic codes.", ReferenceArguments, _reference
        ),
        ToolRow("ak_read", "Read lines of an artifact: CUDA, IR, proofs.", ReadArguments, _read),
        ToolRow(
            "ak_search_kernels",
            "Find verified kernels to learn from; include_source gives their text.",
            SearchArguments,
            _search_kernels,
        ),
        ToolRow(
            "ak_submit",
            "Hand in a kernel as a task's answer: judged by every check, at hidden sizes too, and recorded.",
            SubmitArguments,
            _submit,
            is_read_only=False,
        ),
    )
}

TRIAL_TOOLS: Mapping[str, ToolRow] = {
    row.name: row
    for row in (
        ToolRow("ak_compile", "Compile a file: what the compiler says.", TrialArguments, _trial_compile),
        ToolRow("ak_verify", "Run a file at the task's shown sizes and compare.", TrialArguments, _trial_verify),
        TOOLS["ak_submit"],
        TOOLS["ak_job"],
    )
}
"""The tools for texts in another language than ours: an evaluation's arms to compare with."""


def tools_for(language: Language) -> Mapping[str, ToolRow]:
    """Return the tools of a server by the language of its texts."""
    return TOOLS if language == "agentkern" else TRIAL_TOOLS
