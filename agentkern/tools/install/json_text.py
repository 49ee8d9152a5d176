"""Set a value in JSON text and leave every other character as it is, comments included.

Reads what clients read: JSON, with `//` and `/* */` comments and commas behind the last member.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from agentkern.tools.install.entry import ConfigError

_SPACE = re.compile(r"(?:[\s\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"[^\s,\]}/]+")
MOST_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands. `members` of an object: (key, where the key begins, value)."""

    start: int
    end: int
    value: Any
    members: tuple[tuple[str, int, Node], ...] | None = None
    ends_in_comma: bool = False


def parse(text: str) -> Node:
    """Return the value that a text holds. Errors: ConfigError."""
    node = _value(text, _skip(text, 0), 0)
    rest = _skip(text, node.end)
    if rest != len(text):
        raise ConfigError(f"line {_line(text, rest)}: there is more behind the value")
    return node


def set_value(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with the member at `path` set; objects on the way are made. Errors: ConfigError."""
    if not text.strip("\ufeff \t\r\n"):
        text = f"{text.strip(chr(10))}{{}}\n"
    node = parse(text)
    for depth, key in enumerate(path):
        if node.members is None:
            raise ConfigError(f"`{'.'.join(path[:depth]) or 'the file'}` is no object")
        found = [child for name, _, child in node.members if name == key]
        if not found:
            for outer in reversed(path[depth + 1 :]):
                value = {outer: value}
            return _inserted(text, node, key, value)
        node = found[0]
    if node.value == value:
        return text
    return text[: node.start] + json.dumps(value) + text[node.end :]


def without_member(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the member at `path`, which is there; comments around it stay. Errors: ConfigError."""
    node = parse(text)
    for key in path[:-1]:
        node = {name: child for name, _, child in node.members or ()}[key]
    members = node.members or ()
    at = [name for name, _, _ in members].index(path[-1])
    begin, end = members[at][1], members[at][2].end
    comma = _skip(text, end)
    if text.startswith(",", comma):
        text = text[:comma] + text[comma + 1 :]
    elif at:
        comma = _skip(text, members[at - 1][2].end)
        text = text[:comma] + text[comma + 1 :]
        begin, end = begin - 1, end - 1
    head, rest = text[:begin].rstrip(" \t"), text[end:]
    if head.endswith("\n") and rest.lstrip(" \t").startswith(("\r", "\n", "//")):  # the member's own line goes
        head = head[:-1].removesuffix("\r")
    return head + rest


def _inserted(text: str, node: Node, key: str, value: Any) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    assert node.members is not None
    outer = _indent(text, node.start)
    first = node.members[0][1] if node.members else None
    if first is not None and "\n" not in text[node.start : first]:  # all on one line: stay on it
        member = f"{json.dumps(key)}: {json.dumps(value)}"
        return _after_last(text, node, f" {member}")
    inner = _indent(text, first) if first is not None else f"{outer}{_step(text)}"
    lines = json.dumps(value, indent=_step(text)).splitlines()
    member = f"{json.dumps(key)}: " + f"{newline}{inner}".join(lines)
    if first is not None:
        return _after_last(text, node, f"{newline}{inner}{member}")
    return f"{text[: node.start]}{{{newline}{inner}{member}{newline}{outer}}}{text[node.end :]}"


def _after_last(text: str, node: Node, member: str) -> str:
    """Put a member behind the last one, before comments and space that follow it."""
    assert node.members
    end = node.members[-1][2].end
    if node.ends_in_comma:
        end = text.index(",", _skip(text, end)) + 1
        return f"{text[:end]}{member}{text[end:]}"
    return f"{text[:end]},{member}{text[end:]}"


def _indent(text: str, at: int) -> str:
    """The space at the begin of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _step(text: str) -> str:
    found = re.search(r"\{\s*?\n([ \t]+)\S", text)
    return found.group(1) if found else "  "


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MOST_DEPTH:
        raise ConfigError("it is nested too deep")
    if text.startswith("{", at):
        return _object(text, at, depth)
    if text.startswith("[", at):
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise ConfigError(f"line {_line(text, at)}: a value is missing")
    try:
        return Node(at, found.end(), json.loads(found.group()))
    except ValueError as e:
        raise ConfigError(f"line {_line(text, at)}: `{found.group()[:40]}` is no value of JSON") from e


def _object(text: str, at: int, depth: int) -> Node:
    members: list[tuple[str, int, Node]] = []
    comma = False
    place = _skip(text, at + 1)
    while not text.startswith("}", place):
        if members and not comma:
            raise ConfigError(f"line {_line(text, place)}: a comma or `}}` is missing")
        key = _STRING.match(text, place)
        if key is None:
            raise ConfigError(f"line {_line(text, place)}: a name in quotes is missing")
        colon = _skip(text, key.end())
        if not text.startswith(":", colon):
            raise ConfigError(f"line {_line(text, colon)}: `:` is missing")
        name = json.loads(key.group())
        if name in (known for known, _, _ in members):
            raise ConfigError(f"line {_line(text, place)}: `{name}` is there twice")
        child = _value(text, _skip(text, colon + 1), depth + 1)
        members.append((name, place, child))
        place, comma = _comma(text, child.end)
    value = {name: child.value for name, _, child in members}
    return Node(at, place + 1, value, tuple(members), comma)


def _array(text: str, at: int, depth: int) -> Node:
    items: list[Any] = []
    comma = False
    place = _skip(text, at + 1)
    while not text.startswith("]", place):
        if items and not comma:
            raise ConfigError(f"line {_line(text, place)}: a comma or `]` is missing")
        child = _value(text, place, depth + 1)
        items.append(child.value)
        place, comma = _comma(text, child.end)
    return Node(at, place + 1, items)


def _comma(text: str, at: int) -> tuple[int, bool]:
    place = _skip(text, at)
    return (_skip(text, place + 1), True) if text.startswith(",", place) else (place, False)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
