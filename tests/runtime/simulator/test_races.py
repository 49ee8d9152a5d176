import numpy as np
import pytest

from agentkern.runtime.simulator import (
    BlockOrder,
    Buffer,
    Checks,
    Finding,
    FindingKind,
    SimulatorOptions,
    SimulatorReport,
    ThreadOrder,
)

pytestmark = pytest.mark.toolchain


def only(report: SimulatorReport) -> Finding:
    assert len(report.findings) == 1, [finding.message for finding in report.findings]
    return report.findings[0]


def words(count: int, name: str = "out") -> Buffer:
    return Buffer(name, np.zeros(count, np.uint32), writable=True)


@pytest.mark.parametrize("order", list(ThreadOrder))
def test_missing_barrier_is_a_race_under_every_order(sample, marked_line, order):
    options = SimulatorOptions(thread_order=order, seed=3)
    report = sample("races").launch("exchange", 1, 128, 512, [words(128), 0], options)
    races = [f for f in report.findings if f.kind is FindingKind.RACE_THREADS]
    lines = {marked_line("races", "exchange_write"), marked_line("races", "exchange_read")}
    assert races
    for race in races:
        assert race.other is not None
        assert {race.line, race.other.line} == lines
        assert race.other.thread == (race.thread + 64) % 128


@pytest.mark.parametrize("order", list(ThreadOrder))
def test_exchange_with_barrier_is_clean_under_every_order(sample, order):
    out = words(128)
    options = SimulatorOptions(thread_order=order, seed=3)
    assert sample("races").launch("exchange", 2, 128, 512, [words(128), 1], options).findings
    assert sample("races").launch("exchange", 1, 128, 512, [out, 1], options).clean
    assert (out.array == (np.arange(128) + 64) % 128 * 3).all()


def test_fast_checks_do_not_look_for_races(sample):
    options = SimulatorOptions(checks=Checks.FAST)
    assert sample("races").launch("exchange", 1, 128, 512, [words(128), 0], options).clean


def test_write_over_a_slot_still_being_read_is_a_race(sample, marked_line):
    report = sample("races").launch("reuse", 1, 64, 256, [words(64), 0])
    found = only(report)
    assert found.kind is FindingKind.RACE_THREADS
    assert found.other is not None
    assert {found.line, found.other.line} == {
        marked_line("races", "reuse_write"),
        marked_line("races", "reuse_read"),
    }
    assert {found.access, found.other.access} == {"write", "read"}
    assert sample("races").launch("reuse", 1, 64, 256, [words(64), 1]).clean


def test_syncwarp_orders_lanes_of_one_warp(sample):
    out = words(64)
    assert sample("races").launch("warp_exchange", 1, 64, 256, [out, 1, 1]).clean
    assert (out.array == (np.arange(64) ^ 1) * 5).all()


@pytest.mark.parametrize(("distance", "sync"), [(1, 0), (32, 1)])
def test_syncwarp_missing_or_across_warps_is_a_race(sample, marked_line, distance, sync):
    report = sample("races").launch("warp_exchange", 1, 64, 256, [words(64), distance, sync])
    races = [f for f in report.findings if f.kind is FindingKind.RACE_THREADS]
    assert marked_line("races", "warp_exchange_read") in {
        line for race in races if race.other for line in (race.line, race.other.line)
    }


def test_syncwarp_of_half_a_warp_orders_that_half_only(sample):
    assert sample("races").launch("half_warps", 1, 32, 128, [words(32), 5]).clean
    report = sample("races").launch("half_warps", 1, 32, 128, [words(32), 16])
    assert {f.kind for f in report.findings} == {FindingKind.RACE_THREADS}


def test_write_after_reads_by_several_warps_is_a_race(sample, marked_line):
    found = only(sample("races").launch("read_then_write", 1, 64, 16, [words(64), 0]))
    assert (found.line, found.thread) == (marked_line("races", "read_then_write"), 40)
    assert sample("races").launch("read_then_write", 1, 64, 16, [words(64), 1]).clean


@pytest.mark.parametrize("order", list(BlockOrder))
def test_blocks_writing_one_element_race_under_every_order(sample, marked_line, order):
    options = SimulatorOptions(block_order=order, seed=11)
    found = only(sample("races").launch("block_tiles", 4, 32, 0, [words(128), 31], options))
    assert (found.kind, found.line) == (FindingKind.RACE_BLOCKS, marked_line("races", "block_tiles"))
    assert found.index is not None
    assert found.index[0] % 31 == 0
    assert found.other is not None
    assert {found.block, found.other.block} in ({0, 1}, {1, 2}, {2, 3})
    assert sample("races").launch("block_tiles", 4, 32, 0, [words(128), 32], options).clean


@pytest.mark.parametrize("order", list(BlockOrder))
def test_block_reading_what_another_writes_is_a_race(sample, order):
    options = SimulatorOptions(block_order=order, seed=5)
    found = only(sample("races").launch("block_flag", 6, 32, 0, [words(4, "flags"), words(6), 0], options))
    assert (found.kind, found.buffer, found.index) == (FindingKind.RACE_BLOCKS, "flags", (0,))
    assert found.other is not None
    assert 2 in (found.block, found.other.block)
    assert found.block != found.other.block
    assert sample("races").launch("block_flag", 6, 32, 0, [words(4, "flags"), words(6), 1], options).clean


def test_two_launches_on_one_buffer_do_not_race(sample):
    flags = words(4, "flags")
    for _ in range(2):
        assert sample("races").launch("block_flag", 1, 32, 0, [flags, words(6), 0]).clean


@pytest.mark.parametrize(("width", "clean"), [(1, True), (2, False)])
def test_bytes_of_one_word_are_told_apart(sample, width, clean):
    out = Buffer("out", np.zeros(1, np.uint8), writable=True)
    report = sample("races").launch("neighbour_bytes", 1, 32, 32, [out, width])
    assert report.clean == clean


def test_global_memory_needs_a_barrier_between_threads_too(sample, marked_line):
    arguments = [words(3, "scratch"), words(3)]
    found = only(sample("races").launch("global_handover", 3, 64, 0, [*arguments, 0]))
    assert (found.kind, found.line) == (FindingKind.RACE_THREADS, marked_line("races", "global_handover_read"))
    assert found.buffer == "scratch"
    assert sample("races").launch("global_handover", 3, 64, 0, [*arguments, 1]).clean


def test_race_message_names_both_sides(sample):
    found = only(sample("races").launch("global_handover", 1, 64, 0, [words(1, "scratch"), words(1), 0]))
    assert "race in `scratch` at element [0]" in found.message
    assert "read by thread 33 and write by thread 0 of block 0" in found.message


def test_race_in_a_shifted_buffer_names_its_element(sample):
    base = np.zeros(64, np.uint32)
    start = -base.ctypes.data % 16 // 4 + 3
    scratch = Buffer("scratch", base[start : start + 8], writable=True)
    found = only(sample("races").launch("global_handover", 8, 64, 0, [scratch, words(8), 0]))
    assert (found.buffer, found.index, found.count) == ("scratch", (0,), 8)


@pytest.mark.parametrize(("start", "clean"), [(1, False), (64, True)])
def test_race_through_overlapping_buffers_is_found(sample, start, clean):
    host = np.zeros(128, np.uint32)
    whole, part = Buffer("whole", host, writable=True), Buffer("part", host[start:], writable=True)
    report = sample("races").launch("block_flag", 3, 32, 0, [part, whole, 1])
    assert {f.kind for f in report.findings} == (set() if clean else {FindingKind.RACE_BLOCKS})


def test_shuffle_does_not_order_memory_and_syncwarp_does(sample, marked_line):
    found = only(sample("races").launch("shuffle_orders_nothing", 1, 32, 0, [words(1, "word"), words(32), 0]))
    assert (found.kind, found.line) == (FindingKind.RACE_THREADS, marked_line("races", "shuffle_orders_nothing"))
    assert found.other is not None
    assert found.other.thread != 0
    assert sample("races").launch("shuffle_orders_nothing", 1, 32, 0, [words(1, "word"), words(32), 1]).clean


def test_race_with_a_reader_of_another_warp_does_not_name_the_writer_itself(sample):
    found = only(sample("races").launch("shuffle_orders_nothing", 1, 64, 0, [words(1, "word"), words(64), 1]))
    assert (found.kind, found.thread) == (FindingKind.RACE_THREADS, 0)
    assert found.other is not None
    assert found.other.thread is None
    assert "read by another warp of block 0" in found.message
