"""Diagnostics as JSON and the schema of that JSON. Every tool's `diagnostics` field is made here."""

from __future__ import annotations

from collections.abc import Mapping

from agentkern.diagnostics.model import Diagnostic, Span

_POSITION = {
    "type": "array",
    "items": {"type": "integer", "minimum": 1},
    "minItems": 2,
    "maxItems": 2,
}
_SPAN = {
    "type": "object",
    "properties": {"file": {"type": "string"}, "start": _POSITION, "end": _POSITION},
    "required": ["file", "start", "end"],
    "additionalProperties": False,
}
_EDIT = {
    "type": "object",
    "properties": {"start": _POSITION, "end": _POSITION, "text": {"type": "string"}},
    "required": ["start", "end", "text"],
    "additionalProperties": False,
}
_FIX = {
    "type": "object",
    "properties": {"description": {"type": "string"}, "edits": {"type": "array", "items": _EDIT}},
    "required": ["description", "edits"],
    "additionalProperties": False,
}
_LABEL = {
    "type": "object",
    "properties": {"span": _SPAN, "text": {"type": "string"}},
    "required": ["span", "text"],
    "additionalProperties": False,
}
SCHEMA: Mapping[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "agentkern diagnostic",
    "type": "object",
    "properties": {
        "code": {"type": "string", "pattern": "^AK[1-9][0-9]{2}$"},
        "severity": {"enum": ["error", "warning", "note"]},
        "message": {"type": "string"},
        "span": _SPAN,
        "labels": {"type": "array", "items": _LABEL},
        "hint": {"type": "string"},
        "fixes": {"type": "array", "items": _FIX},
        "data": {"type": "object"},
    },
    "required": ["code", "severity", "message", "span", "labels", "hint", "fixes", "data"],
    "additionalProperties": False,
}


def _span(span: Span) -> dict[str, object]:
    return {"file": span.file, "start": list(span.start), "end": list(span.end)}


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)


def to_json(diagnostic: Diagnostic) -> dict[str, object]:
    """The diagnostic as plain JSON values, as `SCHEMA` describes."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "span": _span(diagnostic.span),
        "labels": [{"span": _span(label.span), "text": label.text} for label in diagnostic.labels],
        "hint": diagnostic.hint,
        "fixes": [
            {
                "description": fix.description,
                "edits": [{"start": list(e.start), "end": list(e.end), "text": e.text} for e in fix.edits],
            }
            for fix in diagnostic.fixes
        ],
        "data": {str(key): _plain(value) for key, value in diagnostic.data.items()},
    }
