"""Why a model cannot be had, from what the library that runs models says."""

from __future__ import annotations

import re

_INSTALL = re.compile(r"pip install (?:-\S+ |--\S+ )*[\"']?([\w.-]+)")


class ModelUnavailable(RuntimeError):
    """A model cannot be had: an unknown provider, a package or a key that is not there. `step`: what brings it."""

    def __init__(self, reason: str, step: str | None = None) -> None:
        super().__init__(reason)
        self.step = step


def unavailable(name: str, cause: Exception) -> ModelUnavailable:
    """Return why a model cannot be had: first the package that is missing, if one is."""
    said = plain_text(str(cause))
    wanted = _INSTALL.search(said)
    package = cause.name if isinstance(cause, ModuleNotFoundError) and cause.name else wanted and wanted.group(1)
    if not package:
        return ModelUnavailable(f"`{name}`: {said}")
    reason = f"`{name}` needs the package `{package}`, which is not installed here in a version that fits ({said})"
    return ModelUnavailable(reason, f"`pip install -U {package}`")


def plain_text(text: str) -> str:
    """Return a message of that library without its markup, on one line."""
    for mark in ("[bold]", "[/bold]"):
        text = text.replace(mark, "")
    return " ".join(text.removeprefix("ERROR: ").split())
