"""`agentkern corpus`: what an agent sees of the kernels to learn from."""

from __future__ import annotations

import json
import shlex
import shutil
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


@pytest.mark.toolchain
def test_the_command_that_show_ends_with_verifies_the_kernel():
    shown = agentkern("corpus", "show", "vector_add", "--corpus", CORPUS, "--json").json
    _, _, command = shown["summary"].partition("next: `agentkern ")
    answer = agentkern(*shlex.split(command.rstrip("`")), "--json")
    assert answer.code == 0, answer.out
    assert "reference" in {check["name"] for check in answer.json["checks"] if check["status"] == "passed"}


def test_every_kernel_is_shown_with_the_sizes_and_the_reference_that_verify_needs():
    for kernel in agentkern("corpus", "list", "--corpus", CORPUS, "--json").json["kernels"][:8]:
        shown = agentkern("corpus", "show", kernel["name"], "--corpus", CORPUS, "--json").json
        assert all(f"--dim {name}={size}" in shown["summary"] for name, size in shown["compile_dims"].items())
        assert "--reference" in shown["summary"]


def test_an_unknown_name_is_wrong_usage_that_lists_the_names():
    answer = agentkern("corpus", "show", "rms_nrm", "--corpus", CORPUS, "--json")
    assert answer.code == 2
    assert "rms_norm" in answer.json["summary"]


def test_one_kernel_is_counted_as_one(one: str):
    assert (
        agentkern("corpus", "list", "--limit", "1", "--corpus", one, "--json").json["summary"].startswith("1 kernel;")
    )


@pytest.fixture
def one(tmp_path: Path) -> str:
    """A corpus of one folder."""
    shutil.copytree(Path(CORPUS) / "elementwise" / "vector_add", tmp_path / "corpus" / "elementwise" / "vector_add")
    return str(tmp_path / "corpus")


def test_export_writes_one_object_a_line(one: str, tmp_path: Path):
    file = tmp_path / "corpus.jsonl"
    assert agentkern("corpus", "export", "--corpus", one, "-o", str(file)).code == 0
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    tasks, fixes = ([row for row in rows if row["kind"] == kind] for kind in ("task", "fix"))
    assert len(tasks) == 2
    assert all({"name", "task", "kernel", "cuda", "split", "group"} <= set(row) for row in tasks)
    assert all("__global__" in row["cuda"] for row in tasks)
    assert len(fixes) > 20
    assert all(row["broken"] != row["fixed"] and row["diagnostics"] for row in fixes)


def test_export_gives_one_kind_or_the_schemas(one: str):
    lines = agentkern("corpus", "export", "--corpus", one, "--kind", "fix").out.splitlines()
    assert {json.loads(line)["kind"] for line in lines} == {"fix"}
    assert set(agentkern("corpus", "export", "--schema").json) == {"task", "fix"}


def test_list_and_search_take_the_same_filters():
    for command in (("list",), ("search", "row")):
        found = agentkern("corpus", *command, "--family", "norm", "--dtype", "bf16", "--feature", "reduction", "--limit",
                          "2", "--corpus", CORPUS, "--json").json["kernels"]  # fmt: skip
        assert len(found) == 2
        assert all(row["family"] == "norm" and "reduction" in row["features"] for row in found)
    alike = agentkern("corpus", "list", "--signature", "In[bf16, T, H] -> Out[e4m3, T, H], Out[f32, T, G]",
                      "--corpus", CORPUS, "--json").json["kernels"]  # fmt: skip
    assert alike[0]["name"] == "per_token_cast_e4m3"
    assert agentkern("corpus", "list", "--feature", "gathering", "--corpus", CORPUS).code == 2


@pytest.mark.toolchain
def test_verify_ends_with_0_when_every_named_kernel_holds():
    answer = agentkern("corpus", "verify", "vector_add", "--corpus", CORPUS, "--json")
    assert answer.code == 0, answer.out
    assert set(answer.json["kernels"]) == {"vector_add"}
