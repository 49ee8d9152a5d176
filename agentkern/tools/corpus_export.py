"""The corpus as training and retrieval text: JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from agentkern.compiler.driver import CompileRequest
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.runtime.programs import compile_program
from agentkern.tools.corpus_index import index_of


def corpus_export(corpus: Path | None = None) -> Iterator[str]:
    """Yield one line of JSON for each kernel: task, kernel, generated CUDA, notes. Errors: UsageError."""
    for indexed in index_of(corpus):
        entry = indexed.entry
        request = CompileRequest(entry.source, entry.path, indexed.kernel, dims=entry.dims)
        line = {
            "name": indexed.kernel,
            "family": entry.family,
            "task": entry.summary,
            "tags": list(entry.tags),
            "signature": indexed.signature,
            "nondeterministic": is_nondeterministic(indexed.tile),
            "dims": dict(entry.dims),
            "kernel": entry.source,
            "cuda": compile_program(request, None).cuda,
            "notes": entry.notes,
            "criterion": entry.criterion.text(),
        }
        yield json.dumps(line, ensure_ascii=False)
