"""Tools of the server without a transport: long work becomes a job that is polled and cancelled."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentkern.tools.artifacts import ArtifactStore
from agentkern.tools.server import tools
from agentkern.tools.server.jobs import JobStore
from agentkern.tools.server.tools import TOOLS, Services
from agentkern.tools.sources import UsageError
from tests.tools.kernel_texts import RMS_NORM


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Services:
    monkeypatch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path))
    return Services(JobStore(tmp_path, "package"), ArtifactStore(tmp_path / "artifacts"))


def call(services: Services, name: str, **arguments: object) -> dict[str, object]:
    """Answer one call, keeping no progress."""
    row = TOOLS[name]

    async def ignore(_fraction: float | None, _message: str) -> None:
        return

    return asyncio.run(row.answer(row.arguments.model_validate(arguments), services, ignore))


@pytest.mark.toolchain
def test_work_that_takes_long_answers_with_a_job_that_can_be_cancelled(
    services: Services, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(tools, "WAIT_S", 0.2)
    answer = call(services, "ak_verify", source=RMS_NORM, dims={"H": 7168}, level="full")
    assert answer["status"] == "ok"
    assert answer["state"] in ("queued", "running")
    job_id = str(answer["job_id"])
    assert job_id in str(answer["summary"])
    polled = call(services, "ak_job", job_id=job_id, wait_s=0)
    assert polled["state"] in ("queued", "running")
    assert call(services, "ak_job", job_id=job_id, cancel=True)["state"] == "cancelled"


def test_the_longest_wait_leaves_time_within_the_bound_of_a_call():
    assert tools.WAIT_S < 25


def test_a_job_that_does_not_exist_is_misuse(services: Services):
    with pytest.raises(UsageError, match="no job"):
        call(services, "ak_job", job_id="0" * 16)


def test_artifacts_are_read_in_slices(services: Services):
    kept = services.artifacts.put("cuda", b"one\ntwo\nthree\nfour\n")
    answer = call(services, "ak_read", id=kept.id, first_line=2, n_lines=2)
    assert answer["text"] == "two\nthree"
    assert "first_line=4" in str(answer["summary"])
    with pytest.raises(UsageError, match=r"outside 1\.\.4"):
        call(services, "ak_read", id=kept.id, first_line=5)


def test_a_binary_artifact_is_not_shown_as_text(services: Services):
    kept = services.artifacts.put("cubin", b"\x7fELF")
    with pytest.raises(UsageError, match="binary"):
        call(services, "ak_read", id=kept.id)
