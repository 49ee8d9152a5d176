"""Kernels built ahead of time: cubins with their calling conventions in one folder, for GPU machines without NVRTC.

A pack is a folder with `pack.json` and one file per cubin, named by its digest. Packs are made from source and never
committed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkern.compiler.abi import KernelAbi
from agentkern.compiler.analysis.promises import Promise, promises_in
from agentkern.compiler.ir import dims
from agentkern.runtime.abi_json import abi_from_json, abi_to_json
from agentkern.runtime.driver import driver
from agentkern.tools.corpus_entry import Entry, read_entries

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
ENTRIES: Mapping[str, Entry] = {kernel: entry for entry in read_entries(CORPUS) for kernel in entry.kernels}
"""The corpus's kernels with their entries."""


@dataclass(frozen=True, slots=True)
class PackedKernel:
    """One build. `schedule_number` counts from the default, 0."""

    kernel: str
    statics: Mapping[str, int]
    schedule_number: int
    schedule: Mapping[str, Any]
    abi: KernelAbi
    cubin_name: str
    resources: Mapping[str, Any]

    def cubin(self, folder: Path) -> bytes:
        """Read the machine code."""
        return (folder / self.cubin_name).read_bytes()

    def text(self, folder: Path) -> str:
        """Read the CUDA text."""
        return (folder / self.cubin_name).with_suffix(".cu").read_text()


@dataclass(frozen=True, slots=True)
class Built:
    """A build with the files it becomes."""

    packed: PackedKernel
    cubin: bytes
    text: str


def commit() -> str:
    """The commit of the source, marked where the compiler or the corpus differ from it."""

    def git(*arguments: str) -> str:
        found = subprocess.run(("git", *arguments), cwd=CORPUS.parent, capture_output=True, text=True, check=False)
        return found.stdout.strip()

    dirty = "-dirty" if git("status", "--porcelain", "--", "agentkern", "corpus") else ""
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + dirty


def recorded_on() -> dict[str, str]:
    """What every record of a GPU says of it and of the source. Errors: NoDriver."""
    info = driver().info(0)
    return {
        "gpu": info.name,
        "driver_cuda": ".".join(map(str, info.driver_version)),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
    }


def write_pack(folder: Path, kernels: Iterable[Built], extra: Mapping[str, Any]) -> None:
    """Write cubins, texts and their table with the commit; `extra` goes into the table as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for built in kernels:
        packed, file = built.packed, folder / built.packed.cubin_name
        file.write_bytes(built.cubin)
        file.with_suffix(".cu").write_text(built.text)
        row = {name: getattr(packed, name) for name in PackedKernel.__slots__ if name != "abi"}
        rows.append({**row, "abi": abi_to_json(packed.abi)})
    (folder / "pack.json").write_text(json.dumps({"kernels": rows, "commit": commit(), **extra}))


def read_pack(folder: Path) -> tuple[list[PackedKernel], dict[str, Any]]:
    """Return the builds of a pack and what else its table holds."""
    table = json.loads((folder / "pack.json").read_text())
    rows = table.pop("kernels")
    return [PackedKernel(**{**row, "abi": abi_from_json(row["abi"])}) for row in rows], table


def promises_to_json(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """Return rows of promises, as a kernel's attributes have them, as plain values; extents as text."""
    return [[name, kind, *(str(v) if isinstance(v, dims.Dim) else v for v in values)] for name, kind, *values in rows]


def promises_from_json(rows: Iterable[list[Any]]) -> dict[str, Promise]:
    """Read `promises_to_json` back, by parameter."""
    return promises_in(
        (name, kind, *(dims.parse(v) if isinstance(v, str) else v for v in values)) for name, kind, *values in rows
    )


def cubin_name(cubin: bytes) -> str:
    """Name a cubin by its digest."""
    return f"{hashlib.sha256(cubin).hexdigest()[:24]}.cubin"
