"""Scripted models behind inspect's mock provider, with explicit usage, so that nothing is counted over a network."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from agentkern.evals.inspect_solvers import CURRENT
from agentkern.evals.mock import SCRIPTS, Scene, Script, Turn
from agentkern.evals.run_model import RunRequest

PREFIX = "mock/"
_CHARS_A_TOKEN = 4


class UnknownScript(ValueError):
    """A name that is no scripted model's."""


def script_named(name: str) -> Script:
    """Return a script by its model's name. Errors: UnknownScript names the nearest."""
    short = name.removeprefix(PREFIX)
    if short in SCRIPTS:
        return SCRIPTS[short]
    near = difflib.get_close_matches(short, SCRIPTS, n=1)
    hint = f"did you mean `{PREFIX}{near[0]}`?" if near else f"scripts are {', '.join(SCRIPTS)}"
    raise UnknownScript(f"there is no scripted model `{name}`; {hint}")


def mock_model(name: str, request: RunRequest) -> Model:
    """Return a scripted model. Errors: UnknownScript."""
    script = script_named(name)

    def speak(
        heard: list[ChatMessage], tools: list[ToolInfo], _choice: ToolChoice, _config: GenerateConfig
    ) -> ModelOutput:
        turn = script(_scene(heard, tools, request.limits.tool_calls or 0))
        return _output(name, turn, heard)

    return get_model(f"mockllm/{name.removeprefix(PREFIX)}", memoize=False, custom_outputs=speak)


def _scene(heard: Sequence[ChatMessage], tools: Sequence[ToolInfo], limit: int) -> Scene:
    job = CURRENT.get()
    own = [message for message in heard if isinstance(message, ChatMessageAssistant)]
    calls = [call for message in own for call in message.tool_calls or ()]
    sources = [call.arguments["source"] for call in calls if isinstance(call.arguments.get("source"), str)]
    last = max((at for at, message in enumerate(heard) if message in own), default=-1)
    return Scene(
        task=job.task,
        arm=job.arm,
        turns=len(own),
        called=tuple(call.function for call in calls),
        heard=tuple(message.text for message in heard[last + 1 :]),
        tools=tuple(tool.name for tool in tools),
        written=sources[-1] if sources else "",
        limit=limit,
    )


def _output(name: str, turn: Turn, heard: Sequence[ChatMessage]) -> ModelOutput:
    output = ModelOutput.from_content(name, turn.text)
    said = len(turn.text)
    calls: list[ToolCall] = []
    for number, call in enumerate(turn.calls):
        calls.append(ToolCall(f"call_{len(heard)}_{number}", call.tool, dict(call.arguments), call.broken or None))
        said += len(str(call.arguments))
    if calls:
        output.choices[0].message.tool_calls = calls
        output.choices[0].stop_reason = "tool_calls"
    read = sum(len(message.text) for message in heard) // _CHARS_A_TOKEN
    written = said // _CHARS_A_TOKEN
    output.usage = ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return output
