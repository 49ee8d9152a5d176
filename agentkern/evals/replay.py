"""Judge again what a run has stored, and hold each judgement to the stored one, bit for bit but for times.

No model takes part. Submissions of one task share a process and the reference's answers.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from agentkern.evals.arms import ARMS
from agentkern.evals.candidates.table import Device, candidate_of
from agentkern.evals.judge import judge, judge_digest
from agentkern.evals.judge_cases import Bench, Level, make_bench
from agentkern.evals.ledger import Read, read_run
from agentkern.evals.records import Judgement, Language, RunHeader, Sample, Submission
from agentkern.evals.results import Agreement, Replayed, ReplayResult
from agentkern.evals.task import read_task, suite_digest
from agentkern.evals.task_model import Task
from agentkern.tools.counted import counted
from agentkern.tools.progress import Report, silent

PROCESSES = 2
_TIMES = {"timings", "seconds"}
_WHOLE = "judge_digest"


@dataclass(frozen=True, slots=True)
class Order:
    """One submission to judge: its run says how, unless another level or device is asked for.

    What a judgement says of itself is not taken for how it was made: it is held to the run like all else of it.
    """

    sample: str
    language: Language
    handed_in: Submission
    level: Level
    device: Device
    seed: int
    is_other: bool


def replay(
    folder: Path,
    tasks: Sequence[Task],
    level: Level | None = None,
    device: Device | None = None,
    report: Report = silent,
) -> ReplayResult:
    """Judge every stored submission of a run again. Errors: LedgerError."""
    started = time.perf_counter()
    run = read_run(folder)
    known = {task.name: task for task in tasks}
    orders: dict[str, list[Order]] = defaultdict(list)
    unknown: list[Replayed] = []
    for task, order in _orders(run, level, device):
        if task in known and not known[task].is_blocked:
            orders[task].append(order)
        else:
            stored = order.handed_in.judgement
            unknown.append(_row(order, "unknown_task", None if stored is None else stored.verdict, None))
    rows = [*unknown]
    for number, found in enumerate(_in_processes(known, orders)):
        report((number + 1) / max(len(orders), 1), f"{found[0].sample}" if found else "")
        rows += found
    rows.sort(key=lambda row: (row.sample, row.number))
    return _result(run, known, rows, round(time.perf_counter() - started, 3))


def _orders(run: Read, level: Level | None, device: Device | None) -> Iterator[tuple[str, Order]]:
    for sample in run.samples:
        for handed_in in sample.submissions:
            usual = run.header
            how = (level or usual.level, device or usual.device)
            is_other = how != (usual.level, usual.device)
            yield sample.task, Order(sample.id, _language(sample, handed_in), handed_in, *how, usual.seed, is_other)


def _language(sample: Sample, handed_in: Submission) -> Language:
    """The arm's language; of an arm that is none of ours, what the judgement says."""
    if sample.arm in ARMS:
        return ARMS[sample.arm].language
    return "agentkern" if handed_in.judgement is None else handed_in.judgement.language


def _in_processes(tasks: Mapping[str, Task], orders: Mapping[str, list[Order]]) -> Iterator[list[Replayed]]:
    if len(orders) < 2:
        yield from (judged_again(tasks[name].folder, some) for name, some in orders.items())
        return
    with ProcessPoolExecutor(min(PROCESSES, len(orders)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(judged_again, [tasks[name].folder for name in orders], orders.values())


def judged_again(folder: Path, orders: Iterable[Order]) -> list[Replayed]:
    """Judge submissions of one task, equal ones once. Errors: TaskError."""
    task = read_task(folder)
    benches: dict[tuple[Level, int], Bench] = {}
    known: dict[str, Judgement] = {}
    rows: list[Replayed] = []
    for order in orders:
        handed_in = order.handed_in.model_copy(update={"judgement": None, "number": 0, "at_call": 0, "tokens": 0})
        same = f"{order.language} {order.level} {order.device} {order.seed} {handed_in.model_dump_json()}"
        if same not in known:
            bench = benches.setdefault((order.level, order.seed), make_bench(task, order.level, order.seed))
            candidate = candidate_of(task, handed_in, order.language, order.device)
            known[same] = judge(task, candidate, order.level, order.seed, bench)
        rows.append(compared(order, known[same], judge_digest(task)))
    for bench in benches.values():
        bench.close()
    return rows


def compared(order: Order, made: Judgement, digest: str) -> Replayed:
    """Return how a judgement stands to the stored one."""
    stored = order.handed_in.judgement
    if stored is None:
        return _row(order, "unjudged", None, made)
    one, other = (j.model_dump(mode="json", exclude=_TIMES | {_WHOLE}) for j in (stored, made))
    fields = tuple(name for name in one if one[name] != other[name])
    is_stale = stored.judge_digest != digest
    if order.is_other and (stored.level, stored.device) != (made.level, made.device):
        return _row(order, "other", stored.verdict, made, fields, is_stale=is_stale)
    agreement: Agreement = "equal" if not fields else "stale" if is_stale else "different"
    return _row(order, agreement, stored.verdict, made, fields, is_stale=is_stale)


def _row(
    order: Order,
    agreement: Agreement,
    stored: str | None,
    made: Judgement | None,
    fields: tuple[str, ...] = (),
    *,
    is_stale: bool = False,
) -> Replayed:
    return Replayed.model_validate(
        {
            "sample": order.sample,
            "number": order.handed_in.number,
            "agreement": agreement,
            "is_stale": is_stale,
            "stored": stored,
            "verdict": None if made is None else made.verdict,
            "fields": fields,
        }
    )


_BAD: tuple[Agreement, ...] = ("different", "stale", "unknown_task")


def _result(run: Read, known: Mapping[str, Task], rows: list[Replayed], seconds: float) -> ReplayResult:
    sums = {name: sum(row.agreement == name for row in rows) for name in dict.fromkeys(r.agreement for r in rows)}
    bad = sorted((row for row in rows if row.agreement in _BAD), key=lambda row: _BAD.index(row.agreement))
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sums.items()) or "nothing stored"
    step = "nothing to do"
    if bad:
        step = f"first `{bad[0].sample}`, submission {bad[0].number}: {_why(bad[0])}"
        step += "" if is_same_suite(run.header, known) else _OTHER_TASKS.format(run.header.suite_digest)
    elif run.problems:
        step = f"the store is damaged: {run.problems[0]}"
    absent = n_planned(run.header) - len(run.samples)
    missing = (
        f", {counted(absent, 'sample')} of the run {'is' if absent == 1 else 'are'} not there" if absent > 0 else ""
    )
    return ReplayResult(
        status="failed" if bad or run.problems else "ok",
        summary=f"{counted(len(rows), 'submission')} judged again: {counts}{missing}; {step}",
        run=run.header.id,
        submissions=tuple(rows),
        problems=run.problems,
        seconds=seconds,
    )


_OTHER_TASKS = "; the run's tasks (suite {}) are not these: if they lie in another folder, give it with `--tasks`"


def is_same_suite(header: RunHeader, known: Mapping[str, Task]) -> bool:
    """Whether these tasks are the ones of a run, file for file."""
    return suite_digest(known[name] for name in header.tasks if name in known) == header.suite_digest


def n_planned(header: RunHeader) -> int:
    """Return how many samples a run has once it is whole."""
    return len(header.tasks) * len(header.arms) * len(header.models) * header.epochs


def _why(row: Replayed) -> str:
    if row.agreement == "unknown_task":
        return "its task is not among the tasks, or is blocked"
    why = "its task or the judge has changed since" if row.is_stale else "under the same digest"
    return f"{', '.join(row.fields)} differ, {why}"
