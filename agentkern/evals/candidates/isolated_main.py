"""The job of the process that keeps candidates apart: fork, confine the copy, run one job in it, keep nothing of it.

The forking process never runs a candidate's code, so that no run can leave anything for the next. What the copy sends
back is bytes, bounded, and decoded elsewhere.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from agentkern.evals.candidates.confine import Limits, confine, not_confined
from agentkern.runtime.wire import encode

JOBS = {"isolated": "agentkern.evals.candidates.isolated_main:run"}
"""The table for a worker."""

UNCONFINED = 97
"""How a copy ends that could not be confined: before any code of a candidate."""
_PR_SET_CHILD_SUBREAPER = 36
_ERROR_BYTES = 8192
_PACKAGE = Path(__file__).resolve().parents[2]
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives", "/opt", "/proc/cpuinfo")


def run(payload: dict[str, Any], _report: Callable[[Any], None]) -> dict[str, Any]:
    """Run `payload["job"]` (module:function) on `payload["argument"]` in a confined copy of this process.

    `payload["before"]`, a function of ours and its argument, is called first and outside: what it loads is then there.
    Returns `result` (what it sent, undecoded), `status` (of its end, as `os.waitstatus_to_exitcode` gives it),
    `timed_out`, `too_large` and `errors` (the end of its standard error).
    """
    limits = Limits(**payload["limits"])
    job = _find(payload["job"])  # before the copy: imports are ours and cost time
    if payload["before"] is not None:
        name, argument = payload["before"]
        _find(name)(argument)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    folder = Path(tempfile.mkdtemp(prefix="agentkern-candidate-"))
    results, errors = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        _be_confined(job, payload, limits, folder, results[1], errors[1])
    os.close(results[1])
    os.close(errors[1])
    try:
        return _collect(child, results[0], errors[0], limits.seconds, payload["max_result_bytes"])
    finally:
        os.close(results[0])
        os.close(errors[0])
        shutil.rmtree(folder, ignore_errors=True)


def _find(target: str) -> Callable[[Any], Any]:
    module, _, function = target.partition(":")
    return getattr(importlib.import_module(module), function)


def _be_confined(
    job: Callable[[Any], Any], payload: dict[str, Any], limits: Limits, folder: Path, results: int, errors: int
) -> NoReturn:
    """The copy: no return, and no way back into the code that was forked."""
    is_done = False
    try:
        os.setsid()
        _keep_only(results, errors)
        os.chdir(folder)
        os.environ.update(TMPDIR=str(folder), HOME=str(folder))
        tempfile.tempdir = str(folder)
        libraries = (sys.prefix, sys.base_prefix, *installed())
        readable = [Path(path) for path in (*_SYSTEM, *libraries, *payload["readable"])]
        if not_held := not_confined(limits, confine(limits, [*readable, _PACKAGE], [folder])):
            os.write(2, not_held.encode())
            os._exit(UNCONFINED)
        message = encode(job(payload["argument"]))
        while message:
            message = message[os.write(results, message) :]
        is_done = True
    finally:
        if not is_done:
            traceback.print_exc()
        os._exit(0 if is_done else 1)


def installed() -> Iterator[str]:
    """Every folder that packages are installed in and imported from, beyond the interpreter's own."""
    for path in map(Path, filter(None, sys.path)):
        if path.is_dir() and any(path.glob("*.dist-info")):
            yield str(path)


def _keep_only(results: int, errors: int) -> None:
    """Close everything but the two pipes; standard error is one of them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nothing, standard)
    os.dup2(errors, 2)
    for descriptor in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - names, no paths
        if descriptor > 2 and descriptor != results:
            try:
                os.close(descriptor)
            except OSError:
                continue  # the listing's own


def _collect(child: int, results: int, errors: int, seconds: float, max_bytes: int) -> dict[str, Any]:
    """Read until the copy closes its pipes, ends, says too much or takes too long; end all that it started."""
    deadline = time.monotonic() + seconds
    result, said, status = bytearray(), bytearray(), None
    open_pipes = [results, errors]
    while open_pipes and len(result) <= max_bytes:
        ready, _, _ = select.select(open_pipes, [], [], max(0.0, min(deadline - time.monotonic(), 0.05)))
        for pipe in ready:
            data = os.read(pipe, 1 << 20)
            if not data:
                open_pipes.remove(pipe)
            elif pipe == results:
                result += data
            else:
                said = (said + data)[-_ERROR_BYTES:]
        if not ready and status is not None:
            break  # it ended, and what still holds the pipes is not it
        status = _status_of(child) if status is None else status
        if time.monotonic() >= deadline:
            break
    timed_out = time.monotonic() >= deadline
    status = _end_all(child, status, 0.0 if timed_out or len(result) > max_bytes else deadline - time.monotonic())
    return {
        "result": bytes(result[:max_bytes]),
        "status": status,
        "timed_out": timed_out,
        "too_large": len(result) > max_bytes,
        "errors": said.decode(errors="replace"),
    }


def _status_of(child: int) -> int | None:
    ended, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _end_all(child: int, status: int | None, grace_s: float) -> int:
    """Kill the copy unless it ends within `grace_s`, its group, and every process that lost its parent to us."""
    until = time.monotonic() + min(grace_s, 1.0)
    while status is None and time.monotonic() < until:
        status = _status_of(child)
        time.sleep(0.001)
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    if status is None:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    while orphans := list(_children()):
        for orphan in orphans:
            os.kill(orphan, signal.SIGKILL)
            os.waitpid(orphan, 0)
    return status


def _children() -> Iterator[int]:
    """Every process that this one is the parent of."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended meanwhile
            if int(fields[1]) == os.getpid():
                yield int(folder.name)
