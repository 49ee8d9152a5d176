"""Search over the corpus: by words, filters and signatures; what is hidden stays hidden; reasons for each answer."""

from __future__ import annotations

import shutil
import time
from dataclasses import fields
from pathlib import Path

import pytest

from agentkern.tools import corpus_index
from agentkern.tools.corpus_entry import default_corpus
from agentkern.tools.corpus_features import FEATURE_NAMES, FEATURES
from agentkern.tools.corpus_index import Facts, find, index_of, without
from agentkern.tools.corpus_ranking import Collection
from agentkern.tools.corpus_search import WEIGHTS, Filters, corpus_list, corpus_search, corpus_show
from agentkern.tools.corpus_signature import likeness, tensors_in, tensors_of
from agentkern.tools.corpus_words import STOPWORDS, alternatives, stem, synonym_groups, words_of
from agentkern.tools.sources import UsageError

INDEX = index_of()


def names(text: str, **filters: str) -> list[str]:
    """The kernels that a search finds."""
    return [row.name for row in corpus_search(text, Filters(**filters), limit=50).kernels]


def test_endings_do_not_matter():
    assert len({stem(w) for w in ("normalize", "normalise", "normalization", "normalised", "normalizes")}) == 1
    assert len({stem(w) for w in ("embedding", "embeddings", "embed", "embeds")}) == 1
    assert len({stem(w) for w in ("reduce", "reduction", "reduces", "reducing")}) == 1
    assert stem("e4m3") == "e4m3"
    assert stem("gas") == "gas"


def test_words_that_say_nothing_are_left_out():
    assert words_of("How do I write a kernel for LayerNorm_2?") == (stem("layer"), stem("norm"), "2")
    assert words_of("the of a") == ()


def test_a_synonym_stands_for_a_phrase_and_back():
    assert (stem("cumsum"),) in alternatives(words_of("running sum"))[0]
    assert words_of("running sum") in alternatives(words_of("cumsum"))[0]


def test_no_phrase_of_the_synonyms_is_made_of_words_that_are_left_out():
    assert [phrase for group in synonym_groups() for phrase in group if not words_of(phrase)] == []
    assert all(len(group) > 1 for group in synonym_groups())
    assert {"and", "the"} <= STOPWORDS


def test_the_rarer_word_and_the_better_field_decide():
    documents = [
        {"name": ("add",), "notes": ("row", "sum")},
        {"name": ("mul",), "notes": ("row", "add")},
        {"name": ("mul",), "notes": ("row",)},
    ]
    collection = Collection(documents, {"name": 5.0, "notes": 0.4})
    assert [found.number for found in collection.search("add")] == [0]
    assert collection.search("add")[0].why == ("add (name)",)
    assert collection.search("triangles") == ()
    assert collection.search("") == ()
    assert Collection([], {"name": 1.0}).search("add") == ()


def test_a_document_that_answers_little_of_a_query_is_not_found():
    documents = [{"name": ("add",)}, {"name": ("mul",)}]
    collection = Collection(documents, {"name": 1.0})
    assert len(collection.search("add vectors")) == 1
    assert collection.search("add fourier transforms quickly by butterflies over complex signals") == ()


def test_a_word_in_the_notes_alone_finds_nothing_but_counts_beside_others():
    documents = [{"name": ("add",), "notes": ("triangl",)}, {"name": ("mul",), "notes": ("row",)}]
    collection = Collection(documents, {"name": 5.0, "notes": 0.4})
    assert collection.search("triangles") == ()
    assert [found.number for found in collection.search("add triangles")] == [0]


def test_a_phrase_is_known_with_one_of_its_words_called_otherwise():
    assert (stem("argmax"),) in alternatives(words_of("position of the biggest value"))[0]
    assert (stem("argmax"),) not in alternatives(words_of("position"))[0]


def test_a_search_says_why_each_kernel_was_found():
    (best, *_) = corpus_search("swish").kernels
    assert best.name == "silu_and_mul"
    assert any(reason.startswith("swish ~ silu (") for reason in best.why)
    assert best.signature.startswith("silu_and_mul(x: In[bf16")
    assert best.score > 0


def test_near_duplicates_are_one_answer_that_names_the_others():
    found = {row.name: row.also for row in corpus_search("adamw optimizer step").kernels}
    assert ("adamw" in found) != ("adamw_bf16" in found)
    assert set(next(iter(found.items()))[1]) < {"adamw", "adamw_bf16"}


def test_families_are_mixed():
    families = [row.family for row in corpus_search("row", limit=5).kernels]
    assert len(set(families)) > 2


def test_filters_leave_what_has_what_is_asked_for():
    assert all(row.family == "moe" for row in corpus_list(Filters(family="moe")).kernels)
    assert all("e4m3" in row.dtypes for row in corpus_list(Filters(dtype="e4m3")).kernels)
    gathers = [row.name for row in corpus_list(Filters(feature="gather")).kernels]
    assert "gather_rows" in gathers
    assert "softmax" not in gathers
    assert names("add", dtype="bf16", family="elementwise") == ["vector_add_bf16"]
    assert len(corpus_list(limit=2).kernels) == 2


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"family": "norms"}, "did you mean `norm`"),
        ({"dtype": "bf61"}, "did you mean `bf16`"),
        ({"feature": "reductions"}, "did you mean `reduction`"),
        ({"signature": "two tensors"}, "there is no tensor in it"),
        ({"signature": "In[f31, T] -> Out[f32, T]"}, "there is no dtype `f31`"),
    ],
)
def test_what_does_not_exist_is_refused_naming_the_nearest(filters: dict[str, str], said: str):
    with pytest.raises(UsageError) as caught:
        corpus_search("rows", Filters(**filters))
    assert said in caught.value.diagnostic.message


@pytest.mark.parametrize(
    ("kernel", "shows", "lacks"),
    [
        ("softmax", {"reduction"}, {"elementwise", "scan", "gather", "loop"}),
        ("vector_add", {"elementwise"}, {"reduction", "mask", "in place"}),
        ("gather_rows", {"gather", "promise"}, {"scatter", "reduction", "elementwise"}),
        ("expand_to_fused", {"scatter", "several grids"}, {"reduction"}),
        ("cross_entropy", {"carried loop", "gather", "reduction"}, {"scan"}),
        ("cumsum", {"scan"}, {"reduction", "elementwise"}),
        ("per_token_cast_e4m3", {"quantise", "block", "reduction"}, {"gather", "dequantise"}),
        ("reduce_fused_e4m3", {"gather", "quantise"}, {"scatter"}),
        ("adamw", {"in place", "elementwise"}, {"reduction"}),
    ],
)
def test_features_are_what_the_ir_shows(kernel: str, shows: set[str], lacks: set[str]):
    found = set(find(kernel, INDEX).features)
    assert shows <= found
    assert not lacks & found


def test_features_have_one_name_each_and_say_what_they_mean():
    assert len(set(FEATURE_NAMES)) == len(FEATURES)
    assert all(feature.meaning for feature in FEATURES)


def test_a_signature_is_read_from_text():
    asked = tensors_in("In[bf16, T, H] -> Out[ak.float32, T, (H + 127) // 128], InOut[any, 4]")
    assert [(t.access, t.dtype, t.shape) for t in asked] == [
        ("in", "bf16", ("T", "H")),
        ("out", "f32", ("T", "(H + 127) // 128")),
        ("inout", None, ("4",)),
    ]
    assert tensors_in("rows of numbers") == ()


def test_names_of_sizes_do_not_matter_in_a_signature():
    a = tensors_in("In[f32, A, B], Out[f32, A]")
    assert likeness(a, tensors_in("In[f32, T, H], Out[f32, T]")) == 1
    assert likeness(a, tensors_in("In[f32, T, H], Out[f32, H]")) < 1
    assert likeness(a, tensors_in("In[f32, T, H], In[f32, T, H], Out[f32, T]")) < 0.9
    assert likeness((), ()) == 0


def test_a_signature_finds_kernels_like_it():
    assert names("In[bf16, T, H] -> Out[e4m3, T, H], Out[f32, T, G]")[0] == "per_token_cast_e4m3"
    assert names("rows", signature="In[bf16, V, H], In[i32, N] -> Out[bf16, N, H]")[0] == "gather_rows"


def test_every_kernel_finds_itself_by_its_text_and_by_its_name():
    for indexed in INDEX:
        assert likeness(tensors_in(indexed.entry.source), indexed.tensors) > 0 or not tensors_of(indexed.tile)
        found = corpus_search(indexed.kernel.replace("_", " "), limit=3).kernels
        assert any(indexed.kernel in (row.name, *row.also) for row in found), indexed.kernel


def test_a_kernel_as_query_finds_what_computes_the_same():
    text = find("softmax", INDEX).entry.source.replace("softmax", "f").replace("row", "r")
    assert names(text)[0] == "softmax"


def test_a_hidden_kernel_is_nowhere_nor_are_its_near_duplicates():
    hidden = ("adamw",)
    assert names("adamw") == ["adamw"]
    found = corpus_search("adamw", Filters(hidden=hidden), limit=50).kernels
    assert not {"adamw", "adamw_bf16"} & {name for row in found for name in (row.name, *row.also)}
    assert "adamw" not in [row.name for row in corpus_list(Filters(hidden=hidden)).kernels]
    with pytest.raises(UsageError) as caught:
        corpus_show("adamw_bf16", hidden=hidden)
    assert "adamw_bf16" not in caught.value.diagnostic.message.replace("`adamw_bf16`", "")


def test_a_group_can_be_hidden_and_what_does_not_exist_cannot():
    group = find("vector_add", INDEX).group
    left = {indexed.kernel for indexed in without(INDEX, (group,))}
    assert not {"vector_add", "vector_add_bf16"} & left
    with pytest.raises(UsageError, match="no kernel `vector_ad`"):
        without(INDEX, ("vector_ad",))


def test_the_index_is_the_same_from_the_cache_and_new_when_a_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "corpus" / "softmax" / "softmax"
    shutil.copytree(default_corpus() / "softmax" / "softmax", folder)
    (made,) = index_of(tmp_path / "corpus")
    corpus_index._index.cache_clear()
    monkeypatch.setattr(corpus_index, "_find_out", lambda _listed: pytest.fail("it is in the cache"))
    (kept,) = index_of(tmp_path / "corpus")
    assert [getattr(kept, f.name) for f in fields(Facts)] == [getattr(made, f.name) for f in fields(Facts)]
    monkeypatch.undo()
    monkeypatch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path / "cache"))
    kernel = folder / "kernel.py"
    kernel.write_text(kernel.read_text(encoding="utf-8").replace("ak.max(", "ak.min("), encoding="utf-8")
    (changed,) = index_of(tmp_path / "corpus")
    assert "min" in changed.operations
    assert changed.group != made.group


def test_a_warm_search_takes_a_moment():
    corpus_search("normalise rows")
    started = time.perf_counter()
    corpus_search("rows of a table by index")
    assert time.perf_counter() - started < 0.5


def test_every_weighted_field_is_there():
    assert {"name", "tags", "family", "summary", "features", "operations", "docstring", "notes"} <= set(WEIGHTS)
