"""A run's folder: `run.json`, `samples.jsonl` (only ever appended to, one Sample a line), `transcripts/`.

A line is written by one call and is whole once its end of line is there. What a killed writer left without one is put
aside by the next writer, and everything before it stands. Of two lines for one sample the later holds.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from agentkern.evals.records import RECORD_VERSION, RunHeader, Sample

HEADER = "run.json"
SAMPLES = "samples.jsonl"
TORN = "samples.torn"
TRANSCRIPTS = "transcripts"
_LOCK = ".lock"
_RUNNING = ".running"
_MOST_NAME = 120
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class LedgerError(ValueError):
    """A folder is no run, or another one's; the message names the file and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Read:
    """A run as it lies on disk. `problems`: lines that were left out, each with why."""

    header: RunHeader
    samples: tuple[Sample, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """A run that is written to. Safe for several threads and processes."""

    folder: Path

    def append(self, sample: Sample) -> None:
        """Write one sample and have it on disk. Errors: OSError."""
        line = sample.model_dump_json().encode() + b"\n"
        file = self.folder / SAMPLES
        with _locked(self.folder):
            _put_torn_line_aside(file)
            handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                written = 0
                while written < len(line):
                    written += os.write(handle, line[written:])
                os.fsync(handle)
            finally:
                os.close(handle)

    def extend(self, samples: Iterable[Sample]) -> None:
        """Write samples one by one. Errors: OSError."""
        for sample in samples:
            self.append(sample)

    def keep_transcript(self, sample_id: str, data: str, ending: str = "json") -> str:
        """Write what was said in a sample; return the file's path in the run's folder. Errors: OSError."""
        name = f"{TRANSCRIPTS}/{file_name(sample_id)}.{ending}"
        _write_whole(self.folder / name, data)
        return name

    def done(self) -> frozenset[str]:
        """Return the ids of samples that need no second run: all but those that an error of ours ended.

        Errors: LedgerError.
        """
        return frozenset(sample.id for sample in read_run(self.folder).samples if sample.state != "error")


def file_name(sample_id: str) -> str:
    """Return what a file about a sample is called: readable, short, and another one for every other sample."""
    known = hashlib.sha256(sample_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_UNSAFE.sub('-', sample_id).strip('.-')[:_MOST_NAME]}-{known}"


@contextmanager
def held(folder: Path) -> Generator[None]:
    """Be the one process that works at a run, until the end or any death. Errors: LedgerError where another does."""
    handle = os.open(folder / _RUNNING, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as e:
            raise LedgerError(f"{folder}: another process works at this run; wait for its end") from e
        yield
    finally:
        os.close(handle)


def start_run(folder: Path, header: RunHeader) -> Ledger:
    """Begin a run, or go on with the one of the same id that lies there. Errors: LedgerError; OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / TRANSCRIPTS).mkdir(exist_ok=True)
    with _locked(folder):
        if (folder / HEADER).exists():
            known = read_header(folder)
            if _plan(known) != _plan(header):
                raise LedgerError(f"{folder / HEADER}: another run lies there, `{known.id}`; choose another folder")
        else:
            _write_whole(folder / HEADER, header.model_dump_json(indent=1) + "\n")
    return Ledger(folder)


def _plan(header: RunHeader) -> RunHeader:
    """What two starts of one run share: everything but when it was, and at which commit."""
    return header.model_copy(update={"created": "", "commit": ""})


def read_header(folder: Path) -> RunHeader:
    """Return a run's header. Errors: LedgerError."""
    file = folder / HEADER
    try:
        header = RunHeader.model_validate_json(file.read_bytes())
    except OSError as e:
        raise LedgerError(f"{file}: {e.strerror}; a run's folder holds {HEADER} and {SAMPLES}") from e
    except ValidationError as e:
        raise LedgerError(f"{file}: {_said(e)}") from e
    if header.version != RECORD_VERSION:
        raise LedgerError(f"{file}: version {header.version}; version {RECORD_VERSION} is read here")
    return header


def read_run(folder: Path) -> Read:
    """Return a run, samples in the order of their first lines. Errors: LedgerError where a file cannot be read."""
    header = read_header(folder)
    file = folder / SAMPLES
    try:
        data = file.read_bytes() if file.exists() else b""
    except OSError as e:
        raise LedgerError(f"{file}: {e.strerror}") from e
    whole, _, torn = data.rpartition(b"\n")
    samples: dict[str, Sample] = {}
    problems: list[str] = []
    for number, line in enumerate(whole.split(b"\n") if whole else (), 1):
        try:
            sample = Sample.model_validate_json(line)
        except ValidationError as e:
            problems.append(f"{SAMPLES}, line {number}: {_said(e)}")
            continue
        if sample.id in samples and samples[sample.id].state != "error":
            problems.append(f"{SAMPLES}, line {number}: sample `{sample.id}` is there twice; the later line holds")
        samples[sample.id] = sample
    if torn:
        problems.append(f"{SAMPLES}: the last line was cut off after {len(torn)} bytes; its sample is to be run again")
    return Read(header, tuple(samples.values()), tuple(problems))


def read_transcript(folder: Path, sample: Sample) -> str | None:
    """Return what was said in a sample, None where it was not kept or lies outside the run's folder."""
    if not sample.transcript:
        return None
    try:
        file = (folder / sample.transcript).resolve()
        if not file.is_relative_to(folder.resolve()) or not file.is_file():
            return None
        return file.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None  # a name that no file can have


def _said(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"`{where}`: {first['msg']}" if where else first["msg"]


def _put_torn_line_aside(file: Path) -> None:
    """Move bytes after the last end of line to a file of their own."""
    if not file.is_file():
        return
    with file.open("rb+") as stream:
        data = stream.read()
        whole = data.rfind(b"\n") + 1
        if whole == len(data):
            return
        with (file.parent / TORN).open("ab") as aside:
            aside.write(data[whole:] + b"\n")
        stream.truncate(whole)


def _write_whole(file: Path, text: str) -> None:
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    temporary.replace(file)


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    handle = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
