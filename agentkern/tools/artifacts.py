"""Keep what the tools make, addressed by content, so that a later call can read slices of it.

Lives in the compile cache's folder: an artifact may be pruned, and is then named as gone, never as empty.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.cache_keys import digest_of
from agentkern.tools.results import Artifact

_ID = re.compile(r"[a-z]+-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """An artifact as it was kept."""

    id: str
    kind: str
    data: bytes


class ArtifactStore:
    """Artifacts by id. Safe for threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._cache = Cache(folder / "artifacts", max_bytes=256 << 20)

    def put(self, kind: str, data: bytes, *, path: str | None = None) -> Artifact:
        """Keep `data`; equal data of one kind has one id. `path` says where the caller wrote it as well."""
        identity = f"{kind}-{digest_of('artifact', kind, data)[:16]}"
        self._cache.put(digest_of(identity), {"data": data})
        return Artifact(id=identity, kind=kind, bytes=len(data), path=path)

    def get(self, identity: str) -> StoredArtifact | None:
        """Return the artifact, None where there is none of that id."""
        if not _ID.fullmatch(identity):
            return None
        parts = self._cache.get(digest_of(identity))
        if parts is None:
            return None
        return StoredArtifact(identity, identity.partition("-")[0], parts["data"])


def default_store() -> ArtifactStore:
    """Return the store of this user's cache folder."""
    return ArtifactStore(cache_folder(os.environ))
