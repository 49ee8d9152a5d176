"""Keep what the tools make as files named by their content, so that a later call can read slices of them.

They lie in the user's cache folder and may be pruned: one that is gone or damaged is named as gone, never as empty.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from agentkern.runtime.cache import cache_folder
from agentkern.runtime.cache_keys import digest_of
from agentkern.tools.results import Artifact

# Kind of artifact, and the ending of its file.
ENDINGS = {
    "cuda": "cu", "ir": "ir", "placed": "ir", "gpu": "ir", "ptx": "ptx", "sass": "sass", "cubin": "cubin",
    "layouts": "txt", "proofs": "json", "host": "json", "arrays": "npz", "report": "txt",
    "jsonl": "jsonl",
}  # fmt: skip
_MAX_BYTES = 256 << 20
_ID = re.compile(r"([a-z]+)-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An artifact as it was kept."""

    id: str
    kind: str
    data: bytes


class ArtifactStore:
    """The artifacts of one folder. Safe for threads and processes: files appear whole, equal content is one file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, kind: str, data: bytes, *, path: Path | None = None) -> Artifact:
        """Keep `data`, and write it to `path` too if one is given; the answer names that file, else the kept one."""
        identity = _identity(kind, data)
        kept = self._folder / f"{identity}.{ENDINGS[kind]}"
        if path is not None:
            path.write_bytes(data)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not kept.exists():
                self._prune()
                temporary = kept.with_name(f".{kept.name}.{os.getpid()}")
                temporary.write_bytes(data)
                temporary.replace(kept)
        except OSError:
            kept = None  # a full or read-only folder: the result still has the artifact's size and identity
        shown = path or kept
        return Artifact(id=identity, kind=kind, bytes=len(data), path=str(shown) if shown else None)

    def get(self, identity: str) -> StoredArtifact | None:
        """Return the artifact, None where there is none of that id or its file no longer has that content."""
        match = _ID.fullmatch(identity)
        if match is None or match.group(1) not in ENDINGS:
            return None
        kind = match.group(1)
        try:
            data = (self._folder / f"{identity}.{ENDINGS[kind]}").read_bytes()
        except OSError:
            return None
        return StoredArtifact(identity, kind, data) if _identity(kind, data) == identity else None

    def _prune(self) -> None:
        files = sorted((entry.stat().st_mtime, entry.stat().st_size, entry) for entry in self._folder.iterdir())
        total_bytes = sum(size for _, size, _ in files)
        for _, size, file in files:
            if total_bytes <= _MAX_BYTES:
                return
            file.unlink(missing_ok=True)
            total_bytes -= size


def default_store() -> ArtifactStore:
    """Return the store of this user's cache folder."""
    return ArtifactStore(cache_folder(os.environ) / "artifacts")


def _identity(kind: str, data: bytes) -> str:
    return f"{kind}-{digest_of('artifact', kind, data)[:16]}"
