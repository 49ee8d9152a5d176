"""What code in the isolated worker can reach: nothing but its argument and its result."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentkern.evals.candidates.confine import Limits, not_confined
from agentkern.evals.candidates.isolated import Isolation
from agentkern.evals.candidates.isolated_main import UNCONFINED, installed
from agentkern.evals.candidates.protocol import CandidateUnavailable
from agentkern.runtime.worker import JobFailed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement is Linux's")

JOBS = "tests.evals.candidates.hostile_jobs"


@pytest.fixture(scope="module")
def isolation() -> Iterator[Isolation]:
    made = Isolation()
    yield made
    made.close()


def run(isolation: Isolation, job: str, argument: Any = None, **limits: Any) -> Any:
    limits = {"seconds": 20.0, **limits}
    return isolation.run(f"{JOBS}:{job}", argument, Limits(**limits), 1 << 16, readable=[Path(__file__).parent])


def failure(isolation: Isolation, job: str, argument: Any = None, **limits: Any) -> str:
    outcome = run(isolation, job, argument, **limits)
    assert isinstance(outcome, JobFailed), outcome
    return f"{outcome.kind}: {outcome.detail.splitlines()[-1]}"


def test_a_job_returns_plain_data(isolation: Isolation):
    assert run(isolation, "echo", {"a": [1, b"\0\1", None]}) == {"a": [1, b"\0\1", None]}


def test_a_run_leaves_nothing_for_the_next(isolation: Isolation):
    assert [run(isolation, "leave_a_trace") for _ in range(2)] == ["nothing", "nothing"]


def test_it_runs_in_an_empty_folder_of_its_own_that_goes_away(isolation: Isolation, monkeypatch: pytest.MonkeyPatch):
    seen = run(isolation, "where_am_i")
    assert seen["files"] == []
    assert not Path(seen["folder"]).exists()


def test_it_sees_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    made = Isolation()
    try:
        assert "secret" not in run(made, "where_am_i")["environment"].values()
    finally:
        made.close()


def test_files_of_the_harness_cannot_be_read(isolation: Isolation, tmp_path: Path):
    secret = tmp_path / "expected.npz"
    secret.write_text("the answer")
    assert "PermissionError" in failure(isolation, "read_file", str(secret))
    root = Path(__file__).parents[3]
    assert "PermissionError" in failure(isolation, "read_file", str(root / "pyproject.toml"))


def test_files_of_the_harness_cannot_be_written(isolation: Isolation, tmp_path: Path):
    assert "PermissionError" in failure(isolation, "write_file", str(tmp_path / "left"))
    package = Path(__file__).parents[3] / "agentkern" / "left"
    assert "PermissionError" in failure(isolation, "write_file", str(package))
    assert not package.exists()


def test_the_parents_memory_cannot_be_read(isolation: Isolation):
    assert "PermissionError" in failure(isolation, "read_the_parents_memory")


@pytest.mark.parametrize(
    "job", ["fork", "start_a_program", "connect", "kill_the_parent", "signal_the_parent_by_thread"]
)
def test_other_processes_and_the_network_are_out_of_reach(isolation: Isolation, job: str):
    assert failure(isolation, job) == "crashed: its process ended with SIGSYS: a system call that is not allowed"


def test_what_a_gpus_driver_needs_reaches_nothing_else(isolation: Isolation):
    """CUDA's driver makes a socket and writes its threads' names, or does not start."""
    assert run(isolation, "name_itself", "/proc/self/comm", uses_gpu=True) == "written"
    assert "PermissionError" in failure(isolation, "name_itself", f"/proc/{os.getpid()}/comm", uses_gpu=True)
    assert "PermissionError" in failure(isolation, "name_itself", "/proc/sys/kernel/core_pattern", uses_gpu=True)
    made = run(isolation, "make_a_socket", uses_gpu=True)
    assert made == "made" or "Operation not permitted" in made.detail  # the second where there is no namespace
    for job in ("connect", "fork", "start_a_program", "kill_the_parent"):
        assert "Operation not permitted" in failure(isolation, job, uses_gpu=True)


@pytest.mark.parametrize(
    "job",
    [
        "bound_the_parent",
        "pin_the_parent",
        "slow_the_parent",
        "have_the_parent_signalled",
        "take_memory_that_no_limit_counts",
    ],
)
def test_no_other_process_is_bounded_slowed_or_signalled(isolation: Isolation, job: str):
    assert run(isolation, job) == "EPERM"
    assert run(isolation, "bound_itself") == "done"


def test_nothing_stays_in_the_systems_memory(isolation: Isolation):
    assert failure(isolation, "leave_shared_memory").endswith("SIGSYS: a system call that is not allowed")


def test_shared_memory_is_bounded_too(isolation: Isolation):
    assert "Cannot allocate memory" in failure(isolation, "map_shared", 2 << 30, memory_bytes=1 << 30)
    assert run(isolation, "map_shared", 1 << 20, memory_bytes=1 << 30) == 1 << 20


def test_where_nothing_confines_nothing_foreign_runs():
    needed = Limits()
    assert not_confined(needed, ("files", "calls")) == ""
    assert "Landlock" in not_confined(needed, ("network", "calls"))
    assert "seccomp" in not_confined(needed, ("files", "network"))
    assert not_confined(Limits(may_execute=True), ("files", "network")) == ""
    assert "namespaces" in not_confined(Limits(may_execute=True), ("files",))


def test_a_copy_that_is_not_confined_gives_no_verdict(isolation: Isolation):
    with pytest.raises(CandidateUnavailable, match="this system cannot keep it from"):
        run(isolation, "exit_at_once", UNCONFINED)


def test_ending_the_process_is_no_result(isolation: Isolation):
    assert failure(isolation, "exit_at_once", 0).startswith("crashed: what it sent back is no result")
    assert failure(isolation, "exit_at_once", 7) == "crashed: its process ended with exit code 7"


def test_a_forged_message_is_no_result(isolation: Isolation):
    assert failure(isolation, "forge_a_result").startswith("crashed: what it sent back is no result")


def test_an_endless_job_is_ended(isolation: Isolation):
    started = time.monotonic()
    assert failure(isolation, "never_end", seconds=1.0) == "timed_out: it did not end within 1 s"
    assert time.monotonic() - started < 5


def test_a_thread_that_goes_on_ends_with_its_process(isolation: Isolation):
    assert run(isolation, "end_while_a_thread_runs") == "ended"


def test_too_long_a_result_is_refused(isolation: Isolation):
    assert failure(isolation, "say_too_much", 8 << 20) == "too_large: it wrote more than its outputs hold"


def test_too_much_memory_is_refused(isolation: Isolation):
    assert failure(isolation, "take_memory", 3 << 30, memory_bytes=1 << 30).startswith("out_of_memory")


def test_what_is_printed_goes_nowhere(isolation: Isolation):
    assert run(isolation, "write_to_standard_output") == "done"


def test_an_error_is_told(isolation: Isolation):
    assert failure(isolation, "raise_an_error", "no such axis") == "raised: ValueError: no such axis"


def test_no_process_is_left(isolation: Isolation):
    failure(isolation, "never_end", seconds=0.3)
    names = [p.name for p in Path("/proc").iterdir() if p.name.isdigit()]
    mine = [int(name) for name in names if _parent_of(name) == os.getpid()]
    assert all(_children_of(pid, names) == [] for pid in mine)


def _parent_of(pid: str) -> int:
    try:
        return int((Path("/proc") / pid / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _children_of(pid: int, names: list[str]) -> list[str]:
    return [name for name in names if _parent_of(name) == pid]


def test_packages_are_found_wherever_they_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "site" / "thing-1.dist-info").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    monkeypatch.setattr(sys, "path", ["", *(str(tmp_path / name) for name in ("site", "plain", "missing"))])
    assert list(installed()) == [str(tmp_path / "site")]
