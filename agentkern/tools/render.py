"""Lay out results for people: plain text with a little colour where the terminal has it. One function per result."""

from __future__ import annotations

import click

from agentkern.diagnostics import Diagnostic, render_all
from agentkern.tools.results import DoctorResult, Result

_STATUS_COLOURS = {
    "ok": "green",
    "rejected": "red",
    "failed": "red",
    "unproved": "yellow",
    "unsupported": "yellow",
    "unavailable": "yellow",
}


def headline(result: Result) -> str:
    """Return the line that says how it ended and what to do next."""
    status = click.style(result.status, fg=_STATUS_COLOURS[result.status], bold=True)
    return f"{status}: {result.summary}"


def table(rows: list[tuple[str, ...]], *, indent: int = 2) -> str:
    """Return rows in columns as wide as their longest cell; the last column is free."""
    if not rows:
        return ""
    widths = [max(len(click.unstyle(row[column])) for row in rows) for column in range(len(rows[0]) - 1)]
    lines: list[str] = []
    for row in rows:
        padded = [cell + " " * (width - len(click.unstyle(cell))) for cell, width in zip(row, widths, strict=False)]
        lines.append(" " * indent + "  ".join((*padded, row[-1])).rstrip())
    return "\n".join(lines)


def diagnostics_report(diagnostics: tuple[Diagnostic, ...], source: str) -> str:
    """Return every diagnostic with its source lines."""
    return render_all(diagnostics, source)


def doctor_report(result: DoctorResult) -> str:
    """Return one line per thing, and what to install."""
    rows: list[tuple[str, ...]] = []
    for item in result.items:
        mark = click.style("ok", fg="green") if item.works else click.style("--", fg="yellow")
        install = f"; install: {item.install}" if item.install else ""
        rows.append((mark, item.name, f"{item.detail}{install}"))
    return f"{table(rows)}\n\n{headline(result)}"
