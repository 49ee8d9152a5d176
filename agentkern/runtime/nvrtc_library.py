"""Find NVRTC and name its version without loading it.

Looks where wheels and CUDA toolkits put the library; loads nothing, so that a cache key costs no dlopen of 110 MB.
File names are those of the `nvidia-cuda-nvrtc` wheels (CUDA 12 and 13) and of the toolkit's `lib64`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from agentkern.runtime.installed import version_in

_WHEEL_FOLDERS = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")
_DISTRIBUTIONS = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
_TOOLKIT_FOLDERS = ("lib64", "lib", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib")
_SONAMES = ("libnvrtc.so.13", "libnvrtc.so.12")


class NvrtcMissing(Exception):
    """No NVRTC on this machine."""


@dataclass(frozen=True, slots=True)
class NvrtcLibrary:
    """Where NVRTC lies.

    `identity` names the exact build for cache keys; `builtins` is what must be loaded first, since some builds do not
    look beside themselves for it.
    """

    path: Path
    builtins: Path | None
    identity: str
    version: str | None


@lru_cache(maxsize=1)
def find_nvrtc() -> NvrtcLibrary:
    """Return the NVRTC to use: the wheel's first, then a toolkit's.

    Errors: NvrtcMissing, naming what to install.
    """
    for folder, dist_folder in _folders():
        for soname in _SONAMES:
            path = folder / soname
            if path.exists():
                return _describe(path, dist_folder)
    raise NvrtcMissing(
        "no NVRTC library found: `pip install nvidia-cuda-nvrtc==13.0.*`, or set CUDA_HOME to a CUDA 13 toolkit"
    )


def cuda_include_folders() -> tuple[Path, ...]:
    """Folders with the toolkit's headers, for CUDA text that was not generated here and includes some."""
    wheels = (Path(entry or ".") / "nvidia/cu13/include" for entry in sys.path)
    toolkits = (root / "include" for root in _toolkit_roots())
    return tuple(folder for folder in (*wheels, *toolkits) if (folder / "cuda_fp16.h").exists())


def _folders() -> Iterator[tuple[Path, Path | None]]:
    for entry in sys.path:
        root = Path(entry or ".")
        for wheel_folder in _WHEEL_FOLDERS:
            yield root / wheel_folder, root
    for root in _toolkit_roots():
        for toolkit_folder in _TOOLKIT_FOLDERS:
            yield root / toolkit_folder, None


def _toolkit_roots() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        value = os.environ.get(variable)
        if value:
            yield Path(value)
    yield Path("/usr/local/cuda")


def _describe(path: Path, dist_folder: Path | None) -> NvrtcLibrary:
    resolved = path.resolve()
    version = _wheel_version(dist_folder) if dist_folder else _version_in_name(resolved.name)
    stat = resolved.stat()
    identity = f"nvrtc-{version or resolved.name}-{stat.st_size}"
    builtins = sorted(p for p in path.parent.glob("libnvrtc-builtins.so.*") if ".alt." not in p.name)
    return NvrtcLibrary(path, builtins[0] if builtins else None, identity, version)


def _wheel_version(dist_folder: Path) -> str | None:
    versions = (version_in(dist_folder, distribution) for distribution in _DISTRIBUTIONS)
    return next((version for version in versions if version is not None), None)


def _version_in_name(name: str) -> str | None:
    match = re.search(r"\.so\.(\d+\.\d+\.\d+)$", name)
    return match.group(1) if match else None
