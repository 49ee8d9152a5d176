"""Diagnostics: the table of codes, their data model, JSON form, renderer and pages."""

from agentkern.diagnostics.codes import CODES, Code, error, status_of
from agentkern.diagnostics.encode import SCHEMA, to_json
from agentkern.diagnostics.model import (
    Diagnostic,
    Edit,
    Fix,
    Label,
    Position,
    Severity,
    Span,
    apply_fix,
    in_source_order,
    split_lines,
)
from agentkern.diagnostics.pages import Page, load_page
from agentkern.diagnostics.render import render, render_all

__all__ = [
    "CODES",
    "SCHEMA",
    "Code",
    "Diagnostic",
    "Edit",
    "Fix",
    "Label",
    "Page",
    "Position",
    "Severity",
    "Span",
    "apply_fix",
    "error",
    "in_source_order",
    "load_page",
    "render",
    "render_all",
    "split_lines",
    "status_of",
    "to_json",
]
