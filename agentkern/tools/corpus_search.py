"""Find kernels of the corpus by text, family, dtype, feature and signature: families mixed, with reasons. Show one."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.dsl.dtypes import DTYPES
from agentkern.tools.corpus_features import FEATURE_NAMES
from agentkern.tools.corpus_index import Indexed, find, index_of, without
from agentkern.tools.corpus_ranking import Collection
from agentkern.tools.corpus_signature import likeness, tensors_in
from agentkern.tools.corpus_words import words_of
from agentkern.tools.counted import counted
from agentkern.tools.near_duplicates import similarity
from agentkern.tools.nondeterminism import said_of
from agentkern.tools.results import CorpusEntry, CorpusListResult, CorpusShowResult
from agentkern.tools.sources import usage_error

DEFAULT_LIMIT = 5
MAX_LIMIT = 100
# What a word is worth by the place where it stands.
WEIGHTS = {
    "name": 6.0,
    "tags": 3.0,
    "family": 3.0,
    "summary": 2.0,
    "features": 1.5,
    "operations": 1.0,
    "docstring": 1.5,
    "dtypes": 1.0,
    "notes": 0.4,
}
SAME_FAMILY = 0.8
"""What a kernel loses for each one of its family that stands before it."""
LEAST_ALIKE = 0.5
"""Signatures less alike than this are no answer."""
ALIKE = 10.0
"""What an equal signature adds to the score of the words: more than a rare word in a name."""
NAMED = 100.0
"""What a kernel gains whose name is what is asked for."""
_MOST_REASONS = 4


@dataclass(frozen=True, slots=True)
class Filters:
    """What a kernel must have. `signature`: what its tensors must be like. `hidden`: names that are not there."""

    family: str | None = None
    dtype: str | None = None
    feature: str | None = None
    signature: str | None = None
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scored:
    """A kernel that was found: how well, why, and its near duplicates that were found too."""

    indexed: Indexed
    score: float
    why: tuple[str, ...] = ()
    also: tuple[str, ...] = field(default=())


def corpus_search(
    text: str, filters: Filters = Filters(), limit: int = DEFAULT_LIMIT, corpus: Path | None = None
) -> CorpusListResult:
    """Return the kernels that answer a text best; one that is a signature or a kernel finds those like it.

    Errors: UsageError for a family, dtype or feature that is none.
    """
    index = _visible(filters, corpus)
    as_signature = text if filters.signature is None and tensors_of_query(text) else filters.signature
    words = "" if as_signature is text else text
    found = _ranked(words, index, filters, as_signature)
    shown = _diverse(found)[:limit]
    rows = tuple(_row(scored) for scored in shown)
    more = f" of {len(found)} that fit" if len(found) > len(shown) else ""
    next_step = "`agentkern corpus show NAME`" if rows else "other words, or `agentkern corpus list`"
    return CorpusListResult(
        status="ok", summary=f"{counted(len(rows), 'kernel')}{more}; next: {next_step}", kernels=rows
    )


def corpus_list(filters: Filters = Filters(), limit: int | None = None, corpus: Path | None = None) -> CorpusListResult:
    """Return the kernels that have what is asked for, by name, or by likeness to a signature. Errors: UsageError."""
    index = _visible(filters, corpus)
    found = _ranked("", index, filters, filters.signature)
    rows = tuple(_row(scored) for scored in found)[:limit]
    return CorpusListResult(
        status="ok", summary=f"{counted(len(rows), 'kernel')}; next: `agentkern corpus show NAME`", kernels=rows
    )


def corpus_show(name: str, corpus: Path | None = None, hidden: tuple[str, ...] = ()) -> CorpusShowResult:
    """Return all of one kernel. Errors: UsageError for an unknown name."""
    found = find(name, without(index_of(corpus), hidden))
    entry, kernel = found.entry, found.kernel
    sizes = "".join(f" --dim {size}={number}" for size, number in entry.dims.items())
    words = f"{shlex.quote(f'{entry.path}:{kernel}')}{sizes} --reference {shlex.quote(entry.reference)}"
    return CorpusShowResult(
        status="ok",
        summary=f"{kernel}: {entry.summary}{said_of(found.tile)}; next: `agentkern verify {words}`",
        nondeterministic=is_nondeterministic(found.tile),
        name=kernel,
        path=entry.path,
        signature=found.signature,
        compile_dims=dict(entry.dims),
        shapes={key: [dict(sizes) for sizes in listed] for key, listed in entry.shapes.items()},
        criterion=dict(entry.meta["criterion"]),
        record=entry.record,
        text=entry.source,
        notes=entry.notes,
        dtypes=found.dtypes,
        features=found.features,
        group=found.group,
    )


def tensors_of_query(text: str) -> bool:
    """Whether a text is a signature or a kernel rather than words. Errors: UsageError for a dtype that is none."""
    try:
        return bool(tensors_in(text))
    except ValueError as e:
        raise usage_error("signature", str(e)) from e


def _visible(filters: Filters, corpus: Path | None) -> tuple[Indexed, ...]:
    """The kernels that are not hidden. Checks that what else is asked for exists."""
    index = without(index_of(corpus), filters.hidden)
    _check_known("family", filters.family, sorted({indexed.entry.family for indexed in index}))
    _check_known("dtype", filters.dtype, tuple(DTYPES))
    _check_known("feature", filters.feature, FEATURE_NAMES)
    return index


def _fits(indexed: Indexed, filters: Filters) -> bool:
    return (
        filters.family in (None, indexed.entry.family)
        and (filters.dtype is None or filters.dtype in indexed.dtypes)
        and (filters.feature is None or filters.feature in indexed.features)
    )


def _check_known(what: str, value: str | None, known: Sequence[str]) -> None:
    if value is None or value in known:
        return
    near = difflib.get_close_matches(value, known, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
    raise usage_error(what, f"there is no {what} `{value}`; {hint}")


def _ranked(words: str, index: tuple[Indexed, ...], filters: Filters, signature: str | None) -> list[Scored]:
    """What fits, the best first. Without words and signature: everything, by name."""
    hits = {hit.number: hit for hit in _collection(index).search(words)} if words.strip() else None
    alike = _likenesses(signature, index) if signature is not None else None
    asked = words_of(words)
    found: list[Scored] = []
    for number, indexed in enumerate(index):
        if not _fits(indexed, filters) or (hits is not None and number not in hits):
            continue
        score, why = (hits[number].score, hits[number].why[:_MOST_REASONS]) if hits is not None else (0.0, ())
        if words_of(indexed.kernel) == asked:
            score, why = score + NAMED, ("its name", *why)
        if alike is not None:
            if alike[number] < LEAST_ALIKE:
                continue
            score += ALIKE * alike[number]
            why = (*why, f"signature {alike[number]:.2f}")
        found.append(Scored(indexed, score, (*why, *_filters_met(filters))))
    return sorted(found, key=lambda scored: -scored.score)


def _filters_met(filters: Filters) -> tuple[str, ...]:
    asked = (("family", filters.family), ("dtype", filters.dtype), ("feature", filters.feature))
    return tuple(f"{name} {value}" for name, value in asked if value)


def _likenesses(signature: str, index: Sequence[Indexed]) -> list[float]:
    """How alike each kernel's tensors are to those of a signature, and its operations where that is a kernel."""
    if not tensors_of_query(signature):
        raise usage_error("signature", "there is no tensor in it; write `In[bf16, T, H] -> Out[e4m3, T, H]`")
    alike = [likeness(tensors_in(signature), indexed.tensors) for indexed in index]
    tile = lower_source(signature, "signature.py").kernel if "def " in signature else None
    if tile is None:
        return alike
    return [(mine + similarity(tile, indexed.tile)) / 2 for mine, indexed in zip(alike, index, strict=True)]


def _diverse(found: Sequence[Scored]) -> list[Scored]:
    """The best first, but one of near duplicates, and the more of a family stand there the later its next."""
    left: dict[str, Scored] = {}
    for scored in found:
        group = scored.indexed.group
        first = left.setdefault(group, scored)
        if first is not scored:
            left[group] = Scored(first.indexed, first.score, first.why, (*first.also, scored.indexed.kernel))
    taken: list[Scored] = []
    count: dict[str, int] = {}
    while left:
        worth = {g: s.score * SAME_FAMILY ** count.get(s.indexed.entry.family, 0) for g, s in left.items()}
        best = left.pop(max(worth, key=lambda group: worth[group]))
        taken.append(best)
        count[best.indexed.entry.family] = count.get(best.indexed.entry.family, 0) + 1
    return taken


@lru_cache(maxsize=8)
def _collection(index: tuple[Indexed, ...]) -> Collection:
    return Collection([_fields(indexed) for indexed in index], WEIGHTS)


def _fields(indexed: Indexed) -> dict[str, tuple[str, ...]]:
    entry = indexed.entry
    texts = {
        "name": f"{indexed.kernel} {entry.name} {entry.name.replace('_', '')}",
        "tags": " ".join(entry.tags),
        "family": entry.family,
        "summary": entry.summary,
        "features": " ".join(indexed.features),
        "operations": " ".join(indexed.operations),
        "docstring": indexed.docstring,
        "dtypes": " ".join(indexed.dtypes),
        "notes": entry.notes,
    }
    return {name: words_of(text) for name, text in texts.items()}


def _row(scored: Scored) -> CorpusEntry:
    indexed = scored.indexed
    return CorpusEntry(
        name=indexed.kernel,
        family=indexed.entry.family,
        path=indexed.entry.path,
        signature=indexed.signature,
        tags=indexed.entry.tags,
        summary=indexed.entry.summary,
        dtypes=indexed.dtypes,
        features=indexed.features,
        why=scored.why,
        also=scored.also,
        group=indexed.group,
        score=round(scored.score, 3),
    )
