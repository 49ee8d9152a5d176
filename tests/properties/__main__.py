"""Run many random kernels, cut down what fails, and say which operations ran on which element types.

    python -m tests.properties --first 1000 --count 500 [--reduce] [--out failures.py]

`--out` takes each failing kernel as an entry for `kept_kernels.py`.
"""

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
from tests.properties.programs import Program
from tests.properties.reduce_kernels import reduced
from tests.properties.run_kernels import Verdict, run_batch


def main() -> int:
    """Exit code 0 when every program holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds")
    parser.add_argument("--batch", type=int, default=32, help="programs per translation unit")
    parser.add_argument("--reduce", action="store_true", help="cut failing programs down")
    parser.add_argument("--out", type=Path, help="a file for failing kernels")
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
                    program = _cut(verdict, Path(folder)) if asked.reduce else verdict.program
                    sys.stdout.write(f"{program.name}: {verdict.outcome}: {verdict.detail}\n{program.text()}")
                    sys.stdout.write(f"{program.sizes} {program.settings}\n")
                    if asked.out is not None:
                        _keep(asked.out, program, verdict)
            sys.stdout.write(f"{seeds.stop}: {dict(outcomes)}\n")
            sys.stdout.flush()
    for detail, count in details.most_common():
        sys.stdout.write(f"{count:5d} {detail}\n")
    by_name: dict[str, list[str]] = {}
    for name, dtype in sorted(pairs):
        by_name.setdefault(name, []).append(f"{dtype} {pairs[name, dtype]}")
    for name, dtypes in by_name.items():
        sys.stdout.write(f"{name:14s} {', '.join(dtypes)}\n")
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


def _cut(verdict: Verdict, folder: Path) -> Program:
    return reduced(verdict.program, lambda p: _kind(run_batch([p], folder)[0]) == _kind(verdict))


def _keep(path: Path, program: Program, verdict: Verdict) -> None:
    """Add a program to a file as it would stand among those that are kept."""
    given = {n: v for n, v in vars(program).items() if n not in ("name", "body", "values") and v}
    rest = "".join(f"        {name}={value!r},\n" for name, value in given.items())
    said = f"{verdict.outcome}: {verdict.detail}"
    with path.open("a") as file:
        file.write(f'    Program(\n        {said!r},\n        """\n{program.body}\n""",\n{rest}    ),\n')


def _kind(verdict: Verdict) -> str:
    """What two failures have in common: the outcome and the first words."""
    return f"{verdict.outcome} {verdict.detail[:40]}"


if __name__ == "__main__":
    sys.exit(main())
