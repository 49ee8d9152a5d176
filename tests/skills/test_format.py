"""The skills have the form that clients read: by two public validators and by our own, stricter reader."""

from __future__ import annotations

from pathlib import Path

import inspect_ai.tool
import pytest
import skills_ref

from agentkern.tools.card import n_tokens
from agentkern.tools.skills import Skill, SkillError, read_skill, read_skills

NAMES = ["agentkern-evals", "agentkern-kernels", "agentkern-review"]
MOST_LINES, MOST_TOKENS = 500, 5000
HEAD = "---\nname: one\ndescription: What it is for.\n---\n"


def write(folder: Path, text: str, name: str = "one") -> Path:
    skill = folder / name
    skill.mkdir()
    (skill / "SKILL.md").write_text(text, encoding="utf-8")
    return skill


def test_the_three_skills_are_there():
    assert [skill.name for skill in read_skills()] == NAMES


@pytest.mark.parametrize("skill", read_skills(), ids=lambda skill: skill.name)
def test_public_validators_accept_a_skill(skill: Skill):
    assert skills_ref.validate(skill.folder) == []
    (read,) = inspect_ai.tool.read_skills([skill.folder])
    assert (read.name, read.description, read.instructions) == (skill.name, skill.description, skill.body.lstrip("\n"))
    assert sorted(read.references) == sorted(str(f.relative_to("references")) for f in skill.files if len(f.parts) > 1)


@pytest.mark.parametrize("skill", read_skills(), ids=lambda skill: skill.name)
def test_a_body_fits_its_budget(skill: Skill):
    assert len(skill.body.splitlines()) < MOST_LINES
    assert n_tokens(skill.body) < MOST_TOKENS


@pytest.mark.parametrize("skill", read_skills(), ids=lambda skill: skill.name)
def test_files_lie_one_level_deep_and_are_ascii(skill: Skill):
    for file in skill.files:
        assert file.parts == ("SKILL.md",) or (len(file.parts) == 2 and file.parts[0] == "references")
        assert (skill.folder / file).read_text(encoding="utf-8").isascii()


def test_a_plain_skill_is_read(tmp_path: Path):
    found = read_skill(write(tmp_path, f"{HEAD}Do it.\n"))
    assert (found.name, found.description, found.body) == ("one", "What it is for.", "Do it.\n")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Do it.\n", "begins with"),
        (HEAD.replace("one", "two"), "the folder `one`"),
        (HEAD.replace("name: one\n", ""), "`name` is missing"),
        (HEAD.replace("name: one", "name: one\nversion: 1"), "key `version`"),
        (HEAD.replace("name: one", "name: one\nname: one"), "there twice"),
        (HEAD.replace("What", "<b>What"), "< or >"),
        (HEAD.replace("What", "Use: what"), "plain text of YAML"),
        (HEAD.replace("What", "Wh\u00e4t"), "not ASCII"),
        (HEAD.replace("What", "What " * 300), "at most 1024"),
        (HEAD.replace("description: ", "description:"), "no `key: value`"),
    ],
)
def test_what_a_client_might_not_read_is_refused(tmp_path: Path, text: str, wrong: str):
    with pytest.raises(SkillError, match=wrong):
        read_skill(write(tmp_path, text))


def test_a_folder_without_a_skill_is_named(tmp_path: Path):
    with pytest.raises(SkillError, match="No such file"):
        read_skill(tmp_path)
