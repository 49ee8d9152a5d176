"""A run's folder: lines are whole or put aside, whatever ends the writer."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import ValidationError

from agentkern.evals.ledger import (
    SAMPLES,
    TORN,
    Ledger,
    LedgerError,
    file_name,
    held,
    read_run,
    read_transcript,
    start_run,
)
from agentkern.evals.records import Submission
from tests.evals.runs import header, sample

WRITER = """
import sys
from pathlib import Path
from agentkern.evals.ledger import Ledger
from agentkern.evals.records import Sample
text = sys.stdin.read()
ledger = Ledger(Path(sys.argv[1]))
for number in range(10**6):
    ledger.append(Sample.model_validate_json(text).model_copy(update={"id": f"s{number}"}))
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return start_run(tmp_path, header())


def test_what_is_appended_is_read_back(ledger: Ledger):
    some = [sample(epoch=number) for number in range(3)]
    ledger.extend(some)
    found = read_run(ledger.folder)
    assert (found.header, found.samples, found.problems) == (header(), tuple(some), ())


def test_a_last_line_that_was_cut_off_is_put_aside_and_the_rest_stands(ledger: Ledger):
    ledger.extend([sample(epoch=1), sample(epoch=2)])
    file = ledger.folder / SAMPLES
    torn = file.read_bytes()[:-9]
    file.write_bytes(torn)
    found = read_run(ledger.folder)
    assert [s.epoch for s in found.samples] == [1]
    assert "the last line was cut off" in found.problems[0]
    assert ledger.done() == {sample(epoch=1).id}
    ledger.append(sample(epoch=3))
    found = read_run(ledger.folder)
    assert [s.epoch for s in found.samples] == [1, 3]
    assert found.problems == ()
    assert (ledger.folder / TORN).read_bytes() == torn[torn.index(b"\n") + 1 :] + b"\n"


@pytest.mark.parametrize("cut", [1, 2, 100, 10**6])
def test_any_cut_keeps_all_lines_before_it(ledger: Ledger, cut: int):
    ledger.extend([sample(epoch=number) for number in range(4)])
    file = ledger.folder / SAMPLES
    data = file.read_bytes()
    file.write_bytes(data[: max(len(data) - cut, 0)])
    whole = file.read_bytes().count(b"\n")
    assert [s.epoch for s in read_run(ledger.folder).samples] == list(range(whole))


def test_the_later_of_two_lines_for_a_sample_holds(ledger: Ledger):
    ledger.extend([sample(None, state="error", error="tool died"), sample("wrong"), sample("bit_exact", epoch=2)])
    found = read_run(ledger.folder)
    assert [(s.epoch, s.state) for s in found.samples] == [(1, "done"), (2, "done")]
    assert found.problems == ()
    ledger.append(sample("bit_exact"))
    found = read_run(ledger.folder)
    assert [s.is_correct for s in found.samples] == [True, True]
    assert "is there twice; the later line holds" in found.problems[0]


def test_samples_that_an_error_of_ours_ended_are_to_be_run_again(ledger: Ledger):
    ledger.extend([sample(None, epoch=1, state="error"), sample(None, epoch=2, state="limit", limit="calls")])
    assert ledger.done() == {sample(epoch=2).id}


def test_a_line_that_is_no_sample_is_named_and_the_others_are_kept(ledger: Ledger):
    ledger.append(sample(epoch=1))
    with (ledger.folder / SAMPLES).open("a") as file:
        file.write('{"id": "x"}\nnot json\n')
    ledger.append(sample(epoch=2))
    found = read_run(ledger.folder)
    assert [s.epoch for s in found.samples] == [1, 2]
    assert [problem.partition(":")[0] for problem in found.problems] == [
        "samples.jsonl, line 2",
        "samples.jsonl, line 3",
    ]


def test_a_killed_writer_loses_nothing_that_it_had_written(ledger: Ledger):
    command = [sys.executable, "-c", WRITER, str(ledger.folder)]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert writer.stdin is not None
    writer.stdin.write(sample().model_dump_json().encode())
    writer.stdin.close()
    deadline = time.monotonic() + 30
    file = ledger.folder / SAMPLES
    while (not file.exists() or file.stat().st_size < 20_000) and time.monotonic() < deadline:
        time.sleep(0.01)
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    ids = [s.id for s in read_run(ledger.folder).samples]
    assert ids == [f"s{number}" for number in range(len(ids))]
    assert len(ids) >= 10


def test_writers_at_once_do_not_mix_their_lines(ledger: Ledger):
    big = "x" * 100_000
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ledger.append(sample(epoch=number, error=big)), range(40)))
    found = read_run(ledger.folder)
    assert sorted(s.epoch for s in found.samples) == list(range(40))
    assert found.problems == ()


def test_a_run_goes_on_in_its_folder_and_no_other_run_begins_there(ledger: Ledger):
    start_run(ledger.folder, header(created="2026-02-02T00:00:00Z"))
    with pytest.raises(LedgerError, match="another run lies there, `run-1`"):
        start_run(ledger.folder, header(id="run-2"))
    with pytest.raises(LedgerError, match="another run lies there"):
        start_run(ledger.folder, header(seed=1))


def test_a_folder_without_a_header_is_no_run(tmp_path: Path):
    with pytest.raises(LedgerError, match=r"run\.json: No such file or directory; a run's folder holds"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(LedgerError, match=r"run\.json: `id`: Field required"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(header().model_dump(mode="json") | {"version": 99}))
    with pytest.raises(LedgerError, match="version 99"):
        read_run(tmp_path)


def test_transcripts_stay_in_the_folder(ledger: Ledger):
    name = ledger.keep_transcript("../../a b/\x00é", "said \ud800")
    assert name.startswith("transcripts/a-b-")
    assert name.endswith(".json")
    assert read_transcript(ledger.folder, sample(transcript=name)) == "said \\ud800"
    assert read_transcript(ledger.folder, sample(transcript="../../../etc/passwd")) is None
    assert read_transcript(ledger.folder, sample(transcript="transcripts/none.json")) is None
    assert read_transcript(ledger.folder, sample()) is None


def test_one_process_at_a_time_works_at_a_run(ledger: Ledger):
    with held(ledger.folder):
        with pytest.raises(LedgerError, match="another process works at this run"), held(ledger.folder):
            pass
    with held(ledger.folder):
        pass


def test_files_about_samples_do_not_take_each_others_names():
    names = [file_name(name) for name in ("t:a/b:m:1", "t:a-b:m:1", "t:a:b-m:1", "x" * 400, "\ud800", "..")]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) < 200
    assert not any(name.startswith(".") or "/" in name for name in names)


@pytest.mark.parametrize("field", ["number", "at_call", "tokens"])
@pytest.mark.parametrize("number", [-1, 10**400])
def test_numbers_that_no_average_holds_are_no_record(field: str, number: int):
    with pytest.raises(ValidationError, match=field):
        Submission.model_validate({"number": 1, "at_call": 0, "tokens": 0, "source": ""} | {field: number})


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "transcripts", "../../etc/passwd"])
def test_a_transcript_with_an_impossible_name_is_none(ledger: Ledger, name: str):
    assert read_transcript(ledger.folder, sample(transcript=name)) is None
