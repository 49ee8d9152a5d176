"""From what inspect has logged of a sample to our records: calls, codes, tokens, how it ended, what was said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from inspect_ai.event import ModelEvent, ToolEvent
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ModelUsage

from agentkern.evals.judge import source_digest
from agentkern.evals.records import Sample, SampleState, Submission, ToolCall, Usage
from agentkern.evals.run_model import Job
from agentkern.tools.check import check
from agentkern.tools.requests import CheckRequest

SUBMIT = "ak_submit"
PLAIN = "plain"
_MAX_TEXT = 64_000
_MAX_ERROR = 600
_LIMITS = {"message": "messages", "token": "tokens", "time": "seconds", "working": "working_seconds"}


def sample_of(job: Job, ended: EvalSample, handed_in: Sequence[Submission]) -> Sample:
    """Return the record of a sample that has ended, its submissions as they were handed in."""
    calls = tuple(_calls(job, ended))
    if job.arm.feedback == "mcp":
        submissions = _placed(handed_in, calls)
    else:
        submissions = tuple(handed_in)
        calls = tuple(_round(one) for one in submissions) if job.arm.feedback == "plain_loop" else ()
    state, limit, error = _how_it_ended(ended, submissions)
    return Sample(
        id=job.id,
        task=job.task.name,
        family=job.task.family,
        arm=job.arm.name,
        model=job.model,
        epoch=job.epoch,
        state=state,
        limit=limit,
        error=error,
        calls=calls,
        submissions=submissions,
        usage=_usage(list(ended.model_usage.values())),
        seconds=round(ended.total_time or 0.0, 3),
    )


def _how_it_ended(ended: EvalSample, handed_in: Sequence[Submission]) -> tuple[SampleState, str, str]:
    if ended.error is not None:
        return "error", "", ended.error.message.strip()[:_MAX_ERROR] or "no message"
    if ended.limit is not None:
        name = ended.limit.type
        return "limit", "tool_calls" if name == "custom" else _LIMITS.get(name, name), ""
    return ("done" if handed_in else "no_submission"), "", ""


def _usage(parts: Sequence[ModelUsage]) -> Usage:
    return Usage(
        input_tokens=sum(part.input_tokens + (part.input_tokens_cache_write or 0) for part in parts),
        output_tokens=sum(part.output_tokens for part in parts),
        cached_tokens=sum(part.input_tokens_cache_read or 0 for part in parts),
    )


def _calls(job: Job, ended: EvalSample) -> Iterator[ToolCall]:
    """Yield the calls of tools in order, each with the tokens that the sample had used by then."""
    tokens = number = 0
    for event in ended.events:
        if isinstance(event, ModelEvent) and event.output.usage is not None:
            tokens += event.output.usage.total_tokens
        elif isinstance(event, ToolEvent):
            yield _call(job, event, number, tokens)
            number += 1


def _call(job: Job, event: ToolEvent, number: int, tokens: int) -> ToolCall:
    source = event.arguments.get("source")
    digest = source_digest(source) if isinstance(source, str) else None
    if event.error is not None:
        refused = event.error.message.strip()[:_MAX_ERROR] or event.error.type
        return ToolCall(number=number, tool=event.function, tokens=tokens, source_digest=digest, refused=refused)
    text = text_of(event.result)
    answer = answer_in(text)
    status = str(answer["status"]) if "status" in answer else _first_word(text)
    codes = _codes(answer) if answer else _codes_again(job, event)
    return ToolCall(number=number, tool=event.function, tokens=tokens, status=status, codes=codes, source_digest=digest)


def _first_word(text: str) -> str | None:
    word = text.split("\n", 1)[0].strip()
    return word if word.isidentifier() else "ok"


def _codes(answer: dict[str, Any]) -> tuple[str, ...]:
    found = answer.get("diagnostics")
    listed = found if isinstance(found, list) else []
    codes = [item["code"] for item in listed if isinstance(item, dict) and isinstance(item.get("code"), str)]
    return tuple(codes) or tuple(code for code in answer.get("codes", ()) if isinstance(code, str))


def _codes_again(job: Job, event: ToolEvent) -> tuple[str, ...]:
    """Return the codes of a text whose diagnostics were told without: checking a text again gives the same."""
    source = event.arguments.get("source")
    if job.arm.structured or not isinstance(source, str) or event.function not in ("ak_check", "ak_compile"):
        return ()
    return tuple(found.code for found in check(CheckRequest(source=source)).diagnostics)


def _placed(handed_in: Sequence[Submission], calls: Sequence[ToolCall]) -> tuple[Submission, ...]:
    """Return submissions with the call and the tokens at which each text was first handed in."""
    made = [call for call in calls if call.tool == SUBMIT and not call.refused]
    placed: list[Submission] = []
    for one in handed_in:
        digest = source_digest(one.source)
        at = next((call for call in made if call.source_digest == digest), None)
        more = {} if at is None else {"at_call": at.number, "tokens": at.tokens}
        placed.append(one.model_copy(update=more))
    return tuple(placed)


def _round(handed_in: Submission) -> ToolCall:
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


def text_of(result: Any) -> str:
    """Return what a tool answered as text."""
    if isinstance(result, list):
        return "\n".join(text_of(part) for part in result)
    return str(getattr(result, "text", result))


def answer_in(text: str) -> dict[str, Any]:
    """Return a tool's answer as an object, empty where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def transcript_of(ended: EvalSample) -> str:
    """Return what was said as JSON: a list of messages with role, text, calls (tool, arguments) and error."""
    return json.dumps([_message(message) for message in ended.messages], ensure_ascii=False, indent=1)


def _message(message: ChatMessage) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "text": _cut(message.text)}
    if isinstance(message, ChatMessageAssistant) and message.tool_calls:
        said["calls"] = [
            {"tool": call.function, "arguments": _short(call.arguments)}
            | ({"broken": call.parse_error} if call.parse_error else {})
            for call in message.tool_calls
        ]
    if isinstance(message, ChatMessageTool):
        said |= {"tool": message.function or "", "error": message.error.message if message.error else ""}
    return said


def _short(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: _cut(value) if isinstance(value, str) else value for name, value in arguments.items()}


def _cut(text: str) -> str:
    if len(text) <= _MAX_TEXT:
        return text
    return f"{text[:_MAX_TEXT]}\n[{len(text) - _MAX_TEXT} more characters]"
