"""The corpus as training text: mistakes that the compiler refuses, and sets that give nothing away."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import jsonschema
import pytest

from agentkern.diagnostics import CODES
from agentkern.tools.check import check
from agentkern.tools.corpus_entry import default_corpus
from agentkern.tools.corpus_export import corpus_export
from agentkern.tools.corpus_export_records import RECORDS, RepairRecord, TaskRecord
from agentkern.tools.corpus_index import index_of
from agentkern.tools.corpus_mutations import OPERATORS, PER_OPERATOR, mutants
from agentkern.tools.corpus_split import splits
from agentkern.tools.kernel_text import kernel_text
from agentkern.tools.requests import CheckRequest

SOFTMAX = (default_corpus() / "softmax" / "softmax" / "kernel.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of four families."""
    folder = tmp_path_factory.mktemp("corpus")
    for name in ("elementwise/vector_add", "softmax/softmax", "memory/gather_rows", "norm/rms_norm"):
        shutil.copytree(default_corpus() / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def repairs(small: Path) -> list[RepairRecord]:
    return [record for record in corpus_export(("fix",), corpus=small) if isinstance(record, RepairRecord)]


def made(operator: str, source: str = SOFTMAX, kernel: str = "softmax") -> list[str]:
    """The texts that one operator makes."""
    return [mutant.source for mutant in mutants(source, kernel) if mutant.operator.name == operator]


@pytest.mark.parametrize(
    ("operator", "old", "new"),
    [
        ("dropped_cast", "row = x[t, :].to(ak.f32)", "row = x[t, :]"),
        ("method_cast", "x[t, :].to(ak.f32)", "x[t, :].float()"),
        ("wrong_axis", "ak.max(row, axis=1", "ak.max(row, axis=2"),
        ("missing_keepdims", "ak.max(row, axis=1, keepdims=True)", "ak.max(row, axis=1)"),
        ("renamed_argument", "ak.max(row, axis=1", "ak.max(row, dim=1"),
        ("plain_loop", "for t in ak.grid(T):", "for t in range(T):"),
        ("past_the_end", "x[t, :]", "x[t + 1, :]"),
        ("missing_entry", "x[t, :]", "x[t]"),
        ("extra_entry", "x[t, :]", "x[t, :, :]"),
        ("swapped_entries", "x[t, :]", "x[:, t]"),
        ("misspelt", "ak.exp(row", "ak.ex(row"),
        ("other_library", "ak.exp(row", "torch.exp(row"),
        ("as_method", "ak.max(row, axis=1, keepdims=True)", "(row).max(axis=1, keepdims=True)"),
        ("other_dtype", "x: ak.In[ak.bf16", "x: ak.In[ak.bfloat16"),
        ("output_as_input", "out: ak.Out[", "out: ak.In["),
        ("unknown_name", "ak.max(row,", "ak.max(row_f32,"),
        ("no_decorator", "@ak.kernel\n", ""),
        ("no_colon", "ak.grid(T):", "ak.grid(T)"),
    ],
)
def test_an_operator_makes_its_mistake(operator: str, old: str, new: str):
    assert SOFTMAX.count(old) >= 1
    assert SOFTMAX.replace(old, new, 1) in made(operator)


def test_what_stands_in_parentheses_stays_there():
    plain = SOFTMAX.replace("x[t, :].to(ak.f32)", "x[t, :]")
    source = plain.replace(
        "(e / ak.sum(e, axis=1, keepdims=True)).to(ak.bf16)", "(e * (row + 1.0).to(ak.f32)[:, None]).to(ak.bf16)"
    )
    assert any("e * (row + 1.0)[:, None]).to(ak.bf16)" in text for text in made("dropped_cast", source))
    spread = SOFTMAX.replace("e / ak.sum(e, axis=1, keepdims=True)", "e * (row + 1.0)[:, None]")
    assert any("e * (row + 1.0)).to(ak.bf16)" in text for text in made("missing_new_axis", spread))


def test_a_tile_condition_stands_around_a_whole_store():
    (text,) = made("tile_condition")
    assert "        if (e / ak.sum(e, axis=1, keepdims=True)).to(ak.bf16) > 0:\n            out[t, :] = (e /" in text


def test_promises_and_conditions_are_left_out():
    gather = (default_corpus() / "memory" / "gather_rows" / "kernel.py").read_text(encoding="utf-8")
    assert made("dropped_promise", gather, "gather_rows") == [gather.replace(".values(0, S)", "")]
    moved = gather.replace("table[ids[t], :]", "ak.load(table[ids[t], :], where=(ids[t] >= 0)[:, None], fill=0)")
    assert any("ids[t], :], fill=0)" in text for text in made("dropped_where", moved, "gather_rows"))
    assert any("[:, None])\n" in text for text in made("dropped_fill", moved, "gather_rows"))


def test_mutants_are_different_few_and_made_in_order():
    found = list(mutants(SOFTMAX, "softmax"))
    texts = [mutant.source for mutant in found]
    assert len(set(texts)) == len(texts)
    assert SOFTMAX not in texts
    assert max(Counter(mutant.operator.name for mutant in found).values()) <= PER_OPERATOR
    assert texts == [mutant.source for mutant in mutants(SOFTMAX, "softmax")]


def test_edits_hit_their_place_in_a_text_of_several_bytes_a_letter():
    text = SOFTMAX.replace("Turn each", "Ändert — each").replace(
        "        e = ", "        ä = row  # größer\n        e = "
    )
    edited = kernel_text(text, "softmax")
    for call in edited.calls():
        assert edited.of(call).endswith(")")
    with pytest.raises(ValueError, match="no kernel `soft`"):
        kernel_text(text, "soft")


def test_operators_have_one_name_each_and_say_what_they_are():
    assert len({operator.name for operator in OPERATORS}) == len(OPERATORS) >= 20
    assert all(operator.what for operator in OPERATORS)


def test_every_repair_is_refused_as_it_stands_and_right_once_fixed(repairs: list[RepairRecord]):
    assert len(repairs) > 60
    assert len({record.operator for record in repairs}) > 15
    for record in repairs[::7]:
        request = {"path": "kernel.py", "kernel": record.name, "dims": record.dims}
        found = check(CheckRequest(source=record.broken, **request))
        assert found.status != "ok"
        assert found.diagnostics == record.diagnostics
        assert check(CheckRequest(source=record.fixed, **request)).status == "ok"


def test_every_repair_has_diagnostics_of_known_codes_and_none_of_our_own_errors(repairs: list[RepairRecord]):
    codes = Counter(diagnostic.code for record in repairs for diagnostic in record.diagnostics)
    assert set(codes) <= set(CODES)
    assert not [code for code in codes if code.startswith("AK9")]
    assert all(record.diagnostics for record in repairs)


def test_a_machine_fix_says_what_it_ends_with(repairs: list[RepairRecord]):
    outcomes = Counter(record.machine_fix for record in repairs)
    assert outcomes["compiles"] > 20
    assert outcomes["none"] > 0
    for record in repairs:
        assert (record.machine_fix == "compiles") == (record.machine_fixed is not None)
        assert record.machine_fixed is not None or not record.machine_fix_restores
    mended = [record for record in repairs if record.machine_fix_restores]
    assert len(mended) > 20
    dropped = next(record for record in mended if record.operator == "misspelt")
    assert dropped.machine_fixed == dropped.fixed


def test_an_export_is_the_same_the_next_time_and_fits_its_schema(small: Path, repairs: list[RepairRecord]):
    again = [record.model_dump_json() for record in corpus_export(("fix",), corpus=small)]
    assert again == [record.model_dump_json() for record in repairs]
    schema = RECORDS["fix"].model_json_schema()
    for line in again[::5]:
        jsonschema.validate(json.loads(line), schema)
        assert str(small) not in line
    assert all("description" in field for field in schema["properties"].values() if "const" not in field)


@pytest.mark.toolchain
def test_a_task_is_a_kernel_with_its_words_and_its_cuda(small: Path):
    tasks = [record for record in corpus_export(("task",), corpus=small) if isinstance(record, TaskRecord)]
    assert [task.name for task in tasks] == ["gather_rows", "rms_norm", "softmax", "vector_add", "vector_add_bf16"]
    assert all("__global__" in task.cuda and "@ak.kernel" in task.kernel and task.task for task in tasks)
    assert tasks[3].group == tasks[4].group
    assert len({record.id for record in tasks}) == len(tasks)
    jsonschema.validate(json.loads(tasks[0].model_dump_json()), RECORDS["task"].model_json_schema())


def test_no_family_and_no_group_is_in_two_sets():
    index = index_of()
    kernels = [(indexed.entry.family, indexed.group) for indexed in index]
    found = splits(kernels)
    for part in (0, 1):
        sets: dict[str, set[str]] = {}
        for kernel, split in zip(kernels, found, strict=True):
            sets.setdefault(kernel[part], set()).add(split)
        assert all(len(its) == 1 for its in sets.values())
    assert set(found) == {"train", "valid", "test"}
    assert found.count("train") > 0.6 * len(found)
    assert found == splits(kernels)


def test_families_that_share_a_group_go_together():
    kernels = [(f"family{k}", f"group{k}") for k in range(20)]
    joined = [*kernels, ("family3", "shared"), ("family17", "shared"), ("family9", "group17")]
    found = dict(zip((family for family, _ in joined), splits(joined), strict=True))
    assert found["family3"] == found["family17"] == found["family9"]
    assert splits([]) == ()
    assert splits([("a", "g")]) == ("train",)
