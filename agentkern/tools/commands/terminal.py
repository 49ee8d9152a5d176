"""Show on the terminal's stderr that long work goes on: a live line where there is a terminal, else nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager

from agentkern.tools.progress import Report, silent


@contextmanager
def progress(*, as_json: bool) -> Generator[Report]:
    """Give the callback that long work reports to; the line vanishes at the end."""
    if as_json or not sys.stderr.isatty():
        yield silent
        return
    # Looked up here: rich takes as long to import as a kernel to compile.
    live_line = importlib.import_module("agentkern.tools.commands.live_line")
    with live_line.live_line() as report:
        yield report
