"""One page about one run or several: numbers from the runs' files alone, nothing fetched, strangers' text escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from agentkern.evals import metrics, report_numbers
from agentkern.evals.bootstrap import Estimate
from agentkern.evals.ledger import read_run, read_transcript
from agentkern.evals.records import Language, Sample, Submission
from agentkern.evals.report_numbers import Column, Group
from agentkern.evals.report_svg import Series, interval_bar, line_chart, look, short
from agentkern.evals.report_text import Message, cut, highlighted, messages, visible

MOST_TRANSCRIPTS = 12_000_000
"""Characters of transcripts on a page; those beyond stay in the run's folder, and the page says so."""
MOST_FIELD = 8_000
"""Characters of any one field."""
_FAST_POINTS = tuple(k / 20 for k in range(61))


def report_page(folders: Sequence[Path]) -> str:
    """Return the page. Errors: LedgerError for a folder that is no run."""
    runs = [read_run(folder) for folder in folders]
    groups = report_numbers.groups_of(runs)
    where = {id(run): folder for run, folder in zip(runs, folders, strict=True)}
    budget = metrics.most_tokens(group.able for group in groups)
    environment = Environment(
        loader=PackageLoader("agentkern.evals"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: cut(value, MOST_FIELD) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"rate": rate, "interval": interval, "number": number, "short": short}
    page = environment.get_template("report.html.j2").render(
        runs=runs,
        groups=groups,
        tables=_tables(groups),
        charts=_charts(groups, budget),
        spent=[(group, report_numbers.spent(group, budget)) for group in groups],
        budget=budget,
        endings=[(group, report_numbers.endings(group)) for group in groups],
        families=report_numbers.families(groups),
        codes=report_numbers.codes(groups),
        blocked=report_numbers.blocked_tasks(run.header for run in runs),
        details=_details(groups, where),
        look=look,
        interval_bar=interval_bar,
    )
    return visible(page)


def rate(found: Estimate, *, percent: bool = True) -> str:
    """Return a rate as it is printed."""
    if found.value is None:
        return "–"
    return f"{100 * found.value:.1f}%" if percent else f"{found.value:.2f}×"


def interval(found: Estimate, *, percent: bool = True) -> str:
    """Return an interval as it is printed."""
    if found.low is None or found.high is None:
        return "no interval"
    if percent:
        return f"{100 * found.low:.1f}–{100 * found.high:.1f}"
    return f"{found.low:.2f}–{found.high:.2f}"


def number(value: float | None) -> str:
    """Return a number as it is printed; None is a dash."""
    return "–" if value is None else short(value)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of rates with intervals, one row a group."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Group, tuple[tuple[Column, Estimate], ...]], ...]


def _tables(groups: Sequence[Group]) -> list[Table]:
    wanted: list[tuple[str, tuple[Column, ...]]] = [
        ("Right kernels", (*report_numbers.RIGHT, *report_numbers.k_columns(groups)))
    ]
    if any(metrics.is_timed(group.able) for group in groups):
        wanted.append(("Fast kernels", report_numbers.speed_columns()))
    if any(sample.calls for group in groups for sample in group.samples):
        wanted.append(("On the way", report_numbers.COST))
    return [
        Table(title, columns, tuple((g, tuple((c, c.value(g)) for c in columns)) for g in groups))
        for title, columns in wanted
    ]


def _charts(groups: Sequence[Group], budget: float) -> list[tuple[str, Markup]]:
    calls = [_steps(group, lambda s: s.at_call, _most_calls(groups)) for group in groups]
    tokens = [_steps(group, lambda s: s.tokens, budget) for group in groups]
    found = [
        ("Right within so many tool calls", line_chart(calls, "tool calls", "right", steps=True)),
        ("Right within so many tokens", line_chart(tokens, "tokens", "right", steps=True, log=True)),
    ]
    if any(metrics.is_timed(group.able) for group in groups):
        fast = [_series(g, _FAST_POINTS, metrics.fast_p) for g in groups if metrics.is_timed(g.able)]
        found.append(("Right and so many times as fast", line_chart(fast, "times the best baseline's speed", "right")))
    return found


def _most_calls(groups: Sequence[Group]) -> float:
    return float(max((s.at_call for g in groups for sample in g.samples for s in sample.submissions), default=0))


def _steps(group: Group, unit: Callable[[Submission], float], end: float) -> Series:
    """Return a curve that rises where samples became right, and holds its last share to the end."""
    rises = metrics.rises(group.able, unit)
    last = rises[-1][1] if rises else 0.0
    return Series(group.name, group.number, ((0.0, 0.0), *rises, (max(end, rises[-1][0] if rises else 0.0), last)))


def _series(group: Group, points: Sequence[float], value: metrics.Curve) -> Series:
    shares = [(float(x), value(group.able, x).value or 0.0) for x in points]
    return Series(group.name, group.number, tuple(shares))


@dataclass(frozen=True, slots=True)
class Detail:
    """One sample to open: its sources in colours and what was said."""

    sample: Sample
    ending: str
    sources: tuple[Markup, ...]
    messages: tuple[Message, ...]
    left_out: bool


def _details(groups: Sequence[Group], where: dict[int, Path]) -> list[tuple[Group, list[Detail]]]:
    found: list[tuple[Group, list[Detail]]] = []
    room = MOST_TRANSCRIPTS
    for group in groups:
        details: list[Detail] = []
        for sample in group.samples:
            said = messages(read_transcript(where[id(group.run)], sample))
            size = sum(len(message.text) for message in said)
            kept = said if size <= room else ()
            room -= size if kept else 0
            details.append(_detail(sample, kept, left_out=bool(said) and not kept))
        found.append((group, details))
    return found


def _detail(sample: Sample, said: tuple[Message, ...], *, left_out: bool) -> Detail:
    sources = tuple(highlighted(s.source, _language(sample, k)) for k, s in enumerate(sample.submissions))
    return Detail(sample, report_numbers.ending(sample), sources, said, left_out)


def _language(sample: Sample, place: int) -> Language:
    judgement = sample.submissions[place].judgement
    return "agentkern" if judgement is None else judgement.language
