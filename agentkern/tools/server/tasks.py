"""What a job can do: one function per tool that runs in a process of its own. Arguments in, the full answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentkern.tools.compile import compile as compile_kernel
from agentkern.tools.profile import ProfileRequest, profile
from agentkern.tools.progress import Report
from agentkern.tools.requests import CompileRequest
from agentkern.tools.verify import VerifyRequest, verify

Answer = dict[str, Any]


def _compile(arguments: dict[str, Any], report: Report) -> Answer:
    return compile_kernel(CompileRequest(**arguments), report).result.model_dump(mode="json")


def _verify(arguments: dict[str, Any], report: Report) -> Answer:
    """Check against the second kernel of the call, if there is one: Python from an agent is never executed."""
    reference_kernel = arguments.pop("reference")
    return verify(VerifyRequest(**arguments, reference_kernel=reference_kernel), report).model_dump(mode="json")


def _profile(arguments: dict[str, Any], report: Report) -> Answer:
    return profile(ProfileRequest(**arguments), report).model_dump(mode="json")


TASKS: Mapping[str, Callable[[dict[str, Any], Report], Answer]] = {
    "compile": _compile,
    "verify": _verify,
    "profile": _profile,
}
