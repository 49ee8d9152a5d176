"""Jobs for the tests of the worker: each does one thing that a job can do, good or bad."""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

Report = Callable[[Any], None]


def echo(payload: Any, report: Report) -> Any:
    """Return the payload."""
    return payload


def pid(payload: Any, report: Report) -> int:
    """Return the number of the process."""
    return os.getpid()


def count(payload: int, report: Report) -> int:
    """Report every step."""
    for step in range(payload):
        report(step)
    return payload


def fail(payload: str, report: Report) -> None:
    """Raise."""
    raise ValueError(payload)


def crash(payload: Any, report: Report) -> None:
    """Read address 0."""
    ctypes.string_at(0)


def leave(payload: int, report: Report) -> None:
    """End the process without a word."""
    os._exit(payload)


def hang(payload: Any, report: Report) -> None:
    """Never return."""
    report("hanging")
    while True:
        time.sleep(60)


def hang_with_child(payload: Any, report: Report) -> None:
    """Start a process, report its number, and never return."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    report(child.pid)
    time.sleep(600)


def fill(payload: int, report: Report) -> int:
    """Use `payload` bytes of memory."""
    return len(bytearray(payload))


def large(payload: int, report: Report) -> bytes:
    """Return `payload` bytes."""
    return bytes(payload)


def environment(payload: Any, report: Report) -> dict[str, str]:
    """Return the environment."""
    return dict(os.environ)


def streams(payload: Any, report: Report) -> str:
    """Read the input to its end, after printing much."""
    sys.stdout.write("x" * 1_000_000)
    sys.stderr.write("y" * 1_000_000)
    return sys.stdin.read()
