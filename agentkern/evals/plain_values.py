"""What a provider hands over as a model's words, made such that every file and message can hold it.

JSON lets a model say what no file of ours and no log of a runner can: halves of characters, numbers without end, lists
in lists in lists. One such word would end a whole run. Knows no provider: it walks plain values, pydantic models and
dataclasses by their fields.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar, cast

from pydantic import BaseModel

Found = TypeVar("Found")
Asked = TypeVar("Asked", bound=Callable[..., Awaitable[Any]])

MOST_DEPTH = 50
"""Lists and objects inside each other; writers of JSON stop near 200."""
MOST_BITS = 64
_HALVES = re.compile("[\ud800-\udfff]")
TOO_DEEP = "[nested too deep]"


def plain(value: Found) -> Found:
    """Return a value with halves of characters marked, endless numbers as text and what is nested too deep left out.

    What needs no change is returned as it is.
    """
    return _plain(value, 0)


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value) if _HALVES.search(value) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        return value if value.bit_length() <= MOST_BITS else f"[a number of {value.bit_length()} bits]"
    if isinstance(value, dict | list | tuple) and depth >= MOST_DEPTH:
        return TOO_DEEP
    if isinstance(value, dict):
        keys, items = ([_plain(part, depth + 1) for part in parts] for parts in (value.keys(), value.values()))
        same = _are_same(keys, value.keys()) and _are_same(items, value.values())
        return value if same else dict(zip(keys, items, strict=True))
    if isinstance(value, list | tuple):
        items = [_plain(item, depth + 1) for item in value]
        return value if _are_same(items, value) else type(value)(items)
    return _with_plain_fields(value)


def _with_plain_fields(value: Any) -> Any:
    """Return an object whose fields are plain. A field begins anew: how deep objects lie is their classes' matter."""
    if isinstance(value, BaseModel):
        changed = {name: made for name in type(value).model_fields if (made := _field(value, name)) is not _SAME}
        return value.model_copy(update=changed) if changed else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [row.name for row in dataclasses.fields(value) if row.init]
        changed = {name: made for name in names if (made := _field(value, name)) is not _SAME}
        return dataclasses.replace(value, **changed) if changed else value
    return value


_SAME = object()


def _field(value: Any, name: str) -> Any:
    before = getattr(value, name)
    made = _plain(before, 0)
    return _SAME if made is before else made


def _are_same(made: Iterable[Any], before: Iterable[Any]) -> bool:
    return all(one is other for one, other in zip(made, before, strict=True))


def plainly(function: Asked) -> Asked:
    """Return a function whose answers are plain."""

    async def called(*arguments: Any, **named: Any) -> Any:
        return plain(await function(*arguments, **named))

    return cast("Asked", called)  # it takes and gives what the function does
