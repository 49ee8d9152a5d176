"""An exception of ours is AK901 in the answer of every tool: never a traceback, never a lost job."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import cast

import mcp_types as types
import pytest

from agentkern.runtime import programs
from agentkern.tools.api import CompileRequest, GivenInputs, RunRequest, VerifyRequest, compile, run, verify
from agentkern.tools.artifacts import ArtifactStore
from agentkern.tools.server import tools, worker
from agentkern.tools.server.jobs import JobStore
from agentkern.tools.server.stdio import Context, ToolServer
from agentkern.tools.server.tools import Services
from tests.tools.kernel_texts import RMS_NORM

DIMS = {"H": 64, "T": 2}


def broken(*_: object, **__: object) -> None:
    raise AssertionError("impossible")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_compile_run_and_verify_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(programs, "compile_kernel", broken)
    answers = [
        compile(CompileRequest(source=RMS_NORM, dims={"H": 64})).result,
        run(RunRequest(source=RMS_NORM, dims=DIMS), GivenInputs({}, {})).result,
        verify(VerifyRequest(source=RMS_NORM, dims={"H": 64})),
    ]
    assert [answer.status for answer in answers] == ["failed"] * 3
    assert [answer.diagnostics[0].code for answer in answers] == ["AK901"] * 3
    assert all("impossible" in answer.diagnostics[0].message for answer in answers)


def test_a_job_answers(monkeypatch: pytest.MonkeyPatch, cache: Path):
    monkeypatch.setitem(cast("dict[str, object]", worker.TASKS), "compile", broken)
    answer = worker._answer(cache, "compile", {})
    assert answer["status"] == "failed"
    assert answer["diagnostics"][0]["code"] == "AK901"


def test_a_call_of_the_server_answers(monkeypatch: pytest.MonkeyPatch, cache: Path):
    monkeypatch.setattr(tools, "check", broken)
    server = ToolServer(Services(JobStore(cache, "package"), ArtifactStore(cache / "artifacts")))
    params = types.CallToolRequestParams(name="ak_check", arguments={"source": RMS_NORM})
    result = asyncio.run(server.call_tool(cast("Context", None), params))
    assert not result.is_error
    assert result.structured_content is not None
    assert result.structured_content["diagnostics"][0]["code"] == "AK901"
    assert os.linesep + "Traceback" not in str(result.content)
