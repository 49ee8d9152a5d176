"""The language pages tell the truth: every kernel on them compiles as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentkern.tools.check import check
from agentkern.tools.reference import LANGUAGE_PAGES, language_pages
from agentkern.tools.requests import CheckRequest

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
README = Path(__file__).resolve().parents[2] / "README.md"


def blocks() -> list[tuple[str, str]]:
    files = [*sorted(LANGUAGE_PAGES.glob("*.md")), README]
    return [(file.stem, block) for file in files for block in _BLOCK.findall(file.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("page", "kernel"), blocks(), ids=[page for page, _ in blocks()])
def test_every_kernel_of_a_page_is_in_order(page: str, kernel: str):
    result = check(CheckRequest(source=kernel))
    assert [diagnostic.message for diagnostic in result.diagnostics] == []
    assert result.status == "ok"


def test_every_page_but_habits_shows_a_kernel():
    assert {page for page, _ in blocks()} >= set(language_pages()) - {"habits"}
