"""The corpus: every entry complete and true to its kernel; records that show when they are stale."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from agentkern.tools.corpus import corpus_verify, meta_problems, record_performance
from agentkern.tools.corpus_entry import CorpusError, Entry, default_corpus, read_entries, read_entry
from agentkern.tools.corpus_formulas import formula_value
from agentkern.tools.corpus_records import with_record
from agentkern.tools.corpus_search import Filters, corpus_list, corpus_show
from agentkern.tools.sources import UsageError

ENTRIES = read_entries(default_corpus())
KERNELS = [(entry, kernel) for entry in ENTRIES for kernel in entry.kernels]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A corpus of one entry that a test may spoil."""
    shutil.copytree(default_corpus() / "elementwise", tmp_path / "elementwise")
    return tmp_path


def test_the_first_three_kernels_are_there() -> None:
    assert {"vector_add", "vector_add_bf16", "rms_norm", "per_token_cast_e4m3"} <= {kernel for _, kernel in KERNELS}


@pytest.mark.parametrize(("entry", "kernel"), KERNELS, ids=[kernel for _, kernel in KERNELS])
def test_meta_toml_agrees_with_the_kernel(entry: object, kernel: str) -> None:
    assert meta_problems(entry, kernel) == ()


def test_meta_toml_that_contradicts_its_kernel_is_found(copied: Path) -> None:
    meta = copied / "elementwise" / "vector_add" / "meta.toml"
    text = meta.read_text()
    for old, new, said in (
        ('bytes = "12 * N"', 'bytes = "8 * N"', "bytes of"),
        ('vector_add = { x = "f32"', 'vector_add = { x = "f16"', "dtypes of"),
        ("{ N = 4096 }", "{ M = 4096 }", "does not give"),
    ):
        assert old in text
        meta.write_text(text.replace(old, new))
        assert said in meta_problems(read_entry(meta.parent), "vector_add")[0]


def test_a_formula_takes_the_smaller_of_two_extents() -> None:
    text = "2 * H * min(S, T * K) + 4 * min(1, S // 3)"
    assert formula_value(text, {"H": 5, "S": 9, "T": 2, "K": 6}) == 94
    assert formula_value(text, {"H": 5, "S": 90, "T": 2, "K": 6}) == 124
    with pytest.raises(ValueError, match="bad extent"):
        formula_value("max(H, S)", {"H": 5, "S": 9})


def test_an_incomplete_folder_is_named(copied: Path) -> None:
    folder = copied / "elementwise" / "vector_add"
    (folder / "notes.md").unlink()
    with pytest.raises(CorpusError, match=r"`notes\.md` is missing"):
        read_entry(folder)


def test_list_names_all_of_them_or_those_that_fit() -> None:
    assert len(corpus_list().kernels) == len(KERNELS)
    assert "per_token_cast_e4m3" in [row.name for row in corpus_list(Filters(family="quant", dtype="e4m3")).kernels]


def test_show_gives_what_is_needed_to_compile() -> None:
    shown = corpus_show("rms_norm")
    assert shown.compile_dims == {"H": 7168}
    assert "In[bf16, T, H]" in shown.signature
    assert "def rms_norm" in shown.text
    with pytest.raises(UsageError, match="rms_norm"):
        corpus_show("rmsnorm")


@pytest.mark.toolchain
def test_verify_reproves_one_kernel_and_records_it(copied: Path) -> None:
    result = corpus_verify(["vector_add_bf16"], corpus=copied, record=True)
    assert result.status == "ok"
    assert result.kernels["vector_add_bf16"].verdict == "bit_exact"
    folder = copied / "elementwise" / "vector_add"
    record = read_entry(folder).record["verification"]
    assert record["verdicts"] == {"vector_add_bf16": "bit_exact"}
    assert not record["stale"]
    (folder / "kernel.py").write_text((folder / "kernel.py").read_text() + "\n# changed\n")
    assert read_entry(folder).record["verification"]["stale"]


@pytest.mark.toolchain
def test_verify_fails_where_the_kernel_contradicts_its_reference(copied: Path) -> None:
    kernel = copied / "elementwise" / "vector_add" / "kernel.py"
    kernel.write_text(kernel.read_text().replace("x[i] + y[i]", "x[i] - y[i]"))
    result = corpus_verify(["vector_add"], corpus=copied)
    assert result.status == "failed"
    assert result.kernels["vector_add"].verdict == "wrong"


def test_a_record_replaces_the_one_before_and_leaves_the_rest_alone() -> None:
    text = 'name = "a"\n\n[first]\nx = 1\nrows = [\n  { y = 2 },\n]\n\n[second]\nz = "s"\n'
    once = with_record(text, "first", {"rows": [{"shape": "8x8", "us": 1.5}], "note": 'say "no"', "on": True})
    twice = with_record(once, "first", {"x": 3})
    assert tomllib.loads(once) == {
        "name": "a",
        "second": {"z": "s"},
        "first": {"rows": [{"shape": "8x8", "us": 1.5}], "note": 'say "no"', "on": True},
    }
    assert tomllib.loads(twice) == {"name": "a", "second": {"z": "s"}, "first": {"x": 3}}


def test_a_benchmark_report_becomes_the_performance_record(copied: Path) -> None:
    row = {
        "kernel": "vector_add",
        "shape": [8192, 7168],
        "schedule_number": 0,
        "median_us": 160.0,
        "ci_us": [159.0, 161.0],
        "runs": 40,
        "of_copy": 0.97,
        "peers": {"torch.compile": {"median_us": 161.0}},
    }
    head = {"gpu": "a GPU", "driver_cuda": "13.0", "torch": "2", "date": "2026-01-01", "commit": "c"}
    report = {**head, "copy_gbytes_per_s": 4400.0, "rows": [row]}
    assert record_performance(report, copied) == ("vector_add",)
    record = read_entry(copied / "elementwise" / "vector_add").record["performance"]
    assert record["rows"][0]["torch_compile"] == 161.0
    assert record["gpu"] == "a GPU"


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.name for entry in ENTRIES])
def test_the_verification_record_is_of_this_kernel_and_holds(entry: Entry) -> None:
    record = entry.record["verification"]
    assert not record["stale"]
    assert set(record["verdicts"]) == set(entry.kernels)
    assert set(record["verdicts"].values()) <= {"bit_exact", "within_bound"}
