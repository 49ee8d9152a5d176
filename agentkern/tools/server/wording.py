"""Say over MCP what the command line says: options by the tools' arguments, commands by the tools. Data and one rule.

Texts of diagnostics and summaries are written once, with the options of the command line; every text of an answer
passes here.
"""

from __future__ import annotations

import re

# Phrases that an option's name alone would not carry over.
_PHRASES = (
    ("next: verify", "next: ak_verify"),
    ("`--reference FILE.py:FUNCTION` compares", "`reference`, a second kernel, compares"),
    ("hold the kernel to a `--reference`", "hold it to a `reference`, a second kernel"),
    ("`--criterion bound:max_error_ratio=2`", "`criterion`"),
)
_ARGUMENTS = {
    "dim": "dims",
    "set": "settings",
    **{name: name for name in ("criterion", "device", "level", "numerics", "reference", "schedule", "target")},
}
_BY_NAME = ("dims", "settings")
_TOOLS = {
    **{command: f"ak_{command}" for command in ("check", "compile", "verify", "profile")},
    "explain": "ak_reference",
    "corpus search": "ak_search_kernels",
    "corpus show": "ak_search_kernels",
}
_VALUES = {"none": "false"}  # of `--set`: without an optional tensor
_OPTION = re.compile(rf"--({'|'.join(_ARGUMENTS)})(?![\w-])(?:[ =]((?:\w+(?:=[^\s`,;:]+)?|[^\s`,;]+)))?(?=[`,;:\s]|$)")
_COMMAND = re.compile(rf"`agentkern ({'|'.join(_TOOLS)})( [^`]*)?`")


def spoken_here(text: str) -> str:
    """Return a text with the command line's words replaced by those of the tools."""
    for there, here in _PHRASES:
        text = text.replace(there, here)
    return _OPTION.sub(_argument, _COMMAND.sub(_tool, text))


def _tool(match: re.Match[str]) -> str:
    tool, rest = _TOOLS[match.group(1)], (match.group(2) or "").strip()
    return f"{tool} page={rest}" if tool == "ak_reference" and rest else tool


def _argument(match: re.Match[str]) -> str:
    argument, value = _ARGUMENTS[match.group(1)], match.group(2)
    if value is None:
        return argument
    if argument not in _BY_NAME:
        return f"{argument}={value}"
    name, _, given = value.partition("=")
    return f'{argument}={{"{name}": {_VALUES.get(given, given) or "..."}}}'
