"""Explain a code, a concept or a page of the language, or name the nearest. Pages are markdown files here."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from agentkern.diagnostics.pages import PAGES as CODE_PAGES
from agentkern.tools.results import ExplainResult
from agentkern.tools.sources import usage_error

_CONCEPT_PAGES = Path(__file__).resolve().parent / "pages" / "concepts"
LANGUAGE_PAGES = Path(__file__).resolve().parent / "pages" / "language"
_CODE = re.compile(r"AK\d{3}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its topic, its first heading, its text."""

    topic: str
    title: str
    text: str


def explain(topic: str) -> ExplainResult:
    """Return the page of a code such as `AK301`, a concept such as `layout`, or of the language, such as `card`.

    Errors: UsageError naming the nearest topic when there is no page.
    """
    page = find_page(topic)
    return ExplainResult(status="ok", summary=page.title, topic=page.topic, title=page.title, text=page.text)


def find_page(topic: str) -> Page:
    """Return the page of `topic`, in any case, singular or plural.

    Errors: UsageError naming the nearest topic when there is none.
    """
    wanted = topic.strip()
    known = {page_topic.lower(): path for page_topic, path in page_paths().items()}
    for candidate in (wanted.lower(), wanted.lower().removesuffix("s"), wanted.lower().removesuffix("es")):
        if candidate in known:
            return _read(known[candidate])
    raise usage_error(f"explain {wanted}", _unknown(list(page_paths()), wanted))


def page_paths() -> dict[str, Path]:
    """Return every page by topic: codes first, then concepts and the language."""
    folders = (CODE_PAGES, _CONCEPT_PAGES, LANGUAGE_PAGES)
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.md"))}


def _read(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    return Page(path.stem, text.splitlines()[0].lstrip("# "), text)


def _unknown(topics: list[str], wanted: str) -> str:
    is_code = _CODE.fullmatch(wanted) is not None
    of_kind = [topic for topic in topics if (_CODE.fullmatch(topic) is not None) == is_code]
    near = difflib.get_close_matches(wanted.upper() if is_code else wanted.lower(), of_kind, n=3, cutoff=0.5)
    hint = f"; nearest: {', '.join(f'`{name}`' for name in near)}" if near else ""
    concepts = ", ".join(f"`{topic}`" for topic in topics if _CODE.fullmatch(topic) is None)
    return f"there is no such page{hint}; pages: {concepts}; codes look like `AK301`"
