"""The public surface of the tools: typed requests in, typed results out. The command line and MCP are thin over it."""

from __future__ import annotations

from agentkern.tools.check import check
from agentkern.tools.doctor import doctor
from agentkern.tools.explain import explain
from agentkern.tools.reference import read, reference
from agentkern.tools.requests import CheckRequest
from agentkern.tools.results import CheckResult, DoctorResult, ExplainResult, ReadResult, ReferenceResult

__all__ = [
    "CheckRequest",
    "CheckResult",
    "DoctorResult",
    "ExplainResult",
    "ReadResult",
    "ReferenceResult",
    "check",
    "doctor",
    "explain",
    "read",
    "reference",
]
