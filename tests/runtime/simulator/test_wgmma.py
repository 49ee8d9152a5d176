"""A bf16 tile by TMA, mbarriers and wgmma: right to the bit, each seeded fault found at its line."""

import numpy as np
import pytest

from agentkern.compiler.ir.reference_products import dot
from agentkern.runtime.simulator import (
    Buffer,
    Checks,
    Completion,
    FindingKind,
    SimulatorOptions,
    SimulatorReport,
    ThreadOrder,
)
from tests.runtime.simulator.boxes import box_of

pytestmark = pytest.mark.toolchain

_SHARED_BYTES = 98304 + 64
_FAULTS = (
    "NO_FAULT NO_PROXY_FENCE WRONG_PARITY SHORT_BYTES WRONG_SWIZZLE WRONG_STRIDE EARLY_OVERWRITE NO_COMMIT NO_WAIT"
    " NO_ARRIVE NO_INIT_FENCE TOUCHED NO_REGISTER_FENCE NO_STORE_COMMIT NO_STORE_WAIT LONG_BYTES NO_FULL_WAIT"
    " NO_EPILOGUE_BARRIER EARLY_READ EARLY_RELEASE TOO_MANY_REGISTERS BASE_OFFSET OUTSIDE BY_PROXY_FENCE SPINNING"
).split()


def bf16(values: np.ndarray) -> np.ndarray:
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def operands(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    return bf16(rng.standard_normal((128, k))), bf16(rng.standard_normal((256, k)))


def ran(module, k: int, fault: str, options: SimulatorOptions | None = None) -> tuple[np.ndarray, SimulatorReport]:
    """The result, after the earliest completion, and the findings of both, or of the completion asked for."""
    a, b = operands(k)
    d = Buffer("d", np.zeros((128, 256), np.uint16), writable=True, initialised=False)
    arguments = [
        box_of(Buffer("a", a), "bf16", (128, 64), 128),
        box_of(Buffer("b", b), "bf16", (256, 64), 128),
        box_of(d, "bf16", (128, 64), 128),
        k,
        _FAULTS.index(fault),
    ]
    launch = module.launch_both if options is None or options.completion is Completion.EARLIEST else module.launch
    return d.array, launch("multiply", 1, 384, _SHARED_BYTES, arguments, options)


def product(k: int) -> np.ndarray:
    a, b = operands(k)
    return bf16(dot(a, np.ascontiguousarray(b.T), np.zeros((128, 256), np.float32), "bf16"))


@pytest.mark.parametrize("k", [8, 64, 72, 256, 328])
def test_tile_has_the_bits_of_the_reference(sample, k):
    got, report = ran(sample("wgmma"), k, "NO_FAULT")
    assert report.clean, report.findings
    assert (got == product(k)).all()


@pytest.mark.parametrize("order", list(ThreadOrder))
@pytest.mark.parametrize("completion", list(Completion))
def test_bits_do_not_depend_on_threads_or_completion(sample, order, completion):
    options = SimulatorOptions(thread_order=order, completion=completion, seed=7)
    got, report = ran(sample("wgmma"), 200, "NO_FAULT", options)
    assert report.clean, report.findings
    assert (got == product(200)).all()


@pytest.mark.parametrize("near_miss", ["BY_PROXY_FENCE", "SPINNING"])
def test_other_ways_to_do_it_are_clean(sample, near_miss):
    got, report = ran(sample("wgmma"), 256, near_miss)
    assert report.clean, report.findings
    assert (got == product(256)).all()


@pytest.mark.parametrize(
    ("fault", "kind", "mark", "words"),
    [
        ("NO_PROXY_FENCE", FindingKind.MISSING_FENCE, "store", "no `ak_fence_proxy_async`"),
        ("WRONG_PARITY", FindingKind.DEADLOCK, "wait_full", "2 of 2 arrivals missing"),
        ("SHORT_BYTES", FindingKind.MBARRIER_MISUSE, "load_b", "16384 bytes more"),
        ("LONG_BYTES", FindingKind.DEADLOCK, "wait_full", "16384 bytes pending"),
        ("WRONG_SWIZZLE", FindingKind.OPERAND_MISUSE, "product", "swizzle of 128 bytes is read under one of 64"),
        ("WRONG_STRIDE", FindingKind.RACE_THREADS, "product", "asynchronous read (wgmma)"),
        ("EARLY_OVERWRITE", FindingKind.RACE_THREADS, "load_a", "asynchronous write (bulk copy)"),
        ("EARLY_RELEASE", FindingKind.RACE_THREADS, "load_a", "asynchronous read (wgmma)"),
        ("NO_COMMIT", FindingKind.NEVER_WAITED, "product", "never committed"),
        ("NO_WAIT", FindingKind.NEVER_WAITED, "product", "never waited for"),
        ("EARLY_READ", FindingKind.NEVER_WAITED, "product", "never waited for"),
        ("NO_ARRIVE", FindingKind.DEADLOCK, "wait_full", "1 of 2 arrivals missing"),
        ("NO_INIT_FENCE", FindingKind.MBARRIER_MISUSE, "load_a", "no `ak_mbarrier_fence_init`"),
        ("TOUCHED", FindingKind.REGISTERS_IN_FLIGHT, "product", "in flight were changed"),
        ("NO_REGISTER_FENCE", FindingKind.REGISTERS_IN_FLIGHT, "product", "no `ak_wgmma_fence`"),
        ("NO_STORE_COMMIT", FindingKind.NEVER_WAITED, "store", "never committed"),
        ("NO_STORE_WAIT", FindingKind.NEVER_WAITED, "store", "never waited for"),
        ("NO_FULL_WAIT", FindingKind.RACE_THREADS, "load_a", "asynchronous read (wgmma)"),
        ("NO_EPILOGUE_BARRIER", FindingKind.RACE_THREADS, "epilogue", "asynchronous read (wgmma)"),
        ("TOO_MANY_REGISTERS", FindingKind.DEADLOCK, "registers", "are free"),
        ("BASE_OFFSET", FindingKind.OPERAND_MISUSE, "product", "base offset"),
        ("OUTSIDE", FindingKind.OPERAND_MISUSE, "product", "outside it"),
    ],
)
def test_fault_is_found_at_its_line(sample, marked_line, fault, kind, mark, words):
    _, report = ran(sample("wgmma"), 256, fault)
    line = marked_line("wgmma", mark)
    found = [finding for finding in report.findings if finding.kind is kind and words in finding.message]
    assert any(line in (finding.line, *(group.line for group in finding.waits)) for finding in found), [
        (finding.line, finding.message) for finding in report.findings
    ]


@pytest.mark.parametrize("fault", ["NO_COMMIT", "NO_WAIT", "EARLY_READ"])
def test_bits_depend_on_completion_where_nothing_waits(sample, fault):
    _, report = ran(sample("wgmma"), 256, fault)
    assert FindingKind.COMPLETION_DEPENDENT in {finding.kind for finding in report.findings}


def test_fast_checks_give_the_same_bits(sample):
    got, report = ran(sample("wgmma"), 256, "NO_FAULT", SimulatorOptions(checks=Checks.FAST))
    assert report.clean, report.findings
    assert (got == product(256)).all()
