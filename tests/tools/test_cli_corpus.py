"""`agentkern corpus`: what an agent sees of the kernels to learn from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.tools.command_line import agentkern

CORPUS = str(Path(__file__).resolve().parents[2] / "corpus")


def test_list_names_every_kernel():
    answer = agentkern("corpus", "list", "--corpus", CORPUS, "--json")
    assert answer.code == 0
    assert {"rms_norm", "vector_add", "per_token_cast_e4m3"} <= {kernel["name"] for kernel in answer.json["kernels"]}
    assert "rms_norm" in agentkern("corpus", "list", "--corpus", CORPUS).out


def test_search_keeps_the_kernels_that_hold_every_word():
    names = {
        k["name"] for k in agentkern("corpus", "search", "row", "norm", "--corpus", CORPUS, "--json").json["kernels"]
    }
    assert "rms_norm" in names
    assert "vector_add" not in names
    assert agentkern("corpus", "search", "no-such-word", "--corpus", CORPUS, "--json").json["kernels"] == []


def test_show_has_all_that_is_needed_to_compile_it():
    shown = agentkern("corpus", "show", "rms_norm", "--corpus", CORPUS, "--json").json
    assert shown["compile_dims"] == {"H": 7168}
    assert set(shown) >= {"name", "path", "signature", "compile_dims", "shapes", "criterion", "record"}
    dims = [part for name, size in shown["compile_dims"].items() for part in ("--dim", f"{name}={size}")]
    assert agentkern("check", shown["path"], *dims).code == 0
    assert "**The idea.**" in agentkern("corpus", "show", "rms_norm", "--corpus", CORPUS).out


def test_an_unknown_name_is_wrong_usage_that_lists_the_names():
    answer = agentkern("corpus", "show", "rms_nrm", "--corpus", CORPUS, "--json")
    assert answer.code == 2
    assert "rms_norm" in answer.json["summary"]


def test_export_writes_one_object_a_line(tmp_path: Path):
    file = tmp_path / "corpus.jsonl"
    assert agentkern("corpus", "export", "--corpus", CORPUS, "-o", str(file)).code == 0
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert all({"name", "task", "kernel", "cuda"} <= set(row) for row in rows)
    assert all("__global__" in row["cuda"] for row in rows)


@pytest.mark.toolchain
def test_verify_ends_with_0_when_every_named_kernel_holds():
    answer = agentkern("corpus", "verify", "vector_add", "--corpus", CORPUS, "--json")
    assert answer.code == 0, answer.out
    assert set(answer.json["kernels"]) == {"vector_add"}
