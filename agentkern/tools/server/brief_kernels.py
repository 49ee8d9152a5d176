"""Kernels of the corpus as a model needs them: what each is, why it was found, on request its text. Within a budget.

Budgets are in bytes of compact JSON; a token is about four.
"""

from __future__ import annotations

from pathlib import Path

from agentkern.tools.counted import counted
from agentkern.tools.results import CorpusEntry, CorpusListResult
from agentkern.tools.server.brief import Answer, compact

BUDGET_BYTES = 1600
SOURCE_BUDGET_BYTES = 8000
"""With texts: about five kernels of usual length, or two of the longest."""
_LONG_SIGNATURE = 200


def brief_kernels(result: CorpusListResult, *, with_source: bool) -> Answer:
    """Return as many of the kernels found as fit, the best first, one at least; say how many were left out."""
    budget = SOURCE_BUDGET_BYTES if with_source else BUDGET_BYTES
    kept: list[Answer] = []
    left = budget
    for kernel in result.kernels:
        row = _row(kernel, with_source=with_source)
        left -= len(compact(row).encode())
        if kept and left < 0:
            break
        kept.append(row)
    more = len(result.kernels) - len(kept)
    left_out = f"; {more} left out for length" if more else ""
    next_step = (
        "include_source=true gives their texts" if kept and not with_source else "other words" if not kept else ""
    )
    summary = f"{counted(len(kept), 'kernel')}{left_out}" + (f"; next: {next_step}" if next_step else "")
    return {"status": result.status, "summary": summary, "kernels": kept}


def _row(kernel: CorpusEntry, *, with_source: bool) -> Answer:
    signature = kernel.signature
    row: Answer = {
        "name": kernel.name,
        "family": kernel.family,
        "summary": kernel.summary,
        "signature": signature if len(signature) <= _LONG_SIGNATURE else f"{signature[: _LONG_SIGNATURE - 3]}...",
        "why": ", ".join(kernel.why),
    }
    if kernel.also:
        row["also"] = list(kernel.also)
    if with_source:
        row["source"] = Path(kernel.path).read_text(encoding="utf-8")
    return row
