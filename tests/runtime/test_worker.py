"""Whatever a job does, its caller gets a result or a reason, and the next job runs."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from agentkern.runtime.wire import NotPlain
from agentkern.runtime.worker import JobFailed, Worker, worker_environment

NAMES = (
    "echo", "pid", "count", "fail", "crash", "leave", "hang", "hang_with_child", "fill", "large", "environment",
    "streams",
)  # fmt: skip
JOBS = {name: f"tests.runtime.worker_jobs:{name}" for name in NAMES}
# Long enough for a busy machine; nothing waits for it unless a test fails.
AMPLE_S = 60.0


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(JOBS, os.environ, max_result_bytes=1 << 20)
    yield made
    made.close()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:  # noqa: PTH123
        return stat.read().rpartition(")")[2].split()[0] != "Z"


def test_result_comes_back(worker: Worker):
    payload = {"a": [1, 2.5, None, True], "b": b"\x00\xff", "c": {"d": "text"}}
    assert worker.run_job("echo", payload, timeout_s=AMPLE_S) == payload


def test_process_stays_for_the_next_job(worker: Worker):
    first, second = (worker.run_job("pid", None, timeout_s=AMPLE_S) for _ in range(2))
    assert first == second != os.getpid()


def test_progress_arrives_in_order(worker: Worker):
    seen: list[int] = []
    assert worker.run_job("count", 5, timeout_s=AMPLE_S, on_progress=seen.append) == 5
    assert seen == [0, 1, 2, 3, 4]


def test_exception_is_reported_with_its_traceback(worker: Worker):
    failed = worker.run_job("fail", "no such tile", timeout_s=AMPLE_S)
    assert isinstance(failed, JobFailed)
    assert failed.kind == "raised"
    assert "worker_jobs.py" in failed.detail
    assert failed.detail.endswith("ValueError: no such tile")


def test_crash_is_reported_with_its_signal(worker: Worker):
    failed = worker.run_job("crash", None, timeout_s=AMPLE_S)
    assert isinstance(failed, JobFailed)
    assert failed.kind == "crashed"
    assert "SIGSEGV" in failed.detail


def test_silent_end_is_reported_with_its_code(worker: Worker):
    failed = worker.run_job("leave", 7, timeout_s=AMPLE_S)
    assert failed == JobFailed("crashed", "the job's process ended with exit code 7")


def test_hang_is_ended_after_the_time_allowed(worker: Worker):
    before = time.monotonic()
    failed = worker.run_job("hang", None, timeout_s=1.0)
    assert isinstance(failed, JobFailed)
    assert failed.kind == "timed_out"
    assert time.monotonic() - before < AMPLE_S


def test_processes_that_a_job_started_end_with_it(worker: Worker):
    children: list[int] = []

    def cancel_once_started(child: int) -> None:
        children.append(child)
        worker.cancel()

    worker.run_job("hang_with_child", None, timeout_s=AMPLE_S, on_progress=cancel_once_started)
    (child,) = children
    deadline = time.monotonic() + AMPLE_S
    while is_running(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(child)


def test_memory_past_the_bound_is_reported_and_within_it_is_not(worker: Worker):
    allowed = worker.run_job("fill", 1 << 26, timeout_s=AMPLE_S, memory_bytes=1 << 29)
    failed = worker.run_job("fill", 1 << 30, timeout_s=AMPLE_S, memory_bytes=1 << 29)
    assert allowed == 1 << 26
    assert isinstance(failed, JobFailed)
    assert failed.kind == "out_of_memory"


def test_result_past_the_bound_is_reported_and_within_it_is_not(worker: Worker):
    assert worker.run_job("large", 1000, timeout_s=AMPLE_S) == bytes(1000)
    failed = worker.run_job("large", 2 << 20, timeout_s=AMPLE_S)
    assert isinstance(failed, JobFailed)
    assert failed.kind == "too_large"


@pytest.mark.parametrize(("job", "payload"), [("fail", "x"), ("crash", None), ("leave", 0), ("leave", 1)])
def test_next_job_runs_after_a_failure(worker: Worker, job: str, payload: object):
    assert isinstance(worker.run_job(job, payload, timeout_s=AMPLE_S), JobFailed)
    assert worker.run_job("echo", 1, timeout_s=AMPLE_S) == 1


def test_job_sees_the_allowed_environment_only(monkeypatch: pytest.MonkeyPatch):
    made = Worker(JOBS, {**os.environ, "SECRET_TOKEN": "hidden", "AGENTKERN_CACHE_DIR": "/somewhere"})
    seen = made.run_job("environment", None, timeout_s=AMPLE_S)
    made.close()
    assert "SECRET_TOKEN" not in seen
    assert seen["AGENTKERN_CACHE_DIR"] == "/somewhere"


def test_environment_leads_to_this_package_first():
    paths = worker_environment({"PYTHONPATH": "/elsewhere"})["PYTHONPATH"].split(os.pathsep)
    assert paths[1:] == ["/elsewhere"]


def test_job_has_no_input_and_its_output_does_no_harm(worker: Worker):
    assert worker.run_job("streams", None, timeout_s=AMPLE_S) == ""


def test_cancelled_job_says_so():
    made = Worker(JOBS, os.environ)
    outcomes: list[object] = []
    begun = threading.Event()

    def run() -> None:
        outcomes.append(made.run_job("hang", None, timeout_s=AMPLE_S, on_progress=lambda _: begun.set()))

    thread = threading.Thread(target=run)
    thread.start()
    assert begun.wait(AMPLE_S)
    made.cancel()
    thread.join(AMPLE_S)
    made.close()
    assert outcomes == [JobFailed("cancelled", "the job was cancelled")]


def test_job_that_is_not_in_the_table_is_the_callers_error(worker: Worker):
    with pytest.raises(KeyError):
        worker.run_job("rm", None, timeout_s=AMPLE_S)


def test_payload_that_is_not_plain_is_the_callers_error(worker: Worker):
    with pytest.raises(NotPlain):
        worker.run_job("echo", object(), timeout_s=AMPLE_S)


def test_a_lower_bound_on_memory_than_asked_for_is_kept():
    code = (
        "import os, resource\n"
        "resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))\n"
        "from agentkern.runtime.worker import Worker\n"
        f"worker = Worker({JOBS!r}, os.environ)\n"
        "print(worker.run_job('fill', 1 << 20, timeout_s=60, memory_bytes=8 << 30))\n"
        "worker.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "JobFailed" not in done.stdout
