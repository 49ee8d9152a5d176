"""The architecture that a candidate is built for."""

from __future__ import annotations

from typing import Literal

from agentkern.evals.candidates.protocol import CandidateUnavailable
from agentkern.runtime.driver import DriverError, NoDriver, gpu_target

SIMULATED = "sm_90a"  # what the CPU simulator stands for


def target_of(device: Literal["cpu", "cuda"]) -> str:
    """Return the target to build for. Errors: CandidateUnavailable without a GPU that a target fits."""
    if device == "cpu":
        return SIMULATED
    try:
        return gpu_target()
    except (NoDriver, DriverError) as e:
        raise CandidateUnavailable(str(e)) from e
