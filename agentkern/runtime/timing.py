"""Time kernels against each other under one protocol, and say what the times are worth.

Each round makes fresh inputs, poisons every output, and times every subject once in an order drawn anew, the cache
flushed before each; outputs are checked after timing, in the same round. Knows no GPU: the timer does, see
`gpu_timer.py`. The interval is that of `statistics.py`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from agentkern.runtime.statistics import Estimate, median_estimate, ratio_estimate


@dataclass(frozen=True, slots=True)
class Prepared:
    """One subject on one round's tensors, outputs poisoned. `launch` only enqueues work.

    `check` says what is wrong with the outputs, None when they are right; it runs after timing.
    """

    launch: Callable[[], None]
    check: Callable[[], str | None]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is timed. `prepare` gets the round's number: a new one means new addresses and new values."""

    name: str
    prepare: Callable[[int], Prepared]


@dataclass(frozen=True, slots=True)
class Work:
    """What a program of some results does at least. `flops` counts a multiply-add as two.

    `bytes_maybe_read`, `bytes_maybe_written`: how many of the bytes depend on values (gathered by indices, behind
    masks, in loops that may end early), so that some inputs need none of them.
    """

    bytes_read: int
    bytes_written: int
    flops: float = 0.0
    bytes_maybe_read: int = 0
    bytes_maybe_written: int = 0

    @property
    def bytes_moved(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What the machine can do: measured for the floor, the vendor's peaks for what is impossible."""

    copy_bytes_per_s: float
    peak_bytes_per_s: float
    l2_bytes: int
    flops_per_s: float | None = None
    peak_flops_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """How long to go on: until the spread of every subject is below `spread`, within the other bounds."""

    warmup_rounds: int = 3
    rounds_min: int = 20
    rounds_max: int = 200
    seconds: float = 10.0
    spread: float = 0.005


@dataclass(frozen=True, slots=True)
class SubjectTiming:
    """Times of one subject in the order of the rounds; `failures` are what its checks found, with the round."""

    name: str
    samples_us: tuple[float, ...]
    failures: tuple[str, ...]

    @property
    def estimate_us(self) -> Estimate:
        """Median and interval."""
        return median_estimate(self.samples_us)


class Timer(Protocol):
    """How one launch is timed."""

    def time_us(self, launch: Callable[[], None]) -> float:
        """Flush the cache, run `launch` and return its time on the device."""
        ...


def measure(subjects: tuple[Subject, ...], timer: Timer, budget: Budget, seed: int = 0) -> tuple[SubjectTiming, ...]:
    """Time all subjects, interleaved; in the order of `subjects`."""
    shuffle = random.Random(seed)
    samples: dict[str, list[float]] = {subject.name: [] for subject in subjects}
    failures: dict[str, list[str]] = {subject.name: [] for subject in subjects}
    assert len(samples) == len(subjects), "two subjects of one name"
    started = time.monotonic()
    for number in range(budget.warmup_rounds + budget.rounds_max):
        # The last round's tensors live until these are made, so that these cannot have their addresses.
        prepared = {subject.name: subject.prepare(number) for subject in subjects}
        order = [subject.name for subject in subjects]
        shuffle.shuffle(order)
        times = {name: timer.time_us(prepared[name].launch) for name in order}
        for name, ready in prepared.items():
            problem = ready.check()
            if problem is not None:
                failures[name].append(f"round {number}: {problem}")
        if number >= budget.warmup_rounds:
            for name, time_us in times.items():
                samples[name].append(time_us)
            if _enough(samples, budget, time.monotonic() - started):
                break
    return tuple(SubjectTiming(s.name, tuple(samples[s.name]), tuple(failures[s.name])) for s in subjects)


def speedup(subject: SubjectTiming, baseline: SubjectTiming) -> Estimate:
    """Estimate how many times as fast as `baseline` the subject is, from the rounds that both were in."""
    return ratio_estimate(baseline.samples_us, subject.samples_us)


def floor_us(work: Work, ceilings: Ceilings) -> float:
    """Return the time that the work takes at the measured ceilings, whichever binds."""
    by_memory = work.bytes_moved / ceilings.copy_bytes_per_s
    by_units = work.flops / ceilings.flops_per_s if ceilings.flops_per_s else 0.0
    return max(by_memory, by_units) * 1e6


def impossible_below_us(work: Work, ceilings: Ceilings) -> float:
    """Return the time that no correct program can beat: a smaller one is an error of the measurement or a cheat.

    Inputs come from memory, for the cache was flushed; writes up to the cache's size may still lie there at the end.
    What depends on values is not counted. Peaks are the vendor's, not those measured.
    """
    must_write = work.bytes_written - work.bytes_maybe_written
    must_move = work.bytes_read - work.bytes_maybe_read + max(0, must_write - ceilings.l2_bytes)
    by_memory = must_move / ceilings.peak_bytes_per_s
    by_units = work.flops / ceilings.peak_flops_per_s if ceilings.peak_flops_per_s else 0.0
    return max(by_memory, by_units) * 1e6


def _enough(samples: dict[str, list[float]], budget: Budget, elapsed_s: float) -> bool:
    rounds = min(len(times) for times in samples.values())
    if rounds < budget.rounds_min:
        return False
    if elapsed_s >= budget.seconds:
        return True
    # The bootstrap costs milliseconds, so it is not done at every round.
    if rounds % budget.rounds_min:
        return False
    return all(median_estimate(tuple(times)).relative_spread <= budget.spread for times in samples.values())
