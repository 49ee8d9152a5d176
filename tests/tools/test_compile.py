"""`agentkern compile`: fields, emitted texts, stops, starts from text, schedules, the cache, wrong kernels."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentkern.runtime.fitting_build import FittingBuild, build_fitting
from agentkern.runtime.nvrtc_log import CudaMessage, Severity
from agentkern.tools.compile import compile
from agentkern.tools.requests import CompileRequest
from tests.tools.command_line import agentkern
from tests.tools.kernel_texts import BROKEN, RMS_NORM

pytestmark = pytest.mark.toolchain


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTKERN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(RMS_NORM, encoding="utf-8")
    return str(path)


def test_the_result_has_every_field(kernel: str):
    answer = agentkern("compile", kernel, "--dim", "H=576", "--dim", "T=4001", "--json")
    assert answer.code == 0, answer.out
    result = answer.json
    assert result["status"] == "ok"
    assert result["target"] == "sm_90a"
    assert result["signature"].startswith("rms_norm(x: In[bf16, T, 576]")
    assert set(result["resources"]) == {
        "registers", "spill_bytes", "shared_bytes", "barriers", "threads", "occupancy",
    }  # fmt: skip
    assert result["roofline"]["bytes"] == 4 * 4001 * 576 + 2 * 576
    assert result["roofline"]["floor_us"] > 0
    assert result["proofs"]["refuted"] == result["proofs"]["unknown"] == 0
    assert result["proofs"]["proved"] > 0
    assert {"frontend", "proofs", "assemble"} <= set(result["timings_ms"])
    assert {artifact["kind"] for artifact in result["artifacts"]} == {"cuda", "cubin"}
    assert Path(result["artifacts"][0]["path"]).read_text(encoding="utf-8").count("__global__") == 1


def test_every_text_can_be_emitted_to_a_folder(kernel: str, tmp_path: Path):
    kinds = ("cuda", "ir", "placed", "gpu", "ptx", "sass", "layouts", "proofs", "host")
    emits = [part for kind in kinds for part in ("--emit", kind)]
    answer = agentkern("compile", kernel, "--dim", "H=64", *emits, "-o", str(tmp_path / "out"), "--json")
    assert answer.code == 0, answer.out
    paths = {artifact["kind"]: Path(artifact["path"]) for artifact in answer.json["artifacts"]}
    assert set(paths) == {*kinds, "cubin"}
    assert all(path.parent == tmp_path / "out" for path in paths.values())
    assert ".visible .entry rms_norm" in paths["ptx"].read_text(encoding="utf-8")
    assert "EXIT" in paths["sass"].read_text(encoding="utf-8")
    assert "kernel tile @rms_norm" in paths["ir"].read_text(encoding="utf-8")
    assert json.loads(paths["proofs"].read_text(encoding="utf-8"))["counts"]["refuted"] == 0
    host = json.loads(paths["host"].read_text(encoding="utf-8"))
    assert [param["name"] for param in host["parameters"]] == ["x", "weight", "out", "eps"]


def test_an_emitted_text_alone_is_on_stdout(kernel: str):
    answer = agentkern("compile", kernel, "--dim", "H=64", "--emit", "cuda")
    assert answer.code == 0
    assert 'extern "C" __global__' in answer.out
    assert "registers" not in answer.out.splitlines()[0]
    assert "78 registers" in answer.err or " registers" in answer.err


def test_compilation_stops_after_a_pass_and_goes_on_from_its_text(kernel: str, tmp_path: Path):
    stopped = agentkern("compile", kernel, "--dim", "H=64", "--stop-after", "simplify")
    assert stopped.code == 0
    assert stopped.out.startswith("agentkern.ir")
    text = tmp_path / "kernel.ir"
    text.write_text(agentkern("compile", kernel, "--dim", "H=64", "--emit", "ir").out, encoding="utf-8")
    resumed = agentkern("compile", "--from", str(text), "--json")
    assert resumed.code == 0, resumed.out
    direct = agentkern("compile", kernel, "--dim", "H=64", "--json")
    assert resumed.json["resources"] == direct.json["resources"]


def test_a_text_of_the_gpu_stage_goes_through_the_pass_that_it_still_can():
    text = str(Path(__file__).parents[1] / "gpu_stage" / "product_bf16.ir")
    stopped = agentkern("compile", "--from", text, "--stop-after", "drop_unused")
    assert stopped.code == 0
    assert stopped.out.startswith("agentkern.ir")
    assert "wgmma" in stopped.out
    past = agentkern("compile", "--from", text, "--stop-after", "simplify", "--json")
    assert past.code == 2
    assert "past `simplify`" in past.json["summary"]


def test_an_unknown_pass_is_wrong_usage_that_names_the_passes(kernel: str):
    answer = agentkern("compile", kernel, "--dim", "H=64", "--stop-after", "simplfy", "--json")
    assert answer.code == 2
    assert "simplify" in answer.json["summary"]


def test_a_schedule_is_replayed(kernel: str):
    first = agentkern("compile", kernel, "--dim", "H=576", "--json").json
    again = agentkern("compile", kernel, "--dim", "H=576", "--schedule", json.dumps(first["schedule"]), "--json").json
    assert again["kernel_id"] == first["kernel_id"]
    wrong = agentkern("compile", kernel, "--dim", "H=576", "--schedule", '{"version": 1, "grids": [{}]}', "--json")
    assert wrong.code == 1
    assert wrong.json["diagnostics"][0]["code"] == "AK613"


def test_the_second_time_comes_from_the_cache_and_says_the_same(kernel: str):
    first = agentkern("compile", kernel, "--dim", "H=576", "--json").json
    second = agentkern("compile", kernel, "--dim", "H=576", "--json").json
    assert (first["cache"], second["cache"]) == ("miss", "hit")
    different = {"timings_ms", "cache"}
    assert {k: v for k, v in first.items() if k not in different} == {
        k: v for k, v in second.items() if k not in different
    }


def test_the_same_text_gives_the_same_cuda_and_another_target_another(kernel: str):
    ids = [
        agentkern("compile", kernel, "--dim", "H=576", "--target", target, "--json").json["artifacts"][1]["id"]
        for target in ("sm_80", "sm_90a", "sm_100a", "sm_90a")
    ]
    assert ids[1] == ids[3]
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--target", "sm_70"), 2),
        (("--emit", "wasm"), 2),
        ((), 2),
        (("--dim", "H=64", "--dim", "G=2"), 2),
        (("--dim", "H=64", "--numerics", "fast"), 1),
    ],
    ids=["unknown-target", "unknown-emit", "static-without-number", "unknown-size", "numerics-not-there-yet"],
)
def test_what_cannot_be_compiled_says_why(kernel: str, arguments: tuple[str, ...], code: int):
    answer = agentkern("compile", kernel, *arguments, "--json")
    assert answer.code == code
    assert answer.json["diagnostics"]


def test_a_wrong_kernel_is_rejected_and_makes_nothing(kernel: str):
    Path(kernel).write_text(BROKEN, encoding="utf-8")
    answer = agentkern("compile", kernel, "--dim", "H=64", "--json")
    assert answer.code == 1
    assert answer.json["status"] == "rejected"
    assert answer.json["artifacts"] == []
    assert answer.json["diagnostics"][0]["code"] == "AK202"


def test_a_damaged_ir_text_is_rejected_with_a_code(tmp_path: Path):
    text = tmp_path / "kernel.ir"
    text.write_text("agentkern.ir 1\nkernel tile @f(\n", encoding="utf-8")
    answer = agentkern("compile", "--from", str(text), "--json")
    assert answer.code == 1
    assert answer.json["diagnostics"][0]["code"] == "AK106"


def test_products_that_the_assembler_serialises_are_our_error(monkeypatch: pytest.MonkeyPatch):
    """The remark is made up: no text that passes the checker is known to bring it about."""
    plain = build_fitting

    def serialised(*arguments: Any, **options: Any) -> FittingBuild:
        made = plain(*arguments, **options)
        assert made.build is not None
        remark = CudaMessage(Severity.WARNING, "wgmma is serialized in function `k`", code="C7510")
        return replace(made, build=replace(made.build, messages=(remark,)))

    request = CompileRequest(source=RMS_NORM, path="kernel.py", dims={"H": 64}, emit=("cuda",))
    assert compile(request).result.status == "ok"
    monkeypatch.setattr("agentkern.tools.compile.build_fitting", serialised)
    assert [d.code for d in compile(request).result.diagnostics] == ["AK904"]
