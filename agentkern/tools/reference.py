"""Language pages by name, and slices of artifacts: what `ak_reference` and `ak_read` and their resources answer."""

from __future__ import annotations

from pathlib import Path

from agentkern.tools.artifacts import ArtifactStore
from agentkern.tools.explain import LANGUAGE_PAGES, find_page, page_paths
from agentkern.tools.results import ReadResult, ReferenceResult
from agentkern.tools.sources import UsageError, usage_error

MAX_LINES = 400
_TEXT_KINDS = ("cuda", "ir", "placed", "gpu", "ptx", "sass", "layouts", "proofs", "host", "report")


def language_pages() -> dict[str, str]:
    """Return every language page: name and first heading."""
    return {path.stem: _title(path) for path in sorted(LANGUAGE_PAGES.glob("*.md"))}


def reference(page: str | None = None) -> ReferenceResult:
    """Return a language page, the page of a code or concept, or without a name the list of pages.

    Errors: UsageError naming the nearest page.
    """
    if page is None or page.strip() in ("", "index"):
        return ReferenceResult(
            status="ok", summary="pages of the language; read one by name", page="index", text=_index()
        )
    name = page.strip().removesuffix(".md").lower()
    path = LANGUAGE_PAGES / f"{name}.md"
    if name in language_pages():
        return ReferenceResult(status="ok", summary=_title(path), page=name, text=path.read_text(encoding="utf-8"))
    try:
        found = find_page(page)
    except UsageError as e:
        names = ", ".join(f"`{known}`" for known in language_pages())
        raise usage_error("page", f"there is no page `{page}`; language pages: {names}; codes look like `AK301`") from e
    return ReferenceResult(status="ok", summary=found.title, page=found.topic, text=found.text)


def read(store: ArtifactStore, identity: str, first_line: int = 1, n_lines: int = MAX_LINES) -> ReadResult:
    """Return lines of a text artifact.

    Errors: UsageError for an identity that is none, a binary one, or a line past its end.
    """
    found = store.get(identity)
    if found is None:
        raise usage_error("id", f"there is no artifact `{identity}` here; ids are in the `artifacts` of a result")
    if found.kind not in _TEXT_KINDS:
        raise usage_error("id", f"`{identity}` is binary ({len(found.data)} bytes), not text")
    lines = found.data.decode(errors="replace").splitlines()
    if not 1 <= first_line <= max(1, len(lines)):
        raise usage_error("first_line", f"{first_line} is outside 1..{len(lines)}")
    taken = lines[first_line - 1 : first_line - 1 + min(n_lines, MAX_LINES)]
    last = first_line - 1 + len(taken)
    rest = f"; go on with first_line={last + 1}" if last < len(lines) else ""
    summary = f"lines {first_line} to {last} of {len(lines)} of {identity}{rest}"
    text = "\n".join(taken)
    return ReadResult(
        status="ok", summary=summary, id=identity, kind=found.kind, first_line=first_line, n_lines=len(taken), text=text
    )


def _index() -> str:
    rows = [f"- `{name}`: {title}" for name, title in language_pages().items()]
    concepts = ", ".join(
        f"`{topic}`" for topic in page_paths() if not topic.startswith("AK") and topic not in language_pages()
    )
    return "\n".join((*rows, f"- concepts: {concepts}", "- any diagnostic code, such as `AK301`"))


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next(lines).lstrip("# ").strip()
