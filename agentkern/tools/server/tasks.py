"""What a job can do: one function per tool that runs in a process of its own. Arguments in, the full answer out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.passes.simplify import share_repeated
from agentkern.compiler.proofs import prove_kernel
from agentkern.tools.compile import compile as compile_kernel
from agentkern.tools.profile import ProfileRequest, profile
from agentkern.tools.progress import Report
from agentkern.tools.requests import CompileRequest
from agentkern.tools.server.submit import judged_submission
from agentkern.tools.server.trials import TOLD, compiled, verified
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


def _submit(arguments: dict[str, Any], _report: Report) -> Answer:
    return judged_submission(arguments)


def _trial_compile(arguments: dict[str, Any], _report: Report) -> Answer:
    return {TOLD: compiled(arguments)}


def _trial_verify(arguments: dict[str, Any], _report: Report) -> Answer:
    return {TOLD: verified(arguments)}


def is_refused(arguments: Mapping[str, Any]) -> bool:
    """Whether the front end or the prover refuses a text of the call: the tool then answers without any work."""
    if "task" in arguments:
        return False  # a refusal is judged like any other text
    texts = [(arguments["source"], arguments.get("kernel")), (arguments.get("reference"), None)]
    return any(_is_refused(source, kernel, arguments) for source, kernel in texts if source is not None)


def _is_refused(source: str, kernel: str | None, arguments: Mapping[str, Any]) -> bool:
    found = lower_source(source, "kernel.py", kernel, arguments.get("dims", {}), arguments.get("settings", {}))
    return found.kernel is None or bool(prove_kernel(share_repeated(found.kernel)).unsafe())


TASKS: Mapping[str, Callable[[dict[str, Any], Report], Answer]] = {
    "compile": _compile,
    "verify": _verify,
    "profile": _profile,
    "submit": _submit,
    "trial_compile": _trial_compile,
    "trial_verify": _trial_verify,
}
