"""Jobs: equal calls share one, it outlives who started it, it can be cancelled, and a dead one is told as lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from agentkern.tools.server.jobs import JobStore, JobView
from agentkern.tools.server.slots import count_slots, take_slot
from tests.tools.kernel_texts import RMS_NORM

REQUEST = {"source": RMS_NORM, "dims": {"H": 8}, "target": "sm_90a", "numerics": "portable", "schedule": None}
SLOW = {"source": RMS_NORM, "dims": {"H": 7168}, "level": "full", "device": "cpu", "reference": None}


def wait_for(store: JobStore, job_id: str, states: tuple[str, ...]) -> JobView:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        view = store.view(job_id)
        assert view is not None
        if view.state in states:
            return view
        time.sleep(0.02)
    raise AssertionError(f"job {job_id} did not reach {states}")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobStore:
    monkeypatch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path))
    return JobStore(tmp_path, "package")


@pytest.mark.toolchain
def test_equal_calls_share_one_job_and_any_server_sees_its_answer(store: JobStore, tmp_path: Path):
    job_id = store.submit("compile", REQUEST)
    assert store.submit("compile", dict(reversed(REQUEST.items()))) == job_id
    assert store.submit("compile", REQUEST | {"dims": {"H": 9}}) != job_id
    wait_for(store, job_id, ("done",))
    view = JobStore(tmp_path, "package").view(job_id)
    assert view is not None
    assert view.result is not None
    assert view.result["status"] == "ok"


@pytest.mark.toolchain
def test_a_job_is_cancelled_and_can_be_started_again(store: JobStore):
    job_id = store.submit("verify", SLOW)
    wait_for(store, job_id, ("running",))
    cancelled = store.cancel(job_id)
    assert cancelled is not None
    assert cancelled.state == "cancelled"
    assert store.submit("verify", SLOW) == job_id
    assert wait_for(store, job_id, ("queued", "running")).state != "cancelled"
    store.cancel(job_id)


@pytest.mark.toolchain
def test_a_job_whose_process_died_is_lost(store: JobStore, tmp_path: Path):
    job_id = store.submit("verify", SLOW)
    wait_for(store, job_id, ("running",))
    os.kill(int((tmp_path / "jobs" / job_id / "pid").read_text(encoding="ascii")), signal.SIGKILL)
    assert wait_for(store, job_id, ("lost", "done")).state == "lost"


def test_a_wrong_kernel_is_an_answer_like_any_other(store: JobStore):
    job_id = store.submit("compile", REQUEST | {"source": "x = ("})
    view = wait_for(store, job_id, ("done",))
    assert view.result is not None
    assert view.result["status"] == "rejected"
    assert store.cancel(job_id) == view


@pytest.mark.parametrize("job_id", ["", "../../etc", "0" * 16, "g" * 16, "0" * 15 + "\n"])
def test_an_id_that_is_none_has_no_job(store: JobStore, job_id: str):
    assert store.view(job_id) is None
    assert store.cancel(job_id) is None


def test_a_worker_sees_a_short_list_of_variables(store: JobStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("AGENTKERN_TEST_SECRET", "hidden")
    job_id = store.submit("compile", REQUEST | {"dims": {"H": 10}})
    environ = Path("/proc") / (tmp_path / "jobs" / job_id / "pid").read_text(encoding="ascii") / "environ"
    assert b"AGENTKERN_TEST_SECRET" not in environ.read_bytes()
    store.cancel(job_id)


def test_a_worker_reaches_no_network_where_the_system_allows():
    script = (
        "import socket\nfrom agentkern.tools.server.worker import leave_network\n"
        "listening = socket.create_server(('127.0.0.1', 0))\nport = listening.getsockname()[1]\n"
        "left = leave_network()\n"
        "try:\n    socket.create_connection(('127.0.0.1', port), timeout=1)\n    reached = True\n"
        "except OSError:\n    reached = False\n"
        "print(left, reached)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert out in (["True", "False"], ["False", "True"])


@contextmanager
def all_slots_taken(tmp_path: Path) -> Generator[None]:
    """As many jobs as may run at once."""
    (tmp_path / "jobs").mkdir(parents=True, exist_ok=True)
    with ExitStack() as taken:
        for _ in range(count_slots()):
            taken.enter_context(take_slot(tmp_path / "jobs", "compile", {}))
        yield


OUTSIDE = RMS_NORM.replace("x[t, :]", "x[t + 1, :]")


@pytest.mark.parametrize(
    ("tool", "change"),
    [
        ("compile", {"source": "x = ("}),
        ("compile", {"source": OUTSIDE}),
        ("verify", {"source": OUTSIDE}),
        ("verify", {"reference": "x = ("}),
    ],
)
def test_what_is_refused_waits_for_no_other_job(store: JobStore, tmp_path: Path, tool: str, change: dict[str, str]):
    request = {"compile": REQUEST, "verify": SLOW | {"dims": {"H": 8}}}[tool] | change
    with all_slots_taken(tmp_path):
        view = wait_for(store, store.submit(tool, request), ("done",))
    assert view.result is not None
    assert view.result["status"] in ("rejected", "failed")
    assert view.result["diagnostics"]


def test_a_right_kernel_waits_for_a_slot(store: JobStore, tmp_path: Path):
    with all_slots_taken(tmp_path):
        job_id = store.submit("compile", REQUEST)
        wait_for(store, store.submit("compile", {**REQUEST, "source": "x = ("}), ("done",))
        view = store.view(job_id)
        assert view is not None
        assert view.state == "queued"
    wait_for(store, job_id, ("running", "done"))
    store.cancel(job_id)


@pytest.mark.toolchain
def test_two_jobs_run_at_once(store: JobStore):
    jobs = [store.submit("verify", SLOW), store.submit("verify", SLOW | {"dims": {"H": 7160}})]
    for job_id in jobs:
        wait_for(store, job_id, ("running",))
    states = [view.state for job_id in jobs if (view := store.view(job_id)) is not None]
    for job_id in jobs:
        store.cancel(job_id)
    assert states == ["running", "running"]
