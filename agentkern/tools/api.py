"""The public surface of the tools: typed requests in, typed results out. The command line and MCP are thin over it."""

from __future__ import annotations

from agentkern.tools.doctor import doctor
from agentkern.tools.explain import explain
from agentkern.tools.reference import read, reference
from agentkern.tools.results import DoctorResult, ExplainResult, ReadResult, ReferenceResult

__all__ = ["DoctorResult", "ExplainResult", "ReadResult", "ReferenceResult", "doctor", "explain", "read", "reference"]
