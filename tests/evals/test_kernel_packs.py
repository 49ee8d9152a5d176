"""Packs of built kernels: what a GPU machine reads back is what was built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentkern.compiler.analysis.promises import promises_of
from agentkern.compiler.driver import compile_kernel
from agentkern.runtime.abi_json import abi_from_json, abi_to_json
from evals.kernel_builds import request_of
from evals.kernel_packs import (
    ENTRIES,
    Built,
    PackedKernel,
    commit,
    cubin_name,
    promises_from_json,
    promises_to_json,
    read_pack,
    write_pack,
)
from evals.perf.row_kernels import lowered, markdown, reached, shape_text, statics_of


@pytest.mark.parametrize("kernel", ENTRIES)
def test_a_calling_convention_and_promises_survive_json(kernel: str) -> None:
    statics = statics_of(kernel, ENTRIES[kernel].shapes["shown"][1])
    abi = compile_kernel(request_of(kernel, statics, "sm_90a")).abi
    assert abi is not None
    assert abi_from_json(json.loads(json.dumps(abi_to_json(abi)))) == abi
    tile = lowered(kernel, statics)
    rows = promises_to_json(tile.attrs.get("promises", ()))
    assert promises_from_json(json.loads(json.dumps(rows))) == promises_of(tile)


def test_a_pack_reads_back_with_cubins_texts_and_what_came_along(tmp_path: Path) -> None:
    abi = compile_kernel(request_of("rms_norm", {"H": 8}, "sm_90a")).abi
    assert abi is not None
    packed = PackedKernel("rms_norm", {"H": 8}, 0, {"version": 1}, abi, cubin_name(b"code"), {})
    write_pack(tmp_path, [Built(packed, b"code", "text")], {"cases": [1]})
    rows, extra = read_pack(tmp_path)
    assert rows == [packed]
    assert rows[0].cubin(tmp_path) == b"code"
    assert rows[0].text(tmp_path) == "text"
    assert extra == {"commit": commit(), "cases": [1]}


def test_a_benchmark_report_prints_one_line_a_kernel_and_shape() -> None:
    row = {
        "kernel": "rms_norm",
        "shape": [8192, 7168],
        "schedule_number": 0,
        "median_us": 55.0,
        "ci_us": [54.9, 55.1],
        "of_copy": 0.97,
        "gbytes_per_s": 4270.0,
        "runs": 60,
        "peers": {"torch": {"median_us": 110.0}},
    }
    head = {"gpu": "G", "driver_cuda": "13.0", "torch": "2", "date": "2026-01-01", "commit": "c"}
    text = markdown(
        {**head, "copy_gbytes_per_s": 4400.0, "fill_gbytes_per_s": 3300.0, "rows": [row, {**row, "schedule_number": 1}]}
    )
    assert text.count("| rms_norm |") == 1
    assert "| rms_norm | 8192x7168 | 55.0 | 54.9 to 55.1 | 0.97 | 4270.0 | 110.0 |  | 60 |" in text


def test_a_shape_is_named_by_its_sizes_in_order() -> None:
    assert shape_text({"T": 8192, "H": 7168}) == "8192x7168"
    assert statics_of("rope", {"B": 2, "S": 9, "N": 4, "D": 64}) == {"N": 4, "D": 64}


def test_goals_are_of_copy_and_lenient_where_the_cache_plays_a_part() -> None:
    sizes = {"T": 4096, "V": 131072}
    assert reached("softmax", sizes, 0.95, 0.0, None)
    assert not reached("softmax", sizes, 0.94, 0.0, None)
    assert reached("cross_entropy", sizes, 0.94, 0.0, None)
    assert reached("softmax", sizes, 0.8, 5.9, 5.0)
    assert reached("softmax", sizes, 0.8, 21.0, 20.0)
    assert not reached("softmax", sizes, 0.8, 22.0, 20.0)
