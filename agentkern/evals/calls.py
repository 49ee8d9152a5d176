"""Calls of tools as records: what an answer says of itself, and at which call a text was handed in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentkern.evals.judge import source_digest
from agentkern.evals.records import Submission, ToolCall
from agentkern.evals.run_model import Job
from agentkern.tools.check import check
from agentkern.tools.requests import CheckRequest

SUBMIT = "ak_submit"
PLAIN = "plain"


def answered_call(
    job: Job, tool: str, arguments: Mapping[str, Any], text: str, *, number: int, tokens: int
) -> ToolCall:
    """Return a call that was answered with `text`."""
    source, answer = arguments.get("source"), answer_in(text)
    return ToolCall(
        number=number,
        tool=tool,
        tokens=tokens,
        status=str(answer["status"]) if "status" in answer else _first_word(text),
        codes=_codes(answer) if answer else _codes_again(job, tool, arguments),
        source_digest=source_digest(source) if isinstance(source, str) else None,
    )


def _first_word(text: str) -> str | None:
    word = text.split("\n", 1)[0].strip()
    return word if word.isidentifier() else "ok"


def _codes(answer: dict[str, Any]) -> tuple[str, ...]:
    found = answer.get("diagnostics")
    listed = found if isinstance(found, list) else []
    codes = [item["code"] for item in listed if isinstance(item, dict) and isinstance(item.get("code"), str)]
    return tuple(codes) or tuple(code for code in answer.get("codes", ()) if isinstance(code, str))


def _codes_again(job: Job, tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the codes of a text whose diagnostics were told without: checking a text again gives the same."""
    source = arguments.get("source")
    if job.arm.structured or not isinstance(source, str) or tool not in ("ak_check", "ak_compile"):
        return ()
    return tuple(found.code for found in check(CheckRequest(source=source)).diagnostics)


def placed(handed_in: Sequence[Submission], calls: Sequence[ToolCall]) -> tuple[Submission, ...]:
    """Return submissions with the call and the tokens at which each was handed in, in the order of both.

    One that no call tells of, since the sample ended in it, comes after all of them: it was not there earlier.
    """
    made = [call for call in calls if call.tool == SUBMIT and not call.refused]
    after = {"at_call": len(calls), "tokens": max((call.tokens for call in calls), default=0)}
    placed: list[Submission] = []
    for one in handed_in:
        digest = source_digest(one.source)
        place = next((k for k, call in enumerate(made) if call.source_digest == digest), None)
        more = after if place is None else {"at_call": made[place].number, "tokens": made[place].tokens}
        made = made if place is None else made[place + 1 :]
        placed.append(one.model_copy(update=more))
    return tuple(placed)


def round_call(handed_in: Submission) -> ToolCall:
    """Return a round of plain feedback as the call that it stands for."""
    judgement = handed_in.judgement
    return ToolCall(
        number=handed_in.at_call,
        tool=PLAIN,
        tokens=handed_in.tokens,
        status=None if judgement is None else judgement.verdict,
        codes=() if judgement is None else judgement.codes,
        source_digest=source_digest(handed_in.source),
    )


def answer_in(text: str) -> dict[str, Any]:
    """Return a tool's answer as an object, empty where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
