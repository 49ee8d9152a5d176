"""Record what the tests of a GPU said there.

python -m pytest tests/gpu --junitxml REPORT.xml                  a GPU, torch, z3, a C++ compiler, NVRTC
python -m evals.exactness.gpu_tests REPORT.xml RESULT.json        beside it, at once
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from evals.kernel_packs import recorded_on

OUTCOMES = {"failure": "failed", "error": "failed", "skipped": "skipped"}


def by_file(report: Path) -> dict[str, dict[str, int]]:
    """Count the outcomes of each test file in a JUnit report."""
    found: dict[str, Counter[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        outcome = next((OUTCOMES[child.tag] for child in case if child.tag in OUTCOMES), "passed")
        found.setdefault(case.get("classname", "").rpartition(".")[2], Counter())[outcome] += 1
    return {name: dict(counts) for name, counts in sorted(found.items())}


def record(report: Path) -> dict[str, Any]:
    """Return the record: the GPU, the commit, and the outcomes by file and in all."""
    files = by_file(report)
    total = sum((Counter(counts) for counts in files.values()), Counter[str]())
    return {
        "what": "tests/gpu on this GPU",
        **recorded_on(),
        "total": dict(total),
        "files": files,
    }


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(record(Path(sys.argv[1])), indent=1) + "\n", encoding="utf-8")
