"""Packs of built kernels: what a GPU machine reads back is what was built."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentkern.compiler.driver import compile_kernel
from evals.kernel_builds import FILES, request_of
from evals.kernel_packs import Built, PackedKernel, abi_from_json, abi_to_json, cubin_name, read_pack, write_pack
from evals.perf.row_kernels import SHAPES, markdown, sizes_of

STATICS = {
    name: {} if name.startswith("vector_add") else {"H": 130 if name == "per_token_cast_e4m3" else 576}
    for name in FILES
}


@pytest.mark.parametrize("kernel", FILES)
def test_a_calling_convention_survives_json(kernel: str) -> None:
    abi = compile_kernel(request_of(kernel, STATICS[kernel], "sm_90a")).abi
    assert abi is not None
    assert abi_from_json(json.loads(json.dumps(abi_to_json(abi)))) == abi


def test_a_pack_reads_back_with_cubins_texts_and_what_came_along(tmp_path: Path) -> None:
    abi = compile_kernel(request_of("rms_norm", {"H": 8}, "sm_90a")).abi
    assert abi is not None
    packed = PackedKernel("rms_norm", {"H": 8}, 0, {"version": 1}, abi, cubin_name(b"code"), {})
    write_pack(tmp_path, [Built(packed, b"code", "text")], {"cases": [1]})
    rows, extra = read_pack(tmp_path)
    assert rows == [packed]
    assert rows[0].cubin(tmp_path) == b"code"
    assert rows[0].text(tmp_path) == "text"
    assert extra == {"cases": [1]}


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
    text = markdown({**head, "copy_gbytes_per_s": 4400.0, "rows": [row, {**row, "schedule_number": 1}]})
    assert text.count("| rms_norm |") == 1
    assert "| rms_norm | 8192x7168 | 55.0 | 54.9 to 55.1 | 0.97 | 4270.0 | 110.0 |  | 60 |" in text


def test_vectors_hold_as_many_elements_as_the_rows() -> None:
    for rows, columns in SHAPES:
        assert sizes_of("vector_add", rows, columns) == {"N": rows * columns}
        assert sizes_of("rms_norm", rows, columns) == {"T": rows, "H": columns}
