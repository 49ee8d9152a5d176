"""Text of strangers as safe HTML: escaped, control characters shown, kernels coloured, long texts cut and said so."""

from __future__ import annotations

import json
import keyword
import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from agentkern.evals.records import Language

MOST_SOURCE = 40_000
MOST_MESSAGE = 6_000
MOST_MESSAGES = 400
_C_WORDS = (
    "auto bool break case char class const constexpr continue default do double else enum extern float for if inline "
    "int long namespace operator return short signed sizeof static struct switch template this typedef typename union "
    "unsigned using void volatile while __global__ __device__ __shared__ __restrict__ __launch_bounds__ __forceinline__"
)
_WORDS = {"c": frozenset(_C_WORDS.split()), "python": frozenset(keyword.kwlist)}
_PYTHON = re.compile(
    r'(?P<comment>#[^\n]*)|(?P<string>"""(?:.|\n)*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')'
    r"|(?P<mark>@[A-Za-z_][\w.]*)|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)"
)
_C = re.compile(
    r'(?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<mark>^[ \t]*#[^\n]*)|(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)",
    re.MULTILINE,
)
# controls but tab and end of line; marks that turn the direction of text; halves of pairs
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    """Return a text whose control characters are seen and do nothing."""
    return _CONTROL.sub(lambda found: chr(0x2400 + ord(found[0])) if ord(found[0]) < 0x20 else "\ufffd", text)


def cut(text: str, most: int) -> str:
    """Return at most so many characters, and how many more there are."""
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most} more characters are in the run's folder"


def highlighted(source: str, language: Language) -> Markup:
    """Return a kernel's text with its words in colours."""
    kind = "c" if language == "cuda" else "python"
    text, pieces, place = visible(source[:MOST_SOURCE]), list[Markup](), 0
    for found in (_C if kind == "c" else _PYTHON).finditer(text):
        shown = found.lastgroup
        if shown == "word" and found[0] not in _WORDS[kind]:
            continue
        pieces.append(escape(text[place : found.start()]))
        pieces.append(Markup('<span class="h-{}">{}</span>').format(shown, found[0]))
        place = found.end()
    said = cut(source, MOST_SOURCE)[MOST_SOURCE:]
    return Markup("").join([*pieces, escape(text[place:]), escape(said)])


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a transcript. `heading`: who, and what was called."""

    role: str
    heading: str
    text: str


def messages(transcript: str | None) -> tuple[Message, ...]:
    """Return a transcript as messages; what is no list of messages is one message."""
    if transcript is None:
        return ()
    try:
        listed = json.loads(transcript)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        return (Message("raw", "as it was kept", visible(cut(transcript, MOST_MESSAGE))),)
    found = [_message(one) for one in listed[:MOST_MESSAGES]]
    left_out = len(listed) - MOST_MESSAGES
    if left_out > 0:
        found.append(Message("raw", "cut", f"… {left_out} more messages are in the run's folder"))
    return tuple(found)


def _message(one: dict[str, Any]) -> Message:
    role = str(one.get("role", "?"))
    calls = one.get("calls") or ()
    texts = [str(one.get("text") or one.get("content") or "")]
    for call in calls if isinstance(calls, list) else ():
        arguments = call.get("arguments") if isinstance(call, dict) else call
        shown = arguments.items() if isinstance(arguments, dict) else [("", arguments)]
        texts.append(f"→ {call.get('tool', '?') if isinstance(call, dict) else '?'}")
        texts += [f"{name}: {value}" for name, value in shown]
    if one.get("error"):
        texts.append(f"error: {one['error']}")
    heading = f"{role} · {one['tool']}" if one.get("tool") else role
    return Message(
        role if role.isalpha() else "raw", visible(heading), visible(cut("\n".join(filter(None, texts)), MOST_MESSAGE))
    )
