import numpy as np
import pytest

from agentkern.runtime.simulator import Buffer, Checks, Finding, FindingKind, SimulatorOptions, SimulatorReport

pytestmark = pytest.mark.toolchain


def only(report: SimulatorReport) -> Finding:
    assert len(report.findings) == 1, [finding.message for finding in report.findings]
    return report.findings[0]


def output(count: int, dtype: type = np.uint32, name: str = "out", *, initialised: bool = False) -> Buffer:
    return Buffer(name, np.zeros(count, dtype), writable=True, initialised=initialised)


def test_copy_is_clean_and_exact(sample):
    x = np.arange(100, dtype=np.uint32)
    out = output(100)
    report = sample("memory").launch("copy_u32", 4, 32, 0, [Buffer("x", x), out, 100])
    assert report.clean
    assert (out.array == x).all()


def test_no_blocks_is_no_launch(sample):
    out = output(4)
    report = sample("memory").launch("copy_u32", 0, 32, 0, [Buffer("x", out.array), out, 4])
    assert report.clean
    assert report.stats.blocks == 0
    assert not out.written_elements().any()


def test_load_behind_the_end_names_buffer_offset_thread_and_line(sample, marked_line):
    report = sample("memory").launch("load_at", 1, 32, 0, [Buffer("x", np.zeros(64, np.uint8)), output(1), 64])
    found = only(report)
    assert found.kind is FindingKind.OUT_OF_BOUNDS
    assert (found.buffer, found.byte_offset, found.thread, found.block) == ("x", 64, 5, 0)
    assert found.line == marked_line("memory", "load_at")
    assert "16-byte read-only read outside `x`" in found.message


@pytest.mark.parametrize("offset", [-16, -4096, 1 << 30, -(1 << 30)])
def test_load_far_outside_yields_a_pattern_and_goes_on(sample, offset):
    out = output(1)
    report = sample("memory").launch("load_at", 1, 32, 0, [Buffer("x", np.zeros(64, np.uint8)), out, offset])
    assert only(report).byte_offset == offset
    assert report.completed
    assert out.array[0] == 0xCDCDCDCD


def test_last_valid_load_is_clean(sample):
    report = sample("memory").launch("load_at", 1, 32, 0, [Buffer("x", np.zeros(64, np.uint8)), output(1), 48])
    assert report.clean


def test_load_across_the_end_is_out_of_bounds(sample):
    report = sample("memory").launch("load_at", 1, 32, 0, [Buffer("x", np.zeros(60, np.uint8)), output(1), 48])
    assert only(report).kind is FindingKind.OUT_OF_BOUNDS


def test_fast_checks_find_bounds_and_alignment(sample):
    options = SimulatorOptions(checks=Checks.FAST)
    x = Buffer("x", np.zeros(64, np.uint8))
    for offset, kind in ((64, FindingKind.OUT_OF_BOUNDS), (8, FindingKind.MISALIGNED)):
        report = sample("memory").launch("load_at", 1, 32, 0, [x, output(1), offset], options)
        assert only(report).kind is kind


def test_misaligned_vector_load_is_found(sample, marked_line):
    report = sample("memory").launch("load_at", 1, 32, 0, [Buffer("x", np.zeros(64, np.uint8)), output(1), 8])
    found = only(report)
    assert (found.kind, found.byte_offset) == (FindingKind.MISALIGNED, 8)
    assert found.line == marked_line("memory", "load_at")


def test_alignment_of_the_host_array_counts(sample):
    base = np.zeros(80, np.uint8)
    start = -base.ctypes.data % 16
    for shift, clean in ((0, True), (4, False)):
        x = Buffer("x", base[start + shift : start + shift + 16])
        report = sample("memory").launch("load_at", 1, 32, 0, [x, output(1), 0])
        assert report.clean == clean


def test_store_outside_is_dropped(sample):
    host = np.zeros(16, np.uint8)
    out = Buffer("out", host[4:12], writable=True)
    report = sample("memory").launch("store_at", 1, 32, 0, [out, 8])
    assert only(report).kind is FindingKind.OUT_OF_BOUNDS
    assert not host.any()


def test_store_to_an_input_is_refused(sample, marked_line):
    x = Buffer("x", np.zeros(16, np.uint8))
    found = only(sample("memory").launch("store_at", 1, 32, 0, [x, 2]))
    assert (found.kind, found.line) == (FindingKind.READ_ONLY_WRITE, marked_line("memory", "store_at"))
    assert not x.array.any()


@pytest.mark.parametrize(("offset", "clean"), [(124, True), (128, False), (-4, False), (300000, False)])
def test_shared_bounds_are_those_of_the_launch(sample, offset, clean):
    report = sample("memory").launch("store_shared_at", 1, 32, 128, [output(1), offset])
    assert report.clean == clean
    if not clean:
        found = only(report)
        assert (found.kind, found.buffer, found.byte_offset) == (FindingKind.OUT_OF_BOUNDS, "shared", offset)


def test_unwritten_shared_slot_is_found_once_per_line(sample, marked_line):
    out = output(64)
    found = only(sample("memory").launch("fill_shared", 1, 64, 256, [out, 9]))
    assert (found.kind, found.buffer, found.byte_offset) == (FindingKind.UNINITIALISED, "shared", 36)
    assert (found.line, found.thread) == (marked_line("memory", "fill_shared"), 54)


def test_shared_memory_of_an_earlier_block_does_not_count_as_written(sample):
    out = output(64, initialised=True)
    report = sample("memory").launch("fill_shared", 3, 64, 256, [out, 9])
    assert out.array[54] == 0xCDCDCDCD
    uninitialised = [f for f in report.findings if f.kind is FindingKind.UNINITIALISED]
    assert [f.count for f in uninitialised] == [3]


def test_filled_shared_memory_is_clean(sample):
    out = output(64)
    report = sample("memory").launch("fill_shared", 1, 64, 256, [out, 64])
    assert report.clean
    assert (out.array == 163 - np.arange(64)).all()


def test_initialised_state_lasts_over_launches(sample, marked_line):
    module = sample("memory")
    total = output(1, name="total")
    first = module.launch("accumulate", 1, 32, 0, [total])
    found = only(first)
    assert (found.kind, found.buffer, found.line) == (
        FindingKind.UNINITIALISED,
        "total",
        marked_line("memory", "accumulate"),
    )
    assert module.launch("accumulate", 1, 32, 0, [total]).clean
    assert total.array[0] == 2


def test_partly_written_vector_read_is_found(sample):
    module = sample("memory")
    scratch = output(4)
    x = Buffer("x", np.arange(4, dtype=np.uint32))
    assert module.launch("copy_u32", 1, 32, 0, [x, scratch, 3]).clean
    found = only(module.launch("load_at", 1, 32, 0, [scratch, output(1), 0]))
    assert found.kind is FindingKind.UNINITIALISED
    assert scratch.written_elements().tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("which", "mark"), [(1, "global_store_to_shared"), (2, "shared_store_to_global"), (3, "null_store")]
)
def test_pointers_of_the_other_space_are_found(sample, marked_line, which, mark):
    found = only(sample("memory").launch("swapped_spaces", 1, 32, 64, [output(1), which]))
    assert found.kind in (FindingKind.WRONG_SPACE, FindingKind.OUT_OF_BOUNDS)
    assert found.line == marked_line("memory", mark)


def test_read_only_path_to_written_data_is_found(sample, marked_line):
    x = output(2, name="x", initialised=True)
    found = only(sample("memory").launch("read_only_path", 1, 32, 0, [x, 0]))
    assert (found.kind, found.line) == (FindingKind.READ_ONLY_PATH, marked_line("memory", "read_only_path"))
    assert sample("memory").launch("read_only_path", 1, 32, 0, [x, 4]).clean


@pytest.mark.parametrize("which", [1, 2])
def test_access_round_the_accessors_ends_the_launch_not_the_process(sample, which):
    report = sample("memory").launch("bypass", 1, 32, 64, [output(1), which])
    assert only(report).kind is FindingKind.HOST_FAULT
    assert not report.completed
    assert sample("memory").launch("bypass", 1, 32, 64, [output(1, initialised=True), 0]).stats.blocks == 1


def test_gap_between_rows_is_not_part_of_the_buffer(sample):
    wide = np.zeros((4, 48), np.uint8)
    x = Buffer("x", wide[:, :32])
    module = sample("memory")
    assert module.launch("load_at", 1, 32, 0, [x, output(1), 3 * 48 + 16]).clean
    found = only(module.launch("load_at", 1, 32, 0, [x, output(1), 48 + 32]))
    assert (found.kind, found.byte_offset) == (FindingKind.OUT_OF_BOUNDS, 80)
    assert found.index is None


def test_index_of_a_transposed_element_is_named(sample):
    x = Buffer("x", np.zeros((8, 16), np.uint32).T, writable=False)
    found = only(sample("memory").launch("store_at", 1, 32, 0, [x, 4 * (3 * 16 + 5)]))
    assert found.index == (5, 3)


def test_overlapping_buffers_share_memory_and_checks(sample):
    host = np.arange(64, dtype=np.uint32)
    x, out = Buffer("x", host), Buffer("out", host, writable=True)
    found = only(sample("memory").launch("copy_u32", 1, 32, 0, [x, out, 32]))
    assert found.kind is FindingKind.READ_ONLY_PATH
    assert sample("memory").launch("copy_u32", 1, 32, 0, [Buffer("x", host[32:]), Buffer("y", host, True), 32]).clean
    assert (host[:32] == np.arange(32, 64)).all()


def test_element_beyond_two_to_the_31_is_reached_sparsely(sample):
    n_bytes = 5 << 30
    big = np.zeros(n_bytes, np.uint8)
    out = Buffer("out", big, writable=True, initialised=False)
    assert sample("memory").launch("store_at", 1, 32, 0, [out, n_bytes - 2]).clean
    assert big[n_bytes - 2] == 0x34
    assert sample("memory").launch("load_at", 1, 32, 0, [out, output(1), n_bytes - 16]).findings[0].kind is (
        FindingKind.UNINITIALISED
    )


def test_empty_buffer_has_no_valid_element(sample):
    found = only(sample("memory").launch("load_at", 1, 32, 0, [Buffer("x", np.zeros(0, np.uint8)), output(1), 0]))
    assert (found.kind, found.buffer) == (FindingKind.OUT_OF_BOUNDS, "x")


def test_findings_are_bounded_and_counted(sample):
    x = Buffer("x", np.zeros(4, np.uint32))
    report = sample("memory").launch("copy_u32", 2, 32, 0, [x, output(4), 64], SimulatorOptions(max_findings=1))
    assert len(report.findings) == 1
    assert report.findings[0].count == 60
    assert report.n_unrecorded == 60


def test_line_map_gives_the_kernel_line(sample, marked_line):
    line = marked_line("memory", "load_at")
    options = SimulatorOptions(line_map={line: 12})
    report = sample("memory").launch("load_at", 1, 32, 0, [Buffer("x", np.zeros(64, np.uint8)), output(1), 64], options)
    assert only(report).kernel_line == 12
    assert f"kernel line 12 (.cu line {line})" in only(report).message
