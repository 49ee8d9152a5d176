"""Who may run now: two jobs at once or more, and one on the GPU. A slot is a lock on a file, freed by any death."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_POLL_S = 0.05


def count_slots() -> int:
    """How many jobs may run at once on this machine: one that is slow leaves room for another."""
    return max(2, (os.cpu_count() or 1) // 2)


@contextmanager
def take_slot(folder: Path, tool: str, request: Mapping[str, Any]) -> Generator[None]:
    """Wait for a slot of this machine, and for the GPU where the job uses it."""
    handles = [_take_one([folder / f".slot{n}" for n in range(count_slots())])]
    if tool == "profile" or request.get("device") == "cuda":
        handles.append(_take_one([folder / ".gpu"]))
    try:
        yield
    finally:
        for handle in handles:
            os.close(handle)


def _take_one(files: list[Path]) -> int:
    while True:
        for file in files:
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(handle)
                continue
            return handle
        time.sleep(_POLL_S)
