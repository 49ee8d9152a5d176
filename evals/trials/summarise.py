"""Judge the logs of attempts and write their record.

    python -m evals.trials.summarise OUT.json CARD.md LOG.jsonl [LOG.jsonl ...]

Every call that shows a kernel counts (check, compile, verify); reading pages and waiting for a job do not. A call is
right when its kernel passes `judge.py` and the tool did not refuse it; the record keeps each text once, with what the
tool and the judge said.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from evals.trials.judge import Task, judge, tasks

REFUSED = ("rejected", "unproved", "unsupported", "refused", "wrong", "failed")
SHOWS_KERNEL = ("ak_check", "ak_compile", "ak_verify")


def attempt(log: Path, known: dict[str, Task]) -> dict[str, Any]:
    """What one attempt did, by task."""
    found: dict[str, Any] = {}
    for line in log.read_text().splitlines():
        record = json.loads(line)
        name, tool = record["task"], record["tool"]
        if name not in known:
            continue
        row = found.setdefault(name, {"calls": 0, "pages_read": 0, "first_correct": None, "kernels": []})
        row["pages_read"] += tool == "ak_reference"
        source = record["arguments"].get("source")
        if tool not in SHOWS_KERNEL or source is None:
            continue
        row["calls"] += 1
        seen = next((k for k in row["kernels"] if k["source"] == source), None)
        if seen is None:
            seen = {"source": source, "judged": judge(known[name], source) or "right", "calls": []}
            row["kernels"].append(seen)
        answer = said(record["answer"])
        seen["calls"].append({"number": row["calls"], "tool": tool, **answer})
        refused = answer["status"] in REFUSED
        if row["first_correct"] is None and seen["judged"] == "right" and not refused:
            row["first_correct"] = row["calls"]
    return found


def said(answer: str) -> dict[str, Any]:
    """Status and diagnostic codes of an answer."""
    try:
        parsed = json.loads(answer)
    except json.JSONDecodeError:
        return {"status": "refused", "codes": []}
    codes = [d.get("code") for d in parsed.get("diagnostics", ())]
    return {"status": parsed.get("verdict") or parsed.get("status"), "codes": codes}


def main() -> int:
    """Judge, summarise, write."""
    out, card, *logs = map(Path, sys.argv[1:])
    known = tasks()
    attempts = {log.stem: attempt(log, known) for log in logs}
    firsts = [row["first_correct"] for found in attempts.values() for row in found.values()]
    right = [n for n in firsts if n is not None]
    report = {
        "what": "attempts by language models that had the card and the tools over MCP, nothing else",
        "card_sha256": hashlib.sha256(card.read_bytes()).hexdigest(),
        "attempts": len(attempts),
        "kernels_asked": len(firsts),
        "kernels_right": len(right),
        "median_calls_to_first_correct": statistics.median(n if n is not None else 99 for n in firsts),
        "right_at_first_call": sum(n == 1 for n in right),
        "by_attempt": attempts,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1) + "\n")
    for name, value in report.items():
        if name != "by_attempt":
            sys.stdout.write(f"{name}: {value}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
