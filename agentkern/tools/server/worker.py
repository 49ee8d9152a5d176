"""The process of one job: reads the request, calls the tool, writes progress and result. Ends by itself or its limits.

Started by `jobs` with a short list of environment variables and no input; what it prints goes to the job's log.
"""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import resource
import signal
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from agentkern.diagnostics import Span, error, to_json
from agentkern.runtime.programs import OUR_ERRORS, our_error
from agentkern.tools.server.jobs import write_json
from agentkern.tools.server.slots import take_slot
from agentkern.tools.server.tasks import TASKS, is_refused
from agentkern.tools.sources import UsageError

_WALL_S = 900
_MEMORY_BYTES = 16 << 30
_FILE_BYTES = 1 << 30
_NICENESS = 5  # the server answers checks first
_CLONE_NEWNET = 0x40000000  # linux/sched.h


class _Timeout(BaseException):
    """The job's time is over. Not an Exception, so that no tool can take it for a failure of its own."""


def main(folder: Path) -> None:
    """Run the job in `folder`."""
    asked = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    tool, request = asked["tool"], asked["request"]
    _limit(needs_gpu=request.get("device") == "cuda" or tool == "profile")
    # What is refused is known before a slot is: it waits for no other job.
    slot = nullcontext() if _is_refused(request) else take_slot(folder.parent, tool, request)
    with slot:
        write_json(folder / "progress.json", {"fraction": 0.0, "message": "started"})
        write_json(folder / "result.json", _answer(folder, tool, request))


def _is_refused(request: dict[str, Any]) -> bool:
    """Whether the tool will answer without work; a failure of ours is told by the tool, in its turn."""
    try:
        return is_refused(request)
    except (*OUR_ERRORS, MemoryError):
        return False


def _answer(folder: Path, tool: str, request: dict[str, Any]) -> dict[str, Any]:
    last_write = [0.0]

    def report(fraction: float | None, message: str) -> None:
        if time.monotonic() - last_write[0] > 0.1:
            last_write[0] = time.monotonic()
            write_json(folder / "progress.json", {"fraction": fraction, "message": message})

    try:
        return TASKS[tool](request, report)
    except UsageError as e:
        return _failed(to_json(e.diagnostic), e.diagnostic.message)
    except _Timeout:
        diagnostic = error("AK810", Span("kernel.py"), seconds=_WALL_S)
        return _failed(to_json(diagnostic), diagnostic.message)
    except MemoryError:
        diagnostic = error("AK812", Span("kernel.py"), reason=f"the job needed more than {_MEMORY_BYTES >> 30} GiB")
        return _failed(to_json(diagnostic), diagnostic.message)
    except OUR_ERRORS as e:
        diagnostic = our_error(e, "kernel.py")
        return _failed(to_json(diagnostic), f"{diagnostic.message}; {diagnostic.hint}")


def _failed(diagnostic: dict[str, object], summary: str) -> dict[str, Any]:
    return {"status": "failed", "summary": summary, "diagnostics": [diagnostic], "artifacts": []}


def _limit(*, needs_gpu: bool) -> None:
    """Bound time, memory and files; without a GPU also leave the network."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _Timeout

    os.nice(_NICENESS)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(_WALL_S)
    # A hang inside a library never reaches the handler; this thread ends the process all the same.
    faulthandler.dump_traceback_later(_WALL_S + 30, exit=True)
    resource.setrlimit(resource.RLIMIT_CPU, (_WALL_S * 4, _WALL_S * 4 + 10))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Private memory that can be written: reserved address space, of which CUDA and the simulator take much, is free.
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    if not needs_gpu:
        leave_network()


def leave_network() -> bool:
    """Move this process into a network of its own, which reaches nothing; False where the system does not allow it."""
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).unshare(_CLONE_NEWNET) == 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
