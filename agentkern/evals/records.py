"""What a run of an evaluation leaves behind: the fields of its files, exactly as they are written. No behaviour.

A run is a folder: `run.json` (RunHeader), `samples.jsonl` (one Sample a line), `transcripts/` (what was said).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from agentkern.tools.results import CheckRecord, Control, Mismatch, Record

RECORD_VERSION = 1

Language = Literal["agentkern", "cuda", "triton"]
Lane = Literal["mock", "replay", "live"]
Feedback = Literal["zero_shot", "plain_loop", "mcp"]
Verdict = Literal["bit_exact", "within_bound", "wrong", "rejected", "not_run"]
SampleState = Literal["done", "no_submission", "limit", "error"]

Count = Annotated[int, Field(ge=0, le=1 << 53)]
"""A number of things: one that a float holds, as every average needs."""
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

CORRECT: tuple[Verdict, ...] = ("bit_exact", "within_bound")


class Timing(Record):
    """One shape of a submission on a GPU. `baselines`: median microseconds by name, at equal precision.

    `floor_us`: of what it moves and computes at measured ceilings; `least_us`: what no right program can beat.
    """

    sizes: dict[str, int]
    median_us: Amount
    ci_us: tuple[Amount, Amount]
    floor_us: Amount
    least_us: Amount
    baselines: dict[str, Amount] = Field(default_factory=dict)


class Judgement(Record):
    """What a submission is worth. `codes`: of its errors, in order. `stages`: share of shapes that are right, by name.

    `judge_digest`: of the task's files and the judge's version; the same submission under the same digest, level,
    device and seed has the same judgement but for `timings` and `seconds`.
    """

    task: str
    language: Language
    source_digest: str
    verdict: Verdict
    summary: str
    level: Literal["quick", "full"]
    device: Literal["cpu", "cuda"]
    seed: int
    judge_digest: str
    checks: tuple[CheckRecord, ...] = ()
    controls: tuple[Control, ...] = ()
    codes: tuple[str, ...] = ()
    mismatch: Mismatch | None = None
    stages: dict[str, Share] = Field(default_factory=dict)
    timings: tuple[Timing, ...] = ()
    seconds: Amount = 0.0


class Submission(Record):
    """One text that was handed in. `at_call`: tool calls before it; `tokens`: used by the sample until then."""

    number: Count
    at_call: Count
    tokens: Count
    source: str
    kernel: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    judgement: Judgement | None = None


class ToolCall(Record):
    """One call of a tool. `status`: of its answer; None where the call itself was refused (`refused` says why)."""

    number: Count
    tool: str
    tokens: Count
    status: str | None = None
    codes: tuple[str, ...] = ()
    source_digest: str | None = None
    refused: str = ""


class Usage(Record):
    """Tokens of a sample, as the provider counts them."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cached_tokens: Count = 0

    @property
    def total(self) -> int:
        """Tokens that count against a budget."""
        return self.input_tokens + self.output_tokens


class Sample(Record):
    """One attempt of one model at one task in one arm. `limit`: which one ended it; `error`: what of ours failed."""

    id: str
    task: str
    family: str
    arm: str
    model: str
    epoch: Count
    state: SampleState
    limit: str = ""
    error: str = ""
    calls: tuple[ToolCall, ...] = ()
    submissions: tuple[Submission, ...] = ()
    usage: Usage = Field(default_factory=Usage)
    seconds: Amount = 0.0
    transcript: str = ""

    @model_validator(mode="after")
    def _answers_its_task(self) -> Sample:
        for one in self.submissions:
            if one.judgement is not None and one.judgement.task != self.task:
                raise ValueError(
                    f"submission {one.number} of `{self.task}` was judged as `{one.judgement.task}`'s answer"
                )
        return self

    @property
    def best(self) -> Submission | None:
        """The submission that counts: the last one."""
        return self.submissions[-1] if self.submissions else None

    @property
    def is_correct(self) -> bool:
        """Whether the submission that counts is right."""
        best = self.best
        return best is not None and best.judgement is not None and best.judgement.verdict in CORRECT


class RunHeader(Record):
    """What was run. `suite_digest`: of every task's files; `blocked`: tasks that cannot be expressed yet, and why."""

    id: str
    created: str
    version: int = RECORD_VERSION
    agentkern: str
    commit: str
    lane: Lane
    suite_digest: str
    tasks: tuple[str, ...]
    blocked: dict[str, str] = Field(default_factory=dict)
    arms: tuple[str, ...]
    models: tuple[str, ...]
    epochs: Count
    device: Literal["cpu", "cuda"]
    level: Literal["quick", "full"]
    seed: int
    limits: dict[str, Amount] = Field(default_factory=dict)
