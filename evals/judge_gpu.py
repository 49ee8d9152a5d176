"""Judge known texts on a GPU: every task's own solution, zeros for every task, and the scripted CUDA and Triton texts.

    python -m evals.judge_gpu RESULT.json [--processes 8] [--task NAME ...]      a GPU, torch, z3, NVRTC

Solutions must be right and zeros must not be. Several judges share the GPU, so the times that they take are no record
of speed: they show that a submission and its baselines, eager and compiled, can be timed at the task's bench sizes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkern.evals.floor_texts import zeros_text
from agentkern.evals.judging import Judges
from agentkern.evals.mock import TEXTS
from agentkern.evals.records import Judgement, Language, Submission
from agentkern.evals.task import read_tasks
from agentkern.evals.task_model import Task
from evals.kernel_packs import commit, recorded_on

ENDINGS: Mapping[Language, str] = {"cuda": "cu", "triton": "triton.txt"}
RIGHT = ("bit_exact", "within_bound")


@dataclass(frozen=True, slots=True)
class Text:
    """A text with what the judge is to say of it."""

    task: Task
    what: str
    language: Language
    source: str
    kernel: str | None
    is_right: bool


def texts(tasks: Sequence[Task]) -> Iterator[Text]:
    """Yield what is judged: of each task in turn."""
    for task in tasks:
        assert task.solution is not None, task.name
        yield Text(task, "solution", "agentkern", task.solution.text, task.solution.kernel, True)
        zeros = zeros_text(task)
        yield Text(task, "zeros", "agentkern", zeros.source, zeros.kernel, False)
        for what in ("right", "broken"):
            for language, ending in ENDINGS.items():
                file = TEXTS / f"{task.name}.{what}.{ending}"
                if file.exists():
                    yield Text(task, what, language, file.read_text(encoding="utf-8"), None, what == "right")


def judged(judges: Judges, text: Text) -> dict[str, Any]:
    """Judge one text; return its row."""
    handed_in = Submission(number=1, at_call=0, tokens=0, source=text.source, kernel=text.kernel)
    judgement = judges.judge(text.task, handed_in, text.language)
    row = {
        "task": text.task.name,
        "what": text.what,
        "language": text.language,
        "verdict": judgement.verdict,
        "as_expected": is_as_expected(judgement, text.is_right),
        "seconds": judgement.seconds,
        "commit": commit(),
    }
    if not row["as_expected"]:
        row["summary"] = judgement.summary
    print(json.dumps(row), flush=True)
    return row


def is_as_expected(judgement: Judgement, is_right: bool) -> bool:
    """Return whether a text was judged, and as it should be."""
    return judgement.verdict in RIGHT if is_right else judgement.verdict in ("wrong", "rejected")


def main() -> int:
    """Judge, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--task", action="append", default=[])
    arguments = parser.parse_args()
    tasks = [t for t in read_tasks() if not t.is_blocked and (not arguments.task or t.name in arguments.task)]
    judges = Judges(arguments.processes, "cuda", "quick", 0)
    with ThreadPoolExecutor(arguments.processes) as pool:
        rows = list(pool.map(lambda text: judged(judges, text), texts(tasks)))
    judges.close()
    unexpected = [row for row in rows if not row["as_expected"]]
    record = {
        "what": "known texts judged on this GPU, several at a time: verdicts, and whether all can be timed",
        **recorded_on(),
        "judged": len(rows),
        "unexpected": len(unexpected),
        "rows": rows,
    }
    arguments.result.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
