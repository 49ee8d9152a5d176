"""Show on stderr that long work goes on: a live line where there is a terminal, else lines where asked."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager

import click

from agentkern.tools.progress import Report, silent


@contextmanager
def progress(*, as_json: bool, by_line: bool = False) -> Generator[Report]:
    """Give the callback that long work reports to; the line vanishes at the end.

    by_line: the work takes minutes, so that each step is a line where there is no terminal.
    """
    if as_json or not sys.stderr.isatty():
        yield _line if by_line and not as_json else silent
        return
    # Looked up here: rich takes as long to import as a kernel to compile.
    live_line = importlib.import_module("agentkern.tools.commands.live_line")
    with live_line.live_line() as report:
        yield report


def _line(fraction: float | None, message: str) -> None:
    share = "" if fraction is None else f"{fraction:4.0%} "
    click.echo(f"{share}{message}", err=True)
