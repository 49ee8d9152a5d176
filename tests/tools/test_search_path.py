"""Files of the working folder are kernels: none of them stands in for a module that the tools import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import agentkern
from tests.tools.kernel_texts import RMS_NORM

ROOT = Path(agentkern.__file__).parents[1]
MODULES = ("z3", "json", "numpy", "torch", "ast", "inspect", "dataclasses", "click", "pydantic", "hashlib")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the working folder')\n")
    (tmp_path / "kernel.py").write_text(RMS_NORM, encoding="utf-8")
    return tmp_path


def test_a_kernel_called_as_a_module_does_not_stand_in_for_it(folder: Path):
    done = run(folder, "-m", "agentkern", "verify", "kernel.py", "--dim", "H=8", "--dim", "T=2", "--device", "cpu")
    assert "working folder" not in done.stdout + done.stderr
    assert done.returncode in (0, 3)


def test_a_program_of_another_name_keeps_its_folder(tmp_path: Path):
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("import agentkern\n")
    (package / "__main__.py").write_text("import beside\n")
    (tmp_path / "beside.py").write_text("print('found')\n")
    assert run(tmp_path, "-m", "mine").stdout == "found\n"
