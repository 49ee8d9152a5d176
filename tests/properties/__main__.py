"""Run many random kernels and cut down what fails: `python -m tests.properties --first 1000 --count 500`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import walk
from agentkern.compiler.ir.types import TileType
from tests.properties.grammar.kernels import random_program
from tests.properties.reduce_kernels import reduced
from tests.properties.run_kernels import Verdict, run_batch


def main() -> int:
    """Exit code 0 when every program holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds")
    parser.add_argument("--batch", type=int, default=25, help="programs per translation unit")
    parser.add_argument("--reduce", action="store_true", help="cut failing programs down")
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    details: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for first in range(asked.first, asked.first + asked.count, asked.batch):
            seeds = range(first, min(first + asked.batch, asked.first + asked.count))
            for verdict in run_batch([random_program(seed) for seed in seeds], Path(folder)):
                outcomes[verdict.outcome] += 1
                if verdict.outcome == "equal":
                    pairs.update(_operations(verdict))
                else:
                    details[f"{verdict.outcome}: {verdict.detail}"] += 1
                if not verdict.holds:
                    _report(verdict, Path(folder), cut=asked.reduce)
            sys.stdout.write(f"{seeds.stop}: {dict(outcomes)}\n")
            sys.stdout.flush()
    for detail, count in details.most_common():
        sys.stdout.write(f"{count:5d} {detail}\n")
    sys.stdout.write(f"{len(pairs)} pairs of operation and element type ran and agree\n")
    return 0 if all(outcome in ("equal", "unsupported") for outcome in outcomes) else 1


def _operations(verdict: Verdict) -> set[tuple[str, str]]:
    """Operations of a program's TILE kernel with the element type that they work on."""
    program = verdict.program
    kernel = lower_source(program.text(), "kernel.py", None, program.numbers(), program.settings).kernel
    assert kernel is not None
    found: set[tuple[str, str]] = set()
    for op in walk(kernel.body):
        types = [v.type.dtype.name for v in (*op.operands, *op.results) if isinstance(v.type, TileType)]
        found.update((op.name, dtype) for dtype in types)
    return found


def _report(verdict: Verdict, folder: Path, *, cut: bool) -> None:
    program = verdict.program
    if cut:
        program = reduced(program, lambda p: _kind(run_batch([p], folder)[0]) == _kind(verdict))
    text = f"seed {verdict.program.seed}: {verdict.outcome}: {verdict.detail}\n{program.text()}{program.sizes}\n"
    sys.stdout.write(text)


def _kind(verdict: Verdict) -> str:
    """What two failures have in common: the outcome and the first words."""
    return f"{verdict.outcome} {verdict.detail[:40]}"


if __name__ == "__main__":
    sys.exit(main())
