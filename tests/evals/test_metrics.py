"""Metrics: bounds, hand-computed cases, monotone curves, and nothing to measure."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkern.evals import metrics
from agentkern.evals.bootstrap import mean_over_tasks, ratio_over_tasks
from agentkern.evals.metrics import Tasks, pass_at_k, pass_hat_k, tasks_of
from agentkern.evals.records import Sample, Timing, Usage
from tests.evals.runs import call, judgement, sample, submission

VERDICTS = ("bit_exact", "within_bound", "wrong", "rejected", "not_run", None)


def timed(*speeds: float, verdict: str = "bit_exact", **changes: Any) -> Sample:
    """A sample whose submission is so many times as fast as its best baseline, one shape each."""
    timings = tuple(
        Timing(
            sizes={"N": k},
            median_us=10.0,
            ci_us=(9.0, 11.0),
            floor_us=1.0,
            least_us=0.9,
            baselines={"a": 10.0 * s, "b": 99.0 * s},
        )
        for k, s in enumerate(speeds)
    )
    made = submission(None, judgement=judgement(verdict, timings=timings))
    return sample(verdict, submissions=(made,), **changes)


@st.composite
def some_samples(draw: st.DrawFn) -> list[Sample]:
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 5),
                st.lists(st.sampled_from(VERDICTS), max_size=3),
                st.integers(0, 50),
                st.integers(0, 10**5),
            ),
            max_size=20,
        )
    )
    found: list[Sample] = []
    for number, (task, verdicts, calls, tokens) in enumerate(rows):
        handed_in = tuple(
            submission(verdict, at_call=calls + k, tokens=tokens + k, number=k + 1)
            for k, verdict in enumerate(verdicts)
        )
        usage = Usage(input_tokens=tokens + 10)
        found.append(sample(None, task=f"t{task}", epoch=number, submissions=handed_in, state="done", usage=usage))
    return found


def rates(tasks: Tasks) -> list[metrics.Estimate]:
    return [
        metrics.success_at_1(tasks),
        metrics.bit_exact_rate(tasks),
        metrics.hidden_rate(tasks),
        metrics.generalisation_gap(tasks),
        metrics.refused_rate(tasks),
        metrics.recovery_rate(tasks),
        metrics.repeat_error_rate(tasks),
        metrics.area_under_tokens(tasks, 50_000.0),
        *(metrics.success_within_calls(tasks, limit) for limit in metrics.CALL_LIMITS),
        *(metrics.at_k(tasks, k, estimator) for k in (1, 2) for estimator in (pass_at_k, pass_hat_k)),
    ]


@settings(max_examples=25, deadline=None)
@given(some_samples(), st.lists(st.sampled_from(["t1", "b1", "b2"]), max_size=3))
def test_rates_lie_between_0_and_1_within_their_intervals(samples: list[Sample], blocked: list[str]):
    for found in rates(tasks_of(samples, blocked)):
        if found.value is None:
            assert (found.low, found.high, found.n) == (None, None, 0)
        else:
            assert 0.0 <= found.low <= found.value <= found.high <= 1.0


@settings(max_examples=25, deadline=None)
@given(some_samples())
def test_curves_rise_and_end_no_lower_than_success(samples: list[Sample]):
    tasks = tasks_of(samples)
    calls = [metrics.success_within_calls(tasks, limit).value or 0.0 for limit in range(60)]
    tokens = [metrics.success_within_tokens(tasks, x).value or 0.0 for x in (0, 50, 100, metrics.most_tokens([tasks]))]
    for curve in (calls, tokens):
        assert all(a <= b for a, b in itertools.pairwise(curve))
    assert calls[-1] >= (metrics.success_at_1(tasks).value or 0.0)
    assert (metrics.bit_exact_rate(tasks).value or 0.0) <= (metrics.success_at_1(tasks).value or 0.0)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), st.data())
def test_estimators_at_k_are_the_means_over_all_choices(n: int, data: st.DataObject):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    outcomes = [True] * c + [False] * (n - c)
    choices = list(itertools.combinations(outcomes, k))
    assert math.isclose(pass_at_k(n, c, k), sum(map(any, choices)) / len(choices), abs_tol=1e-12)
    assert math.isclose(pass_hat_k(n, c, k), sum(map(all, choices)) / len(choices), abs_tol=1e-12)
    assert pass_hat_k(n, c, k) <= c / n + 1e-12
    assert pass_at_k(n, c, k) >= c / n - 1e-12


def test_success_is_a_mean_over_tasks_and_blocked_tasks_fail():
    samples = [
        sample("bit_exact", task="a", epoch=1),
        sample("wrong", task="a", epoch=2),
        sample("within_bound", task="b"),
    ]
    assert metrics.success_at_1(tasks_of(samples)).value == pytest.approx(0.75)
    assert metrics.success_at_1(tasks_of(samples, ["c", "d"])).value == pytest.approx(0.375)
    assert metrics.bit_exact_rate(tasks_of(samples)).value == pytest.approx(0.25)
    assert metrics.at_k(tasks_of(samples), 2, pass_at_k).value is None
    assert metrics.at_k(tasks_of(samples[:2]), 2, pass_at_k).value == 1.0
    assert metrics.at_k(tasks_of(samples[:2]), 2, pass_hat_k).value == 0.0


def test_the_last_submission_counts_and_what_could_not_be_judged_fails():
    both = (
        submission("bit_exact", number=1, at_call=2, tokens=50),
        submission("wrong", number=2, at_call=4, tokens=90),
    )
    tasks = tasks_of([sample(submissions=both)])
    assert metrics.success_at_1(tasks).value == 0.0
    assert [metrics.success_within_calls(tasks, limit).value for limit in (1, 2)] == [0.0, 1.0]
    assert [metrics.success_within_tokens(tasks, budget).value for budget in (49, 50)] == [0.0, 1.0]
    assert metrics.area_under_tokens(tasks, 200.0).value == pytest.approx(0.75)
    assert metrics.success_at_1(tasks_of([sample("not_run")])).value == 0.0


def test_samples_that_an_error_of_ours_ended_are_left_out():
    samples = [sample("bit_exact", epoch=1), sample(None, epoch=2, state="error", error="tool died")]
    assert metrics.success_at_1(tasks_of(samples)).value == 1.0
    assert tasks_of(samples).count == 1


def test_nothing_to_measure_is_none_and_all_blocked_is_0():
    empty, blocked = tasks_of([]), tasks_of([], ["a", "b"])
    assert {found.value for found in rates(empty)} == {None}
    assert metrics.success_at_1(blocked).value == 0.0
    assert (metrics.success_at_1(blocked).n_tasks, metrics.success_at_1(blocked).n) == (2, 0)
    assert metrics.at_k(blocked, 1, pass_at_k).value is None
    assert metrics.fast_p(blocked, 1.0).value is None
    assert metrics.median_to_first_correct(empty, lambda s: s.tokens) is None
    assert metrics.most_tokens([empty]) == 1.0
    assert metrics.recoveries([]) == ()


def test_fast_p_counts_failures_as_0_and_the_geometric_mean_takes_the_baselines_time_for_them():
    samples = [
        timed(2.0, 0.5, task="a"),
        timed(4.0, task="b"),
        timed(9.0, task="c", verdict="wrong"),
        sample(None, task="d"),
    ]
    tasks = tasks_of(samples)
    assert [metrics.fast_p(tasks, p).value for p in (0.8, 1.0, 1.5)] == pytest.approx([0.5, 0.5, 0.25])
    assert metrics.geomean_speedup(tasks).value == pytest.approx(4.0**0.25)
    assert metrics.fast_p(tasks_of([sample("bit_exact")]), 0.8).value is None


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=8))
def test_fast_p_falls_with_p(speeds: list[float]):
    tasks = tasks_of([timed(speed, task=f"t{k}") for k, speed in enumerate(speeds)])
    found = [metrics.fast_p(tasks, p).value for p in (0.5, 0.8, 1.0, 1.5, 3.0)]
    assert all(a >= b for a, b in itertools.pairwise(found))
    assert min(speeds) * 0.999 <= metrics.geomean_speedup(tasks).value <= max(speeds) * 1.001


def test_hidden_shapes_are_counted_among_those_right_at_shown_ones():
    def with_stages(number: int, **stages: float) -> Sample:
        made = judgement("wrong", stages=stages)
        return sample("wrong", epoch=number, submissions=(submission(None, judgement=made),))

    tasks = tasks_of(
        [with_stages(1, shown=1.0, hidden=1.0), with_stages(2, shown=1.0, hidden=0.5), with_stages(3, shown=0.9)]
    )
    assert metrics.hidden_rate(tasks).value == pytest.approx(0.5)
    assert metrics.generalisation_gap(tasks).value == pytest.approx(1 / 3)


def test_recovery_is_a_next_text_without_the_code_and_without_a_new_one():
    def tried(number: int, *codes: str) -> Any:
        return call(number, codes=codes, source_digest=str(number))

    calls = (
        tried(1, "A", "B"),
        call(2, None),
        tried(3, "A"),
        tried(4, "C"),
        call(5, None, refused="x"),
        tried(6),
        tried(7, "C"),
    )
    found = {r.code: r for r in metrics.recoveries([sample(calls=calls)])}
    # A: kept, then exchanged for a new one; B: cleared; C: cleared once, and once there is no next text
    assert (found["A"].seen, found["A"].followed, found["A"].cleared, found["A"].repeated) == (2, 2, 0, 1)
    assert (found["B"].rate, found["B"].repeated) == (1.0, 0)
    assert (found["C"].seen, found["C"].followed, found["C"].rate) == (2, 1, 1.0)
    tasks = tasks_of([sample(calls=calls)])
    assert metrics.recovery_rate(tasks).value == pytest.approx(2 / 4)
    assert metrics.repeat_error_rate(tasks).value == pytest.approx(1 / 4)
    assert metrics.refused_rate(tasks).value == pytest.approx(1 / 7)


def test_without_tool_calls_the_submissions_are_the_texts():
    some = tuple(submission(None, judgement=judgement("rejected", codes=codes)) for codes in (("A",), ("A",), ()))
    (found,) = metrics.recoveries([sample(submissions=some)])
    assert (found.followed, found.cleared, found.repeated) == (2, 1, 1)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 5))
def test_intervals_are_the_same_for_the_same_seed_and_hold_the_mean(values: list[float], seed: int):
    found = mean_over_tasks(values, seed=seed, is_share=False)
    assert found == mean_over_tasks(values, seed=seed, is_share=False)
    assert found.value == pytest.approx(sum(values) / len(values))
    assert (found.low is None) == (found.high is None) == (max(values) - min(values) < 1e-12)
    assert found.low is None or min(values) - 1e-12 <= found.low <= found.value <= found.high <= max(values) + 1e-12


def test_tasks_that_all_ended_alike_leave_room_for_the_next():
    nothing, all_right, one = mean_over_tasks([0.0] * 38), mean_over_tasks([1.0] * 38), mean_over_tasks([0.0])
    assert (nothing.value, nothing.low, nothing.high) == (0.0, 0.0, pytest.approx(0.0925, abs=1e-3))
    assert (all_right.value, all_right.low, all_right.high) == (1.0, pytest.approx(0.9075, abs=1e-3), 1.0)
    assert one.high == pytest.approx(0.975)


@pytest.mark.parametrize(("count", "low", "high"), [(1, 0.13, 0.99), (10, 0.49, 0.94), (1000, 0.774, 0.824)])
def test_tasks_of_one_value_between_have_the_interval_of_so_many_tasks(count: int, low: float, high: float):
    found = ratio_over_tasks([4.0] * count, [5.0] * count)
    assert (found.value, found.low, found.high) == (0.8, pytest.approx(low, abs=0.006), pytest.approx(high, abs=0.006))
    assert mean_over_tasks([2.0] * count, is_share=False).low is None


def test_a_curve_rises_where_samples_became_right():
    some = [
        sample(task="a", submissions=(submission(tokens=6210),)),
        sample(task="b", epoch=1, submissions=(submission(tokens=21500),)),
        sample("wrong", task="b", epoch=2),
        sample(task="c", submissions=(submission("wrong", tokens=3), submission(number=2, tokens=1360))),
    ]
    tasks = tasks_of(some)
    found = metrics.rises(tasks, lambda s: s.tokens)
    assert [x for x, _ in found] == [1360, 6210, 21500]
    for x, share in found:
        assert share == pytest.approx(metrics.success_within_tokens(tasks, x).value)


def test_an_interval_of_coins_is_as_wide_as_the_binomial():
    found = mean_over_tasks([0.0, 1.0] * 50)
    assert found.low == pytest.approx(0.5 - 1.96 * 0.05, abs=0.015)
    assert found.high == pytest.approx(0.5 + 1.96 * 0.05, abs=0.015)


def test_clusters_widen_an_interval():
    alike = tasks_of(
        [sample(v, task=f"t{t}", epoch=e) for t, v in enumerate(["bit_exact", "wrong"] * 4) for e in range(10)]
    )
    mixed = tasks_of(
        [
            sample("bit_exact" if e < 4 + t % 2 * 2 else "wrong", task=f"t{t}", epoch=e)
            for t in range(8)
            for e in range(10)
        ]
    )
    one, other = metrics.success_at_1(alike), metrics.success_at_1(mixed)
    assert one.value == other.value == 0.5
    assert one.high - one.low > 0.5 > other.high - other.low


def test_a_ratio_leaves_out_tasks_without_a_whole():
    found = ratio_over_tasks([1, 0, 3], [2, 0, 4])
    assert (found.value, found.n_tasks, found.n) == (pytest.approx(4 / 6), 2, 6)
    assert ratio_over_tasks([], []).value is None
