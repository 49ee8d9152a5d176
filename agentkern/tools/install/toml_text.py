"""Set the keys of one table in TOML text and leave every other character as it is, comments included."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from agentkern.tools.install.entry import ConfigError, Entry

_HEADER = re.compile(r"\s*\[")


def parse(text: str) -> dict[str, Any]:
    """Return what a text holds. Errors: ConfigError."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as e:  # numbers of thousands of digits, and lists in lists in lists
        raise ConfigError(str(e)) from e


def set_table(text: str, path: tuple[str, str], entry: Entry) -> str:
    """Return the text with the entry's keys in the table at `path`. Errors: ConfigError."""
    outer, name = path
    known = parse(text).get(outer, {})
    if not isinstance(known, dict) or not isinstance(known.get(name, {}), dict):
        raise ConfigError(f"`{outer}` or `{outer}.{name}` is no table")
    missing = {key: value for key, value in entry.items() if known.get(name, {}).get(key) != value}
    if not missing:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    begin = _header(lines, path)
    if begin is None:
        made = _appended(text, path, entry, newline)
    else:
        made = "".join(_changed(lines, begin, missing, newline))
    wanted = {**known, name: {**known.get(name, {}), **entry}}
    try:
        holds = tomllib.loads(made).get(outer) == wanted
    except tomllib.TOMLDecodeError:
        holds = False
    if not holds:
        raise ConfigError(f"`{outer}` is written inline or with dots; give it a table `[{outer}.{name}]`")
    return made


def without_table(text: str, path: tuple[str, str]) -> str:
    """Return the text without the table at `path`, comments in and around it kept. Errors: ConfigError."""
    outer, name = path
    known = parse(text)
    lines = text.splitlines(keepends=True)
    begin = _header(lines, path)
    if begin is None:
        raise ConfigError(f"`{outer}` is written inline or with dots; take `{outer}.{name}` out by hand")
    end = next((n for n in range(begin + 1, len(lines)) if _HEADER.match(lines[n])), len(lines))
    rest, n = lines[:begin], begin + 1
    if rest and not rest[-1].strip():
        rest.pop()
    while n < end:
        if lines[n].strip() and not lines[n].lstrip().startswith("#"):
            n = next((m for m in range(n, end) if _is_whole("".join(lines[n : m + 1]))), n)
        else:
            rest.append(lines[n])
        n += 1
    made = "".join([*rest, *lines[end:]])
    servers = {key: value for key, value in known[outer].items() if key != name}
    wanted = {key: value for key, value in known.items() if key != outer} | ({outer: servers} if servers else {})
    found = parse(made)
    if {key: value for key, value in found.items() if key != outer or value} != wanted:
        raise ConfigError(f"`{outer}.{name}` has tables of its own; take it out by hand")
    return made


def _appended(text: str, path: tuple[str, str], entry: Entry, newline: str) -> str:
    gap = "" if not text.strip() else newline if text.endswith("\n") else 2 * newline
    rows = [f"[{'.'.join(path)}]", *(f"{key} = {_literal(value)}" for key, value in entry.items())]
    return f"{text}{gap}{newline.join(rows)}{newline}"


def _header(lines: list[str], path: tuple[str, str]) -> int | None:
    """The line of the table's header, outside of strings of several lines."""
    keys = r"\s*\.\s*".join(rf"(?:{key}|\"{key}\"|'{key}')" for key in map(re.escape, path))
    header = re.compile(rf"\s*\[\s*{keys}\s*\]\s*(#.*)?$")
    return next((n for n, line in enumerate(lines) if header.match(line) and _is_whole("".join(lines[:n]))), None)


def _is_whole(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _changed(lines: list[str], begin: int, missing: Mapping[str, Any], newline: str) -> list[str]:
    """The lines with keys of the table that begins at a line replaced, or added below its header."""
    end = next((n for n in range(begin + 1, len(lines)) if _HEADER.match(lines[n])), len(lines))
    rest = list(lines)
    if not rest[begin].endswith("\n"):
        rest[begin] += newline
    added: list[str] = []
    for key, value in missing.items():
        row = f"{key} = {_literal(value)}{newline}"
        first = next((n for n in range(begin + 1, end) if re.match(rf"\s*\"?{key}\"?\s*=", rest[n])), None)
        if first is None:
            added.append(row)
            continue
        last = next((n for n in range(first, end) if _is_whole("".join(rest[first : n + 1]))), first)
        rest[first : last + 1] = [row, *([""] * (last - first))]
    return [*rest[: begin + 1], *added, *rest[begin + 1 :]]


def _literal(value: object) -> str:
    """A string or a list of strings, as TOML writes it."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
