"""Pages that explain a code: prose, a wrong kernel, what is reported, the corrected kernel.

A page is `pages/<code>.md`: a title line, prose, then fenced blocks headed `## Options`, `## Wrong`, `## Reported`,
`## Right options` and `## Right`. `Options` hold for both kernels, `Right options` for the right one alone. Blocks are
text; nothing here runs them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGES = Path(__file__).parent / "pages"
_BLOCK = re.compile(
    r"^## (Options|Wrong|Reported|Right options|Right)\n+```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL
)
_CODE = re.compile(r"AK[1-9][0-9]{2}")


@dataclass(frozen=True, slots=True)
class Page:
    """One page. Blocks that a page does not have are empty."""

    code: str
    text: str
    options: str = ""
    wrong: str = ""
    reported: str = ""
    right_options: str = ""
    right: str = ""


def parse_page(code: str, text: str) -> Page:
    """Split a page into its blocks."""
    blocks = {match.group(1).lower().replace(" ", "_"): match.group(2) for match in _BLOCK.finditer(text)}
    return Page(code, text, **blocks)


def load_page(code: str) -> Page | None:
    """The page of a code, or None when there is none."""
    path = PAGES / f"{code}.md"
    if _CODE.fullmatch(code) is None or not path.is_file():
        return None
    return parse_page(code, path.read_text(encoding="utf-8"))
