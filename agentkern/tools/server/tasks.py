"""What a job can do: one function per tool that runs in a process of its own. Arguments in, the full answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentkern.tools.compile import compile as compile_kernel
from agentkern.tools.progress import Report
from agentkern.tools.requests import CompileRequest

Answer = dict[str, Any]


def _compile(arguments: dict[str, Any], report: Report) -> Answer:
    return compile_kernel(CompileRequest(**arguments), report).result.model_dump(mode="json")


TASKS: Mapping[str, Callable[[dict[str, Any], Report], Answer]] = {"compile": _compile}
