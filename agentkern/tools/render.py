"""Lay out results for people: plain text with a little colour where the terminal has it. One function per result."""

from __future__ import annotations

import json
from collections.abc import Mapping

import click

from agentkern.diagnostics import Diagnostic, Edit, Fix, Label, Span, render_all
from agentkern.tools.results import (
    CheckResult,
    CompileResult,
    CorpusListResult,
    CorpusShowResult,
    CorpusVerifyResult,
    DiagnosticRecord,
    DoctorResult,
    Mismatch,
    ProfileResult,
    ProofCounts,
    Resources,
    Result,
    RunResult,
    SpanRecord,
    VerifyResult,
)

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


def compile_report(result: CompileResult, source: str) -> str:
    """Return what the kernel is and uses, or why there is none."""
    lines = [diagnostics_report(result.diagnostics, source), ""] if result.diagnostics else []
    lines.append(headline(result))
    rows: list[tuple[str, ...]] = []
    if result.signature is not None:
        rows.append(("signature", result.signature))
    if result.resources is not None:
        rows.append(("resources", _resources_text(result.resources)))
    if result.schedule is not None:
        rows.append(("schedule", json.dumps(result.schedule)))
    if result.roofline is not None and result.roofline.bytes is not None:
        floor = f", {result.roofline.floor_us:.1f} us at least" if result.roofline.floor_us is not None else ""
        rows.append(("roofline", f"{result.roofline.bytes:,} bytes, {result.roofline.flops:,} flops{floor}"))
    if result.proofs is not None:
        rows.append(("proofs", proofs_text(result.proofs)))
    rows += [("kept", f"{item.id}  {item.path or ''}") for item in result.artifacts]
    if result.timings_ms:
        rows.append(("time", timings_text(result.timings_ms)))
    return "\n".join((*lines, table(rows)))


def _resources_text(used: Resources) -> str:
    spills = f"{used.spill_bytes} bytes spilled" if used.spill_bytes else "no spills"
    shared = f"{used.shared_bytes:,} bytes shared"
    return f"{used.registers} registers, {spills}, {shared}, {used.threads} threads, occupancy {used.occupancy:.0%}"


def run_report(result: RunResult, previews: Mapping[str, str], source: str) -> str:
    """Return one line per output: dtype, shape, first values."""
    if result.status != "ok":
        return f"{diagnostics_report(result.diagnostics, source)}\n\n{headline(result)}"
    rows: list[tuple[str, ...]] = []
    for output in result.outputs:
        shape = " x ".join(map(str, output.shape)) or "scalar"
        rows.append((output.name, output.dtype, shape, previews[output.name]))
    kept = "".join(f"\n  kept in {artifact.path}" for artifact in result.artifacts)
    return f"{headline(result)}\n{table(rows)}{kept}\n  {timings_text(result.timings_ms)}"


_MARKS = {
    "passed": ("ok", "green"),
    "failed": ("no", "red"),
    "not_run": ("??", "yellow"),
    "not_applicable": ("--", None),
}


def verify_report(result: VerifyResult, source: str) -> str:
    """Return the verdict, each check with what it saw, and the wrong answers that were caught."""
    lines = [diagnostics_report(result.diagnostics, source), ""] if result.diagnostics else []
    rows: list[tuple[str, ...]] = []
    for check in result.checks:
        mark, colour = _MARKS[check.status]
        rows.append((click.style(mark, fg=colour), check.name, check.detail))
    lines.append(table(rows))
    if result.mismatch is not None:
        lines.append(f"  first difference: {mismatch_text(result.mismatch)}")
    if result.controls:
        caught = [control.name for control in result.controls if control.rejected]
        lines.append(f"  wrong answers rejected: {', '.join(caught) or 'none'}")
        let_through = [control.name for control in result.controls if not control.rejected]
        lines += [f"  let through: {', '.join(let_through)}"] if let_through else []
    if result.timings_ms:
        lines.append(f"  {timings_text(result.timings_ms)}")
    return "\n".join((*lines, "", headline(result)))


def profile_report(result: ProfileResult, source: str) -> str:
    """Return the time, what it is worth, the rivals, and what would help."""
    lines = [diagnostics_report(result.diagnostics, source), ""] if result.diagnostics else []
    rows: list[tuple[str, ...]] = []
    if result.median_us is not None:
        spread = f" [{result.ci_us[0]:.2f}, {result.ci_us[1]:.2f}]" if result.ci_us is not None else ""
        rows.append(("time", f"{result.median_us:.2f} us{spread}, {result.runs} runs"))
    if result.gbytes_per_s is not None:
        rows.append(("rate", f"{result.gbytes_per_s:,.0f} GB/s"))
    if result.floor_us is not None:
        share = f", {result.percent_of_floor:.1f}% of it reached" if result.percent_of_floor is not None else ""
        rows.append(("floor", f"{result.floor_us:.2f} us{share}"))
    if result.of_copy is not None:
        rows.append(("of copy", f"{result.of_copy:.3f}"))
    rows += [
        (rival.name, f"{rival.median_us:.2f} us, {rival.speedup:.2f}x [{rival.ci[0]:.2f}, {rival.ci[1]:.2f}]")
        for rival in result.baselines
    ]
    if result.roofline is not None and result.roofline.bytes is not None:
        rows.append(("roofline", f"{result.roofline.bytes:,} bytes, {result.roofline.flops:,} flops"))
    if result.bound is not None:
        rows.append(("bound by", result.bound))
    rows += [("lever", lever) for lever in result.levers]
    if result.gpu is not None:
        rows.append(("gpu", result.gpu))
    return "\n".join((*lines, table(rows), "", headline(result)))


def corpus_list_report(result: CorpusListResult) -> str:
    """Return one line per kernel."""
    rows = [(kernel.name, kernel.family, ", ".join(kernel.tags), kernel.path) for kernel in result.kernels]
    return f"{table(list(rows))}\n\n{headline(result)}" if rows else headline(result)


def corpus_search_report(result: CorpusListResult) -> str:
    """Return two lines per kernel, the best first: what it is, and why it was found."""
    lines: list[str] = []
    for kernel in result.kernels:
        also = f" (also {', '.join(kernel.also)})" if kernel.also else ""
        lines.append(f"  {click.style(kernel.name, bold=True)}  {kernel.family}  {kernel.summary}{also}")
        lines.append(f"      {', '.join(kernel.why)}; {kernel.path}")
    return "\n".join((*lines, "", headline(result))) if lines else headline(result)


def corpus_show_report(result: CorpusShowResult) -> str:
    """Return the kernel's text and notes, and what is known of it."""
    sizes = " ".join(f"--dim {name}={size}" for name, size in result.compile_dims.items())
    rows: list[tuple[str, ...]] = [("signature", result.signature), ("path", result.path), ("sizes", sizes or "none")]
    rows += [(f"{kind} shapes", json.dumps(shapes)) for kind, shapes in result.shapes.items()]
    rows.append(("criterion", str(result.criterion.get("kind", ""))))
    rows += [(f"record: {kind}", json.dumps(record, default=str)) for kind, record in result.record.items()]
    return f"{result.text.rstrip()}\n\n{result.notes.rstrip()}\n\n{table(rows)}\n\n{headline(result)}"


def corpus_verify_report(result: CorpusVerifyResult) -> str:
    """Return one line per kernel."""
    rows: list[tuple[str, ...]] = []
    for name, found in result.kernels.items():
        verdict = click.style(found.verdict, fg=_STATUS_COLOURS[found.status])
        rows.append((verdict, name, found.summary))
    return f"{table(rows)}\n\n{headline(result)}"


def mismatch_text(mismatch: Mismatch) -> str:
    """Return one line about the first wrong element."""
    index = ", ".join(map(str, mismatch.index))
    distance = f", {mismatch.ulp} ulp apart" if mismatch.ulp is not None else ""
    return f"{mismatch.output}[{index}] is {mismatch.got}, not {mismatch.want}{distance}"


def timings_text(timings_ms: Mapping[str, float]) -> str:
    """Return phases of half a millisecond and more on one line."""
    named = [
        f"{phase} {ms:.0f} ms" if ms >= 10 else f"{phase} {ms:.1f} ms" for phase, ms in timings_ms.items() if ms >= 0.5
    ]
    return ", ".join(named)


def proofs_text(counts: ProofCounts) -> str:
    """Return the counts that are not 0, of a kernel that was not refused: what is open then concerns speed alone."""
    words = {"unknown": "left open, which only keeps the code from being faster", "refuted": "refuted, likewise"}
    named = [f"{n} {words.get(outcome, outcome)}" for outcome, n in counts.model_dump().items() if n]
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
