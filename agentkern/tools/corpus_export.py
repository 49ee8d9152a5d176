"""The corpus as training and retrieval text, one JSON object a line: tasks with kernels, mistakes with their fixes.

The records are described in `corpus_export_records`. One corpus and one version of the compiler give equal text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from agentkern.compiler.driver import CompileRequest
from agentkern.compiler.frontend import lower_source
from agentkern.compiler.ir.nondeterminism import is_nondeterministic
from agentkern.diagnostics import Edit, Fix, apply_fix
from agentkern.runtime.programs import compile_program
from agentkern.tools.check import check
from agentkern.tools.corpus_export_records import KINDS, RepairRecord, TaskRecord
from agentkern.tools.corpus_index import Indexed, index_of
from agentkern.tools.corpus_mutations import Mutant, mutants
from agentkern.tools.corpus_split import Split, splits
from agentkern.tools.near_duplicates import digest
from agentkern.tools.progress import Report, silent
from agentkern.tools.requests import CheckRequest
from agentkern.tools.results import CheckResult

_PATH = "kernel.py"
_MOST_FIXES = 8
"""Fixes applied one after another to one text before it counts as not mended."""


def corpus_export(
    kinds: Sequence[str] = KINDS, report: Report = silent, corpus: Path | None = None
) -> Iterator[TaskRecord | RepairRecord]:
    """Yield the records of each kernel in turn, its tasks first. Errors: UsageError for a folder that is no corpus."""
    index = index_of(corpus)
    chosen = splits([(indexed.entry.family, indexed.group) for indexed in index])
    for number, (indexed, split) in enumerate(zip(index, chosen, strict=True)):
        report(number / len(index), indexed.kernel)
        if "task" in kinds:
            yield _task(indexed, split)
        if "fix" in kinds:
            yield from _repairs(indexed, split)


def _task(indexed: Indexed, split: Split) -> TaskRecord:
    entry = indexed.entry
    request = CompileRequest(entry.source, entry.path, indexed.kernel, dims=entry.dims)
    return TaskRecord(
        id=f"task/{indexed.kernel}",
        name=indexed.kernel,
        family=entry.family,
        group=indexed.group,
        split=split,
        task=entry.summary,
        tags=entry.tags,
        features=indexed.features,
        signature=indexed.signature,
        nondeterministic=is_nondeterministic(indexed.tile),
        dims=dict(entry.dims),
        kernel=entry.source,
        cuda=compile_program(request, None).cuda,
        notes=entry.notes,
        criterion=entry.criterion.text(),
    )


def _repairs(indexed: Indexed, split: Split) -> Iterator[RepairRecord]:
    """The mistakes that the compiler refuses, each with what it says of it."""
    right = digest(indexed.tile)
    for mutant in mutants(indexed.entry.source, indexed.kernel):
        found = _checked(mutant.source, indexed)
        if found.status != "ok":
            yield _repair(indexed, split, mutant, found, right)


def _repair(indexed: Indexed, split: Split, mutant: Mutant, found: CheckResult, right: str) -> RepairRecord:
    offered = any(diagnostic.fixes for diagnostic in found.diagnostics)
    mended = _mended(mutant.source, indexed, found) if offered else None
    return RepairRecord(
        id=f"fix/{indexed.kernel}/{mutant.operator.name}/{mutant.number}",
        name=indexed.kernel,
        family=indexed.entry.family,
        group=indexed.group,
        split=split,
        operator=mutant.operator.name,
        mistake=mutant.operator.what,
        dims=dict(indexed.entry.dims),
        broken=mutant.source,
        diagnostics=found.diagnostics,
        fixed=indexed.entry.source,
        machine_fix="none" if not offered else "refused" if mended is None else "compiles",
        machine_fixed=mended,
        machine_fix_restores=mended is not None and _digest_of(mended, indexed) == right,
    )


def _checked(source: str, indexed: Indexed) -> CheckResult:
    return check(CheckRequest(source=source, path=_PATH, kernel=indexed.kernel, dims=dict(indexed.entry.dims)))


def _mended(source: str, indexed: Indexed, found: CheckResult) -> str | None:
    """The text once the first fix that is offered has been applied, again and again; None if that ends refused."""
    for _ in range(_MOST_FIXES):
        records = [diagnostic.fixes[0] for diagnostic in found.diagnostics if diagnostic.fixes]
        if not records:
            return None
        edits = tuple(Edit(edit.start, edit.end, edit.text) for edit in records[0].edits)
        source = apply_fix(source, Fix(records[0].description, edits))
        found = _checked(source, indexed)
        if found.status == "ok":
            return source
    return None


def _digest_of(source: str, indexed: Indexed) -> str | None:
    tile = lower_source(source, _PATH, indexed.kernel, indexed.entry.dims, {}).kernel
    return digest(tile) if tile is not None else None
