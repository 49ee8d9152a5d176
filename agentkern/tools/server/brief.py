"""Shorten a tool's answer to what a model needs next, within a budget of bytes. Drops detail, never an outcome.

Budgets are in bytes of compact JSON; a token is about four.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentkern.tools.nondeterminism import WHY
from agentkern.tools.server.wording import spoken_here

Answer = dict[str, Any]

# A check tells every error with every fix, so that all are mended in one edit: up to 2,000 tokens.
BUDGET_BYTES = {"check": 8000, "compile": 1600, "verify": 960, "profile": 1900}
_LONG_MESSAGE = 240
_LONG_DETAIL = 70
# Fields that go first when an answer is too long, with no loss of outcome: each can be had in full elsewhere.
_EXPENDABLE = ("timings_ms", "schedule", "roofline", "clocks", "signature", "artifacts", "levers", "controls")


def brief(tool: str, answer: Mapping[str, Any]) -> Answer:
    """Return the answer of `tool` within its budget."""
    budget = BUDGET_BYTES.get(tool)
    if budget is None:
        return _without_empty(answer)
    short = _without_empty({key: value for key, value in answer.items() if key != "diagnostics"})
    if tool in _SHORTEN:
        short |= _SHORTEN[tool](answer)
    short = _without_empty(short) | {"summary": _cut(answer["summary"])}
    found = [_diagnostic(item) for item in answer.get("diagnostics", ())]
    for field in _EXPENDABLE:
        if _size(short) + _size(found[:1]) <= budget:
            break
        short.pop(field, None)
    return short | _diagnostics_within(found, budget - _size(short))


def compact(answer: Mapping[str, Any]) -> str:
    """Return the answer as JSON without spaces: the text form has the same facts as the structured one."""
    return json.dumps(answer, separators=(",", ":"), ensure_ascii=False)


def _diagnostics_within(found: list[Answer], budget: int) -> Answer:
    """Keep the first ones that fit, at least one; say how many are left out."""
    kept: list[Answer] = []
    for item in found:
        if kept and _size([*kept, item]) > budget - 60:
            break
        kept.append(item)
    if not kept:
        return {}
    left_out = len(found) - len(kept)
    more = {"more": f"{left_out} more; fix these and check again"} if left_out else {}
    return {"diagnostics": kept, **more}


def _diagnostic(item: Mapping[str, Any]) -> Answer:
    """A diagnostic without its data, and with one file's name left out of every span."""
    short: Answer = {
        "code": item["code"],
        "severity": item["severity"],
        "message": _cut(item["message"]),
        "span": _span(item["span"]),
        "labels": [{"span": _span(label["span"]), "text": _cut(label["text"])} for label in item["labels"][:2]],
        "hint": _cut(item["hint"]),
        "fixes": item["fixes"],
    }
    if short["severity"] == "error":
        del short["severity"]
    return _without_empty(short)


def _span(span: Mapping[str, Any]) -> Answer:
    return {"start": span["start"], "end": span["end"]}


def _verify(answer: Mapping[str, Any]) -> Answer:
    """Details of what failed or was not run, each once; names of what passed. Controls that were let through."""
    checks: list[Answer] = []
    said: set[str] = {WHY} if answer.get("nondeterministic") else set()
    for check in answer.get("checks", ()):
        short = {"name": check["name"], "status": check["status"]}
        if check["status"] != "passed" and check["detail"] not in said:
            said.add(check["detail"])
            short["detail"] = _cut(check["detail"], _LONG_DETAIL)
        checks.append(short)
    controls = answer.get("controls", ())
    let_through = [control for control in controls if not control["rejected"]]
    counted = f"{len(controls) - len(let_through)} of {len(controls)} wrong answers rejected" if controls else ""
    return {"checks": checks, "controls": let_through, "controls_summary": counted, "timings_ms": {}}


def _compile(answer: Mapping[str, Any]) -> Answer:
    total_ms = round(sum(answer.get("timings_ms", {}).values()), 1)
    artifacts = [{"id": item["id"], "bytes": item["bytes"]} for item in answer.get("artifacts", ())]
    return {"timings_ms": {"total": total_ms} if total_ms else {}, "artifacts": artifacts}


def _profile(answer: Mapping[str, Any]) -> Answer:
    return {"artifacts": [{"id": item["id"], "bytes": item["bytes"]} for item in answer.get("artifacts", ())]}


_SHORTEN = {"verify": _verify, "compile": _compile, "profile": _profile}


def _cut(text: str, limit: int = _LONG_MESSAGE) -> str:
    text = spoken_here(text)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _without_empty(value: Mapping[str, Any]) -> Answer:
    """Leave out what says nothing; a mismatch of None and a count of 0 say something."""
    return {
        key: item
        for key, item in value.items()
        if item not in ("", [], {}, ()) and item is not None and (key != "nondeterministic" or item)
    }


def _size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())
