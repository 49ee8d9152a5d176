"""Headers and samples of runs for tests."""

from __future__ import annotations

from typing import Any

from agentkern.evals.records import Judgement, RunHeader, Sample, Submission, ToolCall, Usage


def header(**changes: Any) -> RunHeader:
    fields: dict[str, Any] = {
        "id": "run-1",
        "created": "2026-01-01T00:00:00Z",
        "agentkern": "0.1.0",
        "commit": "0000000",
        "lane": "mock",
        "suite_digest": "suite",
        "tasks": ("vector_add",),
        "arms": ("mcp",),
        "models": ("mock",),
        "epochs": 1,
        "device": "cpu",
        "level": "quick",
        "seed": 0,
    }
    return RunHeader.model_validate(fields | changes)


def judgement(verdict: str = "bit_exact", **changes: Any) -> Judgement:
    fields: dict[str, Any] = {
        "task": "vector_add",
        "language": "agentkern",
        "source_digest": "0" * 16,
        "verdict": verdict,
        "summary": verdict,
        "level": "quick",
        "device": "cpu",
        "seed": 0,
        "judge_digest": "digest",
    }
    return Judgement.model_validate(fields | changes)


def submission(verdict: str | None = "bit_exact", at_call: int = 1, tokens: int = 100, **changes: Any) -> Submission:
    fields: dict[str, Any] = {"number": 1, "at_call": at_call, "tokens": tokens, "source": "kernel"}
    made = None if verdict is None else judgement(verdict)
    return Submission.model_validate(fields | {"judgement": made} | changes)


def sample(verdict: str | None = "bit_exact", **changes: Any) -> Sample:
    task, epoch = changes.get("task", "vector_add"), changes.get("epoch", 1)
    fields: dict[str, Any] = {
        "id": f"{task}/mcp/mock/{epoch}",
        "task": task,
        "family": "elementwise",
        "arm": "mcp",
        "model": "mock",
        "epoch": epoch,
        "state": "done" if verdict else "no_submission",
        "submissions": (submission(verdict),) if verdict else (),
        "usage": Usage(input_tokens=80, output_tokens=20),
    }
    made = fields | changes
    made["submissions"] = tuple(_answering(task, one) for one in made["submissions"])
    return Sample.model_validate(made)


def _answering(task: str, one: Submission) -> Submission:
    if one.judgement is None:
        return one
    return one.model_copy(update={"judgement": one.judgement.model_copy(update={"task": task})})


def call(number: int, status: str | None = "ok", codes: tuple[str, ...] = (), **changes: Any) -> ToolCall:
    fields: dict[str, Any] = {"number": number, "tool": "ak_check", "tokens": 10 * number, "status": status}
    return ToolCall.model_validate(fields | {"codes": codes} | changes)
