"""Run a job on a candidate's code in a process that can reach nothing, and get bytes back: never a verdict.

What comes back is decoded as plain data, bounded in size, and whatever it says is only ever compared with what the
parent computed elsewhere. One confined process a job: nothing of a run is left for the next.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentkern.evals.candidates.confine import Limits
from agentkern.evals.candidates.isolated_main import JOBS, UNCONFINED
from agentkern.evals.candidates.protocol import CandidateUnavailable
from agentkern.runtime.wire import BadMessage, decode
from agentkern.runtime.worker import JobFailed, Worker

_MARGIN_S = 20.0
_ENVELOPE_BYTES = 1 << 20


class Isolation:
    """The process that confined ones are copied from. Safe for several threads, which wait in turn."""

    def __init__(self) -> None:
        self._worker = Worker(JOBS, os.environ)

    def run(
        self,
        job: str,
        argument: Any,
        limits: Limits,
        max_result_bytes: int,
        *,
        readable: Sequence[Path] = (),
        before: tuple[str, Any] | None = None,
    ) -> Any | JobFailed:
        """Run `job` (module:function) on a plain `argument`; its plain result, or why there is none.

        `readable`: folders that it may read beyond the interpreter's, the system's and installed packages'. `before`: a
        function that is called with its argument before anything is given up, for libraries that the job needs.

        Errors: CandidateUnavailable where the system cannot confine a process.
        """
        payload = {
            "job": job,
            "before": before,
            "argument": argument,
            "limits": asdict(limits),
            "max_result_bytes": max_result_bytes + _ENVELOPE_BYTES,
            "readable": [str(path) for path in readable],
        }
        outcome = self._worker.run_job("isolated", payload, timeout_s=limits.seconds + _MARGIN_S)
        return outcome if isinstance(outcome, JobFailed) else _result_of(outcome, limits)

    def close(self) -> None:
        """End the process; a later job starts another."""
        self._worker.close()


def _result_of(outcome: dict[str, Any], limits: Limits) -> Any | JobFailed:
    if outcome["too_large"]:
        return JobFailed("too_large", "it wrote more than its outputs hold")
    if outcome["timed_out"]:
        return JobFailed("timed_out", f"it did not end within {limits.seconds:g} s")
    status, errors = outcome["status"], outcome["errors"].strip()
    last = errors.splitlines()[-1] if errors else ""
    if status == UNCONFINED:
        raise CandidateUnavailable(f"foreign code is not run here: this system cannot keep it from {last[:200]}")
    if status == 1 and last.startswith("MemoryError"):
        return JobFailed("out_of_memory", last)
    if status == 1 and errors:
        return JobFailed("raised", errors)
    if status != 0:
        return JobFailed("crashed", f"its process ended with {how_it_ended(status)}")
    try:
        return decode(outcome["result"])
    except BadMessage as e:
        return JobFailed("crashed", f"what it sent back is no result: {e}")


def how_it_ended(status: int) -> str:
    """Say how a process ended. SIGSYS: it made a system call that candidates have no use for."""
    if status >= 0:
        return f"exit code {status}"
    name = signal.Signals(-status).name
    return f"{name}: a system call that is not allowed" if name == "SIGSYS" else name
