"""Rings of stages filled by TMA and bulk copies, and asynchronous stores: faults beside near-misses."""

import numpy as np
import pytest

from agentkern.runtime.simulator import Buffer, FindingKind, SimulatorOptions, SimulatorReport, ThreadOrder
from tests.runtime.simulator.boxes import box_of

pytestmark = pytest.mark.toolchain

_FAULTS = (
    "NO_FAULT NO_INIT INIT_NOT_SHARED NO_INIT_FENCE NO_EMPTY_WAIT EMPTY_PHASE FULL_PHASE NO_FULL_WAIT SHORT_BYTES"
    " LONG_BYTES NO_EXPECT NO_RELEASE RELEASE_TWICE EARLY_RELEASE INIT_TWICE ZERO_COUNT COUNT_TOO_HIGH WRITE_BARRIER"
    " MISALIGNED OUTSIDE NOT_A_MAP WRONG_RANK MISPLACED_BARRIER LAST_NOT_WAITED ODD_BYTES PLAIN_NOT_FENCED"
    " FENCED_BY_PROXY POLLED INVALIDATED OUT_OF_TENSOR PLAIN_FENCED"
).split()
_STORE_FAULTS = (
    "STORE_RIGHT STORE_NO_FENCE STORE_NO_WAIT STORE_WAIT_FOR_FEWER STORE_NO_COMMIT STORE_FENCE_BY_OTHER STORE_OVERLAP"
).split()


def ring(
    module, fault: str, tiles: int = 7, options: SimulatorOptions | None = None
) -> tuple[np.ndarray, np.ndarray, SimulatorReport]:
    x = Buffer("x", np.random.default_rng(tiles).integers(0, 1 << 32, (8 * tiles, 64), np.uint32))
    out = Buffer("out", np.zeros((8 * tiles, 64), np.uint32), writable=True, initialised=False)
    arguments = [box_of(x, "u32", (8, 64)), x, out, tiles, _FAULTS.index(fault)]
    report = module.launch_both("ring", 1, 96, 6144 + 48, arguments, options)
    return x.array, out.array, report


def store(module, fault: str, tiles: int = 5) -> tuple[np.ndarray, SimulatorReport]:
    out = Buffer("out", np.zeros((8 * tiles, 64), np.uint32), writable=True, initialised=False)
    arguments = [box_of(out, "u32", (8, 64)), out, tiles, _STORE_FAULTS.index(fault)]
    return out.array, module.launch_both("store", 1, 64, 4096, arguments)


def assert_found(report: SimulatorReport, kind: FindingKind, line: int, words: str) -> None:
    found = [finding for finding in report.findings if finding.kind is kind and words in finding.message]
    assert any(line in (finding.line, *(group.line for group in finding.waits)) for finding in found), [
        (finding.line, finding.message) for finding in report.findings
    ]


@pytest.mark.parametrize("tiles", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("order", list(ThreadOrder))
def test_ring_copies_any_number_of_tiles(sample, tiles, order):
    x, out, report = ring(sample("copy_ring"), "NO_FAULT", tiles, SimulatorOptions(thread_order=order, seed=tiles))
    assert report.clean, report.findings
    assert (out == x).all()


@pytest.mark.parametrize("near_miss", ["FENCED_BY_PROXY", "POLLED", "INVALIDATED", "PLAIN_FENCED"])
def test_other_ways_to_do_it_are_clean(sample, near_miss):
    x, out, report = ring(sample("copy_ring"), near_miss)
    assert report.clean, report.findings
    assert (out == x).all()


def test_rows_outside_the_tensor_are_filled_with_zeros_and_count(sample):
    x, out, report = ring(sample("copy_ring"), "OUT_OF_TENSOR")
    assert report.clean, report.findings
    assert (out[16:19] == x[-3:]).all()
    assert (out[19:24] == 0).all()


@pytest.mark.parametrize(
    ("fault", "kind", "mark", "words"),
    [
        ("NO_INIT", FindingKind.MBARRIER_MISUSE, "wait_empty", "no mbarrier was initialised at byte 6168"),
        ("INIT_NOT_SHARED", FindingKind.MBARRIER_MISUSE, "wait_full", "6144"),
        ("NO_INIT_FENCE", FindingKind.MBARRIER_MISUSE, "tma", "no `ak_mbarrier_fence_init`"),
        ("NO_EMPTY_WAIT", FindingKind.RACE_THREADS, "bulk", "asynchronous write (bulk copy) by thread 64"),
        ("NO_EMPTY_WAIT", FindingKind.MBARRIER_MISUSE, "expect", "cannot know that the phase before has ended"),
        ("EMPTY_PHASE", FindingKind.DEADLOCK, "wait_empty", "64 of 64 arrivals missing"),
        ("FULL_PHASE", FindingKind.UNINITIALISED, "take", "before anything wrote"),
        ("NO_FULL_WAIT", FindingKind.UNINITIALISED, "take", "before anything wrote"),
        ("SHORT_BYTES", FindingKind.MBARRIER_MISUSE, "tma", "1024 bytes more"),
        ("LONG_BYTES", FindingKind.DEADLOCK, "wait_full", "2048 bytes pending"),
        ("NO_EXPECT", FindingKind.RACE_THREADS, "take", "asynchronous write (bulk copy)"),
        ("NO_RELEASE", FindingKind.DEADLOCK, "wait_empty", "1 of 64 arrivals missing"),
        ("RELEASE_TWICE", FindingKind.RACE_THREADS, "bulk", "read by thread 63"),
        ("EARLY_RELEASE", FindingKind.RACE_THREADS, "bulk", "read by thread 0"),
        ("INIT_TWICE", FindingKind.MBARRIER_MISUSE, "init_again", "initialised again"),
        ("ZERO_COUNT", FindingKind.MBARRIER_MISUSE, "init", "not 0"),
        ("COUNT_TOO_HIGH", FindingKind.DEADLOCK, "wait_empty", "1 of 65 arrivals missing"),
        ("WRITE_BARRIER", FindingKind.MBARRIER_MISUSE, "write_barrier", "an ordinary access touches"),
        ("MISALIGNED", FindingKind.OPERAND_MISUSE, "tma", "not aligned"),
        ("OUTSIDE", FindingKind.OPERAND_MISUSE, "tma", "outside"),
        ("NOT_A_MAP", FindingKind.HOST_FAULT, "tma", "went round the accessors"),
        ("WRONG_RANK", FindingKind.OPERAND_MISUSE, "wrong_rank", "a copy of 3 dimensions through a tensor map of 2"),
        ("MISPLACED_BARRIER", FindingKind.MBARRIER_MISUSE, "tma", "cannot hold an mbarrier"),
        ("LAST_NOT_WAITED", FindingKind.NEVER_WAITED, "tma", "never waited for"),
        ("ODD_BYTES", FindingKind.OPERAND_MISUSE, "odd_bytes", "2040 bytes"),
        ("PLAIN_NOT_FENCED", FindingKind.MISSING_FENCE, "tma", "after a write by thread 64"),
    ],
)
def test_fault_is_found_at_its_line(sample, marked_line, fault, kind, mark, words):
    _, _, report = ring(sample("copy_ring"), fault)
    assert_found(report, kind, marked_line("copy_ring", mark), words)


@pytest.mark.parametrize("tiles", [1, 2, 3, 5])
def test_asynchronous_stores_write_every_tile(sample, tiles):
    out, report = store(sample("copy_ring"), "STORE_RIGHT", tiles)
    assert report.clean, report.findings
    assert (out.ravel() == np.arange(out.size)).all()


@pytest.mark.parametrize(
    ("fault", "kind", "mark", "words"),
    [
        ("STORE_NO_FENCE", FindingKind.MISSING_FENCE, "store", "no `ak_fence_proxy_async` by that thread"),
        ("STORE_FENCE_BY_OTHER", FindingKind.MISSING_FENCE, "store", "after a write by thread 1 "),
        ("STORE_NO_WAIT", FindingKind.RACE_THREADS, "fill", "asynchronous read (bulk copy)"),
        ("STORE_WAIT_FOR_FEWER", FindingKind.RACE_THREADS, "fill", "asynchronous read (bulk copy)"),
        ("STORE_NO_COMMIT", FindingKind.NEVER_WAITED, "store", "never committed"),
        ("STORE_OVERLAP", FindingKind.RACE_THREADS, "store", "race in `out`"),
    ],
)
def test_fault_of_a_store_is_found_at_its_line(sample, marked_line, fault, kind, mark, words):
    _, report = store(sample("copy_ring"), fault)
    assert_found(report, kind, marked_line("copy_ring", mark), words)


@pytest.mark.parametrize("fault", ["STORE_NO_WAIT", "STORE_NO_COMMIT"])
def test_bits_depend_on_completion_where_a_buffer_is_filled_again_too_early(sample, fault):
    _, report = store(sample("copy_ring"), fault)
    assert FindingKind.COMPLETION_DEPENDENT in {finding.kind for finding in report.findings}
