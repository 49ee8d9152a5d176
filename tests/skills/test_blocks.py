"""Every code block of every skill is true: kernels verify, commands exist, calls have the tools' arguments."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from agentkern.tools import api
from agentkern.tools.card import CARD
from agentkern.tools.cli import group
from agentkern.tools.skills import MAIN_FILE, read_skills
from tests.skills.skill_blocks import Block, blocks, files

KERNELS = [(block, name) for block in blocks() if block.language == "python" for name in block.kernels]
VERIFIED = [(block, name) for block, name in KERNELS if block.text not in CARD.read_text()]  # those have a test of their own
SLOW = ("column_means", "medians_of_nine", "best_columns")
SHELL = [line for block in blocks() if block.language == "sh" for line in block.text.splitlines()]


def marked(block: Block, name: str) -> object:
    marks = [pytest.mark.toolchain, *([pytest.mark.slow] if name in SLOW else [])]
    return pytest.param(block, name, id=f"{block}-{name}", marks=marks)


def verify(block: Block, name: str, reference: str | None = None) -> api.VerifyResult:
    request = api.VerifyRequest(
        source=block.text, path=f"{block}.py", kernel=name, dims=dims(block, name), reference_kernel=reference
    )
    return api.verify(request)


def dims(block: Block, name: str) -> dict[str, int]:
    """The block's sizes that the kernel has."""
    signature = block.text.partition(f"def {name}(")[2].partition("):\n")[0]
    return {size: n for size, n in block.dims.items() if re.search(rf"\b{size}\b", signature)}


def test_every_block_is_of_a_kind_that_is_checked():
    assert {block.language for block in blocks()} == {"python", "sh"}
    assert all(block.kernels for block in blocks() if block.language == "python")


@pytest.mark.parametrize(("block", "name"), [pytest.param(b, n, id=f"{b}-{n}") for b, n in KERNELS])
def test_every_kernel_is_in_order(block: Block, name: str):
    result = api.check(api.CheckRequest(source=block.text, kernel=name, dims=dims(block, name)))
    assert [diagnostic.message for diagnostic in result.diagnostics] == []


@pytest.mark.parametrize(("block", "name"), [marked(block, name) for block, name in VERIFIED])
def test_every_kernel_verifies(block: Block, name: str):
    result = verify(block, name)
    assert (result.status, result.verdict) == ("ok", "bit_exact"), result.summary


WRONG = [block for block in blocks() if block.differs is not None]


@pytest.mark.toolchain
@pytest.mark.parametrize("block", WRONG, ids=str)
def test_a_kernel_that_is_shown_as_wrong_is_wrong(block: Block):
    right = block.text[: block.text.index("@ak.kernel")]
    right += block.text[block.text.index(f"@ak.kernel\ndef {block.differs}") :].replace(str(block.differs), block.kernels[0])
    result = verify(block, block.kernels[0], right)
    assert result.verdict == "wrong", result.summary


def test_both_kinds_of_blocks_are_there():
    assert len(KERNELS) > 20
    assert WRONG


@pytest.mark.parametrize("line", SHELL)
def test_every_command_is_one(line: str):
    program, *words = shlex.split(line)
    assert program == "agentkern"
    command: click.Command | None = group
    context = click.Context(group)
    while isinstance(command, click.Group):
        command = command.get_command(context, words.pop(0))
    assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    assert [word for word in words if word.startswith("-") and word not in known] == []


@pytest.mark.parametrize("file", files(), ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_links_lead_to_files_of_the_skill(file: Path):
    targets = re.findall(r"\]\(([^)]+)\)", file.read_text(encoding="utf-8"))
    assert [target for target in targets if not (file.parent / target).is_file()] == []


@pytest.mark.parametrize("skill", read_skills(), ids=lambda skill: skill.name)
def test_every_reference_is_named_in_the_body_and_says_when_to_read_it(skill):
    for file in skill.files:
        if file.name != MAIN_FILE:
            assert f"({file})" in skill.body
            assert (skill.folder / file).read_text(encoding="utf-8").splitlines()[1].startswith("Read when ")
