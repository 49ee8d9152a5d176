"""The process of a worker: receives jobs, runs them, sends results. Started by `worker`, never imported by it.

An exception of a job ends the process with its traceback on standard error, so that no job runs after one that may have
left memory or a GPU in disorder.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from agentkern.runtime.wire import decode, encode

Job = Callable[[Any, Callable[[Any], None]], Any]
"""A job gets its payload and a function to report progress with, and returns its result; all are plain values."""

_PARENT_CHECK_S = 1.0


def main(descriptor: int) -> None:
    """Run jobs from the connection at `descriptor` until the other side closes it."""
    connection = Connection(descriptor)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    while True:
        try:
            request = decode(connection.recv_bytes())
        except EOFError:
            return
        _bound_memory(request["memory_bytes"])
        job = _find(request["job"])
        result = job(request["payload"], lambda value: connection.send_bytes(encode(["progress", value])))
        connection.send_bytes(encode(["result", result]))


def _find(target: str) -> Job:
    module, _, function = target.partition(":")
    return getattr(importlib.import_module(module), function)


def _bound_memory(limit_bytes: int | None) -> None:
    """Bound private memory that can be written; reserved address space, of which CUDA takes terabytes, is free."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = hard if limit_bytes is None else limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_S)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
