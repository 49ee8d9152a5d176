"""Words of a search: taken apart, cut to their stems, and what else people call the same thing. Pure.

The synonyms are data (`corpus_synonyms.toml`): groups of words or phrases of one meaning.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

Phrase = tuple[str, ...]

_WORD = re.compile(r"[a-z]+\d[a-z0-9]*|[a-z]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
# A suffix and what takes its place, the first that fits; at least three letters stay.
_SUFFIXES = (
    ("izations", "iz"), ("isations", "iz"), ("ization", "iz"), ("isation", "iz"),
    ("izing", "iz"), ("ising", "iz"), ("izes", "iz"), ("ises", "iz"), ("ized", "iz"), ("ised", "iz"),
    ("izer", "iz"), ("iser", "iz"), ("ize", "iz"), ("ise", "iz"),
    ("uctions", "uc"), ("uction", "uc"), ("ations", "at"), ("ation", "at"), ("ating", "at"), ("ated", "at"),
    ("ates", "at"), ("ate", "at"), ("ities", "it"), ("ity", "it"), ("ies", "y"),
    ("sses", "ss"), ("ss", "ss"), ("ings", ""), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""),
)  # fmt: skip
_SHORTEST = 3
_IRREGULAR = {"indices": "index", "matrices": "matrix", "axes": "axis"}
_OF_VERBS = ("ed", "ing", "ings")
# Words that say nothing of what is looked for, English ones and those that fit any kernel.
STOPWORDS = frozenset(
    "a after all along also an and any are array arrays as at be been before both but by can compute computes "
    "could do does each every fast find first for from get give gpu have how i if in into is it its just kernel "
    "kernels like make many me my need no not of on or our out over per please should show so some something such "
    "tensor tensors that the them then there these they this to two up use using want was we what when where "
    "which while who will with without write you your".split()
)


def words_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words, in order, without those that say nothing."""
    return tuple(stem(word) for word in _spoken(text))


def spelled(text: str) -> dict[str, str]:
    """Return for each stem of a text the word as it stands there."""
    return {stem(word): word for word in _spoken(text)}


def _spoken(text: str) -> list[str]:
    return [word for word in _WORD.findall(_CAMEL.sub(" ", text).lower()) if word not in STOPWORDS]


@cache
def stem(word: str) -> str:
    """Cut a word's ending: `normalization`, `normalised` and `normalizes` are one."""
    if any(letter.isdigit() for letter in word):
        return word
    word = _IRREGULAR.get(word, word)
    for suffix, put in _SUFFIXES:
        kept = word[: len(word) - len(suffix)] + put
        if word.endswith(suffix) and len(kept) >= _SHORTEST and not (suffix in _OF_VERBS and _is_no_verb(kept)):
            is_doubled = suffix in _OF_VERBS and len(kept) > _SHORTEST and kept[-1] == kept[-2]
            return kept[:-1] if is_doubled and kept[-1] not in "ls" else kept
    return word


def _is_no_verb(kept: str) -> bool:
    """Whether a short word ends in two different consonants: `emb` of `embed` is none, `add` and `fus` are."""
    return len(kept) == _SHORTEST and kept[-1] != kept[-2] and kept[-2] not in "aeiou"


@cache
def synonym_groups() -> tuple[tuple[str, ...], ...]:
    """Return the groups of the table, as they are written."""
    text = Path(__file__).with_name("corpus_synonyms.toml").read_text(encoding="utf-8")
    return tuple(tuple(group) for group in tomllib.loads(text)["groups"])


@cache
def spelled_phrases() -> Mapping[Phrase, str]:
    """Return for each phrase, in stems, how the table writes it."""
    return {words_of(phrase): phrase for group in synonym_groups() for phrase in group}


@cache
def synonyms() -> Mapping[Phrase, tuple[Phrase, ...]]:
    """Return for each phrase, in stems, the others of its groups."""
    found: dict[Phrase, list[Phrase]] = {}
    for group in synonym_groups():
        phrases = [words_of(phrase) for phrase in group]
        for phrase in phrases:
            found.setdefault(phrase, []).extend(other for other in phrases if other != phrase)
    return {phrase: tuple(dict.fromkeys(others)) for phrase, others in found.items()}


def alternatives(words: Sequence[str]) -> tuple[tuple[Phrase, ...], ...]:
    """Return for each word of a query the phrases that mean what it means, alone or together with its neighbours."""
    table = synonyms()
    found: list[list[Phrase]] = [[] for _ in words]
    longest = max(map(len, table), default=0)
    for start in range(len(words)):
        for length in range(1, min(longest, len(words) - start) + 1):
            for phrase in _spellings(tuple(words[start : start + length])):
                for place in range(start, start + length):
                    found[place].extend(table.get(phrase, ()))
    return tuple(tuple(dict.fromkeys(phrases)) for phrases in found)


def _spellings(phrase: Phrase) -> list[Phrase]:
    """A phrase, and where it has several words the same with one of them called otherwise."""
    others = [
        (*phrase[:place], other[0], *phrase[place + 1 :])
        for place, word in enumerate(phrase)
        for other in synonyms().get((word,), ())
        if len(other) == 1 and len(phrase) > 1
    ]
    return [phrase, *others]
