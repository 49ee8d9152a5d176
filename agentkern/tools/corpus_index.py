"""The corpus as it is searched: each kernel with its signature, dtypes, features, operations and near duplicates.

All of it is read off the files, and kept in the cache for as long as the files and the package are the same: the front
end takes milliseconds a kernel, a cold command line has not many to spare.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.core import Kernel
from agentkern.runtime.cache import Cache, cache_folder
from agentkern.runtime.cache_keys import digest_of, loaded_digest
from agentkern.tools.check import signature_text
from agentkern.tools.corpus_entry import CorpusError, Entry, default_corpus, read_entries
from agentkern.tools.corpus_features import dtypes_of, features_of, operations_of
from agentkern.tools.corpus_signature import Tensor, tensors_of
from agentkern.tools.near_duplicates import digest, groups
from agentkern.tools.sources import UsageError, usage_error


@dataclass(frozen=True, slots=True)
class Facts:
    """What is found out about one kernel. `group`: the digest of the first of its near duplicates."""

    kernel: str
    signature: str
    tensors: tuple[Tensor, ...]
    dtypes: tuple[str, ...]
    features: tuple[str, ...]
    operations: tuple[str, ...]
    docstring: str
    group: str


@dataclass(frozen=True, slots=True, eq=False)
class Indexed(Facts):
    """One kernel of the index, equal to itself alone."""

    entry: Entry

    @property
    def names(self) -> tuple[str, ...]:
        """What the kernel may be called by."""
        return (self.kernel, f"{self.entry.family}/{self.kernel}", f"{self.entry.family}/{self.entry.name}")

    @property
    def tile(self) -> Kernel:
        """The kernel in the TILE stage, at the sizes of meta.toml."""
        return lowered(self.entry, self.kernel, self.entry.dims)


def entries_of(corpus: Path | None) -> tuple[Entry, ...]:
    """Return every entry. Errors: UsageError for a folder that is not one."""
    try:
        return read_entries(corpus or default_corpus())
    except CorpusError as e:
        raise usage_error("corpus", str(e)) from e


def index_of(corpus: Path | None = None) -> tuple[Indexed, ...]:
    """Return every kernel of the corpus, by name. Errors: UsageError for a folder that is not one."""
    try:
        folder = corpus or default_corpus()
    except CorpusError as e:
        raise usage_error("corpus", str(e)) from e
    return _index(folder, _content(folder))


def find(name: str, index: Sequence[Indexed]) -> Indexed:
    """Return the kernel of a name. Errors: UsageError that lists the names."""
    for indexed in index:
        if name in indexed.names:
            return indexed
    known = [indexed.kernel for indexed in index]
    near = difflib.get_close_matches(name.rpartition("/")[2], known, 1)
    meant = f"did you mean `{near[0]}`? " if near else ""
    raise usage_error("NAME", f"the corpus has no kernel `{name}`; {meant}it has {', '.join(known)}")


def without(index: Sequence[Indexed], names: Iterable[str]) -> tuple[Indexed, ...]:
    """Return the kernels that are not hidden: by a name or a group's digest, with near duplicates and whole files.

    Errors: UsageError for a name that no kernel has.
    """
    hidden: set[str] = set()
    for name in names:
        groups_named = {indexed.group for indexed in index if name == indexed.group}
        hidden |= groups_named or {find(name, index).group}
    folders = {indexed.entry.folder for indexed in index if indexed.group in hidden}
    return tuple(indexed for indexed in index if indexed.entry.folder not in folders)


def lowered(entry: Entry, kernel: str, statics: Mapping[str, int]) -> Kernel:
    """Return a kernel at some static sizes; its outline where its body waits for others. Errors: UsageError."""
    found = lower_source(entry.source, entry.path, kernel, statics, {})
    if found.outline is None:
        raise UsageError(found.diagnostics[0])
    return found.outline


def _content(folder: Path) -> str:
    """A digest of the files that the index is made of."""
    found = hashlib.sha256()
    for name in ("kernel.py", "meta.toml", "notes.md"):
        for path in sorted(folder.glob(f"*/*/{name}")):
            found.update(str(path).encode())
            found.update(path.read_bytes())
    return found.hexdigest()


@lru_cache(maxsize=4)
def _index(folder: Path, content: str) -> tuple[Indexed, ...]:
    listed = [(entry, kernel) for entry in entries_of(folder) for kernel in entry.kernels]
    cache = Cache(cache_folder(os.environ))
    key = digest_of("corpus index", content, loaded_digest(cache))
    known = cache.get(key)
    if known is not None:
        facts = tuple(_read_facts(row) for row in json.loads(known["rows"]))
    else:
        facts = _find_out(listed)
        cache.put(key, {"rows": json.dumps([asdict(row) for row in facts]).encode()})
    return tuple(
        Indexed(**{name.name: getattr(row, name.name) for name in fields(Facts)}, entry=entry)
        for (entry, _), row in zip(listed, facts, strict=True)
    )


def _read_facts(row: Mapping[str, Any]) -> Facts:
    """A row of the cache."""
    tensors = tuple(Tensor(t["access"], t["dtype"], tuple(t["shape"])) for t in row["tensors"])
    lists = {name: tuple(row[name]) for name in ("dtypes", "features", "operations")}
    values: dict[str, Any] = {**row, **lists, "tensors": tensors}
    return Facts(**values)


def _find_out(listed: Sequence[tuple[Entry, str]]) -> tuple[Facts, ...]:
    tiles = [lowered(entry, kernel, entry.dims) for entry, kernel in listed]
    group_of = groups(tiles)
    digests = {first: digest(tiles[first]) for first in set(group_of)}
    return tuple(
        _facts(entry, kernel, tile, digests[first])
        for (entry, kernel), tile, first in zip(listed, tiles, group_of, strict=True)
    )


def _facts(entry: Entry, kernel: str, tile: Kernel, group: str) -> Facts:
    general = lowered(entry, kernel, {})
    return Facts(
        kernel=kernel,
        signature=signature_text(general),
        tensors=tensors_of(general),
        dtypes=dtypes_of(general),
        features=features_of(tile),
        operations=operations_of(tile),
        docstring=_docstring(entry.source, kernel),
        group=group,
    )


def _docstring(source: str, kernel: str) -> str:
    """The file's docstring and the kernel's."""
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == kernel]
    return " ".join(ast.get_docstring(node) or "" for node in (tree, *functions))
