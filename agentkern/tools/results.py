"""What every tool answers: the fields of the JSON objects, exactly as they are printed. No behaviour.

The field names are public. `Result` has what all answers share.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from agentkern.diagnostics import Diagnostic, to_json

Status = Literal["ok", "rejected", "unproved", "unsupported", "failed", "unavailable"]
Severity = Literal["error", "warning", "note"]
Verdict = Literal["bit_exact", "within_bound", "wrong", "not_run"]
JobState = Literal["queued", "running", "done", "cancelled", "lost"]
Bound = Literal["memory", "compute", "latency", "launch"]


class Record(BaseModel):
    """A frozen JSON object; built on first use, which keeps the command line's start short."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


class SpanRecord(Record):
    """A stretch of kernel text; lines and columns from 1, `end` exclusive."""

    file: str
    start: tuple[int, int]
    end: tuple[int, int]


class LabelRecord(Record):
    """A second place that a diagnostic points at."""

    span: SpanRecord
    text: str


class EditRecord(Record):
    """One replacement of text."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


class FixRecord(Record):
    """A change that a machine can apply."""

    description: str
    edits: tuple[EditRecord, ...]


class DiagnosticRecord(Record):
    """One finding about a kernel, a file or a call."""

    code: str
    severity: Severity
    message: str
    span: SpanRecord
    labels: tuple[LabelRecord, ...] = ()
    hint: str = ""
    fixes: tuple[FixRecord, ...] = ()
    data: dict[str, Any] = Field(default_factory=dict)


def diagnostic_record(diagnostic: Diagnostic) -> DiagnosticRecord:
    """Return a diagnostic as the tools print it."""
    return DiagnosticRecord.model_validate(to_json(diagnostic))


class Artifact(Record):
    """Something a tool made. `id` is the digest of its content; `path` is where it lies, if it was written."""

    id: str
    kind: str
    bytes: int
    path: str | None = None


class Result(Record):
    """What every answer has. `summary` is one line that ends with the next step."""

    status: Status
    summary: str
    diagnostics: tuple[DiagnosticRecord, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


class KernelResult(Result):
    """An answer about one kernel. `nondeterministic`: it says that its bits may differ from run to run."""

    nondeterministic: bool = False


class ProofCounts(Record):
    """Obligations by outcome. Of an `ok` kernel all that safety needs are `proved` or `assumed`: others choose code."""

    proved: int = 0
    assumed: int = 0
    refuted: int = 0
    unknown: int = 0


class CheckResult(KernelResult):
    """`kernels`: every kernel of the file. `proofs` counts obligations by outcome."""

    kernels: tuple[str, ...] = ()
    signature: str | None = None
    proofs: ProofCounts | None = None
    timings_ms: dict[str, float] = Field(default_factory=dict)


class Resources(Record):
    """What the largest launch uses: registers per thread, the rest per block; `occupancy`: share of an SM's warps."""

    registers: int
    spill_bytes: int
    shared_bytes: int
    barriers: int
    threads: int
    occupancy: float


class Estimate(Record):
    """What the schedule was expected to use, to hold against `Resources`."""

    registers: int
    occupancy: float


class Roofline(Record):
    """The least a kernel must move and compute at these sizes; None where a size is not given."""

    bytes: int | None
    flops: int | None
    floor_us: float | None


class CompileResult(KernelResult):
    """A compiled kernel: what it is, what it uses, how long each phase took."""

    kernel_id: str | None = None
    target: str
    signature: str | None = None
    schedule: dict[str, Any] | None = None
    resources: Resources | None = None
    estimate: Estimate | None = None
    roofline: Roofline | None = None
    proofs: ProofCounts | None = None
    timings_ms: dict[str, float] = Field(default_factory=dict)
    cache: Literal["hit", "miss", "off"] = "off"


class OutputRecord(Record):
    """One output of a run: `digest` is over its raw bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    digest: str


class RunResult(KernelResult):
    """What ran where, and the outputs."""

    device: str | None = None
    kernel_id: str | None = None
    outputs: tuple[OutputRecord, ...] = ()
    timings_ms: dict[str, float] = Field(default_factory=dict)


class CheckRecord(Record):
    """One check of `verify`: what was found, or why it was not run."""

    name: str
    status: Literal["passed", "failed", "not_run", "not_applicable"]
    detail: str


class Mismatch(Record):
    """The first element that differs. Values are exact text; `ulp` is None where the distance has no meaning."""

    output: str
    index: tuple[int, ...]
    got: str
    want: str
    ulp: int | None


class Control(Record):
    """A wrong answer that the checks must reject, and whether they did."""

    name: str
    rejected: bool


class VerifyResult(KernelResult):
    """The verdict and everything it rests on."""

    verdict: Verdict
    kernel_id: str | None = None
    device: str | None = None
    checks: tuple[CheckRecord, ...] = ()
    mismatch: Mismatch | None = None
    controls: tuple[Control, ...] = ()
    timings_ms: dict[str, float] = Field(default_factory=dict)


class Baseline(Record):
    """A rival timed in the same run. `speedup` is its time over ours."""

    name: str
    median_us: float
    speedup: float
    ci: tuple[float, float]


class ProfileResult(KernelResult):
    """Time against the floor; without a GPU the times are None and the roofline stands.

    `floor_us`: of the bytes and operations at measured ceilings; `least_us`: what no right program can beat, of what
    must move whatever the values are, at the vendor's peaks.
    """

    kernel_id: str | None = None
    median_us: float | None = None
    ci_us: tuple[float, float] | None = None
    runs: int = 0
    gbytes_per_s: float | None = None
    tflops: float | None = None
    floor_us: float | None = None
    least_us: float | None = None
    percent_of_floor: float | None = None
    of_copy: float | None = None
    bound: Bound | None = None
    baselines: tuple[Baseline, ...] = ()
    levers: tuple[str, ...] = ()
    gpu: str | None = None
    clocks: dict[str, float] | None = None
    roofline: Roofline | None = None


class CorpusEntry(Record):
    """One kernel of the corpus, in a list.

    `features`: what it uses, read off its IR. `group`: shared by near duplicates. Of a search: `why` it was found, and
    `also`, the near duplicates that were.
    """

    name: str
    family: str
    path: str
    signature: str
    tags: tuple[str, ...] = ()
    summary: str = ""
    dtypes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    group: str = ""
    why: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    score: float = 0.0


class CorpusListResult(Result):
    """The kernels that match."""

    kernels: tuple[CorpusEntry, ...] = ()


class CorpusShowResult(KernelResult):
    """One kernel of the corpus. `compile_dims` gives every size that must be fixed to compile it."""

    name: str
    path: str
    signature: str
    compile_dims: dict[str, int]
    shapes: dict[str, Any]
    criterion: dict[str, Any]
    record: dict[str, Any]
    text: str = ""
    notes: str = ""
    dtypes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    group: str = ""


class CorpusVerifyResult(Result):
    """Each named kernel's verdict."""

    kernels: dict[str, VerifyResult] = Field(default_factory=dict)


class ExplainResult(Result):
    """A page: markdown text."""

    topic: str
    title: str
    text: str


class DoctorItem(Record):
    """One thing the tools need. `install` says what to do where it is missing."""

    name: str
    works: bool
    detail: str
    install: str | None = None


class DoctorResult(Result):
    """What works on this machine."""

    items: tuple[DoctorItem, ...] = ()


class ReferenceResult(Result):
    """A language page, or the list of pages."""

    page: str
    text: str


class ReadResult(Result):
    """A slice of an artifact's lines, numbered from 1."""

    id: str
    kind: str | None = None
    first_line: int = 1
    n_lines: int = 0
    text: str = ""


class JobResult(Result):
    """Where a job stands; `result` once it is done."""

    job_id: str
    state: JobState
    progress: float | None = None
    message: str | None = None
    result: dict[str, Any] | None = None


EXIT_CODES: dict[Status, int] = {
    "ok": 0,
    "rejected": 1,
    "unproved": 1,
    "unsupported": 1,
    "failed": 1,
    "unavailable": 3,
}
USAGE_EXIT_CODE = 2
