"""Diagnostics as data: spans, labels, edits, fixes. Knows no codes and prints nothing.

Lines and columns count from 1; a span's end is exclusive. Columns count characters, not bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]
Position = tuple[int, int]
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a source text."""

    file: str
    start: Position = (1, 1)
    end: Position = (1, 1)

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError(f"a span ends before it starts: {self.start} to {self.end}")

    @property
    def has_place(self) -> bool:
        """Whether it is a part of the text; the default is a file, a command line or an environment as a whole."""
        return self.end > (1, 1)


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that explains a diagnostic."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from `start` up to `end` by `text`."""

    start: Position
    end: Position
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that a tool can apply: edits that do not overlap."""

    description: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `data` holds the message's fields for programs."""

    code: str
    severity: Severity
    message: str
    span: Span
    labels: tuple[Label, ...] = ()
    hint: str = ""
    fixes: tuple[Fix, ...] = ()
    data: Mapping[str, object] = field(default_factory=dict)


def split_lines(text: str) -> list[str]:
    """The lines of a source text as Python counts them, without their ends."""
    return _LINE_END.split(text)


def apply_fix(text: str, fix: Fix) -> str:
    """Return `text` with the edits of one fix applied.

    Errors: ValueError when an edit lies outside the text or edits overlap.
    """
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def offset(position: Position) -> int:
        line, column = position
        if not 1 <= line <= len(starts) or column < 1:
            raise ValueError(f"{position} is outside the text")
        found = starts[line - 1] + column - 1
        if found > len(text):
            raise ValueError(f"{position} is outside the text")
        return found

    edits = sorted(fix.edits, key=lambda edit: (edit.start, edit.end), reverse=True)
    limit = len(text)
    for edit in edits:
        start, end = offset(edit.start), offset(edit.end)
        if end > limit or start > end:
            raise ValueError("edits overlap")
        text = text[:start] + edit.text + text[end:]
        limit = start
    return text


def in_source_order(diagnostics: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Sort by place, and keep one of those that say the same thing at the same place."""
    kept: dict[tuple[str, Span, str], Diagnostic] = {}
    for item in diagnostics:
        kept.setdefault((item.code, item.span, item.message), item)
    return tuple(sorted(kept.values(), key=lambda d: (d.span.start, d.span.end, d.code)))
