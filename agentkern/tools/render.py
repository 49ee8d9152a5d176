"""Lay out results for people: plain text with a little colour where the terminal has it. One function per result."""

from __future__ import annotations

import click

from agentkern.diagnostics import Diagnostic, Edit, Fix, Label, Span, render_all
from agentkern.tools.results import CheckResult, DiagnosticRecord, DoctorResult, ProofCounts, Result, SpanRecord

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


def diagnostics_report(records: tuple[DiagnosticRecord, ...], source: str) -> str:
    """Return every diagnostic with its source lines."""
    return render_all(tuple(_diagnostic(record) for record in records), source)


def check_report(result: CheckResult, source: str) -> str:
    """Return the diagnostics, or what the kernel is."""
    if result.diagnostics:
        return f"{diagnostics_report(result.diagnostics, source)}\n\n{headline(result)}"
    lines = [headline(result)]
    if result.signature is not None:
        lines.append(f"  {result.signature}")
    if result.proofs is not None:
        lines.append(f"  proofs: {proofs_text(result.proofs)}")
    return "\n".join(lines)


def proofs_text(counts: ProofCounts) -> str:
    """Return the counts that are not 0."""
    named = [f"{count} {outcome}" for outcome, count in counts.model_dump().items() if count]
    return ", ".join(named) or "none needed"


def doctor_report(result: DoctorResult) -> str:
    """Return one line per thing, and what to install."""
    rows: list[tuple[str, ...]] = []
    for item in result.items:
        mark = click.style("ok", fg="green") if item.works else click.style("--", fg="yellow")
        install = f"; install: {item.install}" if item.install else ""
        rows.append((mark, item.name, f"{item.detail}{install}"))
    return f"{table(rows)}\n\n{headline(result)}"


def _diagnostic(record: DiagnosticRecord) -> Diagnostic:
    return Diagnostic(
        record.code,
        record.severity,
        record.message,
        _span(record.span),
        tuple(Label(_span(label.span), label.text) for label in record.labels),
        record.hint,
        tuple(Fix(fix.description, tuple(Edit(e.start, e.end, e.text) for e in fix.edits)) for fix in record.fixes),
        record.data,
    )


def _span(record: SpanRecord) -> Span:
    return Span(record.file, record.start, record.end)
