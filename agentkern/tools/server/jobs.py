"""Jobs: one tool call in a process of its own, that outlives the connection and can be polled and cancelled.

A job is a folder. Its id is the digest of the call and of the package, so that equal calls share one job, across
connections and servers. The process holds a lock on `alive` for as long as it lives. Does not know what a tool does.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkern.runtime.cache import Cache
from agentkern.runtime.cache_keys import digest_of, package_digest
from agentkern.runtime.worker import worker_environment
from agentkern.tools.results import JobState

_KEEP_JOBS = 200
_KEEP_S = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class JobView:
    """Where a job stands. `result` is the tool's answer once `state` is `done`."""

    job_id: str
    state: JobState
    progress: float | None = None
    message: str | None = None
    result: dict[str, Any] | None = None


class JobStore:
    """The jobs of one folder. Several servers may share it.

    `package` names the code that jobs run; None asks for its digest at each call.
    """

    def __init__(self, folder: Path, package: str | None = None) -> None:
        self._folder = folder / "jobs"
        self._package = package
        self._cache = Cache(folder)

    def submit(self, tool: str, request: Mapping[str, Any]) -> str:
        """Start the call, or join the one that is running or done; return the job's id."""
        text = json.dumps({"tool": tool, "request": request}, sort_keys=True)
        job_id = digest_of("job", text, self._package or package_digest(self._cache))[:16]
        _reap()
        self._prune()
        view = self.view(job_id)
        if view is not None and view.state in ("queued", "running", "done"):
            return job_id
        self._start(job_id, text)
        return job_id

    def view(self, job_id: str) -> JobView | None:
        """Return where the job stands, None if there is no such job."""
        folder = self._job_folder(job_id)
        if folder is None or not folder.is_dir():
            return None
        _reap()
        is_alive = _is_locked(folder / "alive")  # read before the result: a job may end between the two
        result = _read_json(folder / "result.json")
        if result is not None:
            return JobView(job_id, "done", 1.0, None, result)
        if (folder / "cancelled").exists():
            return JobView(job_id, "cancelled")
        if not is_alive:
            return JobView(job_id, "lost", message=_tail(folder / "log.txt"))
        progress = _read_json(folder / "progress.json")
        if progress is None:
            return JobView(job_id, "queued")
        return JobView(job_id, "running", progress.get("fraction"), progress.get("message"))

    def cancel(self, job_id: str) -> JobView | None:
        """End the job's process, if it still runs; return where it stands then."""
        folder = self._job_folder(job_id)
        if folder is None or not folder.is_dir():
            return None
        if _is_locked(folder / "alive") and not (folder / "result.json").exists():
            (folder / "cancelled").touch()
            _kill_group(folder / "pid")
            _wait_until(lambda: not _is_locked(folder / "alive"), timeout_s=5.0)
        return self.view(job_id)

    def _start(self, job_id: str, text: str) -> None:
        folder = self._folder / job_id
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / "request.json").write_text(text, encoding="utf-8")
        alive = os.open(folder / "alive", os.O_RDWR | os.O_CREAT, 0o600)
        log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            # The lock belongs to the open file, which the child inherits: it is held from before the child's first
            # instruction until the child's end, however it ends.
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            child = subprocess.Popen(
                [sys.executable, "-m", "agentkern.tools.server.worker", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=worker_environment(os.environ),
                pass_fds=(alive,),
                start_new_session=True,
                cwd=folder,
            )
        except BlockingIOError:
            return  # another server started the same job a moment ago
        finally:
            os.close(alive)
            os.close(log)
        (folder / "pid").write_text(str(child.pid), encoding="ascii")
        _children.append(child)

    def _job_folder(self, job_id: str) -> Path | None:
        is_id = len(job_id) == 16 and all(c in "0123456789abcdef" for c in job_id)
        return self._folder / job_id if is_id else None

    def _prune(self) -> None:
        if not self._folder.is_dir():
            return
        jobs = (folder for folder in self._folder.iterdir() if folder.is_dir())
        folders = sorted(jobs, key=lambda folder: folder.stat().st_mtime, reverse=True)
        oldest = time.time() - _KEEP_S
        for place, folder in enumerate(folders):
            is_old = place >= _KEEP_JOBS or folder.stat().st_mtime < oldest
            if is_old and not _is_locked(folder / "alive"):
                shutil.rmtree(folder, ignore_errors=True)


# Children of this process that it has not waited for yet. They are meant to outlive their store.
_children: list[subprocess.Popen[bytes]] = []


def _reap() -> None:
    _children[:] = [child for child in _children if child.poll() is None]


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write `value` so that a reader sees all of it or nothing."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(value), encoding="utf-8")
    temporary.replace(path)


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two who look do not see each other
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _kill_group(pid_file: Path) -> None:
    try:
        os.killpg(int(pid_file.read_text(encoding="ascii")), signal.SIGKILL)
    except (OSError, ValueError):
        return  # it ended by itself


def _wait_until(condition: Callable[[], bool], *, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


def _tail(path: Path, n_bytes: int = 600) -> str | None:
    try:
        return path.read_bytes()[-n_bytes:].decode(errors="replace").strip() or None
    except OSError:
        return None
