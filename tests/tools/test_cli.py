"""The command line: exit codes, one JSON object, wrong usage."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentkern.tools.cli import COMMANDS
from tests.tools.command_line import agentkern
from tests.tools.kernel_texts import BROKEN, RMS_NORM

COMMON = {"status", "summary", "diagnostics", "artifacts"}


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text(RMS_NORM, encoding="utf-8")
    return path


def test_check_of_a_right_kernel_ends_with_0(kernel: Path):
    answer = agentkern("check", str(kernel))
    assert answer.code == 0
    assert "`rms_norm` is in order" in answer.out
    assert "eps: f32 = 1e-06" in answer.out


def test_check_of_a_wrong_kernel_ends_with_1_and_shows_the_line(kernel: Path):
    kernel.write_text(BROKEN, encoding="utf-8")
    answer = agentkern("check", str(kernel))
    assert answer.code == 1
    assert "error[AK202]" in answer.out
    assert "fix: write `ak.rsqrt`" in answer.out


def test_check_json_is_one_object_with_the_common_fields(kernel: Path):
    kernel.write_text(BROKEN, encoding="utf-8")
    answer = agentkern("check", str(kernel), "--json")
    assert answer.code == 1
    assert set(answer.json) >= COMMON
    assert answer.json["status"] == "rejected"
    (diagnostic,) = answer.json["diagnostics"]
    assert set(diagnostic) == {"code", "severity", "message", "span", "labels", "hint", "fixes", "data"}
    assert diagnostic["span"]["file"] == str(kernel)
    assert answer.err == ""


def test_one_kernel_of_a_file_is_named_after_a_colon(kernel: Path):
    assert agentkern("check", f"{kernel}:rms_norm").code == 0
    answer = agentkern("check", f"{kernel}:rms_nrm", "--json")
    assert answer.code == 2
    assert answer.json["diagnostics"][0]["code"] == "AK113"


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"\xff\xfe\x00", "AK102"), (b"import agentkern\0", "AK102"), (b"#" * 1_000_001, "AK103"), (b"x = (", "AK101")],
    ids=["not-utf-8", "nul", "huge", "syntax"],
)
def test_a_file_that_is_no_kernel_text_is_rejected_with_a_code(kernel: Path, content: bytes, code: str):
    kernel.write_bytes(content)
    answer = agentkern("check", str(kernel), "--json")
    assert answer.code == 1
    assert answer.json["status"] == "rejected"
    assert answer.json["diagnostics"][0]["code"] == code


def test_a_file_with_a_byte_order_mark_is_read(kernel: Path):
    kernel.write_bytes(b"\xef\xbb\xbf" + RMS_NORM.encode())
    assert agentkern("check", str(kernel)).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("chek", "kernel.py"),
        ("check", "kernel.py", "--nonsense"),
        ("check", "kernel.py", "--dim", "H"),
        ("check", "kernel.py", "--dim", "H=-1"),
        ("check", "kernel.py", "--dim", "H=1", "--dim", "H=2"),
        ("check", "kernel.py", "--set", "causal=perhaps"),
        ("check", "missing.py"),
        ("explain", "AK999"),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2_and_one_object(arguments: tuple[str, ...]):
    answer = agentkern(*arguments, "--json")
    assert answer.code == 2
    assert answer.json["status"] == "failed"
    assert answer.json["diagnostics"][0]["code"] in ("AK801", "AK805")
    assert agentkern(*arguments).err != ""


@pytest.mark.parametrize(
    ("option", "code"), [(("--dim", "Q=3"), "AK802"), (("--set", "eps=2"), "AK804")], ids=["dim", "set"]
)
def test_an_option_that_the_kernel_has_not_ends_with_2_unless_the_kernel_is_wrong_too(
    kernel: Path, option: tuple[str, ...], code: str
):
    answer = agentkern("check", str(kernel), *option, "--json")
    assert answer.code == 2
    assert [d["code"] for d in answer.json["diagnostics"]] == [code]
    kernel.write_text(BROKEN, encoding="utf-8")
    assert agentkern("check", str(kernel), *option).code == 1


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("eval",), 2), (("corpus",), 2)], ids=str)
def test_a_group_without_a_command_shows_its_help_plainly(arguments: tuple[str, ...], code: int):
    answer = agentkern(*arguments)
    assert answer.code == code
    said = answer.out + answer.err
    assert said.startswith("Usage: agentkern")
    assert "AK805" not in said
    asked = agentkern(*arguments, "--json")
    assert asked.code == 2
    assert "a command is missing: " in asked.json["summary"]


def test_wrong_usage_names_the_nearest_command():
    assert "did you mean `check`" in agentkern("chek").err


def test_a_folder_is_answered_with_the_files_in_it(kernel: Path):
    answer = agentkern("check", str(kernel.parent))
    assert answer.code == 2
    assert "`kernel.py`" in answer.err


@pytest.mark.parametrize("topic", ["AK301", "layout", "Layouts", "proof", "pass", "ak301"])
def test_explain_shows_the_page_of_a_code_or_concept(topic: str):
    answer = agentkern("explain", topic)
    assert answer.code == 0
    assert answer.out.startswith("# ")


def test_explain_names_the_nearest_topic():
    assert "nearest: `layout`" in agentkern("explain", "layuot").err


def test_doctor_names_what_it_tried():
    answer = agentkern("doctor", "--json")
    names = {item["name"] for item in answer.json["items"]}
    assert names >= {"python", "nvrtc", "compiler", "simulator", "z3", "gpu", "cache"}
    assert answer.code == (0 if answer.json["status"] == "ok" else 3)


def test_help_lists_every_command_and_imports_none():
    script = (
        "import sys\nfrom agentkern.tools.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.startswith('agentkern.tools.commands.')])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert all(f"  {name}" in out for name in COMMANDS)
    assert out.rstrip().endswith("[]")


def test_python_m_agentkern_is_the_command():
    out = subprocess.run(
        [sys.executable, "-m", "agentkern", "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert out.startswith("agentkern 0.1.0")


def test_an_error_of_our_own_is_one_object_and_no_traceback(kernel: Path):
    script = (
        "import sys\nfrom agentkern.tools import check\nfrom agentkern.tools.cli import main\n"
        "def broken(*_): raise AssertionError('impossible')\ncheck.lower_source = broken\n"
        f"main(['check', {str(kernel)!r}, *sys.argv[1:]])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script, *extra], capture_output=True, text=True, check=False)
        for extra in (["--json"], [])
    ]
    assert [run.returncode for run in runs] == [1, 1]
    answer = json.loads(runs[0].stdout)
    assert answer["status"] == "failed"
    assert answer["diagnostics"][0]["code"] == "AK901"
    assert "AssertionError" in Path(answer["artifacts"][0]["path"]).read_text(encoding="utf-8")
    assert "Traceback" not in runs[0].stderr + runs[1].stderr
