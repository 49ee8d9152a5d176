"""The table of diagnostic codes: one row a code. Every row has a page in `pages/`.

Ranges: AK1xx syntax and subset, AK2xx names, types, shapes, AK3xx accesses and writes, AK4xx blocks and
loops, AK5xx numbers, AK6xx not supported yet and resources, AK7xx calls, AK8xx tools and environment,
AK9xx our own bugs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from agentkern.diagnostics.code import Code, Status
from agentkern.diagnostics.model import Diagnostic, Fix, Label, Span
from agentkern.diagnostics.rows_language import ACCESSES, BLOCKS, NUMBERS, SYNTAX, TYPES
from agentkern.diagnostics.rows_tools import CALLS, LATER, TOOLS

__all__ = ["CODES", "Code", "error", "status_of"]

CODES: Mapping[str, Code] = {
    row.code: row for row in (*SYNTAX, *TYPES, *ACCESSES, *BLOCKS, *NUMBERS, *LATER, *CALLS, *TOOLS)
}


def error(
    code: str,
    span: Span,
    *,
    labels: tuple[Label, ...] = (),
    fixes: tuple[Fix, ...] = (),
    hint: str | None = None,
    **fields: object,
) -> Diagnostic:
    """Make the diagnostic of a code; `fields` fill the templates and become its `data`.

    Errors: KeyError for an unknown code or a field that the templates need and did not get.
    """
    row = CODES[code]
    message = row.message.format_map(fields)
    text = row.hint.format_map(fields) if hint is None else hint
    data = {key: value for key, value in fields.items() if key not in ("hint_text", "instead")}
    return Diagnostic(code, row.severity, message, span, labels, text, fixes, data)


def status_of(diagnostics: tuple[Diagnostic, ...]) -> Status | Literal["ok"]:
    """The result's status that a list of diagnostics leads to; rejections outrank the rest."""
    found = {CODES[d.code].status for d in diagnostics if d.severity == "error"}
    order: tuple[Status, ...] = ("failed", "rejected", "unsupported", "unproved", "unavailable")
    for status in order:
        if status in found:
            return status
    return "ok"
