"""What stands beside the package is found in its source tree, and in an installation that setup.py filled."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentkern import shipped as module
from agentkern.shipped import FOLDERS, shipped

ROOT = Path(__file__).resolve().parents[2]
_SETUP = """
import json, runpy, setuptools
setuptools.setup = lambda **given: print(json.dumps(given["data_files"]))
runpy.run_path("setup.py")
"""


def test_a_source_tree_has_its_own():
    assert {name: shipped(name) for name in FOLDERS} == {name: ROOT / place for name, place in FOLDERS.items()}


@pytest.mark.parametrize("name", FOLDERS)
def test_a_wheel_carries_every_file(name: str):
    made = subprocess.run([sys.executable, "-c", _SETUP], cwd=ROOT, capture_output=True, text=True, check=True)
    files = {f"{folder}/{Path(file).name}": file for folder, found in json.loads(made.stdout) for file in found}
    place = ROOT / FOLDERS[name]
    inside = [
        path.relative_to(place) for path in place.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert inside
    for path in inside:
        key = (Path("share/agentkern") / name / path).as_posix().replace("/./", "/")
        assert ROOT / {Path(k).as_posix(): v for k, v in files.items()}[key] == place / path


def test_an_installation_is_asked_where_there_is_no_source_tree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(module, "_TREE", tmp_path / "site-packages")
    (tmp_path / "site-packages" / "corpus").mkdir(parents=True)  # another package of that name
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    assert shipped("corpus") is None
    (tmp_path / "share" / "agentkern" / "corpus").mkdir(parents=True)
    assert shipped("corpus") == tmp_path / "share" / "agentkern" / "corpus"
