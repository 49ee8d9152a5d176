"""The public surface of the tools: typed requests in, typed results out. The command line and MCP are thin over it."""

from __future__ import annotations

from agentkern.tools.explain import explain
from agentkern.tools.results import ExplainResult

__all__ = ["ExplainResult", "explain"]
