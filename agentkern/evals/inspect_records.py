"""From what inspect has logged of a sample to our records: calls, codes, tokens, how it ended, what was said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from inspect_ai.event import ModelEvent, ToolEvent
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ModelUsage

from agentkern.evals.calls import answered_call, placed, round_call
from agentkern.evals.judge import source_digest
from agentkern.evals.records import Sample, SampleState, Submission, ToolCall, Usage
from agentkern.evals.run_model import Job

_MAX_TEXT = 64_000
_MAX_ERROR = 600
_LIMITS = {"message": "messages", "token": "tokens", "time": "seconds", "working": "working_seconds"}


def sample_of(job: Job, ended: EvalSample, handed_in: Sequence[Submission]) -> Sample:
    """Return the record of a sample that has ended, its submissions as they were handed in."""
    calls = tuple(_calls(job, ended))
    if job.arm.feedback == "mcp":
        submissions = placed(handed_in, calls)
    else:
        submissions = tuple(handed_in)
        calls = tuple(round_call(one) for one in submissions) if job.arm.feedback == "plain_loop" else ()
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
    return answered_call(job, event.function, event.arguments, text_of(event.result), number=number, tokens=tokens)


def text_of(result: Any) -> str:
    """Return what a tool answered as text."""
    if isinstance(result, list):
        return "\n".join(text_of(part) for part in result)
    return str(getattr(result, "text", result))


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
