"""What a kernel's writer reads speaks the language alone, and its card is the one card."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentkern.diagnostics import CODES
from agentkern.evals import judge
from agentkern.tools.server.tools import TOOLS
from agentkern.tools.skills import card_section, read_skills, with_card
from tests.skills.skill_blocks import files

HIDDEN = (
    r"layouts?|threads?|warps?|shared memory|smem|swizzl\w+|registers?|lanes?|barriers?|mbarriers?|occupancy|"
    r"SMs?|TMA|wgmma|coalesc\w+|bank conflicts?|__\w+__"
)
CALL = re.compile(r"`(ak_\w+) (\{.*?\})`")


WRITERS = [file for file in files() if "agentkern-evals" not in file.parts]  # the measurement has lanes of its own


@pytest.mark.parametrize("file", WRITERS, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_nothing_below_the_language_is_spoken_of(file: Path):
    assert re.findall(rf"\b(?:{HIDDEN})\b", file.read_text(encoding="utf-8"), re.IGNORECASE) == []


def test_the_card_in_the_skill_is_the_card():
    (writing,) = (skill for skill in read_skills() if skill.name == "agentkern-kernels")
    assert with_card(writing.body) == writing.body
    assert card_section() in writing.body


def test_another_card_is_noticed():
    body = "<!-- card -->\nold\n<!-- end of card -->\nrest"
    assert with_card(body) != body
    assert with_card("no card") == "no card"


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_tools_and_codes_that_are_named_exist(file: Path):
    text = file.read_text(encoding="utf-8")
    assert set(re.findall(r"\bak_\w+", text)) - {"ak_"} <= set(TOOLS)
    assert set(re.findall(r"\bAK\d{3}\b", text)) <= set(CODES)


def test_every_check_of_the_judge_is_explained():
    (evals,) = (skill for skill in read_skills() if skill.name == "agentkern-evals")
    assert [name for name in judge.NAMES if f"`{name}`" not in evals.body] == []


@pytest.mark.parametrize(
    ("tool", "arguments"), [call for file in files() for call in CALL.findall(file.read_text(encoding="utf-8"))]
)
def test_a_call_that_is_shown_has_the_tools_arguments(tool: str, arguments: str):
    TOOLS[tool].arguments.model_validate(json.loads(arguments))
