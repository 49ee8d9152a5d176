"""Every seeded fault of the thread-level kernels is caught, with the operation named; the kernels themselves pass."""

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from agentkern.runtime.simulator import host_compiler
from agentkern.runtime.simulator.toolchain import SimulatorUnavailableError
from tests.gpu_stage.fault_verdicts import MODES, changes_nothing, simulated_verdict, static_verdict
from tests.gpu_stage.faults import ATTENTION, FAULTS, PRODUCT, Fault, faulty_text, kernel_text
from tests.gpu_stage.simulated import Outcome, run_text

# What no rule forbids: only the numbers are wrong, and the simulator's comparison of bits is what shows it.
WRONG_NUMBERS = {
    (PRODUCT, "swizzle of C's map 0"),
    (PRODUCT, "second box of A from the first's rows"),
    (PRODUCT, "coordinates of B swapped"),
    (PRODUCT, "both halves read rows 32 apart"),
    (PRODUCT, "descriptor of A one step behind"),
    (PRODUCT, "product drops the accumulator"),
    (PRODUCT, "store to the columns before"),
    (PRODUCT, "matrices stored from the wrong registers"),
    (ATTENTION, "box of q from other columns"),
    (ATTENTION, "second box of keys has the first's columns"),
    (ATTENTION, "one product of the wrong weights"),
    (ATTENTION, "values half a row of keys on"),
    (ATTENTION, "values of the wrong keys"),
    (ATTENTION, "store of the first columns only"),
    (ATTENTION, "output matrix left out"),
    (ATTENTION, "output stored with swizzle 0"),
    (ATTENTION, "last key block not masked"),
}
STATIC = [fault for fault in FAULTS if (fault.kernel, fault.name) not in WRONG_NUMBERS]
NUMERIC = [fault for fault in FAULTS if (fault.kernel, fault.name) in WRONG_NUMBERS]
QUICK = STATIC[::25]


def name_of(fault: Fault) -> str:
    return f"{fault.kernel}: {fault.name}"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Outcome]]:
    """What the kernels without faults do."""
    folder = tmp_path_factory.mktemp("sound")
    return functools.cache(lambda kernel: run_text(kernel_text(kernel), kernel, folder, MODES))


def caught(fault: Fault) -> str:
    verdict = static_verdict(faulty_text(fault))
    assert verdict.caught_by in ("verifier", "checker"), name_of(fault)
    assert "`" in verdict.message
    return verdict.message


@pytest.mark.parametrize("kernel", [PRODUCT, ATTENTION])
def test_a_kernel_without_faults_is_accepted(kernel: str):
    assert static_verdict(kernel_text(kernel)).caught_by == "nobody"


@pytest.mark.parametrize("fault", QUICK, ids=name_of)
def test_a_fault_is_caught_before_it_runs(fault: Fault):
    caught(fault)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [f for f in STATIC if f not in QUICK], ids=name_of)
def test_every_other_fault_is_caught_before_it_runs(fault: Fault):
    caught(fault)


def test_there_are_sixty_faults_and_each_changes_its_kernel():
    assert len(STATIC) >= 60
    assert len(NUMERIC) == len(WRONG_NUMBERS)
    texts = {kernel: kernel_text(kernel) for kernel in (PRODUCT, ATTENTION)}
    for fault in NUMERIC:
        assert not changes_nothing(fault, texts[fault.kernel]), name_of(fault)
    assert [name_of(fault) for fault in FAULTS if faulty_text(fault) == texts[fault.kernel]] == []


@pytest.mark.slow
@pytest.mark.toolchain
@pytest.mark.parametrize("fault", NUMERIC, ids=name_of)
def test_wrong_numbers_show_in_the_simulator(fault: Fault, sound: Callable[[str], list[Outcome]], tmp_path: Path):
    try:
        host_compiler()
    except SimulatorUnavailableError as e:
        pytest.skip(f"toolchain: {e}")
    earliest, latest = sound(fault.kernel)
    assert not earliest.messages and not latest.messages
    assert np.array_equal(earliest.bits, latest.bits)
    assert static_verdict(faulty_text(fault)).caught_by == "nobody"
    assert simulated_verdict(fault, earliest, tmp_path)
