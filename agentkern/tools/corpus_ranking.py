"""Rank documents of weighted fields by a text: BM25 over stems, with synonyms, and why each document was found. Pure.

The score of a word is the sum of its BM25 scores in each field, a word in a name being worth many in the notes; a word
that a document lacks may be found by a synonym, for less. A document that answers too little of a query is not found.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agentkern.tools.corpus_words import Phrase, alternatives, spelled, spelled_phrases, words_of

SATURATION, LENGTH = 1.2, 0.5
"""k1 and b of BM25: repeats soon count no more; long notes are little worse than short ones."""
SYNONYM = 0.7
"""What a word found by a synonym is worth. The four numbers here were chosen on evals/search/queries.toml."""
LEAST_ANSWERED = 0.35
"""Share of a query, by the rarity of its words, that a document must answer, and one word not in its notes alone."""
LEAST_OF_BEST = 0.1
"""Share of the best score below which a document is no answer beside it."""
UNKNOWN = 0.4
"""How much a word that no document has counts towards what is asked, in words of one document each."""

Fields = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Found:
    """A document of the collection, its score, and for each word that it answers: how."""

    number: int
    score: float
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Hit:
    """What one word of a query finds in a document: how much, in which field, as which phrase if not as itself."""

    score: float
    field: str
    phrase: Phrase = ()


class Collection:
    """Documents, ready to be searched. `weights`: of the fields."""

    def __init__(self, documents: Sequence[Fields], weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._counts = [{name: Counter(words) for name, words in fields.items()} for fields in documents]
        self._lengths = [{name: max(1, len(words)) for name, words in fields.items()} for fields in documents]
        self._mean = {
            name: sum(lengths.get(name, 1) for lengths in self._lengths) / max(1, len(documents)) for name in weights
        }
        self._rarity = self._rarities(
            {word for counter in counts.values() for word in counter} for counts in self._counts
        )
        self._rarity_in = {
            name: self._rarities(set(counts.get(name, ())) for counts in self._counts) for name in weights
        }

    def search(self, text: str) -> tuple[Found, ...]:
        """Return the documents that answer enough of a text, the best first, equals in their order."""
        words = tuple(dict.fromkeys(words_of(text)))
        others = alternatives(words)
        rarities = [self._rarity_of(word, phrases) for word, phrases in zip(words, others, strict=True)]
        spelling = spelled(text)
        found: list[Found] = []
        for number in range(len(self._counts)):
            hits = [self._hit(number, word, phrases) for word, phrases in zip(words, others, strict=True)]
            share = self._share(rarities, hits)
            if share >= LEAST_ANSWERED and self._is_named(hits):
                got = sorted(((h.score, spelling[w], h) for w, h in zip(words, hits, strict=True) if h), reverse=True,
                             key=lambda one: one[0])  # fmt: skip
                why = tuple(dict.fromkeys(_why(word, hit) for _, word, hit in got))
                found.append(Found(number, share * sum(score for score, _, _ in got), why))
        least = LEAST_OF_BEST * max((one.score for one in found), default=0.0)
        kept = [one for one in found if one.score >= least]
        return tuple(sorted(kept, key=lambda one: (-one.score, one.number)))

    def _share(self, rarities: Sequence[float], hits: Sequence[_Hit | None]) -> float:
        """How much of what is asked is answered; what only a field of little weight says is answered in part."""
        asked = sum(rarities)
        weights = [min(1.0, self._weights[hit.field]) if hit else 0.0 for hit in hits]
        return sum(rarity * weight for rarity, weight in zip(rarities, weights, strict=True)) / asked if asked else 0.0

    def _is_named(self, hits: Sequence[_Hit | None]) -> bool:
        """Whether a word stands in a field that says what a document is, not in its notes alone."""
        return any(hit is not None and self._weights[hit.field] >= 1 for hit in hits)

    def _rarities(self, documents: Iterable[set[str]]) -> dict[str, float]:
        held = Counter(word for words in documents for word in words)
        return {word: self._idf(n) for word, n in held.items()}

    def _idf(self, holders: int) -> float:
        return math.log(1 + (len(self._counts) - holders + 0.5) / (holders + 0.5))

    def _rarity_of(self, word: str, phrases: Iterable[Phrase]) -> float:
        """How much a word asks for: as itself where that is known, else as the most common of what it may be called."""
        if word in self._rarity:
            return self._rarity[word]
        known = [
            max(self._rarity[w] for w in name) for name in phrases if name and all(w in self._rarity for w in name)
        ]
        return min(known) if known else UNKNOWN * self._idf(1)

    def _hit(self, number: int, word: str, phrases: Iterable[Phrase]) -> _Hit | None:
        best = self._scored(number, word)
        for phrase in phrases:
            parts = [self._scored(number, part) for part in phrase]
            if phrase and all(part is not None for part in parts):
                hits = [part for part in parts if part is not None]
                score = SYNONYM * sum(hit.score for hit in hits) / len(hits)
                if best is None or score > best.score:
                    best = _Hit(score, hits[0].field, phrase)
        return best

    def _scored(self, number: int, word: str) -> _Hit | None:
        total, best, where = 0.0, 0.0, ""
        for name, counts in self._counts[number].items():
            if counts[word]:
                length = 1 - LENGTH + LENGTH * self._lengths[number][name] / self._mean[name]
                frequency = counts[word] / (counts[word] + SATURATION * length)
                part = self._weights[name] * self._rarity_in[name][word] * frequency
                total += part
                if part > best:
                    best, where = part, name
        return _Hit(total, where) if where else None


def _why(word: str, hit: _Hit) -> str:
    return f"{word} ~ {spelled_phrases()[hit.phrase]} ({hit.field})" if hit.phrase else f"{word} ({hit.field})"
