"""Recall of the corpus search on queries in users' words."""

from __future__ import annotations

from agentkern.tools.corpus_index import index_of
from evals.search.recall import measure, read_queries, report


def test_at_least_nine_of_ten_expected_kernels_are_among_the_first_five():
    answers = measure()
    record = report(answers, index_of())
    misses = "\n".join(f"{miss['text']!r}: {miss['expect']} not in {miss['found']}" for miss in record["misses"])
    assert record["recall_at_5"] >= 0.9, misses
    assert record["first_answer_right"] >= 0.75, misses


def test_queries_are_many_of_many_families_and_in_their_own_words():
    queries = read_queries()
    family = {indexed.kernel: indexed.entry.family for indexed in index_of()}
    assert len(queries) >= 40
    assert sum(not query.expect for query in queries) >= 5
    assert [name for query in queries for name in query.expect if name not in family] == []
    assert len({family[name] for query in queries for name in query.expect}) >= 10
    assert [q.text for q in queries if any(name in q.text for name in q.expect)] == []
