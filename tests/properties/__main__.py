"""Run many random kernels, cut down what fails, and say which operations ran on which element types.

    python -m tests.properties --first 1000 --count 500 [--processes 16] [--long] [--reduce] [--out failures.py] [--record FILE]

`--out` takes each failing kernel as an entry for `kept_kernels.py`; `--record` the counts, as JSON.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import walk
from agentkern.compiler.ir.types import TileType
from tests.properties.grammar.kernels import random_program
from tests.properties.programs import Program
from tests.properties.reduce_kernels import reduced
from tests.properties.run_kernels import Verdict, run_batch

Pair = tuple[str, str]


@dataclass(frozen=True)
class Batch:
    """What became of some seeds: their verdicts, and the operations with the element types of those that agree."""

    verdicts: tuple[Verdict, ...]
    pairs: Counter[Pair]


def run_seeds(seeds: range, *, long: bool = False) -> Batch:
    """Run one batch in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        verdicts = run_batch([random_program(seed, long=long) for seed in seeds], Path(folder))
    pairs: Counter[Pair] = Counter()
    for verdict in verdicts:
        pairs.update(_operations(verdict) if verdict.outcome == "equal" else ())
    return Batch(tuple(verdicts), pairs)


def main() -> int:
    """Exit code 0 when every program holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many seeds")
    parser.add_argument("--batch", type=int, default=32, help="programs per translation unit")
    parser.add_argument("--processes", type=int, default=1, help="batches that run side by side")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no batch after this time")
    parser.add_argument("--long", action="store_true", help="rows that are walked more often")
    parser.add_argument("--reduce", action="store_true", help="cut failing programs down")
    parser.add_argument("--out", type=Path, help="a file for failing kernels")
    parser.add_argument("--record", type=Path, help="a file for the counts")
    asked = parser.parse_args()
    end = asked.first + asked.count
    batches = [range(first, min(first + asked.batch, end)) for first in range(asked.first, end, asked.batch)]
    outcomes: Counter[str] = Counter()
    details: Counter[str] = Counter()
    pairs: Counter[Pair] = Counter()
    for batch in _results(batches, asked.processes, time.monotonic() + asked.seconds, long=asked.long):
        pairs += batch.pairs
        for verdict in batch.verdicts:
            outcomes[verdict.outcome] += 1
            if verdict.outcome != "equal":
                details[f"{verdict.outcome}: {verdict.detail}"] += 1
            if not verdict.holds:
                _show(verdict, cut=asked.reduce, out=asked.out)
        sys.stdout.write(f"{outcomes.total()}: {dict(outcomes)}\n")
        sys.stdout.flush()
    _summary(details, pairs)
    if asked.record is not None:
        seeds = {"first": asked.first, "run": outcomes.total()}
        found = {"seeds": seeds, "outcomes": dict(outcomes), "not_equal": dict(details), "pairs": len(pairs)}
        asked.record.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(outcome in ("equal", "unsupported") for outcome in outcomes) else 1


def _results(batches: Sequence[range], processes: int, deadline: float, *, long: bool) -> Iterator[Batch]:
    """Batches as they end; those that have not begun at the deadline are left out."""
    if processes == 1:
        yield from (run_seeds(seeds, long=long) for seeds in batches if time.monotonic() < deadline)
        return
    with ProcessPoolExecutor(processes) as pool:
        running = {pool.submit(run_seeds, seeds, long=long) for seeds in batches[:processes]}
        waiting = iter(batches[processes:])
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for _ in done:
                following = next(waiting, None) if time.monotonic() < deadline else None
                running |= {pool.submit(run_seeds, following, long=long)} if following is not None else set()
            yield from (future.result() for future in done)


def _show(verdict: Verdict, *, cut: bool, out: Path | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = _cut(verdict, Path(folder)) if cut else verdict.program
    sys.stdout.write(f"{program.name}: {verdict.outcome}: {verdict.detail}\n{program.text()}")
    sys.stdout.write(f"{program.sizes} {program.settings}\n")
    if out is not None:
        _keep(out, program, verdict)


def _summary(details: Counter[str], pairs: Counter[Pair]) -> None:
    for detail, count in details.most_common():
        sys.stdout.write(f"{count:5d} {detail}\n")
    by_name: dict[str, list[str]] = {}
    for name, dtype in sorted(pairs):
        by_name.setdefault(name, []).append(f"{dtype} {pairs[name, dtype]}")
    for name, dtypes in by_name.items():
        sys.stdout.write(f"{name:14s} {', '.join(dtypes)}\n")
    sys.stdout.write(f"{len(pairs)} pairs of operation and element type ran and agree\n")


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
