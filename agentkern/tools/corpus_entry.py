"""One folder of the corpus as data: kernel.py, reference.py, meta.toml, notes.md, peers.py. Reads and checks it."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentkern.compiler.ir.order import ORDER_VERSION
from agentkern.compiler.ir.printer import IR_VERSION
from agentkern.shipped import shipped
from agentkern.tools.verify_criterion import Criterion, CriterionError, criterion_from_table

KEYS = ("name", "family", "summary", "tags", "kernels", "dims", "shapes", "dtypes", "criterion", "roofline", "origin")
SHAPE_LISTS = ("shown", "bench", "hidden_style")
REFERENCE = "reference"


class CorpusError(ValueError):
    """A folder is no corpus entry; the message names the file and what is wrong in it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One kernel, or a few that differ in dtypes only. `meta` is the whole of meta.toml."""

    folder: Path
    name: str
    family: str
    summary: str
    tags: tuple[str, ...]
    kernels: tuple[str, ...]
    dims: Mapping[str, int]
    shapes: Mapping[str, tuple[Mapping[str, int], ...]]
    criterion: Criterion
    meta: Mapping[str, Any]

    @property
    def source(self) -> str:
        """The text of kernel.py."""
        return (self.folder / "kernel.py").read_text(encoding="utf-8")

    @property
    def notes(self) -> str:
        """The text of notes.md."""
        return (self.folder / "notes.md").read_text(encoding="utf-8")

    @property
    def path(self) -> str:
        """Where kernel.py is, as messages name it."""
        return str(self.folder / "kernel.py")

    @property
    def reference(self) -> str:
        """The reference as `--reference` takes it."""
        return f"{self.folder / 'reference.py'}:{REFERENCE}"

    @property
    def facts(self) -> dict[str, Any]:
        """What a record is valid for: it is stale once one of these has changed."""
        return {
            "kernel_digest": _digest(self.folder / "kernel.py"),
            "reference_digest": _digest(self.folder / "reference.py"),
            "order_version": ORDER_VERSION,
            "ir_version": IR_VERSION,
        }

    @property
    def record(self) -> dict[str, Any]:
        """The records of verification and performance, each with whether it is stale."""
        found: dict[str, Any] = {}
        for name in ("verification", "performance"):
            table = self.meta.get(name)
            if isinstance(table, dict):
                valid = {key: value for key, value in self.facts.items() if key in table}
                stale = any(table[key] != value for key, value in valid.items()) or "kernel_digest" not in table
                found[name] = {**table, "stale": stale}
        return found


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def default_corpus() -> Path:
    """Return the corpus that comes with the package. Errors: CorpusError where there is none."""
    folder = shipped("corpus")
    if folder is None:
        raise CorpusError("agentkern's corpus is not installed; install it from its source or wheel again")
    return folder


def read_entries(corpus: Path) -> tuple[Entry, ...]:
    """Return every entry, by name. Errors: CorpusError for the first folder that is not one."""
    found = [read_entry(meta.parent) for meta in corpus.glob("*/*/meta.toml")]
    return tuple(sorted(found, key=lambda entry: entry.name))


def read_entry(folder: Path) -> Entry:
    """Return the entry of a folder. Errors: CorpusError."""
    meta_file = folder / "meta.toml"
    try:
        meta = tomllib.loads(meta_file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise CorpusError(f"{meta_file}: {e}") from e
    missing = [key for key in KEYS if key not in meta]
    missing += [name for name in ("kernel.py", "reference.py", "notes.md") if not (folder / name).is_file()]
    missing += [f"shapes.{name}" for name in SHAPE_LISTS if name not in meta.get("shapes", {})]
    if missing:
        raise CorpusError(f"{meta_file}: `{missing[0]}` is missing")
    if meta["name"] != folder.name or meta["family"] != folder.parent.name:
        raise CorpusError(f"{meta_file}: name and family are not those of the folder")
    try:
        criterion = criterion_from_table(meta["criterion"])
    except CriterionError as e:
        raise CorpusError(f"{meta_file}: {e}") from e
    shapes = {name: tuple(meta["shapes"][name]) for name in SHAPE_LISTS}
    return Entry(
        folder=folder,
        name=meta["name"],
        family=meta["family"],
        summary=meta["summary"],
        tags=tuple(meta["tags"]),
        kernels=tuple(meta["kernels"]),
        dims=dict(meta["dims"]),
        shapes=shapes,
        criterion=criterion,
        meta=meta,
    )
