"""Show on the terminal's stderr that long work goes on: a live line where there is a terminal, else nothing."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from agentkern.tools.progress import Report, silent


@contextmanager
def progress(*, as_json: bool) -> Generator[Report]:
    """Give the callback that long work reports to; the line vanishes at the end."""
    if as_json or not sys.stderr.isatty():
        yield silent
        return
    columns = (TextColumn("[progress.description]{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        task = live.add_task("start", total=None)

        def report(fraction: float | None, message: str) -> None:
            total = 1.0 if fraction is not None else None
            live.update(task, description=message, total=total, completed=fraction or 0.0)

        yield report
