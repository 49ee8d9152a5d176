"""Find the host C++ compiler and build shared objects into a cache folder. Knows nothing of kernels.

Entries are named by a digest of source, flags and compiler, written atomically, and end in a checksum of their own
bytes (loaders ignore what follows an ELF or Mach-O image), so a damaged entry is rebuilt.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_CANDIDATES = ("g++", "clang++", "c++")
# AVX2-era extensions by name, so that compilers older than -march=x86-64-v3 take them. FMA is the one that matters:
# without it every fused multiply-add is a library call.
_X86_EXTENSIONS = ("avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt")
_CPUINFO_NAMES = {"bmi": "bmi1", "lzcnt": "abm"}
_CHECKSUM_BYTES = 32
_COMPILE_TIMEOUT_S = 300


class SimulatorUnavailableError(RuntimeError):
    """There is no C++ compiler on this machine."""


class SimulatorBuildError(RuntimeError):
    """The host compiler refused a text; `log` is its output."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(f"{message}\n{log}")
        self.log = log


@dataclass(frozen=True, slots=True)
class HostCompiler:
    """A C++ compiler: the command to run it, and the text that names its version."""

    command: tuple[str, ...]
    version: str


@functools.cache
def host_compiler() -> HostCompiler:
    """Return the first of $CXX, g++, clang++, c++ and the `ziglang` package that runs.

    No C++ library is needed, so a plain `clang` or `zig cc` does.

    Errors: SimulatorUnavailableError when there is none.
    """
    chosen = os.environ.get("CXX", "").split()
    commands = [tuple(chosen)] if chosen else []
    commands += [(name,) for name in _CANDIDATES]
    if importlib.util.find_spec("ziglang"):
        commands.append((sys.executable, "-P", "-m", "ziglang", "cc"))  # `c++` would build its own library first
    for command in commands:
        if shutil.which(command[0]) is None:
            continue
        answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            return HostCompiler(command, answer.stdout.strip())
    raise SimulatorUnavailableError("no C++ compiler found; install g++ or clang++, or `pip install ziglang`")


@functools.cache
def machine_flags() -> tuple[str, ...]:
    """Return the flags that allow this processor's fused multiply-add and bit instructions."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return ()
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return ()
    lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")]
    present = set(lines[0].split(":", 1)[1].split()) if lines else set()
    if any(_CPUINFO_NAMES.get(name, name) not in present for name in _X86_EXTENSIONS):
        return ()
    return tuple(f"-m{name}" for name in _X86_EXTENSIONS)


def build_shared_object(source: str, flags: Sequence[str], inputs: Sequence[Path], folder: Path) -> Path:
    """Compile `source` and return the path of the shared object in `folder`, from the cache if it is there.

    `inputs`: files that the source or the flags name; their content is part of the entry's name.
    Errors: SimulatorBuildError when the compiler refuses the text.
    """
    compiler = host_compiler()
    digest = hashlib.sha256()
    for part in (source, *flags, *compiler.command, compiler.version):
        digest.update(part.encode() + b"\0")
    for path in inputs:
        digest.update(path.read_bytes() + b"\0")
    target = folder / f"{digest.hexdigest()[:40]}.so"
    if not _is_intact(target):
        _compile([*compiler.command, *flags], source, target)
    return target


def _is_intact(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    body, checksum = content[:-_CHECKSUM_BYTES], content[-_CHECKSUM_BYTES:]
    return hashlib.sha256(body).digest() == checksum


def _compile(command: list[str], source: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="building-") as temporary:
        output = Path(temporary) / "module.so"
        try:
            answer = subprocess.run(
                [*command, "-x", "c++", "-", "-o", str(output)],
                input=source,
                capture_output=True,
                text=True,
                check=False,
                timeout=_COMPILE_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as e:
            raise SimulatorBuildError(f"the host compiler took more than {_COMPILE_TIMEOUT_S} s", "") from e
        if answer.returncode != 0:
            raise SimulatorBuildError("the host compiler refused the text", answer.stderr)
        body = output.read_bytes()
        output.write_bytes(body + hashlib.sha256(body).digest())
        output.replace(target)
