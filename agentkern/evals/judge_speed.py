"""The `speed` check: a right submission timed at the task's bench sizes on a GPU, beside baselines of equal precision.

A time below what any correct program can take is a defect of the submission or of the measurement, never a win.
"""

from __future__ import annotations

from agentkern.evals.candidates.protocol import Candidate, Times
from agentkern.evals.records import Timing
from agentkern.evals.task_model import Task
from agentkern.tools.verify_model import ExecutionError
from agentkern.tools.verify_subject import Outcome, failed, not_applicable, not_run, passed


def check_speed(task: Task, candidate: Candidate) -> tuple[Outcome, tuple[Timing, ...]]:
    """Time at every bench size. Errors: CandidateUnavailable."""
    if candidate.device == "cpu":
        return not_applicable("speed", "times are taken on a GPU"), ()
    if not isinstance(candidate, Times):
        return not_run("speed", f"nothing here times {candidate.language}"), ()
    found: list[Timing] = []
    for sizes in task.shapes.bench:
        where = ", ".join(f"{name}={n}" for name, n in sizes.items())
        try:
            timing = candidate.time(sizes)
        except ExecutionError as e:
            return failed("speed", f"{where}: {e}"), tuple(found)
        found.append(timing)
        if timing.median_us < timing.least_us:
            least = f"{timing.least_us:.2f} us, the least that any correct program takes"
            return failed("speed", f"{where}: {timing.median_us:.2f} us is below {least}"), tuple(found)
    return passed("speed", f"timed at {len(found)} sizes, none below what is possible"), tuple(found)
