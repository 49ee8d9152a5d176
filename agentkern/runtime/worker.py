"""Run jobs in a process of their own, so that a crash, a hang or a fault of the GPU costs one job and nothing else.

The process stays for the next job and is replaced after any failure. It gets an allow-listed environment, no standard
input or output, and messages of plain values. Which jobs there are is the caller's table.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import IO, Any, Literal

from agentkern.runtime.wire import BadMessage, decode, encode

Failure = Literal["raised", "crashed", "timed_out", "out_of_memory", "too_large", "cancelled"]

MAX_MESSAGE_BYTES = 1 << 30
_ERROR_LINES = 40
_DYING_S = 2.0
_ALLOWED_VARIABLES = (
    "PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "XDG_CACHE_HOME",
    "AGENTKERN_CACHE_DIR", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "CXX",
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE",
)  # fmt: skip
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class JobFailed:
    """A job without a result.

    `raised`: it ended with an exception; `crashed`: its process died; `too_large`: its result was over the bound.
    """

    kind: Failure
    detail: str


class Worker:
    """One process for jobs, one job at a time; started at the first. Safe for several threads, which wait in turn."""

    def __init__(
        self, jobs: Mapping[str, str], environment: Mapping[str, str], max_result_bytes: int = MAX_MESSAGE_BYTES
    ) -> None:
        """Make a worker for `jobs`, names and `module:function`; `environment` is filtered before it is passed on."""
        self._jobs = jobs
        self._environment = worker_environment(environment)
        self._max_result_bytes = max_result_bytes
        self._turn = threading.Lock()
        self._process: _Process | None = None
        self._cancelled = threading.Event()

    def run_job(
        self,
        name: str,
        payload: Any,
        *,
        timeout_s: float,
        memory_bytes: int | None = None,
        on_progress: Callable[[Any], None] | None = None,
    ) -> Any | JobFailed:
        """Run job `name` on a plain `payload` and return its plain result, or why there is none.

        `memory_bytes` bounds the process's private memory. `on_progress` gets what the job reports on the way.
        Errors: KeyError for a job that is not in the table; NotPlain.
        """
        request = encode({"job": self._jobs[name], "payload": payload, "memory_bytes": memory_bytes})
        with self._turn:
            self._cancelled.clear()
            if self._process is None or not self._process.alive:
                self._process = _Process(self._environment)
            outcome = self._exchange(self._process, request, time.monotonic() + timeout_s, on_progress)
            if isinstance(outcome, JobFailed):
                self._process.end()
                self._process = None
            return outcome

    def cancel(self) -> None:
        """End the job that runs now; its caller gets `cancelled`."""
        self._cancelled.set()
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process; a later job starts another."""
        with self._turn:
            if self._process is not None:
                self._process.end()
                self._process = None

    def _exchange(
        self, process: _Process, request: bytes, deadline: float, on_progress: Callable[[Any], None] | None
    ) -> Any | JobFailed:
        try:
            process.connection.send_bytes(request)
            while True:
                if not process.connection.poll(max(0.0, deadline - time.monotonic())):
                    return JobFailed("timed_out", "the job did not end in time")
                kind, value = decode(process.connection.recv_bytes(self._max_result_bytes))
                if kind == "result":
                    return value
                if on_progress is not None:
                    on_progress(value)
        except (EOFError, ConnectionError):
            return self._post_mortem(process)
        except (OSError, BadMessage) as e:
            # `recv_bytes` reports a message over the bound in this way.
            return JobFailed("too_large", f"the job's result cannot be read: {e}")

    def _post_mortem(self, process: _Process) -> JobFailed:
        # Its side is closed, so it is on its way out, perhaps with a traceback still to write.
        status, errors = process.end(_DYING_S)
        if self._cancelled.is_set():
            return JobFailed("cancelled", "the job was cancelled")
        last = errors[-1] if errors else ""
        if last.startswith(("MemoryError", "numpy._core._exceptions._ArrayMemoryError", "torch.OutOfMemoryError")):
            return JobFailed("out_of_memory", last)
        if status == 1 and errors:
            return JobFailed("raised", "\n".join(errors))
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit code {status}"
        return JobFailed("crashed", "\n".join([f"the job's process ended with {how}", *errors]))


class _Process:
    """The process, its connection, and a thread that keeps the end of what it writes to standard error."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "agentkern.runtime.worker_main", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=environment,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        assert self._child.stderr is not None
        self._errors: deque[str] = deque(maxlen=_ERROR_LINES)
        self._reader = threading.Thread(target=_drain, args=(self._child.stderr, self._errors), daemon=True)
        self._reader.start()

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    def kill(self) -> None:
        """Kill the process and all that it started."""
        if self._child.poll() is None:
            try:
                os.killpg(self._child.pid, signal.SIGKILL)
            except ProcessLookupError:
                return

    def end(self, grace_s: float = 0.0) -> tuple[int, list[str]]:
        """Kill it unless it ends within `grace_s`; return its exit status and the end of its errors."""
        try:
            status = self._child.wait(grace_s)
        except subprocess.TimeoutExpired:
            self.kill()
            status = self._child.wait()
        self.connection.close()
        self._reader.join(1.0)
        return status, list(self._errors)


def worker_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what a worker may see of the environment, with the way to this package."""
    allowed = {name: environment[name] for name in _ALLOWED_VARIABLES if name in environment}
    paths = [str(_ROOT), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return {**allowed, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


def _drain(stream: IO[bytes], lines: deque[str]) -> None:
    # A line without an end must not grow without bound either.
    while line := stream.readline(4096):
        text = line.decode(errors="replace").rstrip()
        if text:
            lines.append(text)
    stream.close()
