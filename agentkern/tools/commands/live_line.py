"""The live line of long work on a terminal, drawn by rich on stderr; it vanishes at the end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from agentkern.tools.progress import Report


@contextmanager
def live_line() -> Generator[Report]:
    """Draw the line; the callback moves it."""
    columns = (TextColumn("[progress.description]{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as live:
        task = live.add_task("start", total=None)

        def report(fraction: float | None, message: str) -> None:
            total = 1.0 if fraction is not None else None
            live.update(task, description=message, total=total, completed=fraction or 0.0)

        yield report
