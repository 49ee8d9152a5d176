"""`ak_submit`: a text is recorded, judged and answered, and nothing is told of hidden sizes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from agentkern.evals.handed_in import SubmissionFile, read_submissions
from agentkern.evals.judge import judge_digest
from agentkern.tools.artifacts import ArtifactStore
from agentkern.tools.server import tools
from agentkern.tools.server.jobs import JobStore
from agentkern.tools.server.submit import Judging
from agentkern.tools.server.tools import TOOLS, Services
from agentkern.tools.sources import UsageError
from tests.evals.judging import RIGHT, VECTOR_ADD, kernel
from tests.evals.runs import judgement
from tests.tools.mcp_client import Conversation, converse

pytestmark = pytest.mark.toolchain
BEYOND_SHOWN = kernel("out[i] = x[i] + ak.where(i.index < 4096, y[i], x[i])")


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Services:
    monkeypatch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tools, "WAIT_S", 120.0)
    judging = Judging(SubmissionFile(tmp_path / "submissions.jsonl"))
    return Services(JobStore(tmp_path, "package"), ArtifactStore(tmp_path / "artifacts"), (), judging)


def submit(services: Services, **arguments: object) -> dict[str, object]:
    row = TOOLS["ak_submit"]

    async def ignore(_fraction: float | None, _message: str) -> None:
        return

    return asyncio.run(row.answer(row.arguments.model_validate(arguments), services, ignore))


@pytest.mark.slow
def test_submissions_are_recorded_once_with_their_judgement(services: Services, tmp_path: Path):
    first = submit(services, task="vector_add", source=RIGHT)
    assert (first["status"], first["verdict"], first["recorded"]) == ("ok", "bit_exact", 1)
    assert submit(services, task="vector_add", source=RIGHT) == first
    prose = submit(services, task="vector_add", source="Here you are: a kernel.")
    assert (prose["verdict"], prose["recorded"], prose["codes"]) == ("rejected", 2, ["AK101"])
    wrong = submit(services, task="vector_add", source=kernel("out[i] = x[i] - y[i]"))
    assert "`shown`: random, N=4096: out[0]" in str(wrong["summary"])
    assert wrong["mismatch"]
    kept = read_submissions(tmp_path / "submissions.jsonl")
    assert [(k.task, k.submission.number) for k in kept] == [("vector_add", 1), ("vector_add", 2), ("vector_add", 3)]
    verdicts = [k.submission.judgement.verdict for k in kept if k.submission.judgement is not None]
    assert verdicts == ["bit_exact", "rejected", "wrong"]
    assert kept[0].submission.judgement is not None
    assert kept[0].submission.judgement.judge_digest == judge_digest(VECTOR_ADD)
    assert len((tmp_path / "submissions.jsonl").read_text().splitlines()) == 6


@pytest.mark.slow
def test_nothing_is_told_of_hidden_sizes(services: Services, tmp_path: Path):
    answer = submit(services, task="vector_add", source=BEYOND_SHOWN)
    assert "`hidden`: right at the shown sizes, wrong at others" in str(answer["summary"]), answer
    assert "mismatch" not in answer
    told = json.dumps(answer)
    hidden = {str(n) for sizes in VECTOR_ADD.shapes.hidden for n in sizes.values() if n > 1}
    assert [number for number in hidden if number in told] == []
    (kept,) = read_submissions(tmp_path / "submissions.jsonl")
    assert kept.submission.judgement is not None
    assert kept.submission.judgement.mismatch is not None
    assert len(told) < 4 * 250


def test_an_unknown_task_names_the_nearest(services: Services):
    with pytest.raises(UsageError, match="no task `vector_ad`; did you mean `vector_add`"):
        submit(services, task="vector_ad", source=RIGHT)
    with pytest.raises(UsageError, match=r"no task `\.\./\.\./etc`; there are"):
        submit(services, task="../../etc", source=RIGHT)


def test_a_blocked_task_takes_no_answer_and_counts_none(services: Services, tmp_path: Path):
    with pytest.raises(UsageError, match=r"`matmul` is blocked by matrix products.*: nothing is judged"):
        submit(services, task="matmul", source=RIGHT)
    assert not (tmp_path / "submissions.jsonl").exists()


def test_what_is_handed_in_again_after_another_text_is_the_last(tmp_path: Path):
    file = tmp_path / "submissions.jsonl"
    kept = SubmissionFile(file)
    assert [kept.add("t", text, None, {}) for text in ("right", "wrong", "right")] == [1, 2, 3]
    assert read_submissions(file)[-1].submission.source == "right"


def test_a_server_of_one_task_takes_no_answer_to_another(tmp_path: Path):
    judging = Judging(SubmissionFile(None), only="vector_add")
    assert judging.task("vector_add").name == "vector_add"
    with pytest.raises(UsageError, match="the task here is `vector_add`, not `copy_1d`"):
        judging.task("copy_1d")


def test_a_file_of_submissions_survives_a_cut(tmp_path: Path):
    file = tmp_path / "some" / "submissions.jsonl"
    kept = SubmissionFile(file)
    assert [kept.add("t", "a", None, {}), kept.add("t", "b", None, {}), kept.add("t", "b", None, {})] == [1, 2, 2]
    assert kept.add("t", "a", "k", {"n": 2}) == 3
    file.write_bytes(file.read_bytes()[:-5])
    again = SubmissionFile(file)
    assert again.add("t", "b", None, {}) == 2
    assert again.add("t", "c", None, {}) == 3
    again.settle(3, judgement())
    again.settle(99, judgement())
    read = read_submissions(file)
    assert [(line.submission.source, line.submission.judgement is not None) for line in read] == [
        ("a", False),
        ("b", False),
        ("c", True),
    ]


@pytest.mark.slow
def test_a_client_hands_in_over_mcp(tmp_path: Path):
    async def talk(server: Conversation) -> None:
        answer = await server.call("ak_submit", task="vector_add", source="prose")
        while "job_id" in answer:
            answer = await server.call("ak_job", job_id=answer["job_id"])
        assert answer["verdict"] == "rejected"
        assert "did you mean `vector_add`" in await server.misuse("ak_submit", task="vector_sub", source="x")

    converse(talk, tmp_path, "--submissions", str(tmp_path / "kept.jsonl"))
    assert len(read_submissions(tmp_path / "kept.jsonl")) == 1
