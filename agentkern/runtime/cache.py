"""Keep compile results on disk: content-addressed, written atomically, checked when read, bounded in size.

Knows nothing of what it stores: an entry is a table of named byte strings under a key made in `cache_keys`. A damaged
entry counts as absent. Several processes may use one folder; the last writer of a key wins, with equal content.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 1 << 30
# Pruning goes down to this share of the bound, so that a full cache is not scanned at every write.
_PRUNE_TO = 0.8
_MAGIC = b"AKCACHE1"
_CHECKSUM_BYTES = 32
_TEMPORARY_PREFIX = ".writing-"
# A writer that died leaves its file behind; nobody takes an hour to write one.
_ABANDONED_S = 3600.0


@dataclass(frozen=True, slots=True)
class CacheUsage:
    """What lies in the cache."""

    entries: int
    total_bytes: int


class Cache:
    """A folder of entries. Safe for threads and processes; a folder that cannot be written makes every put a no-op."""

    def __init__(self, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder / "v1"
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._known_bytes: int | None = None

    def get(self, key: str) -> dict[str, bytes] | None:
        """Return the entry of `key`, or None when there is none or it is damaged; a damaged one is removed."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        parts = _decode(data, key)
        if parts is None:
            path.unlink(missing_ok=True)
            return None
        _touch(path)
        return parts

    def put(self, key: str, parts: Mapping[str, bytes]) -> bool:
        """Store `parts` under `key`; False when the folder cannot be written. Prunes when over the bound."""
        path = self._path(key)
        data = _encode(parts, key)
        temporary = path.parent / f"{_TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(8).hex()}"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError:
            _unlink_quietly(temporary)
            return False
        self._count_and_prune(len(data))
        return True

    def usage(self) -> CacheUsage:
        """Return number and size of the entries."""
        sizes = [size for _, size, _ in self._files()]
        return CacheUsage(len(sizes), sum(sizes))

    def prune(self, to_bytes: int) -> None:
        """Remove the entries longest unused until at most `to_bytes` are left, and what dead writers left behind."""
        files = sorted(self._files())
        total = sum(size for _, size, _ in files)
        newest = files[-1][0] if files else 0.0
        for used_at, size, path in files:
            abandoned = path.name.startswith(_TEMPORARY_PREFIX) and used_at < newest - _ABANDONED_S
            if total > to_bytes or abandoned:
                _unlink_quietly(path)
                total -= size
        self._known_bytes = total

    def clear(self) -> None:
        """Remove every entry."""
        self.prune(-1)

    def _count_and_prune(self, added_bytes: int) -> None:
        with self._lock:
            if self._known_bytes is None:
                self._known_bytes = self.usage().total_bytes
            else:
                self._known_bytes += added_bytes
            if self._known_bytes > self._max_bytes:
                self.prune(int(self._max_bytes * _PRUNE_TO))

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        for shelf in _entries_of(self._folder):
            for entry in _entries_of(shelf.path):
                try:
                    found = entry.stat()
                except OSError:
                    continue
                yield found.st_mtime, found.st_size, Path(entry.path)

    def _path(self, key: str) -> Path:
        assert len(key) >= 16, f"not a cache key: {key}"
        assert key.isalnum(), f"not a cache key: {key}"
        return self._folder / key[:2] / key[2:]


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where the cache lies: `chosen_folder`, or where that cannot be written, a folder of the user's own for now."""
    chosen = chosen_folder(environment)
    return chosen if _is_writable(chosen) else _temporary_folder() or chosen


def chosen_folder(environment: Mapping[str, str]) -> Path:
    """Where the cache is meant to lie: `AGENTKERN_CACHE_DIR`, or the platform's folder for caches."""
    chosen = environment.get("AGENTKERN_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/agentkern"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA", str(Path.home()))) / "agentkern" / "cache"
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agentkern"


def _is_writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _temporary_folder() -> Path | None:
    """A folder among the temporary files that nobody else can write: what lies in it is loaded as code."""
    user = os.getuid() if sys.platform != "win32" else 0
    folder = Path(tempfile.gettempdir()) / f"agentkern-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    return folder if own or sys.platform == "win32" else None


def _encode(parts: Mapping[str, bytes], key: str) -> bytes:
    """Magic, checksum of the rest with the key, then each part: length of name, length of data, name, data."""
    body = bytearray()
    for name, data in parts.items():
        encoded = name.encode()
        body += struct.pack("<IQ", len(encoded), len(data)) + encoded + data
    return _MAGIC + _checksum(key, bytes(body)) + bytes(body)


def _decode(data: bytes, key: str) -> dict[str, bytes] | None:
    start = len(_MAGIC) + _CHECKSUM_BYTES
    body = data[start:]
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : start] != _checksum(key, body):
        return None
    parts: dict[str, bytes] = {}
    offset = 0
    while offset < len(body):
        name_bytes, data_bytes = struct.unpack_from("<IQ", body, offset)
        offset += 12
        name = body[offset : offset + name_bytes].decode()
        offset += name_bytes
        parts[name] = body[offset : offset + data_bytes]
        offset += data_bytes
    return parts


def _checksum(key: str, body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_CHECKSUM_BYTES, key=key.encode()[:64]).digest()


def _entries_of(folder: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _touch(path: Path) -> None:
    try:
        os.utime(path)
    except OSError:
        return


def _unlink_quietly(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return
