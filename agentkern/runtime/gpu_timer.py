"""Time launches with device events through torch: flushed cache, queue kept full, clocks read and never set.

The protocol above it is `timing.py`. Uses only public torch.cuda functions, so that it runs wherever the baselines do.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import torch

from agentkern.compiler.targets.limits import REFERENCE_DEVICES
from agentkern.runtime.driver import driver
from agentkern.runtime.gpu_subjects import copy_subject
from agentkern.runtime.statistics import median_estimate
from agentkern.runtime.timing import Ceilings

# The flush reads this many times the L2, so that nothing of before is left whatever the replacement policy.
_FLUSH_L2_MULTIPLE = 4
_QUEUE_ATTEMPTS = 6
_COPY_CEILING_BYTES = 1 << 30
_COPY_CEILING_RUNS = 20
_CLOCK_FIELDS = ("clocks.sm", "clocks.mem", "temperature.gpu", "power.draw", "clocks_event_reasons.active")


class QueueDrained(Exception):
    """The GPU waited for the host inside the timed stretch, at every attempt: the launch is too slow to time."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """A reading of nvidia-smi; `reasons` is the bit mask of what held the clocks down."""

    sm_mhz: int
    memory_mhz: int
    temperature_c: int
    power_w: float
    reasons: str


class GpuTimer:
    """Times launches on the current stream of one GPU."""

    def __init__(self, device_index: int = 0) -> None:
        self._device = torch.device("cuda", device_index)
        l2_bytes = torch.cuda.get_device_properties(self._device).L2_cache_size
        self._flush_source = torch.zeros(_FLUSH_L2_MULTIPLE * l2_bytes // 4, device=self._device)
        self._flush_result = torch.zeros((), device=self._device)
        self._flush_passes = 2

    def time_us(self, launch: Callable[[], None]) -> float:
        """Return the time of `launch` on the device, between two events.

        The flush keeps the GPU busy while the host enqueues what is timed; where the host was too slow the sample is
        taken again behind a longer flush.
        Errors: QueueDrained.
        """
        for _ in range(_QUEUE_ATTEMPTS):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            for _ in range(self._flush_passes):
                # Reads leave clean lines: a flush by writing would have its lines written back during the timed kernel.
                torch.sum(self._flush_source, dim=0, out=self._flush_result)
            start.record()
            launch()
            end.record()
            host_was_ahead = not start.query()
            end.synchronize()
            if host_was_ahead:
                return start.elapsed_time(end) * 1e3
            self._flush_passes *= 2
        self._flush_passes = 2
        raise QueueDrained(f"the launch takes longer on the host than {_FLUSH_L2_MULTIPLE << _QUEUE_ATTEMPTS} L2 reads")


def measure_ceilings(device_index: int = 0) -> Ceilings:
    """Measure the copy bandwidth of this GPU now; peaks are the vendor's where the target table has the device."""
    info = driver().info(device_index)
    timer, copy = GpuTimer(device_index), copy_subject(2 * _COPY_CEILING_BYTES, device_index)
    prepared = copy.prepare(0)
    samples = tuple(timer.time_us(prepared.launch) for _ in range(_COPY_CEILING_RUNS))
    problem = prepared.check()
    assert problem is None, problem
    bytes_per_s = 2 * _COPY_CEILING_BYTES / (median_estimate(samples[3:]).median * 1e-6)
    reference = REFERENCE_DEVICES.get(info.target or "")
    known = reference is not None and reference.sm_count == info.sm_count
    return Ceilings(
        copy_bytes_per_s=bytes_per_s,
        # No copy reaches the peak; where the peak is not known, nothing is called impossible that beats a copy by less.
        peak_bytes_per_s=reference.memory_bytes_per_s if reference and known else 1.25 * bytes_per_s,
        l2_bytes=info.l2_bytes,
        # 8-bit types run at twice the rate of 16-bit ones, and nothing here runs faster.
        peak_flops_per_s=2 * reference.bf16_flops_dense if reference and known else None,
    )


def read_clocks(device_index: int = 0) -> Clocks | None:
    """Read clocks, temperature and power now; None where nvidia-smi does not tell."""
    # Torch and nvidia-smi may count the GPUs differently; the identifier is the same.
    gpu = f"GPU-{torch.cuda.get_device_properties(device_index).uuid}"
    fields = ",".join(_CLOCK_FIELDS)
    command = ["nvidia-smi", f"--id={gpu}", f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_clocks(done.stdout)


def parse_clocks(line: str) -> Clocks | None:
    """Read one line of nvidia-smi's table; None when a field says that it is not supported."""
    fields = [field.strip() for field in line.strip().split(",")]
    if len(fields) != len(_CLOCK_FIELDS):
        return None
    try:
        return Clocks(int(fields[0]), int(fields[1]), int(fields[2]), float(fields[3]), fields[4])
    except ValueError:
        return None
