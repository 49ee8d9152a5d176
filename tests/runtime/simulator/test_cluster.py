"""Clusters, multicast, named barriers, registers that warpgroups hand over; faults beside near-misses."""

import numpy as np
import pytest

from agentkern.runtime.simulator import (
    BlockOrder,
    Buffer,
    FindingKind,
    LaunchError,
    SimulatorOptions,
    SimulatorReport,
    ThreadOrder,
)
from tests.runtime.simulator.boxes import box_of

pytestmark = pytest.mark.toolchain

_FAULTS = (
    "NO_FAULT NO_CLUSTER_BARRIER WRONG_MASK NO_REMOTE_ARRIVE WRONG_BLOCK EARLY_END NO_EMPTY_WAIT HALF_BYTES"
    " WAIT_BEFORE_ARRIVE NO_CLUSTER_WAIT REMOTE_BY_ADDRESS"
).split()


def multicast(
    module, fault: str, tiles: int = 4, options: SimulatorOptions | None = None
) -> tuple[np.ndarray, np.ndarray, SimulatorReport]:
    x = Buffer("x", np.random.default_rng(tiles).integers(0, 1 << 32, (16 * tiles, 64), np.uint32))
    out = Buffer("out", np.zeros((16 * tiles, 2, 64), np.uint32), writable=True, initialised=False)
    arguments = [box_of(x, "u32", (8, 64)), out, tiles, _FAULTS.index(fault)]
    return x.array, out.array, module.launch_both("multicast", 2, 64, 4096 + 16, arguments, options)


def lines_of(report: SimulatorReport, kind: FindingKind, words: str) -> set[int]:
    found = [finding for finding in report.findings if finding.kind is kind and words in finding.message]
    return {line for finding in found for line in (finding.line, *(group.line for group in finding.waits))}


@pytest.mark.parametrize("order", list(ThreadOrder))
@pytest.mark.parametrize("near_miss", ["NO_FAULT", "REMOTE_BY_ADDRESS"])
def test_both_blocks_get_every_tile(sample, order, near_miss):
    x, out, report = multicast(sample("cluster"), near_miss, 5, SimulatorOptions(thread_order=order, seed=2))
    assert report.clean, report.findings
    assert (out == x[:, None]).all()


@pytest.mark.parametrize(
    ("fault", "kind", "mark", "words"),
    [
        ("NO_CLUSTER_BARRIER", FindingKind.MBARRIER_MISUSE, "multicast", "cannot know of its initialisation"),
        ("NO_CLUSTER_WAIT", FindingKind.MBARRIER_MISUSE, "wait_full", "cannot know of its initialisation"),
        ("WAIT_BEFORE_ARRIVE", FindingKind.OPERAND_MISUSE, "wait_first", "do not take turns"),
        ("WRONG_MASK", FindingKind.OPERAND_MISUSE, "multicast", "block 0x6"),
        ("NO_REMOTE_ARRIVE", FindingKind.DEADLOCK, "wait_empty", "1 of 2 arrivals missing"),
        ("WRONG_BLOCK", FindingKind.OPERAND_MISUSE, "release", "cluster of 2 blocks"),
        ("NO_EMPTY_WAIT", FindingKind.RACE_THREADS, "multicast", "asynchronous write (bulk copy)"),
        ("HALF_BYTES", FindingKind.UNINITIALISED, "take", "before anything wrote"),
        ("EARLY_END", FindingKind.OPERAND_MISUSE, "release", "after that block has ended"),
    ],
)
def test_fault_is_found_at_its_line(sample, marked_line, fault, kind, mark, words):
    _, _, report = multicast(sample("cluster"), fault)
    assert marked_line("cluster", mark) in lines_of(report, kind, words), [
        (finding.line, finding.message) for finding in report.findings
    ]


def exchange(
    module, grid: int, late: int, options: SimulatorOptions | None = None
) -> tuple[np.ndarray, SimulatorReport]:
    out = Buffer("out", np.zeros((grid, 32), np.uint32), writable=True)
    return out.array, module.launch("exchange", grid, 32, 128, [out, late], options)


@pytest.mark.parametrize("order", list(BlockOrder))
def test_blocks_read_each_other(sample, marked_line, order):
    got, report = exchange(sample("cluster"), 6, 0, SimulatorOptions(block_order=order, seed=4))
    assert report.clean, report.findings
    assert (got == np.arange(32) + 100 * np.array([[1], [0]] * 3)).all()
    _, report = exchange(sample("cluster"), 6, 1)
    found = lines_of(report, FindingKind.UNINITIALISED, "") | lines_of(report, FindingKind.RACE_THREADS, "")
    assert found & {marked_line("cluster", "remote"), marked_line("cluster", "late")}


def test_part_of_a_cluster_cannot_be_launched(sample):
    with pytest.raises(LaunchError, match="clusters of 2"):
        exchange(sample("cluster"), 3, 0)
    with pytest.raises(LaunchError, match="parts of clusters"):
        exchange(sample("cluster"), 4, 0, SimulatorOptions(blocks=(1, 2)))
    assert exchange(sample("cluster"), 4, 0, SimulatorOptions(blocks=(2, 3)))[1].stats.blocks == 2


def named(module, *, counted: int = 128, number: int = 1, twice: int = 0) -> SimulatorReport:
    out = Buffer("out", np.zeros(64, np.uint32), writable=True)
    return module.launch("named", 1, 128, 256, [out, counted, number, twice])


def test_named_barrier_orders_those_that_meet(sample, marked_line):
    assert named(sample("cluster")).clean
    fewer = named(sample("cluster"), counted=64)
    assert marked_line("cluster", "read") in lines_of(fewer, FindingKind.UNINITIALISED, "") | lines_of(
        fewer, FindingKind.RACE_THREADS, ""
    )
    assert marked_line("cluster", "sync") in lines_of(
        named(sample("cluster"), number=16), FindingKind.OPERAND_MISUSE, "16"
    )
    odd = named(sample("cluster"), counted=100)
    assert marked_line("cluster", "arrive") in lines_of(odd, FindingKind.OPERAND_MISUSE, "whole warps")
    twice = named(sample("cluster"), twice=1)
    assert marked_line("cluster", "arrive_again") in lines_of(twice, FindingKind.OPERAND_MISUSE, "twice")


@pytest.mark.parametrize("order", list(ThreadOrder))
def test_named_barrier_used_again_before_its_end_is_known_is_found(sample, marked_line, order):
    out = Buffer("out", np.zeros(64, np.uint32), writable=True)
    options = SimulatorOptions(thread_order=order)
    assert sample("cluster").launch("relay", 1, 64, 256, [out, 1], options).clean
    report = sample("cluster").launch("relay", 1, 64, 256, [out, 0], options)
    found = lines_of(report, FindingKind.OPERAND_MISUSE, "may be one of them")
    assert found & {marked_line("cluster", "hand"), marked_line("cluster", "meet")}


def registers(module, *, given: int, wrong: int = 0) -> SimulatorReport:
    out = Buffer("out", np.zeros(256, np.uint32), writable=True)
    return module.launch("registers", 1, 256, 0, [out, given, wrong])


def test_registers_come_from_another_warpgroup(sample, marked_line):
    assert registers(sample("cluster"), given=1).clean
    assert registers(sample("cluster"), given=0).clean  # 256 each fit
    wrong = registers(sample("cluster"), given=0, wrong=1)
    assert marked_line("cluster", "wrong") in lines_of(wrong, FindingKind.OPERAND_MISUSE, "not 264")
    kept = registers(sample("cluster"), given=0, wrong=2)
    assert marked_line("cluster", "kept") in lines_of(kept, FindingKind.OPERAND_MISUSE, "24 to 248 registers")


@pytest.mark.parametrize("order", list(ThreadOrder))
def test_one_lane_of_each_warp_is_elected(sample, order):
    out = Buffer("out", np.zeros(2, np.uint32), writable=True)
    report = sample("cluster").launch("elect", 1, 64, 0, [out], SimulatorOptions(thread_order=order, seed=11))
    assert report.clean, report.findings
    assert out.array[1] - out.array[0] == 32
