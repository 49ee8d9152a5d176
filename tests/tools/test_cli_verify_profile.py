"""`agentkern verify` and `agentkern profile`: options, exit codes, reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import why_no_gpu
from tests.tools.command_line import agentkern
from tests.tools.kernel_texts import ADD, BROKEN, LISTS, RECORDS, RMS_NORM

CHECKS = set("writes memory deterministic integers interpreter schedules batch reference special shapes".split())


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(RMS_NORM, encoding="utf-8")
    return str(path)


@pytest.mark.toolchain
def test_verify_names_every_check_and_the_wrong_answers_it_caught(kernel: str):
    answer = agentkern("verify", kernel, "--dim", "H=24", "--json")
    assert answer.code == 0, answer.out
    assert answer.json["verdict"] == "bit_exact"
    assert {check["name"] for check in answer.json["checks"]} == CHECKS
    assert answer.json["controls"]
    assert all(control["rejected"] for control in answer.json["controls"])


@pytest.mark.toolchain
def test_verify_prints_a_report_that_ends_with_the_verdict(tmp_path: Path):
    path = tmp_path / "add.py"
    path.write_text(ADD, encoding="utf-8")
    answer = agentkern("verify", str(path), "--input", "scale=0.5")
    assert answer.code == 0, answer.out
    assert "interpreter" in answer.out
    assert answer.out.splitlines()[-1].startswith("ok: ")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 2),
        (("--dim", "G=3"), 2),
        (("--dim", "H=8", "--reference", "missing.py:f"), 1),
        (("--dim", "H=8", "--reference", "missing.py"), 2),
        (("--dim", "H=8", "--criterion", "roughly"), 2),
        (("--dim", "H=8", "--input", "x=x.npy"), 2),
    ],
    ids=[
        "no-size",
        "unknown-size",
        "missing-reference",
        "reference-without-function",
        "unknown-criterion",
        "array-input",
    ],
)
def test_what_cannot_be_verified_says_why(kernel: str, arguments: tuple[str, ...], code: int):
    answer = agentkern("verify", kernel, *arguments, "--json")
    assert answer.code == code
    assert answer.json["diagnostics"]


def test_a_wrong_kernel_gets_no_verdict(kernel: str):
    Path(kernel).write_text(BROKEN, encoding="utf-8")
    answer = agentkern("verify", kernel, "--dim", "H=8", "--json")
    assert answer.code == 1
    assert answer.json["status"] == "rejected"
    assert answer.json["verdict"] == "not_run"


@pytest.mark.skipif(why_no_gpu() is None, reason="there is a GPU here")
def test_profile_without_a_gpu_ends_with_3_and_gives_the_roofline(kernel: str):
    answer = agentkern("profile", kernel, "--dim", "H=7168,T=8192", "--json")
    assert answer.code == 3
    assert answer.json["status"] == "unavailable"
    assert answer.json["roofline"]["bytes"] == 4 * 8192 * 7168 + 2 * 7168
    assert answer.json["floor_us"] == pytest.approx(answer.json["roofline"]["floor_us"])
    assert "floor" in agentkern("profile", kernel, "--dim", "H=7168,T=8192").out


@pytest.mark.parametrize("command", ["compile", "run", "verify", "profile"])
def test_a_size_that_was_not_given_is_told_alike_by_every_command(kernel: str, command: str):
    answer = agentkern(command, kernel, "--json")
    assert answer.code == 2
    assert [d["code"] for d in answer.json["diagnostics"]] == ["AK803"]
    assert "give it: `--dim H=...`" in answer.json["summary"]


@pytest.mark.skipif(why_no_gpu() is None, reason="there is a GPU here")
def test_what_to_do_without_a_gpu_is_what_the_command_can_do(kernel: str):
    timed = agentkern("profile", kernel, "--dim", "H=8", "--json").json
    assert "--device" not in timed["summary"] + timed["diagnostics"][0]["hint"]
    verified = agentkern("verify", kernel, "--dim", "H=8", "--device", "cuda", "--json").json
    assert "--device cpu" in verified["diagnostics"][0]["hint"]


def test_profile_against_a_file_that_is_not_there_is_wrong_usage(kernel: str):
    answer = agentkern("profile", kernel, "--dim", "H=8", "--against", "torch", "--json")
    assert answer.code == 2
    assert "peers.py" in answer.json["summary"]


@pytest.mark.toolchain
@pytest.mark.parametrize(("factor", "verdict"), [("s", "bit_exact"), ("s * s", "wrong")])
def test_a_reference_gets_and_returns_lists(factor: str, verdict: str, tmp_path: Path):
    kernel, reference = tmp_path / "kernel.py", tmp_path / "reference.py"
    kernel.write_text(LISTS, encoding="utf-8")
    reference.write_text(
        "def chain(x, scales, L):\n    assert L == len(scales)\n    steps = []\n    for s in scales:\n"
        f"        x = x * ({factor})\n        steps.append(x)\n    return steps, x\n",
        encoding="utf-8",
    )
    answer = agentkern("verify", str(kernel), "--dim", "L=2", "--reference", f"{reference}:chain", "--json")
    assert answer.json["verdict"] == verdict, answer.out


@pytest.mark.toolchain
@pytest.mark.parametrize(("factor", "verdict"), [(2, "bit_exact"), (3, "wrong")])
def test_a_reference_gets_records_as_bytes(factor: int, verdict: str, tmp_path: Path):
    kernel, reference = tmp_path / "kernel.py", tmp_path / "reference.py"
    kernel.write_text(RECORDS, encoding="utf-8")
    reference.write_text(
        "import torch\n\n\ndef scaled(kv):\n    out = kv.clone()\n"
        f"    scale = kv[:, 16:20].reshape(-1).clone().view(torch.float32) * {factor}\n"
        "    bits = torch.where(scale.isnan(), 0x7FFFFFFF, scale.view(torch.int32))\n"
        "    out[:, 16:20] = bits.view(torch.uint8).reshape(-1, 4)\n    return out\n",
        encoding="utf-8",
    )
    answer = agentkern("verify", str(kernel), "--reference", f"{reference}:scaled", "--json")
    assert answer.json["verdict"] == verdict, answer.out
