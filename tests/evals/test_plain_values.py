"""What a model says in JSON, made such that files and logs hold it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agentkern.evals.plain_values import MOST_DEPTH, TOO_DEEP, plain


class Message(BaseModel):
    content: Any
    calls: Any = None


@dataclass
class Spoken:
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_halves_of_characters_are_marked_wherever_they_stand():
    said = (Message(content="a \ud83d", calls=[Spoken("b\udfff", {"\ud800": ["x", "\ud800"]})]), {"raw": "\ud800"})
    message, raw = plain(said)
    assert message.content == "a \ufffd"
    assert message.calls == [Spoken("b\ufffd", {"\ufffd": ["x", "\ufffd"]})]
    assert raw == {"raw": "\ufffd"}


@pytest.mark.parametrize("value", ["text", 3, -(2**63), 1.5, None, True, [1, {"a": ("b",)}], Message(content="a")])
def test_what_is_plain_already_is_returned_itself(value: Any):
    assert plain(value) is value


def test_depth_ends_and_numbers_are_bounded():
    assert TOO_DEEP in json.dumps(plain(nested(5000)))
    assert plain(nested(MOST_DEPTH - 1)) == nested(MOST_DEPTH - 1)
    assert plain([10**5000, float("inf")]) == ["[a number of 16610 bits]", "inf"]


@given(st.recursive(st.none() | st.integers() | st.floats() | st.text(st.characters()), st.lists))
def test_everything_is_written_as_utf8(value: Any):
    json.dumps(plain(value), ensure_ascii=False, allow_nan=False).encode()
