"""The one renderer of diagnostics for people: text with the source line under each finding."""

from __future__ import annotations

from agentkern.diagnostics.model import Diagnostic, Fix, Label, Span, apply_fix, split_lines

_WIDEST_LINE = 160


def _excerpt(lines: list[str], span: Span, text: str, mark: str) -> list[str]:
    number, column = span.start
    if not 1 <= number <= len(lines):
        return []
    line = lines[number - 1].replace("\t", " ")
    last = span.end[1] if span.end[0] == number else len(line) + 1
    width = max(1, min(last, len(line) + 1) - column)
    if len(line) > _WIDEST_LINE:
        first = max(0, min(column - 1 - _WIDEST_LINE // 4, len(line) - _WIDEST_LINE))
        line, column = line[first : first + _WIDEST_LINE], column - first
        width = max(1, min(width, _WIDEST_LINE - column + 1))
    under = " " * (column - 1) + mark * width
    return [f"{number:>5} | {line}", f"      | {under} {text}".rstrip()]


def _changed(before: list[str], fix: Fix, text: str) -> list[str]:
    first = min(edit.start[0] for edit in fix.edits)
    last = max(edit.end[0] for edit in fix.edits)
    after = split_lines(apply_fix(text, fix))
    grown = len(after) - len(before)
    shown = [f"      - {line}" for line in before[first - 1 : last]]
    return shown + [f"      + {line}" for line in after[first - 1 : last + grown]]


def _label(lines: list[str], label: Label) -> list[str]:
    return _excerpt(lines, label.span, label.text, "-")


def render(diagnostic: Diagnostic, source_text: str) -> str:
    """Lay out one diagnostic with its source lines, hint and fixes."""
    lines = split_lines(source_text)
    span = diagnostic.span
    out = [
        f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}",
        f"  --> {span.file}:{span.start[0]}:{span.start[1]}" if span.has_place else f"  --> {span.file}",
        *(_excerpt(lines, span, "", "^") if span.has_place else ()),
    ]
    for label in diagnostic.labels:
        out += _label(lines, label)
    if diagnostic.hint:
        out.append(f"  hint: {diagnostic.hint}")
    for fix in diagnostic.fixes:
        out.append(f"  fix: {fix.description}")
        if fix.edits:
            out += _changed(lines, fix, source_text)
    return "\n".join(out)


def render_all(diagnostics: tuple[Diagnostic, ...], source_text: str) -> str:
    """Lay out several diagnostics, one after another, with their count."""
    blocks = [render(diagnostic, source_text) for diagnostic in diagnostics]
    n_errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    if n_errors:
        blocks.append(f"{n_errors} error{'s' if n_errors > 1 else ''}")
    return "\n\n".join(blocks)
