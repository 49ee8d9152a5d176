"""What a wheel carries beside the package: skills, corpus and tasks, as files under `share/agentkern`."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from setuptools import setup

_ROOT = Path(__file__).resolve().parent


def _folders() -> dict[str, str]:
    """Return the table of `agentkern/shipped.py`, without importing the package that is about to be built."""
    tree = ast.parse((_ROOT / "agentkern" / "shipped.py").read_text(encoding="utf-8"))
    values = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    return ast.literal_eval(values["FOLDERS"])


def _data_files() -> list[tuple[str, list[str]]]:
    """Return the files of the folders by the folder that each is installed into."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, place in _folders().items():
        for path in sorted((_ROOT / place).rglob("*")):
            inside = path.relative_to(_ROOT / place)
            if path.is_file() and "__pycache__" not in inside.parts:
                found[f"share/agentkern/{name}/{inside.parent.as_posix()}"].append(str(path.relative_to(_ROOT)))
    return sorted(found.items())


setup(data_files=_data_files())
