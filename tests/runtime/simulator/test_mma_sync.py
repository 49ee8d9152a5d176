"""Warp-wide products from two buffers: cp.async groups, ldmatrix, stmatrix, mma.sync; faults beside near-misses."""

import numpy as np
import pytest

from agentkern.compiler.ir.reference_products import dot
from agentkern.runtime.simulator import (
    Buffer,
    Completion,
    FindingKind,
    SimulatorOptions,
    SimulatorReport,
    ThreadOrder,
)

pytestmark = pytest.mark.toolchain

_FAULTS = (
    "NO_FAULT NO_WAIT WAIT_FOR_FEWER NO_SYNC EARLY_OVERWRITE NO_COMMIT MISALIGNED_ROW OUTSIDE_ROW LEFT_BEHIND"
    " UNALIGNED_SOURCE TOO_MANY_SOURCE_BYTES PAST_THE_END SHORT_ROW"
).split()


def operands(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    a, b = (rng.standard_normal((rows, k)).astype(np.float32).view(np.uint32) >> 16 for rows in (16, 8))
    return a.astype(np.uint16), b.astype(np.uint16)


def multiply(
    module, k: int, fault: str = "NO_FAULT", options: SimulatorOptions | None = None
) -> tuple[np.ndarray, SimulatorReport]:
    a, b = operands(k)
    d = Buffer("d", np.zeros((16, 8), np.float32), writable=True, initialised=False)
    arguments = [Buffer("a", a), Buffer("b", b), d, k, _FAULTS.index(fault)]
    return d.array, module.launch_both("multiply", 1, 32, 1536, arguments, options)


def product(k: int) -> np.ndarray:
    a, b = operands(k)
    return dot(a, np.ascontiguousarray(b.T), np.zeros((16, 8), np.float32), "bf16")


@pytest.mark.parametrize("k", [16, 32, 48, 112])
@pytest.mark.parametrize("order", list(ThreadOrder))
def test_product_has_the_bits_of_the_reference(sample, k, order):
    got, report = multiply(sample("mma_sync"), k, options=SimulatorOptions(thread_order=order, seed=k))
    assert report.clean, report.findings
    assert got.tobytes() == product(k).tobytes()


def test_zero_source_bytes_fill_with_zeros_and_touch_no_memory(sample):
    got, report = multiply(sample("mma_sync"), 48, "SHORT_ROW")
    assert report.clean, report.findings
    assert (got[:, 7] == 0).all()
    assert got[:, :7].tobytes() == product(48)[:, :7].tobytes()


@pytest.mark.parametrize(
    ("fault", "kind", "mark", "words"),
    [
        ("WAIT_FOR_FEWER", FindingKind.RACE_THREADS, "ldmatrix_a", "asynchronous write (cp.async)"),
        ("NO_SYNC", FindingKind.RACE_THREADS, "ldmatrix_a", "asynchronous write (cp.async)"),
        ("EARLY_OVERWRITE", FindingKind.RACE_THREADS, "copy_a", "read by thread"),
        ("NO_COMMIT", FindingKind.RACE_THREADS, "ldmatrix_a", "asynchronous write (cp.async)"),
        ("LEFT_BEHIND", FindingKind.NEVER_WAITED, "copy_a", "never waited for"),
        ("MISALIGNED_ROW", FindingKind.OPERAND_MISUSE, "ldmatrix_a", "aligned"),
        ("OUTSIDE_ROW", FindingKind.OPERAND_MISUSE, "ldmatrix_a", "inside"),
        ("UNALIGNED_SOURCE", FindingKind.OPERAND_MISUSE, "unaligned", "aligned to it"),
        ("TOO_MANY_SOURCE_BYTES", FindingKind.OPERAND_MISUSE, "too_many", "32 source bytes"),
        ("PAST_THE_END", FindingKind.OUT_OF_BOUNDS, "copy_b", "outside `b`"),
    ],
)
def test_fault_is_found_at_its_line(sample, marked_line, fault, kind, mark, words):
    _, report = multiply(sample("mma_sync"), 64, fault)
    found = [finding for finding in report.findings if finding.kind is kind and words in finding.message]
    assert marked_line("mma_sync", mark) in {finding.line for finding in found}, report.findings


def transpose(module, absent: int) -> tuple[np.ndarray, np.ndarray, SimulatorReport]:
    words = Buffer("in", np.random.default_rng(1).integers(0, 1 << 32, 128, np.uint32))
    out = Buffer("out", np.zeros(128, np.uint32), writable=True)
    return words.array, out.array, module.launch("transpose", 1, 32, 512, [words, out, absent])


def test_stmatrix_transposes_each_matrix(sample):
    words, out, report = transpose(sample("mma_sync"), 0)
    assert report.clean, report.findings

    def matrices(registers: np.ndarray) -> np.ndarray:
        """Matrix, row, column: lane 4 r + c holds columns 2 c and 2 c + 1 of row r."""
        return registers.reshape(32, 4).T.copy().view(np.uint16).reshape(4, 8, 8)

    assert (matrices(out) == matrices(words).transpose(0, 2, 1)).all()


def test_matrix_move_without_all_lanes_is_divergence(sample, marked_line):
    _, _, report = transpose(sample("mma_sync"), 1)
    assert (report.findings[0].kind, report.findings[0].line) == (
        FindingKind.WARP_DIVERGENCE,
        marked_line("mma_sync", "stmatrix"),
    )


def arrive(module, fault: int, completion: Completion) -> tuple[np.ndarray, SimulatorReport]:
    out = Buffer("out", np.zeros(32, np.uint32), writable=True)
    words = Buffer("in", np.arange(32, dtype=np.uint32) + 7)
    options = SimulatorOptions(completion=completion)
    return out.array, module.launch("arrive", 1, 64, 136, [words, out, fault], options)


@pytest.mark.parametrize("completion", list(Completion))
def test_copies_report_to_an_mbarrier(sample, marked_line, completion):
    out, report = arrive(sample("mma_sync"), 0, completion)
    assert report.clean, report.findings
    assert (out == np.arange(32) + 7).all()
    _, report = arrive(sample("mma_sync"), 1, completion)
    assert (FindingKind.RACE_THREADS, marked_line("mma_sync", "read")) in {(f.kind, f.line) for f in report.findings}
    _, report = arrive(sample("mma_sync"), 2, completion)
    assert report.findings[-1].kind is FindingKind.DEADLOCK
    assert "32 of 64 arrivals missing" in report.findings[-1].message
