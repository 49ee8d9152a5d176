"""Where the folders beside the package are: its source tree has them, and a wheel puts them under `share/agentkern`."""

from __future__ import annotations

import sysconfig
from pathlib import Path

FOLDERS = {"skills": "skills", "corpus": "corpus", "tasks": "evals/tasks"}
"""By name: the place in the source tree. setup.py ships each as `share/agentkern/NAME`."""
_TREE = Path(__file__).resolve().parents[1]


def shipped(name: str) -> Path | None:
    """Return the folder of that name; None where neither the source tree nor the installation has it."""
    in_tree = _TREE / FOLDERS[name]
    # beside an installed package stand other packages, whatever they are called
    if (_TREE / "pyproject.toml").is_file() and in_tree.is_dir():
        return in_tree
    installed = Path(sysconfig.get_path("data")) / "share" / "agentkern" / name
    return installed if installed.is_dir() else None
