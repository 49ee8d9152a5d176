"""The protocol interleaves, renews, checks and knows what is impossible; on a GPU its times are true."""

from collections.abc import Callable, Mapping

import pytest
import torch

from agentkern.runtime.device import GpuKernel
from agentkern.runtime.gpu_subjects import copy_subject, empty_subject, function_subject, kernel_subject, poison
from agentkern.runtime.gpu_timer import Clocks, GpuTimer, measure_ceilings, parse_clocks, read_clocks
from agentkern.runtime.nvrtc import NvrtcOptions, compile_cuda
from agentkern.runtime.signature import signature_of
from agentkern.runtime.timing import (
    Budget,
    Ceilings,
    Prepared,
    Subject,
    SubjectTiming,
    Work,
    floor_us,
    impossible_below_us,
    measure,
    speedup,
)
from tests.runtime.gpu_kernels import SCALE, SCALE_ABI

FEW = Budget(warmup_rounds=1, rounds_min=4, rounds_max=8, seconds=60.0, spread=0.0)
H200 = Ceilings(
    copy_bytes_per_s=4e12, peak_bytes_per_s=5e12, l2_bytes=60_000_000, flops_per_s=5e14, peak_flops_per_s=1e15
)


class ScriptedTimer:
    """Counts calls; each launch takes the time that it leaves in `clock`."""

    def __init__(self) -> None:
        self.clock = 0.0
        self.calls = 0

    def time_us(self, launch: Callable[[], None]) -> float:
        before = self.clock
        launch()
        self.calls += 1
        return self.clock - before


class Recorder:
    """A subject that writes down what happens to it."""

    def __init__(self, name: str, timer: ScriptedTimer, costs: Callable[[int], float], journal: list[str]) -> None:
        self.name, self.timer, self.costs, self.journal = name, timer, costs, journal
        self.wrong_rounds: tuple[int, ...] = ()

    def subject(self) -> Subject:
        return Subject(self.name, self.prepare)

    def prepare(self, number: int) -> Prepared:
        self.journal.append(f"prepare {self.name} {number}")

        def launch() -> None:
            self.journal.append(f"launch {self.name} {number}")
            self.timer.clock += self.costs(number)

        def check() -> str | None:
            self.journal.append(f"check {self.name} {number}")
            return "wrong" if number in self.wrong_rounds else None

        return Prepared(launch, check)


def two_subjects() -> tuple[ScriptedTimer, list[str], Recorder, Recorder]:
    timer, journal = ScriptedTimer(), []
    fast = Recorder("fast", timer, lambda number: 10.0 + number % 2, journal)
    slow = Recorder("slow", timer, lambda number: 20.0 + 2 * (number % 2), journal)
    return timer, journal, fast, slow


def test_round_prepares_all_then_launches_all_then_checks_all():
    timer, journal, fast, slow = two_subjects()
    measure((fast.subject(), slow.subject()), timer, FEW)
    first = journal[:6]
    assert [line.split()[0] for line in first] == ["prepare", "prepare", "launch", "launch", "check", "check"]
    assert all(line.endswith(" 0") for line in first)


def test_each_round_has_a_new_number_and_warmup_is_not_counted():
    timer, journal, fast, slow = two_subjects()
    timings = measure((fast.subject(), slow.subject()), timer, FEW)
    assert [int(line.split()[2]) for line in journal if line.startswith("prepare fast")] == list(range(9))
    assert [len(timing.samples_us) for timing in timings] == [8, 8]
    assert timings[0].samples_us == (11.0, 10.0) * 4


def test_order_of_subjects_changes_between_rounds_and_repeats_with_the_seed():
    timer, journal, fast, slow = two_subjects()
    measure((fast.subject(), slow.subject()), timer, FEW)
    launches = [line.split()[1] for line in journal if line.startswith("launch")]
    firsts = launches[::2]
    assert set(firsts) == {"fast", "slow"}
    timer, again, fast, slow = two_subjects()
    measure((fast.subject(), slow.subject()), timer, FEW)
    assert again == journal


def test_measuring_stops_once_the_spread_is_small():
    timer, _, fast, _ = two_subjects()
    fast.costs = lambda _: 5.0
    (timing,) = measure((fast.subject(),), timer, Budget(warmup_rounds=2, rounds_min=5, rounds_max=100))
    assert len(timing.samples_us) == 5


def test_measuring_stops_when_its_time_is_up_but_not_before_the_least_rounds():
    timer, _, fast, _ = two_subjects()
    budget = Budget(warmup_rounds=0, rounds_min=7, rounds_max=100, seconds=0.0, spread=0.0)
    (timing,) = measure((fast.subject(),), timer, budget)
    assert len(timing.samples_us) == 7


def test_outputs_that_turn_wrong_after_timing_are_reported_with_their_round():
    timer, _, fast, slow = two_subjects()
    fast.wrong_rounds = (0, 3)
    timings = measure((fast.subject(), slow.subject()), timer, FEW)
    assert timings[0].failures == ("round 0: wrong", "round 3: wrong")
    assert timings[1].failures == ()


def test_speedup_is_taken_over_the_same_rounds():
    timer, _, fast, slow = two_subjects()
    quick, baseline = measure((fast.subject(), slow.subject()), timer, FEW)
    assert speedup(quick, baseline).median == 2.0
    assert speedup(quick, baseline).relative_spread < 1e-12


def test_two_subjects_of_one_name_are_a_bug():
    timer, _, fast, _ = two_subjects()
    with pytest.raises(AssertionError, match="one name"):
        measure((fast.subject(), fast.subject()), timer, FEW)


@pytest.mark.parametrize(
    ("work", "floor", "impossible"),
    [
        (Work(4_000_000, 0), 1.0, 0.8),
        (Work(4_000_000, 60_000_000), 16.0, 0.8),
        (Work(4_000_000, 61_000_000), 16.25, 1.0),
        (Work(4_000_000, 61_000_000, bytes_maybe_read=3_000_000), 16.25, 0.4),
        (Work(4_000_000, 61_000_000, bytes_maybe_written=1_000_000), 16.25, 0.8),
        (Work(0, 0, flops=1e9), 2.0, 1.0),
        (Work(0, 0), 0.0, 0.0),
    ],
)
def test_floor_is_at_measured_ceilings_and_the_impossible_at_peaks(work: Work, floor: float, impossible: float):
    assert floor_us(work, H200) == pytest.approx(floor)
    assert impossible_below_us(work, H200) == pytest.approx(impossible)


def test_units_without_a_known_rate_set_no_floor():
    ceilings = Ceilings(4e12, 5e12, 60_000_000)
    assert floor_us(Work(0, 0, flops=1e15), ceilings) == 0.0


def test_clocks_are_read_from_a_line_of_nvidia_smi():
    assert parse_clocks("1980, 3201, 41, 312.55, 0x0000000000000000\n") == Clocks(
        1980, 3201, 41, 312.55, "0x0000000000000000"
    )


@pytest.mark.parametrize("line", ["", "1980, 3201\n", "[N/A], 3201, 41, 312.55, 0x0\n"])
def test_line_without_clocks_is_no_reading(line: str):
    assert parse_clocks(line) is None


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2]
)
def test_poison_is_nan_in_every_float(dtype: torch.dtype):
    x = torch.zeros(4, 6, dtype=dtype)
    poison(x[:, 1:3])
    assert x[:, 1:3].float().isnan().all()
    assert (x[:, 3:].float() == 0).all()


def test_poison_of_integers_is_all_ones():
    x = torch.zeros(5, dtype=torch.int32)
    poison(x)
    assert (x == -1).all()


def test_poison_of_nothing_is_nothing():
    poison(torch.zeros(0, 3))


@pytest.mark.gpu
def test_copy_runs_near_the_memory_bandwidth_and_below_the_peak():
    ceilings = measure_ceilings()
    assert 0.7 * ceilings.peak_bytes_per_s < ceilings.copy_bytes_per_s < ceilings.peak_bytes_per_s


@pytest.mark.gpu
def test_time_of_a_copy_grows_with_its_bytes_and_an_empty_launch_is_short():
    subjects = (empty_subject(), copy_subject(1 << 26))
    larger = Subject("larger", copy_subject(1 << 28).prepare)
    empty, small, large = measure((*subjects, larger), GpuTimer(), Budget(rounds_min=20, rounds_max=40))
    assert (empty.failures, small.failures, large.failures) == ((), (), ())
    assert empty.estimate_us.median < 15
    # Four times the bytes; the small copy's writes may stay in the cache, and both have the launch in them.
    assert 2.5 < large.estimate_us.median / small.estimate_us.median < 8


@pytest.mark.gpu
def test_cache_is_flushed_so_that_a_small_read_comes_from_memory():
    # 32 MiB lie well inside the L2: read again without a flush they take far less than memory allows.
    def prepare(number: int) -> Prepared:
        source = torch.full((1 << 23,), float(number), device="cuda")
        total = torch.zeros((), device="cuda")

        def launch() -> None:
            torch.sum(source, dim=0, out=total)

        return Prepared(launch, lambda: None)

    ceilings = measure_ceilings()
    (timing,) = measure((Subject("sum", prepare),), GpuTimer(), Budget(rounds_min=20, rounds_max=20))
    assert timing.estimate_us.median > impossible_below_us(Work(1 << 25, 4), ceilings)


@pytest.mark.gpu
def test_kernel_and_library_are_timed_on_the_same_values_and_both_are_right():
    kernel = GpuKernel(SCALE_ABI, compile_cuda(SCALE, NvrtcOptions("sm_90a")).cubin, 0)

    def arguments(number: int) -> dict[str, object]:
        generator = torch.Generator("cuda").manual_seed(number)
        return {"x": torch.randn(1 << 24, device="cuda", generator=generator), "factor": 3.0}

    def library(given: Mapping[str, object]) -> object:
        return given["x"] * given["factor"]

    def check(given: Mapping[str, object], got: object) -> str | None:
        out = got["out"] if isinstance(got, Mapping) else got
        return None if torch.equal(out, library(given)) else "not the product"

    subjects = (
        kernel_subject("kernel", kernel, signature_of(SCALE_ABI), arguments, check),
        function_subject("torch", library, arguments, check),
        copy_subject(2 << 26),
    )
    ours, theirs, copy = measure(subjects, GpuTimer(), Budget(rounds_min=20, rounds_max=40))
    assert (ours.failures, theirs.failures, copy.failures) == ((), (), ())
    assert 0.2 < speedup(ours, theirs).median < 2.0  # one element a thread, against a library's vectors
    assert ours.estimate_us.median > impossible_below_us(Work(1 << 26, 1 << 26), measure_ceilings())


@pytest.mark.gpu
def test_kernel_that_leaves_its_output_unwritten_is_found():
    kernel = GpuKernel(
        SCALE_ABI, compile_cuda(SCALE.replace("if (i < n)", "if (i < n - 1)"), NvrtcOptions("sm_90a")).cubin, 0
    )
    subject = kernel_subject(
        "lazy",
        kernel,
        signature_of(SCALE_ABI),
        lambda number: {"x": torch.full((1000,), float(number), device="cuda"), "factor": 1.0},
        lambda given, outputs: None if torch.equal(outputs["out"], given["x"]) else "not the product",
    )
    (timing,) = measure((subject,), GpuTimer(), Budget(warmup_rounds=0, rounds_min=3, rounds_max=3))
    assert len(timing.failures) == 3


@pytest.mark.gpu
def test_clocks_can_be_read():
    clocks = read_clocks()
    assert clocks is None or clocks.sm_mhz > 0


def test_timing_without_samples_is_a_bug():
    with pytest.raises(AssertionError, match="no samples"):
        SubjectTiming("none", (), ()).estimate_us  # noqa: B018
