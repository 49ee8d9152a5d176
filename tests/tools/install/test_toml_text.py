"""A table is set in TOML text, and every other character stays."""

from __future__ import annotations

import tomllib

import pytest

from agentkern.tools.install.entry import ConfigError
from agentkern.tools.install.toml_text import set_table

ENTRY = {"command": "agentkern", "args": ["mcp"]}
PATH = ("mcp_servers", "agentkern")
OTHER = '# mine\nmodel = "m" # which\n\n[mcp_servers.other]\ncommand = "x"\n'


@pytest.mark.parametrize("text", ["", "\n", OTHER, OTHER.rstrip("\n"), OTHER.replace("\n", "\r\n")])
def test_the_table_is_added_at_the_end(text: str):
    made = set_table(text, PATH, ENTRY)
    assert made.startswith(text)
    assert tomllib.loads(made)["mcp_servers"]["agentkern"] == ENTRY


def test_what_is_right_already_stays():
    made = set_table(OTHER, PATH, ENTRY)
    assert set_table(made, PATH, ENTRY) == made


def test_other_keys_and_comments_of_the_table_stay():
    text = (
        "[ mcp_servers . \"agentkern\" ] # here\nenabled = true # yes\nargs = [\n  'old', # why\n]\n"
        '[mcp_servers.agentkern.env]\nK = "v"\n[z]\na = 1\n'
    )
    made = set_table(text, PATH, ENTRY)
    found = tomllib.loads(made)
    assert found == {"mcp_servers": {"agentkern": {**ENTRY, "enabled": True, "env": {"K": "v"}}}, "z": {"a": 1}}
    assert "# here" in made
    assert "# yes" in made


def test_a_header_inside_of_a_string_is_none():
    text = 'note = """\n[mcp_servers.agentkern]\n"""\n'
    made = set_table(text, PATH, ENTRY)
    assert made.startswith(text)
    assert tomllib.loads(made)["mcp_servers"] == {"agentkern": ENTRY}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a = ", "Invalid value"),
        ("mcp_servers = 1", "no table"),
        ('mcp_servers = { other = { command = "x" } }', "inline"),
        ('mcp_servers.agentkern.command = "x"', "inline"),
        ("[mcp_servers]\nagentkern = 3", "no table"),
        (f"a = {'[' * 5000}{']' * 5000}", "recursion"),
        (f"a = {'9' * 5000}", "digits"),
    ],
)
def test_what_cannot_take_the_table_is_refused(text: str, wrong: str):
    with pytest.raises(ConfigError, match=wrong):
        set_table(text, PATH, ENTRY)
