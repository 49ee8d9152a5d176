"""The MCP entry that a client gets, and the error of a settings file that cannot take it."""

from __future__ import annotations

import sys
from collections.abc import Mapping

Entry = Mapping[str, str | list[str]]


class ConfigError(ValueError):
    """A settings file is malformed, or holds something else where the entry belongs; the message says where."""


def entry(fields: Mapping[str, str], *, portable: bool) -> Entry:
    """Return what starts the server: this installation by its path, or `agentkern` wherever it is found."""
    if portable:
        return {**fields, "command": "agentkern", "args": ["mcp"]}
    return {**fields, "command": sys.executable, "args": ["-m", "agentkern", "mcp"]}
