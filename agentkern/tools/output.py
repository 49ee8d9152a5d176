"""Print one answer: a JSON object, or the report a person reads, and end with its exit code."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from agentkern.diagnostics import CODES, Diagnostic, Span, error, render_all
from agentkern.tools.artifacts import default_store
from agentkern.tools.results import EXIT_CODES, USAGE_EXIT_CODE, Artifact, Result, diagnostic_record
from agentkern.tools.sources import SourceRejected, UsageError, usage_error


def finish(result: Result, report: str, *, as_json: bool) -> NoReturn:
    """Print `result` as JSON or `report` as text, then exit with the code of its status."""
    text = result.model_dump_json() if as_json else report.rstrip("\n")
    click.echo(text)
    sys.exit(exit_code(result))


def exit_code(result: Result) -> int:
    """Return the code of a result's status, and 2 where all that is wrong is how the tool was called."""
    errors = [record for record in result.diagnostics if record.severity == "error"]
    is_usage = bool(errors) and all(CODES[record.code].is_usage for record in errors)
    return USAGE_EXIT_CODE if is_usage and result.status != "ok" else EXIT_CODES[result.status]


def finish_rejected(rejected: SourceRejected, *, as_json: bool) -> NoReturn:
    """Answer for a file that no tool can take as kernel text."""
    records = tuple(diagnostic_record(diagnostic) for diagnostic in rejected.diagnostics)
    summary = f"{rejected.diagnostics[0].message}; {rejected.diagnostics[0].hint}"
    result = Result(status="rejected", summary=summary, diagnostics=records)
    finish(result, render_all(rejected.diagnostics, ""), as_json=as_json)


def report_crash(
    kind: type[BaseException], crash: BaseException, trace: TracebackType | None, *, as_json: bool
) -> None:
    """Answer for an error of our own, as the hook of uncaught exceptions; the trace is kept as an artifact."""
    if isinstance(crash, MemoryError):
        full = error("AK812", Span("agentkern"), reason=str(crash) or "an allocation failed")
        _print_failure(full, f"{full.message}; {full.hint}", (), as_json=as_json)
        return
    text = "".join(traceback.format_exception(kind, crash, trace))
    place = traceback.extract_tb(trace)[-1] if trace is not None else None
    where = f" in {place.name}, {Path(place.filename).name}:{place.lineno}" if place is not None else ""
    diagnostic = error("AK901", Span("agentkern"), reason=f"{kind.__name__}{where}: {crash}".rstrip(": "))
    kept = default_store().put("report", text.encode())
    summary = f"{diagnostic.message}; {diagnostic.hint} and with {kept.path or 'the trace'}"
    _print_failure(diagnostic, summary, (kept,), as_json=as_json)


def _print_failure(diagnostic: Diagnostic, summary: str, artifacts: tuple[Artifact, ...], *, as_json: bool) -> None:
    if as_json:
        record = diagnostic_record(diagnostic)
        result = Result(status="failed", summary=summary, diagnostics=(record,), artifacts=artifacts)
        click.echo(result.model_dump_json())
    else:
        click.echo(f"error[{diagnostic.code}]: {summary}", err=True)


def print_usage_error(found: click.UsageError | UsageError, *, as_json: bool) -> None:
    """Say what is wrong with the call; with `as_json` as an object on stdout like every answer."""
    if isinstance(found, NoArgsIsHelpError):
        click.echo(found.format_message(), err=True)
        return
    if isinstance(found, click.UsageError):
        found_in = found.ctx.command_path if found.ctx is not None else "agentkern"
        diagnostic = usage_error(found_in, _reason(found)).diagnostic
        next_step = f"see `{found_in} --help`"
    else:
        diagnostic = found.diagnostic
        next_step = diagnostic.hint or f"see `agentkern explain {diagnostic.code}`"
    if as_json:
        record = diagnostic_record(diagnostic)
        summary = f"wrong usage: {diagnostic.message}; {next_step}"
        click.echo(Result(status="failed", summary=summary, diagnostics=(record,)).model_dump_json())
        return
    click.echo(f"error[{diagnostic.code}]: {diagnostic.message}\n{next_step}", err=True)


def _reason(found: click.UsageError) -> str:
    """What click says; of `--json` without a command, that one is missing."""
    group = found.ctx.command if found.ctx is not None else None
    if isinstance(found, click.NoSuchOption) and found.option_name == "--json" and isinstance(group, click.Group):
        assert found.ctx is not None
        return f"a command is missing: {', '.join(group.list_commands(found.ctx))}"
    return found.format_message().rstrip(".")
