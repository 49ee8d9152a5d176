"""What a writer without tools is told of a version: what the compiler says, and where a shown shape is wrong.

Plain text, as a terminal would show it. Nothing of what the judge keeps to itself: hidden shapes, other checks.
"""

from __future__ import annotations

from agentkern.evals.arms import Arm
from agentkern.evals.calls import answer_in
from agentkern.evals.records import Judgement

_SEEN = ("text", "compile", "signature", "promises", "shown")
"""The judge's checks that a writer at a terminal would see fail."""
_MAX_CHARS = 2000
NO_BLOCK = "There is no fenced block in that answer. Answer with the whole file in one fenced block."


def plain_text(judgement: Judgement) -> str:
    """Return what is told back."""
    if judgement.verdict == "not_run":
        return f"It could not be run here: {judgement.summary.removeprefix('no verdict: ')}"[:_MAX_CHARS]
    for check in judgement.checks:
        if check.name in _SEEN and check.status == "failed":
            return _failure(check.name, check.detail)
    return "It compiles, and its results are right at the shown shapes."


def _failure(name: str, detail: str) -> str:
    heads = {"compile": "It does not compile", "shown": "It runs, and a result is wrong"}
    return f"{heads.get(name, 'It is not accepted')}:\n{detail}"[:_MAX_CHARS]


def plain_errors(answer: object) -> str | None:
    """Return an answer's diagnostics as bare messages, without codes, hints and fixes; None where it has none."""
    if not isinstance(answer, dict) or not isinstance(answer.get("diagnostics"), list):
        return None
    lines = [str(answer.get("status", ""))]
    for found in answer["diagnostics"]:
        if isinstance(found, dict):
            line, column = (*(found.get("span") or {}).get("start", (0, 0)), 0, 0)[:2]
            lines.append(f"kernel.py:{line}:{column}: {found.get('severity', 'error')}: {found.get('message', '')}")
    return "\n".join(lines)


def without_levers(answer: object) -> object:
    """Return a profile's answer without what it says would help."""
    if not isinstance(answer, dict):
        return answer
    return {key: value for key, value in answer.items() if key not in ("levers", "bound")}


def as_told(text: str, arm: Arm) -> str:
    """Return a tool's answer as an arm is told it."""
    answer = answer_in(text)
    if not arm.structured:
        return plain_errors(answer) or text
    if not arm.levers and answer.get("levers") is not None:
        return str(without_levers(answer))
    return text
