"""What samples add up to. Pure functions; every rate is a mean over tasks, each task's value one over its samples.

A sample that an error of ours ended is left out and counted. Everything else that is not right is a failure: no
submission, a limit, a text that could not be judged, and a blocked task where blocked tasks are given.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentkern.evals.bootstrap import Estimate, mean_over_tasks, ratio_over_tasks
from agentkern.evals.records import CORRECT, Sample, Submission

CALL_LIMITS = (0, 3, 5, 10, 20)
FAST = (0.8, 1.0, 1.5)
KS = (1, 3, 5)

Curve = Callable[["Tasks", float], Estimate]


@dataclass(frozen=True, slots=True)
class Tasks:
    """Samples by task; a blocked task has none, and fails."""

    samples: Mapping[str, tuple[Sample, ...]]

    def mean(self, value: Callable[[Sample], float], seed: int = 0, *, is_share: bool = True) -> Estimate:
        """Return the mean over tasks of each one's mean over its samples; 0 for a task without any."""
        each = [_mean([value(s) for s in some]) for some in self.samples.values()]
        return mean_over_tasks(each, self.count, seed, is_share=is_share)

    @property
    def count(self) -> int:
        """The number of samples."""
        return sum(map(len, self.samples.values()))

    @property
    def all(self) -> tuple[Sample, ...]:
        """Every sample."""
        return tuple(sample for some in self.samples.values() for sample in some)


def tasks_of(samples: Iterable[Sample], blocked: Iterable[str] = ()) -> Tasks:
    """Return samples by task, those that an error of ours ended left out."""
    found: dict[str, list[Sample]] = {name: [] for name in blocked}
    for sample in samples:
        if sample.state != "error":
            found.setdefault(sample.task, []).append(sample)
    return Tasks({name: tuple(some) for name, some in found.items()})


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def success_at_1(tasks: Tasks, seed: int = 0) -> Estimate:
    """Return how often a sample's last submission is right."""
    return tasks.mean(lambda sample: float(sample.is_correct), seed)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that of `k` of `n` samples, `c` of them right, at least one is: unbiased.

    Source: Chen et al. 2021, Evaluating Large Language Models Trained on Code, equation 1.
    """
    return 1.0 if n - c < k else 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the chance that `k` of `n` samples, `c` of them right, are all right: unbiased."""
    return math.comb(c, k) / math.comb(n, k)


def at_k(tasks: Tasks, k: int, estimator: Callable[[int, int, int], float], seed: int = 0) -> Estimate:
    """Return an estimator's mean over tasks; none where a task that was run has fewer than `k` samples."""
    counts = [(len(some), sum(s.is_correct for s in some)) for some in tasks.samples.values()]
    if not any(n for n, _ in counts) or any(0 < n < k for n, _ in counts):
        return mean_over_tasks(())
    return mean_over_tasks([estimator(n, c, k) if n else 0.0 for n, c in counts], tasks.count, seed)


def first_correct(sample: Sample) -> Submission | None:
    """Return the first submission that is right."""
    right = (s for s in sample.submissions if s.judgement is not None and s.judgement.verdict in CORRECT)
    return next(right, None)


def success_within_calls(tasks: Tasks, limit: float, seed: int = 0) -> Estimate:
    """Return how often a right submission has at most `limit` tool calls before it."""
    return tasks.mean(lambda s: float((f := first_correct(s)) is not None and f.at_call <= limit), seed)


def success_within_tokens(tasks: Tasks, budget: float, seed: int = 0) -> Estimate:
    """Return how often a right submission is there within a budget of tokens."""
    return tasks.mean(lambda s: float((f := first_correct(s)) is not None and f.tokens <= budget), seed)


def area_under_tokens(tasks: Tasks, budget: float, seed: int = 0) -> Estimate:
    """Return the mean of success over all budgets up to this one: 1 where all is right at once, 0 where nothing is."""
    if budget <= 0:
        return success_within_tokens(tasks, 0, seed)

    def share(sample: Sample) -> float:
        found = first_correct(sample)
        return 0.0 if found is None else max(0.0, 1.0 - found.tokens / budget)

    return tasks.mean(share, seed)


def bit_exact_rate(tasks: Tasks, seed: int = 0) -> Estimate:
    """Return how often a sample's last submission has the reference's bits."""
    return tasks.mean(lambda s: float(_verdict(s) == "bit_exact"), seed)


def _verdict(sample: Sample) -> str | None:
    best = sample.best
    return None if best is None or best.judgement is None else best.judgement.verdict


def _stage(sample: Sample, name: str) -> bool:
    best = sample.best
    return best is not None and best.judgement is not None and best.judgement.stages.get(name) == 1.0


def hidden_rate(tasks: Tasks, seed: int = 0) -> Estimate:
    """Return how often what is right at all shown sizes is right at all hidden ones."""
    shown = [[s for s in some if _stage(s, "shown")] for some in tasks.samples.values()]
    return ratio_over_tasks([sum(_stage(s, "hidden") for s in some) for some in shown], [len(s) for s in shown], seed)


def generalisation_gap(tasks: Tasks, seed: int = 0) -> Estimate:
    """Return how much more often shown sizes are right than hidden ones are too."""
    return tasks.mean(lambda s: float(_stage(s, "shown")) - float(_stage(s, "shown") and _stage(s, "hidden")), seed)


def speedup(sample: Sample) -> float | None:
    """Return how many times the best baseline's speed a right submission has: the geometric mean over its shapes.

    None where it was not timed beside a baseline.
    """
    best = sample.best
    if best is None or best.judgement is None or not sample.is_correct:
        return None
    ratios = [
        min(t.baselines.values()) / t.median_us for t in best.judgement.timings if t.baselines and t.median_us > 0
    ]
    return math.exp(_mean([math.log(r) for r in ratios])) if ratios and min(ratios) > 0 else None


def is_timed(tasks: Tasks) -> bool:
    """Whether anything was timed beside a baseline: without that no rate of speed has a meaning."""
    return any(speedup(sample) is not None for sample in tasks.all)


def fast_p(tasks: Tasks, p: float, seed: int = 0) -> Estimate:
    """Return how often a submission is right and at least `p` times as fast as the best baseline; a failure is 0."""
    if not is_timed(tasks):
        return mean_over_tasks(())
    return tasks.mean(lambda s: float((ratio := speedup(s)) is not None and ratio >= p), seed)


def geomean_speedup(tasks: Tasks, seed: int = 0) -> Estimate:
    """Return the geometric mean of speeds against the best baseline; a failure takes the baseline's own time."""
    if not is_timed(tasks):
        return mean_over_tasks(())
    found = tasks.mean(lambda s: math.log(speedup(s) or 1.0), seed, is_share=False)
    low, value, high = (None if x is None else math.exp(x) for x in (found.low, found.value, found.high))
    return Estimate(value, low, high, found.n_tasks, found.n)


def median_to_first_correct(tasks: Tasks, unit: Callable[[Submission], float]) -> float | None:
    """Return the median, over samples with a right submission, of what came before the first: calls or tokens."""
    found = sorted(unit(first) for sample in tasks.all if (first := first_correct(sample)) is not None)
    if not found:
        return None
    middle = len(found) // 2
    return found[middle] if len(found) % 2 else (found[middle - 1] + found[middle]) / 2


def most_tokens(tasks: Iterable[Tasks]) -> float:
    """Return the tokens of the longest sample, at least 1: the budget up to which areas are taken."""
    return max((float(sample.usage.total) for some in tasks for sample in some.all), default=0.0) or 1.0


def rises(tasks: Tasks, unit: Callable[[Submission], float]) -> tuple[tuple[float, float], ...]:
    """Return where a curve of success rises, and to what share: the calls or tokens after which a sample is right."""
    weights: dict[float, float] = defaultdict(float)
    for some in tasks.samples.values():
        for sample in some:
            first = first_correct(sample)
            if first is not None:
                weights[float(unit(first))] += 1.0 / len(some) / len(tasks.samples)
    share, found = 0.0, list[tuple[float, float]]()
    for x in sorted(weights):
        share = min(1.0, share + weights[x])
        found.append((x, share))
    return tuple(found)


def refused_rate(tasks: Tasks, seed: int = 0) -> Estimate:
    """Return the share of tool calls that were refused for their arguments."""
    some = [[call for sample in group for call in sample.calls] for group in tasks.samples.values()]
    return ratio_over_tasks([sum(bool(c.refused) for c in calls) for calls in some], [len(c) for c in some], seed)


def attempts(sample: Sample) -> tuple[tuple[str, ...], ...]:
    """Return the codes of each text that was tried, in order: by tool calls, or else by submissions."""
    called = [call.codes for call in sample.calls if call.source_digest is not None and not call.refused]
    if called:
        return tuple(called)
    return tuple(s.judgement.codes for s in sample.submissions if s.judgement is not None)


@dataclass(frozen=True, slots=True)
class Recovery:
    """What happened after texts with one code. `seen`: texts; `followed`: those with a next text.

    `cleared`: the next text has the code no more, and none that is new; `repeated`: it has it again.
    """

    code: str
    seen: int
    followed: int
    cleared: int
    repeated: int

    @property
    def rate(self) -> float | None:
        """The chance that the next text clears the code without a new one."""
        return self.cleared / self.followed if self.followed else None


def recoveries(samples: Iterable[Sample]) -> tuple[Recovery, ...]:
    """Return what happened after each code, the most frequent first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for sample in samples:
        tried = [frozenset(codes) for codes in attempts(sample)]
        for number, codes in enumerate(tried):
            after = tried[number + 1] if number + 1 < len(tried) else None
            for code in codes:
                counts[code]["seen"] += 1
                if after is not None:
                    counts[code]["followed"] += 1
                    counts[code]["cleared"] += code not in after and after <= codes
                    counts[code]["repeated"] += code in after
    found = [Recovery(code, n["seen"], n["followed"], n["cleared"], n["repeated"]) for code, n in counts.items()]
    return tuple(sorted(found, key=lambda r: (-r.seen, r.code)))


def recovery_rate(tasks: Tasks, seed: int = 0) -> Estimate:
    """Return the chance that a code is cleared by the next text without a new one, over all codes."""
    return _after_codes(tasks, lambda recovery: recovery.cleared, seed)


def repeat_error_rate(tasks: Tasks, seed: int = 0) -> Estimate:
    """Return the chance that a code is there again in the next text, over all codes."""
    return _after_codes(tasks, lambda recovery: recovery.repeated, seed)


def _after_codes(tasks: Tasks, part: Callable[[Recovery], int], seed: int) -> Estimate:
    some = [recoveries(group) for group in tasks.samples.values()]
    return ratio_over_tasks([sum(map(part, g)) for g in some], [sum(r.followed for r in g) for g in some], seed)
