"""Every number and row of a report, from runs alone. Knows nothing of HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from agentkern.diagnostics import CODES
from agentkern.evals import metrics
from agentkern.evals.bootstrap import Estimate
from agentkern.evals.ledger import Read
from agentkern.evals.metrics import Recovery, Tasks
from agentkern.evals.records import RunHeader, Sample
from agentkern.tools.explain import find_page

MOST_CODES = 40
MOST_NAME = 100
CALLS_SHOWN = 10
_STATES = (
    "bit_exact", "within_bound", "wrong", "rejected", "not_run", "no submission", "ended by a limit", "error of ours",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Group:
    """The samples of one model in one arm of one run. `able`: its tasks; `asked`: blocked ones too, which fail."""

    number: int
    name: str
    model: str
    arm: str
    run: Read
    samples: tuple[Sample, ...]
    able: Tasks
    asked: Tasks


def groups_of(runs: Sequence[Read]) -> tuple[Group, ...]:
    """Return each model x arm of each run, in the order that the runs name them."""
    found: list[Group] = []
    for run in runs:
        by_key: dict[tuple[str, str], list[Sample]] = {
            (model, arm): [] for model in run.header.models for arm in run.header.arms
        }
        for sample in run.samples:
            by_key.setdefault((sample.model, sample.arm), []).append(sample)
        for (model, arm), samples in by_key.items():
            if samples:
                suffix = f" · {run.header.id}" if len(runs) > 1 else ""
                blocked = run.header.blocked if arm.startswith("agentkern") else ()
                able, asked = metrics.tasks_of(samples), metrics.tasks_of(samples, blocked)
                name = f"{model[:MOST_NAME]} · {arm[:MOST_NAME]}{suffix}"
                found.append(Group(len(found), name, model, arm, run, tuple(samples), able, asked))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of rates: its heading, what it means, its value for a group."""

    title: str
    meaning: str
    value: Callable[[Group], Estimate]


RIGHT = (
    Column("right", "the last submission is right; mean over tasks", lambda g: metrics.success_at_1(g.able)),
    Column("of all tasks", "blocked tasks count as failures", lambda g: metrics.success_at_1(g.asked)),
    Column("bit-exact", "with the reference's bits", lambda g: metrics.bit_exact_rate(g.able)),
    Column("hidden sizes", "of what is right at all shown sizes", lambda g: metrics.hidden_rate(g.able)),
    Column("gap", "right at shown sizes, less right at hidden ones too", lambda g: metrics.generalisation_gap(g.able)),
)
COST = (
    Column(
        f"≤ {CALLS_SHOWN} calls",
        f"a right submission with at most {CALLS_SHOWN} tool calls before it",
        lambda g: metrics.success_within_calls(g.able, CALLS_SHOWN),
    ),
    Column(
        "cleared", "a diagnostic is gone in the next text, without a new one", lambda g: metrics.recovery_rate(g.able)
    ),
    Column("repeated", "a diagnostic is there again in the next text", lambda g: metrics.repeat_error_rate(g.able)),
    Column("refused calls", "of all tool calls", lambda g: metrics.refused_rate(g.able)),
)


def speed_columns() -> tuple[Column, ...]:
    """Return one column for each speed, then the geometric mean."""
    rates = tuple(
        Column(
            f"fast {p:g}",
            f"right and at least {p:g} times the best baseline's speed",
            lambda g, p=p: metrics.fast_p(g.able, p),
        )
        for p in metrics.FAST
    )
    meaning = "geometric mean; a failure takes the baseline's time"
    return (*rates, Column("speed", meaning, lambda g: metrics.geomean_speedup(g.able)))


def k_columns(groups: Sequence[Group]) -> tuple[Column, ...]:
    """Return pass@k and pass^k for each k above 1 that some group has samples enough for."""
    kinds = (("pass@", "one of {} samples is right", metrics.pass_at_k), ("pass^", "all of {} are", metrics.pass_hat_k))
    found = [
        Column(f"{name}{k}", said.format(k), lambda g, k=k, estimator=estimator: metrics.at_k(g.able, k, estimator))
        for k in metrics.KS[1:]
        for name, said, estimator in kinds
    ]
    return tuple(column for column in found if any(column.value(group).value is not None for group in groups))


@dataclass(frozen=True, slots=True)
class Spent:
    """What a group took: medians to the first right submission, tokens in all, the area under success over tokens."""

    calls: float | None
    tokens: float | None
    total: int
    area: Estimate


def spent(group: Group, budget: float) -> Spent:
    """Return what a group took; `budget`: the tokens up to which the area is taken."""
    return Spent(
        calls=metrics.median_to_first_correct(group.able, lambda s: s.at_call),
        tokens=metrics.median_to_first_correct(group.able, lambda s: s.tokens),
        total=sum(sample.usage.total for sample in group.samples),
        area=metrics.area_under_tokens(group.able, budget),
    )


def endings(group: Group) -> dict[str, int]:
    """Return how many samples ended how."""
    counts = Counter(ending(sample) for sample in group.samples)
    return {name: counts[name] for name in _STATES}


def ending(sample: Sample) -> str:
    """Return how a sample ended, in a word or two."""
    if sample.state == "error":
        return "error of ours"
    best = sample.best
    if best is not None:
        return best.judgement.verdict if best.judgement is not None else "not_run"
    return "ended by a limit" if sample.state == "limit" else "no submission"


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One family of tasks, with each group's rate."""

    family: str
    n_tasks: int
    rates: tuple[Estimate, ...]


def families(groups: Sequence[Group]) -> tuple[FamilyRow, ...]:
    """Return the rates of right submissions by family."""
    names = sorted({sample.family for group in groups for sample in group.samples})
    rows: list[FamilyRow] = []
    for name in names:
        some = [metrics.tasks_of(s for s in group.samples if s.family == name) for group in groups]
        count = len({task for tasks in some for task in tasks.samples})
        rows.append(FamilyRow(name, count, tuple(metrics.success_at_1(tasks) for tasks in some)))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class CodeRow:
    """One diagnostic, over all groups. `title`: of its page, empty for a code that this version has not."""

    recovery: Recovery
    title: str


def codes(groups: Sequence[Group]) -> tuple[CodeRow, ...]:
    """Return what happened after each diagnostic, the most frequent first."""
    found = metrics.recoveries(sample for group in groups for sample in group.samples)
    return tuple(CodeRow(row, _title(row.code)) for row in found[:MOST_CODES])


def _title(code: str) -> str:
    return find_page(code).title.removeprefix(f"{code}: ") if code in CODES else ""


def blocked_tasks(headers: Iterable[RunHeader]) -> dict[str, str]:
    """Return the tasks that the language cannot express yet, with what they wait for."""
    return dict(sorted({name: why for header in headers for name, why in header.blocked.items()}.items()))
