"""What was handed in to a server, as a file of lines: one when a text comes in, one more when it is judged.

Only ever appended to. Of two lines with one number the later holds; a line that was cut off counts as not there.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agentkern.evals.records import Judgement, Submission
from agentkern.tools.results import Record


class HandedIn(Record):
    """A submission and its task. `at_call` and `tokens` of it are 0: a server does not know them."""

    task: str
    submission: Submission


class SubmissionFile:
    """The submissions of one server. Safe for threads; None as the file keeps them in memory alone."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._turn = threading.Lock()
        before = () if file is None else read_submissions(file)
        self._known = {line.submission.number: line for line in before}

    def add(self, task: str, source: str, kernel: str | None, settings: Mapping[str, Any]) -> int:
        """Keep a text, unless it is the last one again; return its number. Errors: OSError."""
        with self._turn:
            last = max(self._known, default=0)
            if last:
                known, old = self._known[last], self._known[last].submission
                if (known.task, old.source, old.kernel, old.settings) == (task, source, kernel, dict(settings)):
                    return old.number
            number = last + 1
            given = {"source": source, "kernel": kernel, "settings": dict(settings)}
            made = Submission.model_validate({"number": number, "at_call": 0, "tokens": 0, **given})
            self._known[number] = HandedIn(task=task, submission=made)
            self._write(self._known[number])
            return number

    def settle(self, number: int, judgement: Judgement) -> None:
        """Keep the judgement of a submission of this file, once. Errors: OSError."""
        with self._turn:
            known = self._known.get(number)
            if known is not None and known.submission.judgement is None:
                judged = known.submission.model_copy(update={"judgement": judgement})
                self._known[number] = known.model_copy(update={"submission": judged})
                self._write(self._known[number])

    def _write(self, line: HandedIn) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("ab") as stream:
            if stream.tell() and not _ends_whole(self._file):
                stream.write(b"\n")
            stream.write(line.model_dump_json().encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())


def read_submissions(file: Path) -> tuple[HandedIn, ...]:
    """Return what was handed in, by number; none where there is no file. Lines that are no submissions are left out."""
    found: dict[int, HandedIn] = {}
    for line in file.read_bytes().split(b"\n") if file.is_file() else ():
        try:
            read = HandedIn.model_validate_json(line)
        except ValidationError:
            continue
        found[read.submission.number] = read
    return tuple(found[number] for number in sorted(found))


def _ends_whole(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"
