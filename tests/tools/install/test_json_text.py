"""A member is set in JSON text, and every other character stays."""

from __future__ import annotations

import json

import pytest

from agentkern.tools.install.entry import ConfigError
from agentkern.tools.install.json_text import parse, set_value, without_member

ENTRY = {"command": "agentkern", "args": ["mcp"]}
PATH = ("mcpServers", "agentkern")


@pytest.mark.parametrize("text", ["", "\n", "{}", "{ }\n", "\ufeff{}"])
def test_an_empty_file_becomes_one_with_the_entry(text: str):
    made = set_value(text, PATH, ENTRY)
    assert json.loads(made.lstrip("\ufeff")) == {"mcpServers": {"agentkern": ENTRY}}
    assert made.startswith("\ufeff") == text.startswith("\ufeff")


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "theme": "dark"\n}\n',
        '{\n    "mcpServers": {\n        "other": {"command": "x"}\n    },\n    "z": [1, 2.50, null, true]\n}',
        '{"mcpServers": {"other": {"command": "x"}}}',
        '{"mcpServers": {}, "a": "}{,\\""}',
        '{\r\n\t"mcpServers": {\r\n\t\t"other": {}\r\n\t}\r\n}\r\n',
    ],
)
def test_the_entry_is_added_and_nothing_else_moves(text: str):
    made = set_value(text, PATH, ENTRY)
    wanted = json.loads(text)
    wanted.setdefault("mcpServers", {})["agentkern"] = ENTRY
    assert json.loads(made) == wanted
    left = iter(made)
    assert all(character in left for character in text.replace("{}", ""))
    assert made.count("\r\n") == made.count("\n") or "\r\n" not in text


def test_comments_and_trailing_commas_stay():
    text = '{\n  // mine\n  "mcpServers": {\n    "other": {}, /* last */\n  }, // end\n}\n'
    made = set_value(text, PATH, "x")
    assert made == text.replace("{},", '{},\n    "agentkern": "x"')
    assert parse(made).value == {"mcpServers": {"other": {}, "agentkern": "x"}}


def test_a_value_that_is_there_is_replaced_alone():
    text = '{"a": 1, "mcpServers": {"agentkern": {"command": "old", "env": {"K": "v"}}}}'
    assert set_value(text, (*PATH, "command"), "new") == text.replace("old", "new")


def test_what_is_right_already_stays():
    text = '{"mcpServers": {"agentkern":   {"command":"x"}}}'
    assert set_value(text, (*PATH, "command"), "x") == text


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"a": 1', "comma"),
        ('{"a": 1 "b": 2}', "comma"),
        ('{"a" 1}', "`:`"),
        ("{a: 1}", "name in quotes"),
        ('{"a": tru}', "no value"),
        ('{"a": }', "value is missing"),
        ('{"a": 1} x', "more behind"),
        ('{"a": 1, "a": 2}', "twice"),
        ("[]", "no object"),
        ('{"mcpServers": []}', "`mcpServers` is no object"),
        ("[" * 5000, "too deep"),
        ('{"a": [1 2]}', "comma"),
        ('{"a": "\n"}', "no value|missing"),
    ],
)
def test_what_is_malformed_is_refused_with_its_place(text: str, wrong: str):
    with pytest.raises(ConfigError, match=wrong):
        set_value(text, PATH, ENTRY)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"a": 1, "x": {"b": 2}}', '{"a": 1}'),
        ('{"x": 2, "a": 1}', '{ "a": 1}'),
        ('{"x": 2}', "{}"),
        ('{"a": 1 // one\n, "x": 2}', '{"a": 1 // one\n}'),
        ('{\n  "a": 1, // one\n  // two\n  "x": [1, 2]\n}\n', '{\n  "a": 1 // one\n  // two\n}\n'),
        ('{\r\n  "a": 1,\r\n  "x": 2, // three\r\n}', '{\r\n  "a": 1, // three\r\n}'),
    ],
)
def test_a_member_is_taken_out_and_all_else_stays(text: str, left: str):
    assert without_member(text, ("x",)) == left
    assert "x" not in parse(left).value
