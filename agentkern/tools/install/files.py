"""Read and write files so that a file is the old one or the new one, whatever happens in between."""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from pathlib import Path

WHOLE_LINES = 30
"""New files up to this length are shown in full."""


def read_or_none(path: Path) -> bytes | None:
    """Return a file's content, None where there is none. Errors: OSError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def write_atomically(path: Path, content: bytes, mode: int | None = None) -> None:
    """Replace a file in one step, keeping its mode unless one is given. Errors: OSError."""
    if mode is None:
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def missing_folders(path: Path, project: Path) -> list[Path]:
    """Return the folders between a project and a file that are not there, outermost first."""
    above = [folder for folder in path.parents if project in folder.parents]
    return [folder for folder in reversed(above) if not folder.exists()]


def difference(name: str, before: bytes | None, after: bytes | None) -> str:
    """Return a unified diff; a long new or removed file is one line."""
    old, new = _lines(before), _lines(after)
    if (before is None or after is None) and len(old) + len(new) > WHOLE_LINES:
        return f"{'+' if before is None else '-'}++ {name}: {len(old) + len(new)} lines\n"
    heads = ("/dev/null" if before is None else f"a/{name}", "/dev/null" if after is None else f"b/{name}")
    shown = difflib.unified_diff(old, new, *heads)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in shown)


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode("utf-8", "replace").splitlines(keepends=True)
