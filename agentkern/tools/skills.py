"""The skills that come with agentkern: where they are, and a strict reader of their form. Installs nothing.

The form is that of Agent Skills (agentskills.io), narrowed to what every client and validator accepts: a closed set of
keys, one line each, ASCII, no angle brackets, the name of the folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from agentkern.shipped import shipped
from agentkern.tools.card import CARD

KEYS = ("name", "description", "license", "compatibility")
REQUIRED = ("name", "description")
MOST_CHARACTERS = {"name": 64, "description": 1024, "license": 64, "compatibility": 500}
MAIN_FILE = "SKILL.md"
CARD_START, CARD_END = "<!-- card -->\n", "<!-- end of card -->\n"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LINE = re.compile(r"([a-z][a-z-]*): (\S.*)")


class SkillError(ValueError):
    """A folder is no skill; the message names the file and what is wrong in it."""


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill. `files` are all of its files, relative to `folder`, in order."""

    folder: Path
    name: str
    description: str
    body: str
    files: tuple[Path, ...]


def default_skills() -> Path:
    """Return the folder of the skills that come with the package. Errors: SkillError where there is none."""
    folder = shipped("skills")
    if folder is None:
        raise SkillError("agentkern's skills are not installed; install it from its source or wheel again")
    return folder


def read_skills(folder: Path | None = None) -> tuple[Skill, ...]:
    """Return every skill of a folder, the package's own by default, by name. Errors: SkillError."""
    found = (default_skills() if folder is None else folder).glob(f"*/{MAIN_FILE}")
    return tuple(read_skill(path.parent) for path in sorted(found))


def read_skill(folder: Path) -> Skill:
    """Return the skill of a folder. Errors: SkillError."""
    main = folder / MAIN_FILE
    try:
        text = main.read_text(encoding="ascii")
    except OSError as e:
        raise SkillError(f"{main}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise SkillError(f"{main}: character {e.start} is not ASCII") from e
    head, body = _split(text, main)
    fields = _fields(head, main)
    if fields["name"] != folder.name or not _NAME.fullmatch(fields["name"]):
        raise SkillError(f"{main}: the name is `{fields['name']}`, the folder `{folder.name}`; both are a-z, 0-9 and -")
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return Skill(folder, fields["name"], fields["description"], body, tuple(files))


def _split(text: str, main: Path) -> tuple[str, str]:
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0]:
        raise SkillError(f"{main}: it begins with `---`, `key: value` lines and `---`")
    return parts[1], parts[2]


def _fields(head: str, main: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in head.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            raise SkillError(f"{main}: `{line}` is no `key: value`")
        key, value = match.groups()
        if key not in KEYS or key in found:
            raise SkillError(f"{main}: key `{key}` is unknown or there twice; keys are {', '.join(KEYS)}")
        found[key] = _checked(key, value, main)
    missing = [key for key in REQUIRED if key not in found]
    if missing:
        raise SkillError(f"{main}: `{missing[0]}` is missing")
    return found


def _checked(key: str, value: str, main: Path) -> str:
    if len(value) > MOST_CHARACTERS[key]:
        raise SkillError(f"{main}: `{key}` has {len(value)} characters; at most {MOST_CHARACTERS[key]} are read")
    if re.search(r"[<>]|: | #", value) or value[0] in "\"'[]{}&*!|%@`#,?-":
        raise SkillError(f"{main}: `{key}` is no plain text of YAML, or has < or >")
    return value


def card_section() -> str:
    """The language card as a section of a skill."""
    text = CARD.read_text(encoding="utf-8")
    without_comments = re.sub(r"<!--.*?-->\n", "", text)
    return re.sub(r"^# Card: t", "## T", without_comments)


def with_card(body: str) -> str:
    """A skill's text with its copy of the language card made anew."""
    head, start, rest = body.partition(CARD_START)
    _, end, tail = rest.partition(CARD_END)
    return f"{head}{start}{card_section()}{end}{tail}" if start and end else body
