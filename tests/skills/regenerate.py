"""Write the language card anew into the skill that shows it: python -m tests.skills.regenerate."""

from __future__ import annotations

from agentkern.tools.skills import MAIN_FILE, read_skills, with_card


def regenerate() -> None:
    """Replace the card of every skill that has one."""
    for skill in read_skills():
        path = skill.folder / MAIN_FILE
        text = path.read_text(encoding="utf-8")
        path.write_text(with_card(text), encoding="utf-8")


if __name__ == "__main__":
    regenerate()
