"""Print the SASS of a cubin with `nvdisasm`, from its PyPI package or the PATH."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_WHEEL_PLACE = "nvidia/cu13/bin/nvdisasm"
_TIMEOUT_S = 60


class NvdisasmMissing(Exception):
    """There is no nvdisasm on this machine."""


class DisassemblyFailed(Exception):
    """Nvdisasm refused the cubin."""


def find_nvdisasm() -> Path:
    """Return the program.

    Errors: NvdisasmMissing.
    """
    for entry in sys.path:
        path = Path(entry or ".") / _WHEEL_PLACE
        if path.is_file():
            return path
    found = shutil.which("nvdisasm")
    if found is None:
        raise NvdisasmMissing("no `nvdisasm`: `pip install 'nvidia-cuda-nvdisasm>=13.4'`")
    return Path(found)


def nvdisasm_version() -> str:
    """Return the release it says it is, such as `13.5`.

    Errors: NvdisasmMissing; DisassemblyFailed when it does not run.
    """
    words = _run([str(find_nvdisasm()), "--version"]).replace(",", " ").split()
    return words[words.index("release") + 1] if "release" in words else "unknown"


def disassemble(cubin: bytes) -> str:
    """Return the SASS text of `cubin`.

    Errors: NvdisasmMissing; DisassemblyFailed.
    """
    program = find_nvdisasm()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return _run([str(program), "--print-code", file.name])


def _run(command: list[str]) -> str:
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except subprocess.CalledProcessError as e:
        raise DisassemblyFailed(e.stderr.strip() or f"nvdisasm ended with code {e.returncode}") from e
    except (OSError, subprocess.TimeoutExpired) as e:
        raise DisassemblyFailed(f"nvdisasm does not run: {e}") from e
    return answer.stdout
