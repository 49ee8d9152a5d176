"""The code blocks of the skills' files: what each is, and the sizes that its first line gives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from agentkern.tools.skills import read_skills

_BLOCK = re.compile(r"^```(\w*)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_KERNEL = re.compile(r"^@ak\.kernel\ndef (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One block. `options`: what stands behind the language, `H=96 K=4`, `differs=NAME`."""

    file: Path
    number: int
    language: str
    options: tuple[str, ...]
    text: str

    @property
    def dims(self) -> dict[str, int]:
        """The sizes that are given."""
        pairs = (option.partition("=") for option in self.options)
        return {name: int(value) for name, _, value in pairs if value.isdigit()}

    @property
    def differs(self) -> str | None:
        """The kernel that says what is right, where the first one is wrong on purpose."""
        return next((option.removeprefix("differs=") for option in self.options if option.startswith("differs=")), None)

    @property
    def kernels(self) -> list[str]:
        """The names of the block's kernels."""
        return _KERNEL.findall(self.text)

    def __str__(self) -> str:
        return f"{self.file.parent.name}-{self.file.stem}-{self.number}"


def files() -> list[Path]:
    """Every Markdown file of the skills."""
    return [skill.folder / name for skill in read_skills() for name in skill.files]


def blocks() -> list[Block]:
    """Every code block of the skills, in order."""
    found: list[Block] = []
    for file in files():
        for number, match in enumerate(_BLOCK.finditer(file.read_text(encoding="utf-8"))):
            language, options, text = match.groups()
            found.append(Block(file, number, language, tuple(options.split()), text))
    return found
