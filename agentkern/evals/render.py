"""Lay out what `agentkern eval` answers for people: plain text. One function per result."""

from __future__ import annotations

from collections.abc import Sequence

import click

from agentkern.evals.results import (
    AdmitResult,
    Agreement,
    ReplayResult,
    RunListResult,
    TaskListResult,
    UnreadTask,
)
from agentkern.tools.render import headline, table

_COLOURS: dict[str, str] = {
    "bit_exact": "green",
    "within_bound": "green",
    "wrong": "red",
    "rejected": "red",
    "not_run": "yellow",
}
_SHOWN: tuple[Agreement, ...] = ("different", "stale", "unknown_task", "other", "unjudged")


def task_list_report(result: TaskListResult) -> str:
    """Return one line a task."""
    rows = [
        (
            task.name,
            str(task.level),
            task.family,
            f"blocked by {task.blocked_by}" if task.blocked_by else ", ".join(task.features),
        )
        for task in result.tasks
    ]
    listed = table([("task", "level", "family", "features"), *rows])
    return "\n".join([headline(result), listed, *_unread(result.unread)]) + "\n"


def _unread(rows: Sequence[UnreadTask]) -> list[str]:
    return [f"  {row.name} {click.style('cannot be read', fg='red')}: {row.reason}" for row in rows]


def run_list_report(result: RunListResult) -> str:
    """Return one line a sample."""
    header = result.run
    rows = [
        (s.task, s.arm, s.model, str(s.epoch), str(s.calls), str(s.tokens), _verdict(s.verdict or s.state))
        for s in result.samples
    ]
    where = f"run {header.id}, {header.lane} lane, {header.level} on {header.device}, agentkern {header.agentkern}"
    lines = [headline(result), where, table([("task", "arm", "model", "epoch", "calls", "tokens", "verdict"), *rows])]
    return "\n".join([*lines, *(f"  {problem}" for problem in result.problems)]) + "\n"


def admit_report(result: AdmitResult) -> str:
    """Return a line for each task, and one for each reason against it."""
    rows = [
        (row.name, "admitted" if row.is_admitted else "refused", _verdict(row.verdict), f"{len(row.rejected)} rejected")
        for row in result.tasks
    ]
    problems = [f"  {row.name}: {problem}" for row in result.tasks for problem in row.problems]
    problems += _unread(result.unread)
    return "\n".join([headline(result), table(rows), *problems]).rstrip("\n") + "\n"


def replay_report(result: ReplayResult) -> str:
    """Return a line for each submission that is not as it was stored."""
    rows = [
        (row.sample, str(row.number), row.agreement, f"{row.stored} then, {row.verdict} now", ", ".join(row.fields))
        for row in result.submissions
        if row.agreement in _SHOWN
    ]
    problems = [f"  {problem}" for problem in result.problems]
    return "\n".join([headline(result), table(rows), *problems]).rstrip("\n") + "\n"


def _verdict(text: str) -> str:
    return click.style(text, fg=_COLOURS.get(text))
