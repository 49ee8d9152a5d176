"""Disassemble cubins and count what is in them: which instructions a kernel really has, kernel by kernel.

Runs `nvdisasm` from its PyPI package or the PATH, on a file, with no GPU. Format: nvdisasm 13.4 and later,
`--print-code`, one `.section .text.NAME` a kernel, instructions as `/*0010*/ @P0 OPCODE.MODIFIERS operands ;`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

_WHEEL_PLACE = "nvidia/cu13/bin/nvdisasm"
_TIMEOUT_S = 60.0
_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)")
_INSTRUCTION = re.compile(
    r"^\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:\{\s*)?(?P<predicate>@!?U?P\w+\s+)?(?P<opcode>[A-Z][\w.]*)(?P<operands>[^;]*);"
)


class NvdisasmMissing(Exception):
    """There is no nvdisasm on this machine."""


class DisassemblyFailed(Exception):
    """Nvdisasm refused the cubin."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: `opcode` with its modifiers, as `FFMA.FTZ`."""

    address: int
    predicate: str
    opcode: str
    operands: str

    @property
    def base(self) -> str:
        """The opcode without modifiers."""
        return self.opcode.partition(".")[0]


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


def parse_sass(text: str) -> dict[str, tuple[Instruction, ...]]:
    """Return the instructions of each kernel of a disassembly, padding after the last branch included."""
    kernels: dict[str, list[Instruction]] = {}
    current: list[Instruction] | None = None
    for line in text.splitlines():
        if section := _SECTION.match(line):
            current = kernels.setdefault(section[1], [])
        elif current is not None and (match := _INSTRUCTION.match(line)):
            predicate = (match["predicate"] or "").strip()
            address = int(match["address"], 16)
            current.append(Instruction(address, predicate, match["opcode"], match["operands"].strip()))
    return {name: tuple(instructions) for name, instructions in kernels.items()}


def count_opcodes(instructions: tuple[Instruction, ...], *, modifiers: bool = False) -> Counter[str]:
    """Count instructions by opcode, as `FFMA`, or with `modifiers` as `FFMA.FTZ`; padding is not counted."""
    counted = (i.opcode if modifiers else i.base for i in _without_padding(instructions))
    return Counter(counted)


def _without_padding(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """Cut the NOPs and the branch to itself that fill a kernel up to its alignment."""
    end = len(instructions)
    while end and instructions[end - 1].base == "NOP":
        end -= 1
    return instructions[: end - 1] if end and instructions[end - 1].base == "BRA" else instructions[:end]


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except subprocess.CalledProcessError as e:
        raise DisassemblyFailed(e.stderr.strip() or f"nvdisasm ended with code {e.returncode}") from e
    except (OSError, subprocess.TimeoutExpired) as e:
        raise DisassemblyFailed(f"nvdisasm does not run: {e}") from e
    return done.stdout
