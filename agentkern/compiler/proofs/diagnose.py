"""Turn safety obligations that do not hold, or could not be shown, into diagnostics."""

from __future__ import annotations

from agentkern.compiler.ir.core import Location
from agentkern.compiler.proofs.records import Kind, ProofRecord, ProofReport
from agentkern.diagnostics import Diagnostic, Span, error

REFUTED: dict[Kind, str] = {
    "bounds": "AK301",
    "disjoint": "AK303",
    "scatter": "AK321",
    "coverage": "AK305",
    "division": "AK307",
    "extent": "AK331",
    "reads": "AK312",
    "own_reads": "AK314",
    "filled": "AK316",
}
UNKNOWN: dict[Kind, str] = {
    "bounds": "AK302",
    "disjoint": "AK304",
    "scatter": "AK321",
    "coverage": "AK306",
    "division": "AK308",
    "extent": "AK332",
    "reads": "AK312",
    "own_reads": "AK315",
    "filled": "AK317",
}

READS_OUTSIDE = "make the sizes agree, shrink the slice, or read what may lie outside with `ak.load(..., fill=0)`"
CARRY = "carry the value from step to step in a name that is bound before the loop, or write to an `ak.Out` tensor"


def diagnose(report: ProofReport, path: str) -> tuple[Diagnostic, ...]:
    """One diagnostic per safety record that is refuted or unknown, in the report's order."""
    unsafe = report.unsafe()
    scatters = {record.location for record in unsafe if record.obligation == "scatter"}
    met = {record.location for record in unsafe if record.obligation == "disjoint" and record.outcome == "refuted"}
    # a scatter that may write an element twice is reported once, with a counterexample if there is one
    return tuple(_diagnostic(record, path) for record in unsafe if not _is_repeated(record, scatters, met))


def _is_repeated(record: ProofRecord, scatters: set[Location | None], met: set[Location | None]) -> bool:
    if record.obligation == "scatter":
        return record.location in met
    return record.obligation == "disjoint" and record.location in scatters - met


def _diagnostic(record: ProofRecord, path: str) -> Diagnostic:
    code = (REFUTED if record.outcome == "refuted" else UNKNOWN)[record.obligation]
    span, access, tensor = _span(record, path), record.access, record.tensor
    hint, reason, other = record.hint or None, _reason(record), "block of the same grid"
    if code == "AK301" and hint is None and " reads " in reason:
        hint = READS_OUTSIDE
    if code == "AK314" and record.counterexample is not None and record.counterexample.get("one_block"):
        hint, other = hint or CARRY, "step of the same block"
    return error(code, span, hint=hint, statement=access, tensor=tensor, name=tensor, reason=reason, other=other)


def _reason(record: ProofRecord) -> str:
    if record.counterexample is None:
        return record.statement.replace("` reads nothing", "` could not be shown to read nothing")
    text = str(record.counterexample["text"])
    # the message begins with the access; a divisor's operator stands in the middle of its sentence
    return text if record.obligation == "division" else text.replace(f"`{record.access}` ", "")


def _span(record: ProofRecord, path: str) -> Span:
    if record.location is None:
        return Span(path)
    line, column, end_line, end_column = record.location
    return Span(path, (line, column), (end_line, end_column))
