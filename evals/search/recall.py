"""Measure the corpus search on queries in users' words: recall@5, the first answer, and what finds nothing.

`python -m evals.search.recall` prints the misses and writes `results/recall.json`.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from agentkern.tools.corpus_entry import default_corpus
from agentkern.tools.corpus_index import Indexed, index_of
from agentkern.tools.corpus_search import corpus_search

HERE = Path(__file__).resolve().parent
AT = 5


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, and the kernels that answer it; none where the corpus has no answer."""

    text: str
    expect: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A query's answers, near duplicates with each; `recall`: the share of what is expected among the first."""

    query: Query
    found: tuple[tuple[str, ...], ...]
    seconds: float

    @property
    def recall(self) -> float:
        """Share of the expected kernels that were found; of none, whether nothing was."""
        if not self.query.expect:
            return float(not self.found)
        seen = {name for names in self.found[:AT] for name in names}
        return sum(name in seen for name in self.query.expect) / len(self.query.expect)

    @property
    def is_first(self) -> bool:
        """Whether the first answer is one that is expected."""
        return bool(self.found) and not set(self.found[0]).isdisjoint(self.query.expect)


def read_queries(path: Path = HERE / "queries.toml") -> tuple[Query, ...]:
    """Every query of the file."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["queries"]
    return tuple(Query(row["text"], tuple(row["expect"])) for row in rows)


def ask(query: Query, corpus: Path | None = None) -> Answer:
    """Search once."""
    started = time.perf_counter()
    result = corpus_search(query.text, limit=AT, corpus=corpus)
    seconds = time.perf_counter() - started
    return Answer(query, tuple((row.name, *row.also) for row in result.kernels), seconds)


def measure(corpus: Path | None = None) -> tuple[Answer, ...]:
    """Ask every query; the index is made before the clock runs."""
    index_of(corpus)
    return tuple(ask(query, corpus) for query in read_queries())


def report(answers: tuple[Answer, ...], index: tuple[Indexed, ...]) -> dict[str, object]:
    """The record: numbers over all, by family, and each miss."""
    family = {indexed.kernel: indexed.entry.family for indexed in index}
    by_family: dict[str, list[float]] = {}
    for answer in answers:
        name = family[answer.query.expect[0]] if answer.query.expect else "nothing fits"
        by_family.setdefault(name, []).append(answer.recall)
    expected = [answer for answer in answers if answer.query.expect]
    return {
        "what": "corpus search on queries in users' words, python -m evals.search.recall",
        "kernels": len(index),
        "queries": len(answers),
        "recall_at_5": round(sum(a.recall for a in answers) / len(answers), 4),
        "first_answer_right": round(sum(a.is_first for a in expected) / len(expected), 4),
        "nothing_found_where_nothing_fits": sum(a.recall for a in answers if not a.query.expect),
        "slowest_ms": round(1e3 * max(a.seconds for a in answers), 1),
        "by_family": {name: round(sum(found) / len(found), 4) for name, found in sorted(by_family.items())},
        "misses": [
            {"text": a.query.text, "expect": a.query.expect, "found": [names[0] for names in a.found]}
            for a in answers
            if a.recall < 1
        ],
    }


def main() -> None:
    """Print the record and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=HERE / "results" / "recall.json")
    output = parser.parse_args().output
    text = json.dumps(report(measure(), index_of(default_corpus())), indent=1)
    output.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
