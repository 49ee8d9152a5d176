"""A number with its noun, as people say it: `1 task`, `2 tasks`."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return the number and the noun, in the plural unless it is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
