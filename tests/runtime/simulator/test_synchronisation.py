import time

import numpy as np
import pytest

from agentkern.runtime.simulator import Buffer, Finding, FindingKind, SimulatorOptions, SimulatorReport, ThreadOrder

pytestmark = pytest.mark.toolchain


def only(report: SimulatorReport) -> Finding:
    assert len(report.findings) == 1, [finding.message for finding in report.findings]
    return report.findings[0]


def words(count: int = 64) -> Buffer:
    return Buffer("out", np.zeros(count, np.uint32), writable=True)


@pytest.mark.parametrize("order", list(ThreadOrder))
def test_barrier_after_some_threads_returned_is_divergence(sample, marked_line, order):
    options = SimulatorOptions(thread_order=order)
    found = only(sample("synchronisation").launch("early_return", 1, 64, 0, [words(), 63], options))
    assert (found.kind, found.line) == (FindingKind.BARRIER_DIVERGENCE, marked_line("synchronisation", "early_return"))
    assert found.other is not None
    assert found.other.thread == 63
    assert "thread 63 has returned" in found.message


def test_launch_goes_on_after_a_divergent_barrier(sample):
    out = words()
    assert sample("synchronisation").launch("early_return", 1, 64, 0, [out, 10]).completed
    assert out.array.sum() == 10


def test_barrier_by_all_is_clean(sample):
    assert sample("synchronisation").launch("early_return", 1, 64, 0, [words(), 64]).clean


def test_barriers_in_two_branches_are_divergence(sample, marked_line):
    report = sample("synchronisation").launch("two_barriers", 1, 64, 0, [words(), 32])
    found = only(report)
    assert found.kind is FindingKind.BARRIER_DIVERGENCE
    assert found.other is not None
    assert {found.line, found.other.line} == {
        marked_line("synchronisation", "first_barrier"),
        marked_line("synchronisation", "second_barrier"),
    }
    assert sample("synchronisation").launch("two_barriers", 1, 64, 0, [words(), 64]).clean


@pytest.mark.parametrize("order", list(ThreadOrder))
def test_deadlock_lists_who_waits_where(sample, marked_line, order):
    options = SimulatorOptions(thread_order=order, line_map={marked_line("synchronisation", "stuck_shuffle"): 3})
    report = sample("synchronisation").launch("stuck", 1, 64, 0, [words(), 3], options)
    deadlock = next(f for f in report.findings if f.kind is FindingKind.DEADLOCK)
    assert not report.completed
    groups = {group.operation: group for group in deadlock.waits if 32 not in group.threads}
    assert groups["__syncthreads"].threads == (3,)
    assert groups["__syncthreads"].line == marked_line("synchronisation", "stuck_barrier")
    assert groups["__shfl_xor_sync"].threads == tuple(t for t in range(32) if t != 3)
    assert groups["__shfl_xor_sync"].mask == 0xFFFFFFFF
    assert groups["__shfl_xor_sync"].kernel_line == 3
    assert "threads 0-2, 4-31 wait in `__shfl_xor_sync`" in deadlock.message


def test_without_the_odd_lane_nothing_is_stuck(sample):
    out = words()
    assert sample("synchronisation").launch("stuck", 1, 64, 0, [out, 64]).clean
    assert (out.array == np.arange(64) ^ 1).all()


@pytest.mark.parametrize("order", list(ThreadOrder))
def test_shuffle_with_a_returned_lane_is_divergence(sample, marked_line, order):
    options = SimulatorOptions(thread_order=order)
    report = sample("synchronisation").launch("lost_lane", 1, 32, 0, [words(32), 31], options)
    found = report.findings[0]
    assert (found.kind, found.line) == (FindingKind.WARP_DIVERGENCE, marked_line("synchronisation", "lost_lane"))
    assert report.findings[1].kind is FindingKind.SHUFFLE_SOURCE
    assert report.completed
    assert sample("synchronisation").launch("lost_lane", 1, 32, 0, [words(32), 32], options).clean


def test_one_shuffle_at_two_places_is_divergence(sample, marked_line):
    found = only(sample("synchronisation").launch("two_shuffles", 1, 32, 0, [words(32), 12]))
    assert found.kind is FindingKind.WARP_DIVERGENCE
    assert found.line == marked_line("synchronisation", "second_shuffle")
    assert sample("synchronisation").launch("two_shuffles", 1, 32, 0, [words(32), 32]).clean


def test_shuffle_from_a_lane_outside_the_mask_is_found(sample, marked_line):
    found = only(sample("synchronisation").launch("half_shuffle", 1, 32, 0, [words(32), 16]))
    assert (found.kind, found.line) == (FindingKind.SHUFFLE_SOURCE, marked_line("synchronisation", "half_shuffle"))
    assert sample("synchronisation").launch("half_shuffle", 1, 32, 0, [words(32), 15]).clean


def test_spinning_thread_meets_the_step_limit(sample, marked_line):
    options = SimulatorOptions(step_limit=1000)
    report = sample("synchronisation").launch("runaway", 1, 32, 0, [words(), 1], options)
    assert (only(report).kind, only(report).line) == (FindingKind.STEP_LIMIT, marked_line("synchronisation", "spin"))
    assert not report.completed


@pytest.mark.parametrize("which", [1, 2])
def test_endless_loop_meets_the_time_limit(sample, which):
    options = SimulatorOptions(time_limit_s=0.05)
    start = time.monotonic()
    report = sample("synchronisation").launch("runaway", 1, 32, 0, [words(), which], options)
    assert only(report).kind is FindingKind.TIME_LIMIT
    assert time.monotonic() - start < 30


def test_grid_without_any_access_meets_the_time_limit(sample):
    options = SimulatorOptions(time_limit_s=0.05)
    report = sample("synchronisation").launch("early_return", (1 << 31) - 1, 32, 0, [words(), 0], options)
    assert only(report).kind is FindingKind.TIME_LIMIT


def test_trap_stops_the_launch_with_its_line(sample, marked_line):
    report = sample("synchronisation").launch("runaway", 1, 32, 0, [words(), 3])
    assert (only(report).kind, only(report).line) == (FindingKind.TRAP, marked_line("synchronisation", "trap"))
    assert not report.completed


def test_division_by_zero_ends_the_launch_not_the_process(sample):
    report = sample("synchronisation").launch("runaway", 1, 32, 0, [words(), 4])
    assert only(report).kind is FindingKind.HOST_FAULT
    assert "division by zero" in only(report).message
    assert sample("synchronisation").launch("runaway", 1, 32, 0, [words(), 0]).clean


def test_stack_overflow_ends_the_launch_not_the_process(sample):
    report = sample("synchronisation").launch("recurse", 1, 32, 0, [words(), 1 << 20])
    assert only(report).kind is FindingKind.STACK_OVERFLOW
    deep = SimulatorOptions(stack_bytes=4 << 20)
    assert sample("synchronisation").launch("recurse", 1, 32, 0, [words(), 5000], deep).clean


def test_frame_larger_than_the_guard_page_is_caught_too(sample):
    report = sample("synchronisation").launch("large_frame", 1, 32, 0, [words()])
    assert only(report).kind is FindingKind.STACK_OVERFLOW
    large = SimulatorOptions(stack_bytes=1 << 20)
    assert sample("synchronisation").launch("large_frame", 1, 32, 0, [words()], large).clean
