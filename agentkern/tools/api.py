"""The public surface of the tools: typed requests in, typed results out. The command line and MCP are thin over it."""

from __future__ import annotations

import os

from agentkern.runtime.cache import cache_folder
from agentkern.tools.arrays import GivenInputs, read_inputs, write_npz
from agentkern.tools.check import check
from agentkern.tools.compile import CompileAnswer, compile
from agentkern.tools.corpus import corpus_verify
from agentkern.tools.corpus_export import corpus_export
from agentkern.tools.corpus_search import corpus_list, corpus_search, corpus_show
from agentkern.tools.doctor import doctor
from agentkern.tools.explain import explain
from agentkern.tools.install.install import InstallRequest, InstallResult, install
from agentkern.tools.profile import ProfileRequest, profile
from agentkern.tools.reference import read, reference
from agentkern.tools.requests import CheckRequest, CompileRequest, RunRequest
from agentkern.tools.results import (
    CheckResult,
    CompileResult,
    CorpusListResult,
    CorpusShowResult,
    CorpusVerifyResult,
    DoctorResult,
    ExplainResult,
    JobResult,
    ProfileResult,
    ReadResult,
    ReferenceResult,
    RunResult,
    VerifyResult,
)
from agentkern.tools.run import RunAnswer, run
from agentkern.tools.server.jobs import JobStore
from agentkern.tools.sources import UsageError, usage_error
from agentkern.tools.verify import VerifyRequest, verify

__all__ = [
    "CheckRequest",
    "CheckResult",
    "CompileAnswer",
    "CompileRequest",
    "CompileResult",
    "CorpusListResult",
    "CorpusShowResult",
    "CorpusVerifyResult",
    "DoctorResult",
    "ExplainResult",
    "GivenInputs",
    "InstallRequest",
    "InstallResult",
    "JobResult",
    "ProfileRequest",
    "ProfileResult",
    "ReadResult",
    "ReferenceResult",
    "RunAnswer",
    "RunRequest",
    "RunResult",
    "UsageError",
    "VerifyRequest",
    "VerifyResult",
    "check",
    "compile",
    "corpus_export",
    "corpus_list",
    "corpus_search",
    "corpus_show",
    "corpus_verify",
    "doctor",
    "explain",
    "install",
    "job",
    "profile",
    "read",
    "read_inputs",
    "reference",
    "run",
    "verify",
    "write_npz",
]


def job(job_id: str, *, cancel: bool = False) -> JobResult:
    """Return where a job of this user stands; with `cancel`, end it first.

    Errors: UsageError for an id that is none.
    """
    store = JobStore(cache_folder(os.environ))
    view = store.cancel(job_id) if cancel else store.view(job_id)
    if view is None:
        raise usage_error("job_id", f"there is no job `{job_id}`")
    status = "failed" if view.state in ("cancelled", "lost") else "ok"
    return JobResult(
        status=status,
        summary=f"job {job_id} is {view.state}",
        job_id=view.job_id,
        state=view.state,
        progress=view.progress,
        message=view.message,
        result=view.result,
    )
