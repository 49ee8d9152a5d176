"""Name compile results by everything that can change them.

Two levels: what the compiler was asked (`program_key`) leads to a CUDA text, and the text with flags and toolchain
(`cubin_key`) to a cubin, so that a change of the compiler that leaves the text alone costs no NVRTC run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agentkern.runtime.cache import Cache
from agentkern.runtime.installed import installed_version
from agentkern.runtime.nvrtc_library import find_nvrtc

_PACKAGE = Path(__file__).resolve().parent.parent
_loaded: dict[Path, str] = {}


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """All that a CUDA text is made from.

    `text` is the kernel with its inline helpers; `values` are compile-time values by name; `schedule` is its canonical
    JSON; `package` is the digest of the compiler.
    """

    text: str
    kernel: str
    values: Mapping[str, int | float | bool | str]
    target: str
    schedule: str
    numerics: str
    package: str


def program_key(request: ProgramRequest) -> str:
    """Return the key of the CUDA text that `request` leads to.

    z3's version is part of it: what the solver leaves unknown changes the code.
    """
    return digest_of(
        "program",
        request.text,
        request.kernel,
        *(f"{name}={type(value).__name__}:{value!r}" for name, value in sorted(request.values.items())),
        "target",
        request.target,
        request.schedule,
        request.numerics,
        request.package,
        installed_version("z3-solver") or "no z3",
    )


def cubin_key(text: str, flags: tuple[str, ...]) -> str:
    """Return the key of the cubin of CUDA `text` under `flags` with the NVRTC of this machine.

    Errors: NvrtcMissing.
    """
    return digest_of("cubin", text, *flags, "toolchain", find_nvrtc().identity)


def digest_of(*pieces: str | bytes) -> str:
    """Return a digest of a sequence: unlike one of joined text, it tells `("ab", "c")` from `("a", "bc")`."""
    digest = hashlib.blake2b(digest_size=20)
    for piece in pieces:
        data = piece.encode() if isinstance(piece, str) else piece
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def package_digest(cache: Cache, package: Path = _PACKAGE) -> str:
    """Return a digest of every file of the package; the files are read only when a size or time of change is new."""
    files = sorted(_files(package))
    state = digest_of("package state", str(package), *(f"{name} {size} {changed}" for name, size, changed in files))
    known = cache.get(state)
    if known is not None and "digest" in known:
        return known["digest"].decode()
    pieces = [piece for name, _, _ in files for piece in (name.encode(), (package / name).read_bytes())]
    digest = digest_of(*pieces)
    cache.put(state, {"digest": digest.encode()})
    return digest


def loaded_digest(cache: Cache) -> str:
    """Return the digest of the package that this process runs: found once, as loaded code changes no more."""
    if _PACKAGE not in _loaded:
        _loaded[_PACKAGE] = package_digest(cache)
    return _loaded[_PACKAGE]


def _files(package: Path) -> Iterator[tuple[str, int, int]]:
    """Path below the package, size and time of change of each of its files."""
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(package / folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if entry.name != "__pycache__":
                        pending.append(f"{folder}{entry.name}/")
                    continue
                stat = entry.stat()
                yield f"{folder}{entry.name}", stat.st_size, stat.st_mtime_ns
