"""The form of what an isolated process sends back: it was written by a process that ran foreign code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def is_answer(found: Any, wanted: Sequence[int]) -> bool:
    """Whether a value is the memory of buffers of the `wanted` bytes, with findings, or a run that did not end."""
    if not isinstance(found, dict) or not isinstance(found.get("completed"), bool):
        return False
    if not isinstance(found.setdefault("findings", []), list):
        return False
    images = found.get("images")
    if not isinstance(images, list) or not all(isinstance(image, bytes) for image in images):
        return False
    return not found["completed"] or [len(image) for image in images] == list(wanted)
