"""The table of roundings in the page `order`, made from the rows of the order module. Writes nothing."""

from __future__ import annotations

import re
from pathlib import Path

from agentkern.compiler.ir.order import ROUNDING_ROWS

ORDER_PAGE = Path(__file__).parent / "pages" / "concepts" / "order.md"
_TABLE = re.compile(r"(?<=^## What rounds, and in which order\n\n).*?(?=^\n|\Z)", re.MULTILINE | re.DOTALL)


def rounding_table() -> str:
    """A table in Markdown: every operation that rounds, with its order or formula."""
    rows = (f"| `{row.op}` | {row.rule.replace('|', chr(92) + '|')} |\n" for row in ROUNDING_ROWS)
    return "| operation | order or formula |\n|---|---|\n" + "".join(rows)


def with_roundings(page: str) -> str:
    """The page with its table made anew. Errors: ValueError when the page has no place for it."""
    if _TABLE.search(page) is None:
        raise ValueError("the page has no table of roundings")
    return _TABLE.sub(lambda _: rounding_table(), page)
